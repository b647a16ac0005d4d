"""Finding people by the records that mention them: who they are, and their order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from portal.services import people
from portal.services.cases import CareStatus
from portal.services.client import Care
from portal.services.consents.forms import ConsentForm, Signature, SignerRole
from portal.services.conversations import Conversation, Message, MessageSide, Participant
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode
from portal.services.errors import CareError, NotOffered, Unavailable
from portal.services.notifications import Notification
from portal.services.patients import Patient
from portal.services.people import find_people, group_people
from portal.services.protocols import Protocol, ProtocolStatus
from tests.support.builders import consent

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)


def form(name: str, *, days_ago: int = 1, **more: Any) -> ConsentForm:
    patient_id = more.pop("patient_id", name)
    sent_at = NOW - timedelta(days=days_ago)
    return consent(id=f"form-{name}", patient_id=patient_id, patient_name=name, sent_at=sent_at, **more)


def test_a_persons_mentions_are_grouped_with_the_newest_as_latest_event() -> None:
    talk = Conversation(
        id="t", subject="Bruises", patient_id="p1", episode_id="e2", last_message_at=NOW - timedelta(hours=1)
    )
    plan = Protocol(id="x", name="Plan", status=ProtocolStatus.ACTIVE, patient_id="p1", episode_id="e1")
    (amelia,) = group_people([form("Amelia Hart", patient_id="p1", episode_id="e1")], [talk], [plan], [])
    assert amelia.name == "Amelia Hart"
    assert amelia.latest is talk
    assert amelia.episode_id == "e2", "the treatment of the newest mention"


def test_an_enquiry_counts_as_a_person_and_mentions_of_nobody_are_left_out() -> None:
    talk = Conversation(
        id="t", prospect_id="q", participants=(Participant(name="Ines Ramos", role="patient"),)
    )
    news = Notification(id="n", title="A new enquiry", entity_type="Prospect", entity_id="q")
    plan = Protocol(id="x", name="The clinic’s own", status=ProtocolStatus.ACTIVE)
    (ines,) = group_people([], [talk], [plan], [news, Notification(id="m", title="Closed on Monday")])
    assert (ines.name, ines.prospect_id, ines.patient_id) == ("Ines Ramos", "q", None)
    assert ines.notifications == [news]


def test_a_conversation_is_the_patients_or_else_whoevers_wrote() -> None:
    doctor, patient = (
        Participant(name="Dr Victor", role="physician"),
        Participant(name="Ines", role="Patient"),
    )
    written = [
        Message(id="1", side=MessageSide.OUTBOUND, sender_name="Nora", sent_at=NOW),
        Message(id="2", side=MessageSide.INBOUND, sender_name="Tomasz", sent_at=NOW + timedelta(hours=1)),
    ]

    def name(**members: Any) -> str:
        (found,) = group_people([], [Conversation(id="t", prospect_id="q", **members)], [], [])
        return found.name

    assert name(participants=(doctor, patient), messages=tuple(written)) == "Ines"
    assert name(participants=(doctor, replace(patient, name="")), messages=tuple(written)) == "Tomasz"
    assert name(participants=(doctor,), messages=tuple(written[:1])) == ""


@pytest.mark.parametrize(
    ("patients", "name"),
    [(("Grace", "Joseph"), "Grace, Joseph"), (("Joseph",), "Joseph"), (("Grace", "Grace"), "Grace")],
)
def test_a_conversation_of_several_names_them_all(patients: tuple[str, ...], name: str) -> None:
    people = tuple(Participant(name=patient, role="patient") for patient in patients)
    (found,) = group_people([], [Conversation(id="t", patient_id="p1", participants=people)], [], [])
    assert found.name == name


def test_the_record_names_a_patient_before_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    joseph = Participant(name="Joseph Hart", role="patient")
    talk = Conversation(id="t", patient_id="p1", episode_id="e1", participants=(joseph,))
    amelia = Patient(id="p1", first_name="Amelia", last_name="Hart")
    answering(monkeypatch)
    monkeypatch.setattr(
        people, "list_conversations", lambda *_, **__: PagedResult(items=(talk,), total_count=1)
    )
    episode = Episode(id="e1", status=CareStatus.ACTIVE, patient=amelia)
    monkeypatch.setattr(people, "get_episode", lambda *_: episode)
    (found,) = find_people(Care.__new__(Care), "joseph").people
    assert found.name == "Amelia Hart"


def answering(monkeypatch: pytest.MonkeyPatch, *forms: ConsentForm, **failing: CareError) -> None:
    """Let the lists answer with these forms and nothing else, or fail."""
    lists = {"list_consents": forms, "list_conversations": (), "list_protocols": (), "list_notifications": ()}
    for name, items in lists.items():

        def answer(
            *_: object, _name: str = name, _items: tuple[Any, ...] = items, **__: object
        ) -> PagedResult[Any]:
            if _name in failing:
                raise failing[_name]
            return PagedResult(items=_items, total_count=len(_items))

        monkeypatch.setattr(people, name, answer)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sm", "Elizabeth Smith"),
        ("eliz sm", "Elizabeth Smith"),
        ("o'su", "Anna O'Sullivan"),
        ("sull", "Anna O'Sullivan"),
        ("osulli", "Anna O'Sullivan"),
        ("zolk", "Łucja Zółkiewska"),
        ("consent", "Blessing Ismail"),
    ],
)
def test_matches_at_the_start_of_a_name_come_first_then_the_newest(
    monkeypatch: pytest.MonkeyPatch, text: str, first: str
) -> None:
    answering(
        monkeypatch,
        form("Blessing Ismail", days_ago=0),
        form("Elizabeth Smith", days_ago=3),
        form("Anna O'Sullivan", days_ago=4),
        form("Łucja Zółkiewska", days_ago=9),
    )
    found = find_people(Care.__new__(Care), text)
    assert found.people[0].name == first
    assert len(found.people) == 4
    assert not found.is_partial


def test_an_unavailable_source_is_reported_and_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, form("Amelia Hart"), list_conversations=NotOffered(about_record=False))
    care = cast("Care", SimpleNamespace(modules_off=frozenset()))
    found = find_people(care, "am")
    assert [one.name for one in found.people] == ["Amelia Hart"]
    assert found.is_partial


def test_a_search_fails_if_no_source_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    down = Unavailable("down")
    names = ("list_consents", "list_conversations", "list_protocols", "list_notifications")
    answering(monkeypatch, **dict.fromkeys(names, down))
    with pytest.raises(Unavailable):
        find_people(Care.__new__(Care), "am")


def test_a_search_says_that_there_are_more_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, *(form(f"Ana {number}") for number in range(12)))
    found = find_people(Care.__new__(Care), "ana")
    assert len(found.people) == 8
    assert found.is_partial


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sian", ["Siân Llewellyn"]),
        ("grossman", ["Eva Großmann"]),
        ("osullivan", ["Anna O’Sullivan"]),
        ("Llewelyn", ["Siân Llewellyn"]),
        ("lelwellyn", ["Siân Llewellyn"]),
        ("sain", ["Siân Llewellyn"]),
        ("sin", []),
        ("nobody", []),
    ],
)
def test_names_that_are_alike_are_looked_for_where_the_api_finds_nobody(
    monkeypatch: pytest.MonkeyPatch, text: str, found: list[str]
) -> None:
    answering(monkeypatch, form("Siân Llewellyn"), form("Eva Großmann"), form("Anna O’Sullivan"))
    read = people.list_consents

    def as_written(*args: Any, text: str | None = None, **more: Any) -> PagedResult[Any]:
        return PagedResult(items=(), total_count=0) if text else read(*args, **more)

    monkeypatch.setattr(people, "list_consents", as_written)
    answer = find_people(Care.__new__(Care), text)
    assert [one.name for one in answer.people] == found
    assert answer.among == 3 and answer.is_partial


@pytest.mark.parametrize(
    ("text", "is_near"),
    [
        *(
            (text, True)
            for text in ("amelia", "amelai", "ameliaa", "amelia hatr", "melia", "amelix", "annemarie")
        ),
        *(
            (text, False)
            for text in ("amelixx", "aemlai", "amelia har", "hxrx", "amelia hart smith", "ameliaab")
        ),
    ],
)
def test_a_name_is_near_but_for_one_letter_of_each_word(text: str, is_near: bool) -> None:
    assert people.is_near("Amelia Anne'Marie-Hart", text) is is_near


@pytest.mark.parametrize(
    ("record", "days"),
    [
        (replace(consent(), sent_at=NOW, revoked_at=NOW + timedelta(days=3)), 3),
        (replace(consent(), sent_at=NOW + timedelta(days=2), revoked_at=None), 2),
        (consent(signatures=(Signature(role=SignerRole.PATIENT, signed_at=NOW + timedelta(days=4)),)), 4),
        (Conversation(id="t", last_message_at=NOW), 0),
        (Protocol(id="p", name="", status=ProtocolStatus.DRAFT, creation_time=NOW), 0),
        (
            Protocol(
                id="p", name="", status=ProtocolStatus.DRAFT, creation_time=NOW,
                last_modification_time=NOW + timedelta(days=1),
            ),
            1,
        ),
        (Notification(id="n", creation_time=NOW), 0),
    ],
)  # fmt: skip
def test_a_record_happened_at_the_latest_of_its_times(record: Any, days: int) -> None:
    assert people.happened_at(record) == NOW + timedelta(days=days)
    assert people.happened_at(consent()) < NOW - timedelta(days=9999)
