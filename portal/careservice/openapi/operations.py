"""The care API specification's 32 endpoints, with what can't be derived from their code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from portal.careservice.api import consents, conversations, documents, notifications, physicians, prospects
from portal.careservice.api import protocols as protocol_endpoints
from portal.careservice.api.paging import Sortable
from portal.careservice.domain import enumerations
from portal.careservice.domain.cases import CaseChange
from portal.careservice.domain.consents.creation import NewForm
from portal.careservice.domain.consents.signing import NewSignature
from portal.careservice.domain.embryo_changes import EmbryoChange
from portal.careservice.domain.patients import PatientDetails
from portal.careservice.domain.prospects import Window
from portal.careservice.domain.protocols import ProtocolPlan

Json = dict[str, Any]

ID: Json = {"type": "string", "format": "uuid"}
DAY: Json = {"type": "string", "format": "date"}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """What can't be derived from an endpoint's code: its purpose, group of status codes, query and body."""

    purpose: str
    group: str
    query: tuple[Json, ...] = ()
    takes: Any = None
    stamped: bool = False
    body_required: bool = True


def query_parameter(name: str, schema: Json, *, required: bool = False) -> Json:
    """A query parameter; an empty one counts as absent."""
    empty = {} if required else {"allowEmptyValue": True}
    return {"name": name, "in": "query", "required": required, **empty, "schema": schema, "x-assumed": True}


def _choice(kind: type[StrEnum]) -> Json:
    return {"anyOf": [{"enum": [word.value for word in kind]}, position_in(kind)]}


def position_in(kind: type[StrEnum]) -> Json:
    """The schema of an enumeration's value given by position."""
    return {"type": "integer", "minimum": 0, "maximum": len(kind) - 1}


def _paging(sortable: Sortable) -> tuple[Json, ...]:
    field = f"({'|'.join(sortable)})( (asc|desc))?"
    return (
        query_parameter("SkipCount", {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 0}),
        query_parameter("MaxResultCount", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 10}),
        query_parameter("Sorting", {"type": "string", "pattern": f"^{field}(,{field})?$"}),
        query_parameter("Filter", {"type": "string", "pattern": r"^[^\u0000]*$"}),
    )


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("GET", "/api/care/consent-forms"): Operation(
        purpose="list consent forms",
        group="G1",
        query=(
            *_paging(consents.SORTABLE),
            query_parameter("PatientId", ID),
            query_parameter("CaseId", ID),
            query_parameter("EpisodeId", ID),
            query_parameter("Status", _choice(enumerations.ConsentStatus)),
            query_parameter("WaitsFor", ID),
            query_parameter("DueFrom", DAY),
            query_parameter("DueTo", DAY),
        ),
    ),
    ("POST", "/api/care/consent-forms"): Operation(
        purpose="create a consent form", group="G0", takes=NewForm
    ),
    ("GET", "/api/care/consent-forms/{id}"): Operation(purpose="read one", group="G1"),
    ("POST", "/api/care/consent-forms/{id}/sign"): Operation(
        purpose="sign", group="G0", takes=NewSignature, stamped=True
    ),
    ("POST", "/api/care/consent-forms/{id}/revoke"): Operation(
        purpose="revoke", group="G0", takes=consents.Withdrawal, stamped=True
    ),
    ("GET", "/api/care/fertility-protocols"): Operation(
        purpose="list",
        group="G0",
        query=(
            *_paging(protocol_endpoints.SORTABLE),
            query_parameter("PatientId", ID),
            query_parameter("EpisodeId", ID),
            query_parameter("Status", _choice(enumerations.ProtocolStatus)),
            query_parameter("Type", _choice(enumerations.ProtocolType)),
        ),
    ),
    ("POST", "/api/care/fertility-protocols"): Operation(purpose="create", group="G0", takes=ProtocolPlan),
    ("GET", "/api/care/fertility-protocols/{id}"): Operation(purpose="read one", group="G0"),
    ("PUT", "/api/care/fertility-protocols/{id}"): Operation(
        purpose="update", group="G0", takes=ProtocolPlan, stamped=True
    ),
    ("PUT", "/api/care/patients/{id}"): Operation(
        purpose="update", group="G1", takes=PatientDetails, stamped=True
    ),
    ("PUT", "/api/care/cases/{id}"): Operation(purpose="update", group="G1", takes=CaseChange, stamped=True),
    ("DELETE", "/api/care/relationships/{id}"): Operation(purpose="delete", group="G2"),
    ("PUT", "/api/care/embryo-storage/{id}"): Operation(
        purpose="update", group="G1", takes=EmbryoChange, stamped=True
    ),
    ("GET", "/api/care/pgt-results/{id}"): Operation(purpose="read one", group="G1"),
    ("GET", "/api/patient-portal/episodes/{episodeId}"): Operation(purpose="read one episode", group="G1"),
    ("GET", "/api/calendar/resources/physicians"): Operation(
        purpose="list physicians as calendar resources",
        group="G1",
        query=(
            *_paging(physicians.SORTABLE),
            query_parameter("From", {"type": "string", "format": "date-time"}),
            query_parameter("To", {"type": "string", "format": "date-time"}),
            query_parameter("LocationId", ID),
        ),
    ),
    ("DELETE", "/api/emr-integration/endpoints/{id}"): Operation(purpose="delete", group="G2"),
    ("POST", "/api/document-management/directory-descriptor/move"): Operation(
        purpose="move a directory", group="G3", takes=documents.Move, stamped=True
    ),
    ("GET", "/api/file-management/file-descriptor/content"): Operation(
        purpose="fetch file content", group="G3", query=(query_parameter("id", ID, required=True),)
    ),
    ("POST", "/api/app/messaging/restore-message/{messageId}"): Operation(
        purpose="restore a message", group="G3"
    ),
    ("POST", "/api/app/messaging/archive-message/{messageId}"): Operation(
        purpose="archive a message", group="G3"
    ),
    ("GET", "/api/messaging/getconversations"): Operation(
        purpose="list conversations",
        group="G3",
        query=(*_paging(conversations.SORTABLE), query_parameter("IncludeArchived", {"type": "boolean"})),
    ),
    ("POST", "/api/messaging/archive"): Operation(
        purpose="archive", group="G3", takes=conversations.ToArchive
    ),
    ("GET", "/api/app/notification"): Operation(
        purpose="read notifications",
        group="G0",
        query=(
            *_paging(notifications.SORTABLE),
            query_parameter("IsRead", {"type": "boolean"}),
            query_parameter("Type", {"type": "string", "pattern": r"^[^\u0000]*$"}),
        ),
    ),
    ("PUT", "/api/app/notification"): Operation(
        purpose="update notifications", group="G0", takes=notifications.SetRead
    ),
    ("GET", "/api/app/notification/settings"): Operation(purpose="read notification settings", group="G0"),
    ("PUT", "/api/app/notification/settings"): Operation(
        purpose="update notification settings", group="G0", takes=notifications.SettingsChange, stamped=True
    ),
    ("POST", "/api/prospect/records/{id}/merge/{mergeId}"): Operation(
        purpose="merge record {mergeId} with record {id}",
        group="G3",
        takes=prospects.MergeChoices,
        body_required=False,
    ),
    ("POST", "/api/prospect/records/{id}/book-window"): Operation(
        purpose="book a window for a prospect record", group="G3", takes=Window
    ),
    ("POST", "/smsinbound"): Operation(purpose="inbound SMS callback", group="G0"),
    ("POST", "/emailinbound"): Operation(purpose="inbound e-mail callback", group="G0"),
    ("POST", "/api/payment/webhook/payment-provider"): Operation(
        purpose="callback from a payment provider", group="G0"
    ),
}
"""By method and path, in the specification's order and words (care API specification §4)."""
