"""Each service sends and reads what `portal.services.exchanges` declares."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

from portal.services import (
    cases,
    consents,
    conversations,
    directories,
    emr_endpoints,
    endpoints,
    episodes,
    files,
    notifications,
    patients,
    pgt_results,
    physicians,
    prospects,
    protocols,
    relationships,
    storage,
)
from portal.services.endpoints import ALL, Endpoint
from portal.services.exchanges import EXCHANGES
from portal.services.records.cases import CareStatus
from portal.services.records.consents import ConsentDraft, ConsentKind, SignerRole
from portal.services.records.notifications import NotificationSettings
from portal.services.records.patients import Patient
from portal.services.records.protocols import Protocol, ProtocolDraft, ProtocolStatus
from portal.services.records.storage import Disposition, EmbryoStatus, StorageLocation

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
DRAFT = ConsentDraft(
    patient_id="p",
    title="t",
    kind=ConsentKind.STORAGE,
    version="1",
    body=(),
    statements=(),
    required_signers=(),
)


class Asked(Exception):
    """The call was made."""


class Listener:
    """Hears what a service asks of the API, and answers nothing."""

    def __init__(self) -> None:
        self.heard: tuple[Endpoint, Any, Any, Any] | None = None

    def read(self, endpoint: Endpoint, into: Any, *, query: Any = None, **_ids: str) -> Any:
        self.heard = endpoint, into, query, None
        raise Asked

    def act(self, endpoint: Endpoint, into: Any, *, body: Any = None, **_others: Any) -> Any:
        self.heard = endpoint, into, None, body
        raise Asked

    def reference(self, endpoint: Endpoint, into: Any, *, query: Any = None) -> Any:
        return self.read(endpoint, into, query=query)

    def open(self, endpoint: Endpoint, *, query: Any, **_others: Any) -> Any:
        return self.read(endpoint, bytes, query=query)


CALLS: dict[Endpoint, list[Callable[[Any], Any]]] = {
    endpoints.LIST_CONSENTS: [
        lambda c: consents.list_consents(
            c, sorting="title", text="x", patient_id="p", case_id="c", episode_id="e", status="Signed"
        )
    ],
    endpoints.CREATE_CONSENT: [lambda c: consents.create_consent(c, DRAFT)],
    endpoints.READ_CONSENT: [lambda c: consents.get_consent(c, "1")],
    endpoints.SIGN_CONSENT: [
        lambda c: consents.sign_consent(
            c, "1", role=SignerRole.PATIENT, signature="A", acknowledged=["s"], content_hash="h", stamp="x"
        )
    ],
    endpoints.REVOKE_CONSENT: [lambda c: consents.revoke_consent(c, "1", reason="r", stamp="x")],
    endpoints.LIST_PROTOCOLS: [
        lambda c: protocols.list_protocols(c, sorting="name", text="x", status=ProtocolStatus.ACTIVE)
    ],
    endpoints.CREATE_PROTOCOL: [
        lambda c: protocols.create_protocol(c, ProtocolDraft(name="n", status=ProtocolStatus.DRAFT))
    ],
    endpoints.READ_PROTOCOL: [lambda c: protocols.get_protocol(c, "1")],
    endpoints.UPDATE_PROTOCOL: [
        lambda c: protocols.update_protocol(
            c,
            "1",
            protocol=Protocol(id="1", name="n", status=ProtocolStatus.DRAFT, start_date=date(2026, 1, 1)),
        )
    ],
    endpoints.UPDATE_PATIENT: [lambda c: patients.update_patient(c, "1", patient=Patient(id="1"))],
    endpoints.UPDATE_CASE: [
        lambda c: cases.update_case(c, "1", title="t", status=CareStatus.ACTIVE, physician_id="p", stamp="x")
    ],
    endpoints.DELETE_RELATIONSHIP: [lambda c: relationships.delete_relationship(c, "1")],
    endpoints.UPDATE_EMBRYO_STORAGE: [
        lambda c: storage.update_embryo_storage(
            c,
            "1",
            status=EmbryoStatus.STORED,
            location=StorageLocation(),
            storage_expires_at=NOW,
            disposition=Disposition.UNDECIDED,
            notes="n",
            stamp="x",
        ),
        lambda c: storage.choose_disposition(c, "1", disposition=Disposition.UNDECIDED, stamp="x"),
    ],
    endpoints.READ_PGT_RESULT: [lambda c: pgt_results.get_pgt_result(c, "1")],
    endpoints.READ_EPISODE: [lambda c: episodes.get_episode(c, "1")],
    endpoints.LIST_PHYSICIANS: [
        lambda c: physicians.list_physicians(c, text="x", start=NOW, end=NOW, location_id="l")
    ],
    endpoints.DELETE_EMR_ENDPOINT: [lambda c: emr_endpoints.delete_emr_endpoint(c, "1")],
    endpoints.MOVE_DIRECTORY: [lambda c: directories.move_directory(c, "1", new_parent_id="2", stamp="x")],
    endpoints.READ_FILE_CONTENT: [lambda c: files.open_file(c, "1")],
    endpoints.RESTORE_MESSAGE: [lambda c: conversations.restore_message(c, "1")],
    endpoints.ARCHIVE_MESSAGE: [lambda c: conversations.archive_message(c, "1")],
    endpoints.LIST_CONVERSATIONS: [
        lambda c: conversations.list_conversations(c, sorting="subject", text="x", include_archived=True)
    ],
    endpoints.ARCHIVE_CONVERSATIONS: [lambda c: conversations.archive_conversations(c, ["1"])],
    endpoints.LIST_NOTIFICATIONS: [
        lambda c: notifications.list_notifications(c, is_read=False, type="t", text="x")
    ],
    endpoints.UPDATE_NOTIFICATIONS: [
        lambda c: notifications.set_read(c, ["1"]),
        lambda c: notifications.set_all_read(c),
    ],
    endpoints.READ_NOTIFICATION_SETTINGS: [lambda c: notifications.get_settings(c)],
    endpoints.UPDATE_NOTIFICATION_SETTINGS: [
        lambda c: notifications.update_settings(c, NotificationSettings())
    ],
    endpoints.MERGE_PROSPECTS: [
        lambda c: prospects.merge_prospects(c, "1", merge_id="2", field_choices={"email": "1"}),
        lambda c: prospects.merge_prospects(c, "1", merge_id="2"),
    ],
    endpoints.BOOK_WINDOW: [
        lambda c: prospects.book_window(
            c,
            "1",
            physician_id="p",
            start=NOW,
            end=NOW,
            time_zone="Europe/London",
            appointment_type="a",
            location_id="l",
        )
    ],
}


@pytest.mark.parametrize("endpoint", ALL, ids=lambda one: f"{one.method} {one.template}")
def test_each_service_sends_and_reads_what_exchanges_declare(endpoint: Endpoint) -> None:
    assert endpoint in EXCHANGES, "declare its types in EXCHANGES in portal/services/exchanges.py"
    assert endpoint in CALLS, "call its service function in CALLS in this file"
    exchange, sent = EXCHANGES[endpoint], set[str]()
    for call in CALLS[endpoint]:
        listener = Listener()
        with pytest.raises(Asked):
            call(listener)
        assert listener.heard is not None
        called, into, query, body = listener.heard
        assert (called, into) == (endpoint, exchange.answer)
        names = {f.encode_name for f in msgspec.structs.fields(exchange.query)} if exchange.query else set()
        assert set(query or {}) == names
        assert (body is None) == (exchange.sent is None)
        if exchange.sent is not None:
            plain = msgspec.to_builtins(body)
            whole = plain | {name: "x" if name == "id" else None for name in exchange.without}
            msgspec.convert(whole, exchange.sent)
            sent |= set(plain)
    if exchange.sent is not None:
        named = {f.encode_name for f in msgspec.structs.fields(exchange.sent)}
        assert sent | exchange.without >= {
            f.encode_name for f in msgspec.structs.fields(exchange.sent) if f.required
        }
        assert sent <= named
