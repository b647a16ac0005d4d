"""Fertility protocols (care API specification §4, group FertilityProtocol)."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.decoding import Page
from portal.services.endpoints import CREATE_PROTOCOL, LIST_PROTOCOLS, READ_PROTOCOL, UPDATE_PROTOCOL
from portal.services.exchanges import ProtocolQuery
from portal.services.paging import requested_page
from portal.services.read_back import read_back
from portal.services.records.protocols import Protocol, ProtocolDraft, ProtocolStatus


def list_protocols(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    sorting: str | None = None,
    text: str | None = None,
    status: ProtocolStatus | None = None,
) -> Page[Protocol]:
    """One page of protocols; patients get their own.

    GET /api/care/fertility-protocols (care API specification §4).
    """
    query = ProtocolQuery(
        skip_count=skip, max_result_count=limit, sorting=sorting, filter=text, status=status
    )
    return requested_page(care.read(LIST_PROTOCOLS, query=query), skip, limit)


def create_protocol(care: Care, draft: ProtocolDraft, *, operation: str | None = None) -> Protocol | None:
    """Create a protocol; None if the API returns no body (then it is the newest of its name in the list).

    POST /api/care/fertility-protocols (care API specification §4).
    """
    return care.act(CREATE_PROTOCOL, draft, operation=operation)


def get_protocol(care: Care, protocol_id: str) -> Protocol:
    """One protocol.

    GET /api/care/fertility-protocols/{id} (care API specification §4).
    """
    return care.read(READ_PROTOCOL, id=protocol_id)


def update_protocol(care: Care, protocol_id: str, *, protocol: Protocol) -> Protocol:
    """Update the protocol and return it with a new stamp; `protocol` is the one that was read, with the changes.

    PUT /api/care/fertility-protocols/{id} (care API specification §4). Raises `Conflict` when it was changed
    meanwhile, `Refused` when it is completed or cancelled, or the move isn't allowed.
    """
    written = care.act(UPDATE_PROTOCOL, protocol, id=protocol_id)
    return written or read_back(lambda: get_protocol(care, protocol_id))
