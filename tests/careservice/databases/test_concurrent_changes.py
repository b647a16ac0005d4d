"""Concurrent changes of the same records on SQLite and PostgreSQL: each happens once or not at all."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, text

from portal.careservice import database, migrations, transactions
from portal.careservice.__main__ import main
from portal.careservice.api import conversations as conversation_endpoints
from portal.careservice.bootstrap import bootstrap
from portal.careservice.domain import conversations, documents, idempotency, notifications, prospects
from portal.careservice.domain.conversations import Conversation, ConversationState, Message, MessageState
from portal.careservice.domain.documents import Directory
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.inbound import payments, sms
from portal.careservice.domain.inbound.deliveries import Delivery
from portal.careservice.domain.inbound.payments import Payment
from portal.careservice.domain.notifications import NotificationSettings
from portal.careservice.domain.prospects import Booking, Prospect
from portal.careservice.identity.keys import SigningKey
from portal.careservice.identity.tables import Client, Tenant
from portal.careservice.identity.tokens import access_token
from portal.careservice.ids import new_id, sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, form
from tests.careservice.api.clinic import settings_for
from tests.careservice.databases.conftest import Place, meet_at
from tests.support.postgres import ENGINES, database_url
from tests.support.together import at_once

MOVE = "/api/document-management/directory-descriptor/move"
CONSENTS = "/api/care/consent-forms"


def rule(answer: Any) -> str | None:
    return (
        answer.json["error"]["code"].removeprefix("ClientelePortal:") if answer.status_code == 403 else None
    )


def folders(place: Place, *parents: int | None) -> list[str]:
    """New folders of Amelia's; each number names the one among them that the folder lies in."""
    ids = [new_id() for _ in parents]
    with database.new_session(place.engine) as session:
        tenant_id = sample_id("tenant", "riverside")
        session.add_all(
            Directory(
                id=identity,
                tenant_id=tenant_id,
                episode_id=AMELIA_EPISODE,
                parent_id=None if parent is None else ids[parent],
                name=identity,
            )
            for identity, parent in zip(ids, parents, strict=True)
        )
        session.commit()
    return ids


def move(place: Place, folder: str, into: str | None) -> Any:
    with database.new_session(place.engine, writes=False) as session:
        stamp = session.get_one(Directory, folder).concurrency_stamp
    body = {"id": folder, "newParentId": into, "concurrencyStamp": stamp}
    return partial(place.clinic, "nora", "POST", MOVE, body)


def test_two_concurrent_moves_create_no_folder_cycle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = folders(place, None, None)
    meet_at(monkeypatch, documents, "_has_namesake")
    answers = at_once(move(place, x, y), move(place, y, x))
    assert sorted(answer.status_code for answer in answers) == [200, 403]
    assert {rule(answer) for answer in answers} == {None, "MoveIntoDescendant"}


def test_three_concurrent_moves_create_no_folder_cycle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y, z = folders(place, None, None, None)
    meet_at(monkeypatch, documents, "_has_namesake", 3)
    answers = at_once(move(place, x, y), move(place, y, z), move(place, z, x))
    assert [rule(answer) for answer in answers].count("MoveIntoDescendant") == 1


def test_an_existing_folder_cycle_is_walked_once_and_can_be_broken_up(place: Place) -> None:
    x, y, other = folders(place, 1, 0, None)
    assert rule(move(place, other, x)()) == "MoveIntoDescendant"
    assert move(place, x, None)().status_code == 200
    assert move(place, other, y)().status_code == 200


def test_two_concurrent_moves_create_no_duplicate_folder_name(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, goal = folders(place, None, None, None)
    with database.new_session(place.engine) as session:
        for folder in (x, y):
            session.get_one(Directory, folder).name = "Scans"
        session.get_one(Directory, y).parent_id = x
        session.commit()
    meet_at(monkeypatch, documents, "require_stamp")
    answers = at_once(move(place, x, goal), move(place, y, goal))
    assert [rule(answer) for answer in answers].count("DuplicateName") == 1


def test_concurrent_archiving_of_a_conversation_takes_effect_for_each_person(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {
        "conversationIds": [place.clinic.get("amelia", "/api/messaging/getconversations")["items"][0]["id"]]
    }
    meet_at(monkeypatch, conversations, "now", 4)
    answers = at_once(*[partial(place.clinic, "amelia", "POST", "/api/messaging/archive", body)] * 4)
    assert [(answer.status_code, answer.json) for answer in answers] == [(200, {"archivedCount": 1})] * 4
    assert place.rows(ConversationState)[0] >= 1


@pytest.mark.parametrize("act", ["archive", "restore"])
def test_concurrent_archiving_of_a_message_takes_effect_for_each_person(
    place: Place, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    found = place.clinic.get("amelia", "/api/messaging/getconversations")["items"]
    message = found[0]["messages"][0]["id"]
    with database.new_session(place.engine) as session:
        session.execute(delete(MessageState))
        session.commit()
    meet_at(monkeypatch, conversation_endpoints, "_message", 4)
    path = f"/api/app/messaging/{act}-message/{message}"
    answers = at_once(*[partial(place.clinic, "amelia", "POST", path)] * 4)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert {answer.json["isArchived"] for answer in answers} == {act == "archive"}


def test_six_concurrent_texts_from_an_unknown_number_create_one_enquiry(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = place.rows(Prospect, Conversation, Message)
    meet_at(monkeypatch, sms, "take", 6)
    answers = at_once(*(partial(place.text, f"Text {number}") for number in range(6)))
    assert [answer.json["accepted"] for answer in answers] == [True] * 6
    after = place.rows(Prospect, Conversation, Message)
    assert [now - was for now, was in zip(after, before, strict=True)] == [1, 1, 6]


def event(payment_id: str | None = None, months: int = 12, embryo: str | None = None) -> dict[str, Any]:
    metadata = {"purpose": "storage", "patientId": sample_id("patient", "grace"), "months": str(months)}
    paid = {"id": payment_id or f"pay_{new_id()}", "amount": 100, "currency": "GBP", "status": "succeeded"}
    return {
        "id": f"evt_{new_id()}",
        "type": "payment.succeeded",
        "created": 0,
        "account": "acct_riverside",
        "data": {"object": {**paid, "metadata": metadata | ({"embryoStorageIds": embryo} if embryo else {})}},
    }


def paid_embryo(place: Place) -> tuple[str, int]:
    """One of Grace's embryos, and the month until which it is paid, counted from the year 0."""
    with database.new_session(place.engine, writes=False) as session:
        found = session.scalars(
            select(EmbryoStorage)
            .where(
                EmbryoStorage.patient_id == sample_id("patient", "grace"),
                EmbryoStorage.storage_expires_at.is_not(None),
            )
            .order_by(EmbryoStorage.id)
        ).first()
        assert found is not None and found.storage_expires_at is not None
        return found.id, found.storage_expires_at.year * 12 + found.storage_expires_at.month


def test_four_concurrent_payments_each_count_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    embryo, month = paid_embryo(place)
    meet_at(monkeypatch, payments, "_months", 4)
    answers = at_once(*(partial(place.payment, event(months=1, embryo=embryo)) for _ in range(4)))
    assert [(answer.status_code, answer.json["accepted"]) for answer in answers] == [(200, True)] * 4
    assert paid_embryo(place) == (embryo, month + 4)
    assert place.rows(Payment) == [4]


def test_one_payment_reported_four_times_at_once_counts_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    embryo, month = paid_embryo(place)
    told = event(months=1, embryo=embryo)
    meet_at(monkeypatch, payments, "_months", 4)
    answers = at_once(*[partial(place.payment, told)] * 4)
    assert sorted(answer.json["accepted"] for answer in answers) == [False, False, False, True]
    assert paid_embryo(place) == (embryo, month + 1)


def test_one_delivery_repeated_four_times_at_once_gets_one_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = event(months=1)
    meet_at(monkeypatch, payments, "_months", 4)
    answers = at_once(*[partial(place.payment, told, "msg_once")] * 4)
    assert [(answer.status_code, answer.json) for answer in answers] == [
        (200, {"accepted": True, "id": told["data"]["object"]["id"]})
    ] * 4
    assert place.rows(Delivery) == [1]


def test_a_concurrent_payment_and_edit_of_an_embryo_are_both_kept(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    embryo, month = paid_embryo(place)
    read = place.clinic.get("elif", f"/api/patient-portal/episodes/{sample_id('episode', 'grace-2')}")
    record = next(one for one in read["embryos"] if one["id"] == embryo)
    body = {name: record[name] for name in ("status", "location", "storageExpiresAt", "disposition")}
    body |= {"notes": "Checked.", "concurrencyStamp": record["concurrencyStamp"]}
    nurse = partial(place.clinic, "elif", "PUT", f"/api/care/embryo-storage/{embryo}", body)
    meet_at(monkeypatch, payments, "_months", 1)
    changed, paid = at_once(nurse, partial(place.payment, event(months=1, embryo=embryo)))
    assert paid.status_code == 200
    assert rule(changed) in (None, "ConcurrencyConflict")
    assert paid_embryo(place) == (embryo, month + 1)


def windows_on_monday(place: Place) -> list[dict[str, Any]]:
    """A free window of each physician."""
    found = place.clinic.get("colin", "/api/calendar/resources/physicians?MaxResultCount=100")["items"]
    return [
        {
            "physicianId": one["id"],
            "start": f"2030-01-07T{one['workingHours'][0]['start']}:00",
            "end": f"2030-01-07T{one['workingHours'][0]['start'][:3]}30:00",
            "timeZone": one["timeZone"],
            "appointmentType": "First consultation",
        }
        for one in found
        if one["isActive"] and one["workingHours"] and one["workingHours"][0]["dayOfWeek"] == "Monday"
    ]


def test_concurrent_bookings_of_one_slot_book_it_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    body, before = windows_on_monday(place)[0], place.rows(Booking)[0]
    meet_at(monkeypatch, prospects, "_is_taken")
    calls = [
        partial(
            place.clinic,
            "colin",
            "POST",
            f"/api/prospect/records/{sample_id('prospect', who)}/book-window",
            body,
        )
        for who in ("noor", "tomasz")
    ]
    answers = at_once(*calls)
    assert sorted(answer.status_code for answer in answers) == [200, 403]
    assert {rule(answer) for answer in answers} == {None, "SlotTaken"}
    assert place.rows(Booking) == [before + 1]


def test_two_links_book_one_enquirer_a_single_visit(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with two physicians, and afterwards; staff may book another."""
    with place.clinic.app.app_context(), database.new_session(place.engine) as session:
        client = session.get_one(Client, "riverside-service")
        link = access_token(session, client, "ClientelePortal", None, None)
        session.commit()
    path = f"/api/prospect/records/{sample_id('prospect', 'noor')}/book-window"
    windows = windows_on_monday(place)[:2]
    meet_at(monkeypatch, prospects, "_is_taken")
    by_link = [partial(place.clinic.call, link, "POST", f"{path}?__tenant=riverside", one) for one in windows]
    answers = [*at_once(*by_link), by_link[0](), by_link[1]()]
    assert sorted(rule(answer) or "" for answer in answers) == ["", *["AlreadyBooked"] * 3]
    staff = [place.clinic("colin", "POST", path, one).status_code for one in windows]
    assert sorted(staff) == [200, 403]  # one of the two times is taken


def test_concurrent_merges_of_one_enquiry_merge_it_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    noor, tomasz = (sample_id("prospect", who) for who in ("noor", "tomasz"))
    meet_at(monkeypatch, prospects, "_taken_from_merged")
    answers = at_once(
        partial(place.clinic, "colin", "POST", f"/api/prospect/records/{noor}/merge/{tomasz}", {}),
        partial(place.clinic, "colin", "POST", f"/api/prospect/records/{tomasz}/merge/{noor}", {}),
    )
    assert {rule(answer) for answer in answers} == {None, "AlreadyMerged"}


def test_concurrent_requests_with_one_idempotency_key_create_one_form(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    meet_at(monkeypatch, idempotency, "_kept", 4)
    call = partial(place.clinic, "nora", "POST", CONSENTS, form(title="Once"), Idempotency_Key="once")
    answers = at_once(*[call] * 4)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json["id"] for answer in answers}) == 1


def test_concurrent_creation_of_a_form_creates_it_once(place: Place) -> None:
    call = partial(place.clinic, "nora", "POST", CONSENTS, form(title="Once"))
    answers = at_once(call, call, call)
    assert sorted(rule(answer) or "" for answer in answers) == ["", "FormAlreadyOpen", "FormAlreadyOpen"]


def test_concurrent_first_settings_of_a_person_create_one_record(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/api/app/notification/settings"
    read = place.clinic.get("amelia", path)
    body = {name: read[name] for name in ("items", "concurrencyStamp")}
    meet_at(monkeypatch, notifications, "merged_items")
    answers = at_once(*[partial(place.clinic, "amelia", "PUT", path, body)] * 2)
    assert sorted(rule(answer) or "" for answer in answers) == ["", "ConcurrencyConflict"]
    assert place.rows(NotificationSettings) == [1]


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little of it; to be asked for before `place`, whose connections are told how long to wait."""
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(database, "_LOCK_WAIT_MILLISECONDS", 100)


@pytest.fixture
def stuck(patience: None, place: Place) -> Any:
    """Another program that holds what a writer needs, until it is told to let go."""
    connection = place.engine.connect()
    if place.kind == "sqlite":
        connection.exec_driver_sql("SELECT 1")  # every transaction that may write takes the write lock
    else:
        tables = ", ".join(f'"{table.name}"' for table in database.Base.metadata.sorted_tables)
        connection.exec_driver_sql(f"LOCK TABLE {tables} IN EXCLUSIVE MODE")
    yield connection
    connection.close()


def test_a_busy_database_is_503_where_no_code_is_documented(stuck: Any, place: Place) -> None:
    for answer in (place.text(), place.payment(event())):
        assert (answer.status_code, answer.headers["Retry-After"], answer.data) == (503, "1", b"")
    with place.clinic.app.test_client() as client:
        if place.kind == "postgresql":
            return  # reads don't wait for the lock on PostgreSQL
        answer = client.get("/connect/authorize?client_id=x")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
        assert "Please try again" in answer.text
        assert 'href="/connect/authorize?client_id=x"' in answer.text
        answer = client.post("/connect/token", data={"grant_type": "client_credentials"}, auth=("x", "y"))
        assert (answer.status_code, answer.json) == (503, {"error": "temporarily_unavailable"})


def test_a_busy_database_is_503_in_the_api_and_changes_nothing(patience: None, place: Place) -> None:
    token = place.clinic.token("amelia")
    body = {
        "conversationIds": [place.clinic.get("amelia", "/api/messaging/getconversations")["items"][0]["id"]]
    }
    before = place.rows(ConversationState)
    with place.engine.connect() as connection:
        if place.kind == "sqlite":
            connection.exec_driver_sql("SELECT 1")
        else:
            connection.exec_driver_sql("LOCK TABLE conversation_states IN EXCLUSIVE MODE")
        answer = place.clinic.call(token, "POST", "/api/messaging/archive", body)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.json["error"]["message"] == "This could not be done just now. Nothing was changed."
    assert place.rows(ConversationState) == before
    assert place.clinic.call(token, "POST", "/api/messaging/archive", body).status_code == 200


def test_a_request_waits_for_a_briefly_busy_database(place: Place) -> None:
    connection = place.engine.connect()
    if place.kind == "sqlite":
        connection.exec_driver_sql("SELECT 1")
    else:
        connection.exec_driver_sql("LOCK TABLE webhook_deliveries IN EXCLUSIVE MODE")
    threading.Timer(0.3, connection.close).start()
    assert place.text().json["accepted"] is True


@pytest.mark.parametrize("kind", ENGINES)
def test_two_concurrent_first_starts_both_succeed(kind: str, tmp_path: Path) -> None:
    url = database_url(tmp_path / "new.db", kind)
    engines = [database.connect(url) for _ in range(2)]
    at_once(*(partial(bootstrap, engine, settings_for(url)) for engine in engines))
    with database.new_session(engines[0], writes=False) as session:
        counted = [session.query(table).count() for table in (Tenant, SigningKey)]
        assert counted == [2, 1]
        assert session.scalars(text("SELECT version_num FROM alembic_version")).all() != []
    for engine in engines:
        engine.dispose()


def test_a_database_of_a_later_version_is_refused_with_a_message(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with place.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'v9999'"))
    with pytest.raises(migrations.UnusableDatabase):
        migrations.upgrade(place.engine)
    url = place.engine.url.render_as_string(hide_password=False)
    assert main(["--database", url, "--port", "0"]) == 2
    said = capsys.readouterr().err
    assert "later version (v9999)" in said and "Traceback" not in said
