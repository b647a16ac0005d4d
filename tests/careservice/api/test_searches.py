"""A search filters every table by the caller's clinic, so that the database doesn't read other clinics' rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import event, func, select

from portal.careservice import database
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.conversations import Conversation, Message
from portal.careservice.domain.notifications import Notification
from portal.careservice.domain.patients import Patient
from portal.careservice.domain.physicians import Physician
from portal.careservice.domain.protocols import FertilityProtocol
from tests.careservice.api.calls import CONSENTS
from tests.careservice.api.clinic import Clinic

CONVERSATIONS = "/api/messaging/getconversations"


SEARCHED = {
    "patients", "messages", "conversations", "consent_forms", "protocols", "notifications", "physicians",
}  # fmt: skip


def searches(clinic: Clinic, who: str, path: str) -> list[str]:
    """The queries of a GET that look for words."""
    asked: list[str] = []

    def keep(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        asked.append(statement)

    token = clinic.token(who)
    with clinic.app.app_context():
        engine = database.engine()
    event.listen(engine, "before_cursor_execute", keep)
    assert clinic.call(token, "GET", path).status_code == 200
    event.remove(engine, "before_cursor_execute", keep)
    return [statement for statement in asked if " LIKE " in statement or " ILIKE " in statement]


@pytest.mark.parametrize("who", ["nora", "amelia"])
@pytest.mark.parametrize(
    "path",
    [
        f"{CONSENTS}?Filter=hart",
        f"{CONVERSATIONS}?Filter=scan",
        "/api/care/fertility-protocols?Filter=225",
        "/api/calendar/resources/physicians?Filter=kenji",
        "/api/app/notification?Filter=form",
    ],
)
def test_every_search_query_is_limited_to_the_clinic(clinic: Clinic, who: str, path: str) -> None:
    found = searches(clinic, who, path)
    assert found
    for statement in found:
        read = SEARCHED & set(re.findall(r"(?:FROM|JOIN) (\w+)", statement))
        assert read and all(f"{table}.tenant_id = " in statement for table in read), statement
        assert statement.count("LIKE ") == statement.count(" ESCAPE "), "what is typed holds no wildcards"


def test_each_message_has_the_clinic_of_its_conversation(clinic: Clinic) -> None:
    with clinic.app.app_context(), database.new_session(database.engine(), writes=False) as session:
        strays = (
            select(func.count())
            .select_from(Message)
            .join(Conversation)
            .where(func.coalesce(Message.tenant_id, "") != Conversation.tenant_id)
        )
        assert session.scalar(strays) == 0


def test_a_search_finds_words_in_messages_and_senders_names(clinic: Clinic) -> None:
    def found(word: str, who: str = "nora") -> int:
        return clinic.get(who, f"{CONVERSATIONS}?IncludeArchived=true&Filter={word}")["totalCount"]

    assert found("follicle") == 1
    assert found("FOLLICLE leading") == 1
    assert found("nora") > 0
    assert found("follicle", "omar") == 0


@pytest.mark.parametrize("words", ["Amelia", "hart amelia", "RF-10482"])
def test_a_protocol_is_found_by_its_patient_and_names_them(clinic: Clinic, words: str) -> None:
    path = f"/api/care/fertility-protocols?Filter={words}"
    found = clinic.call(clinic.token("victor"), "GET", path).json["items"]
    assert {one["patientName"] for one in found} == {"Amelia Hart"}


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("sian", "Siân Llewellyn"),
        ("SIÂN llew", "Siân Llewellyn"),
        ("llewellyn si", "Siân Llewellyn"),
        ("yildiz", "Ayşe Yıldız"),
        ("grossmann", "Großmann"),
        ("osullivan", "Anna O'Sullivan"),
        ("o’sullivan", "Anna O'Sullivan"),
        ("sorensen", "Ingrid Sørensen"),
        ("wisniew", "Zofia Wiśniewska-Grzegorzewska"),
        ("conceicao", "Beatriz Conceição"),
    ],
)
def test_a_name_is_found_as_any_keyboard_writes_it(clinic: Clinic, typed: str, name: str) -> None:
    for word in (typed, typed.upper()):
        found = clinic.get("nora", f"{CONSENTS}?Filter={word}&MaxResultCount=100")["items"]
        assert found and all(name in one["patientName"] for one in found), word


@pytest.mark.parametrize(
    ("table", "member", "path"),
    [
        (ConsentForm, "title", CONSENTS),
        (FertilityProtocol, "name", "/api/care/fertility-protocols"),
        (Conversation, "subject", CONVERSATIONS),
        (Notification, "title", "/api/app/notification"),
        (Physician, "specialty", "/api/calendar/resources/physicians"),
    ],
)
def test_a_title_is_found_as_any_keyboard_writes_it(
    clinic: Clinic, table: Any, member: str, path: str
) -> None:
    id_ = clinic.get("nora", path)["items"][0]["id"]
    clinic.change(lambda session: setattr(session.get_one(table, id_), member, "Congelación de óvulos"))
    for words in ("congelacion ovulos", "CONGELACIÓN"):
        assert [one["id"] for one in clinic.get("nora", f"{path}?Filter={words}")["items"]] == [id_], words


def test_a_changed_name_is_found_at_once(clinic: Clinic) -> None:
    with clinic.app.app_context(), database.new_session(database.engine()) as session:
        (patient,) = session.scalars(select(Patient).where(Patient.mrn == "RF-10482"))
        patient.last_name = "Łukasiewicz"
        session.flush()
        assert patient.folded_name.startswith("amelia lukasiewicz")
        session.rollback()
