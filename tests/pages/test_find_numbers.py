"""Whom a search finds among the patients whom this session has read, and under whose name."""

from __future__ import annotations

from datetime import date

import pytest

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Participant
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.patients import Patient
from portal.services.protocols import LIST_PROTOCOLS
from portal.views.known_search import is_place
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, SignIn, Visitor

AYSE = Patient(
    id="p-12",
    first_name="Ayşe",
    last_name="Yıldız",
    mrn="RF-12",
    date_of_birth=date(1990, 5, 2),
    phone_number="+442079460120",
)


@pytest.fixture
def nora(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    """A nurse who has read Ayşe's treatment alone."""
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_PROTOCOLS, LIST_NOTIFICATIONS):
        fake_api.gives(row, [])
    fake_api.gives(
        READ_EPISODE, Episode(id="e-12", type="Ivf", number="IVF/12", status=CareStatus.ACTIVE, patient=AYSE)
    )
    nora = visitor("nora", "nurse")
    nora.get("/episodes/e-12")
    return nora


def found(page: Page) -> list[str]:
    return [name.words for name in page.select("#found .hit-main strong")]


@pytest.mark.parametrize(
    "typed",
    [
        "RF-1",
        "IVF/1",
        "2 May 1990",
        "5/2/1990",
        "2.5.90",
        "90-05-02",
        "IVF/١",
        "٠٢٠ ٧٩٤٦ ٠١٢٠",
        "7946 0120",
        "020 7946 0120",
        "+44 (0)20 7946 0120",
    ],
)
def test_what_others_may_have_too_opens_nobody_by_itself(nora: Visitor, typed: str) -> None:
    page = nora.get("/").form("/find").submit(q=typed)
    assert (page.path, found(page)) == ("/find/results", ["Ayşe Yıldız"])
    assert page.select("#found[data-ambiguous]")
    assert "Only what you have opened since you signed in was searched:" in page.words


def test_of_several_treatments_the_one_under_way_is_offered(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(READ_EPISODE, Episode(id="e-13", status=CareStatus.FINISHED, patient=AYSE))
    nora.get("/episodes/e-13")
    page = nora.fragment("/find", "found", data={"q": "ayse"})
    assert [link["href"] for link in page.select("#found .hit-second")] == ["/episodes/e-12"]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("T4 C2", True), ("T4 C2 K1 3", True), ("T4", False), ("A A", False), ("07 70 09 01 82", False)],
)
def test_two_to_four_short_words_with_a_number_may_be_a_place(text: str, *, is_one: bool) -> None:
    assert is_place(text) is is_one


def test_a_whole_number_is_opened_although_another_begins_with_it(nora: Visitor, fake_api: FakeApi) -> None:
    other = Patient(id="p-123", first_name="Ruth", last_name="Adeyemi", mrn="RF-123")
    fake_api.gives(READ_EPISODE, Episode(id="e-123", status=CareStatus.ACTIVE, patient=other))
    nora.get("/episodes/e-123")
    page = nora.fragment("/find", "found", data={"q": "rf-12"})
    assert found(page) == ["Ayşe Yıldız", "Ruth Adeyemi"]
    assert not page.select("#found[data-ambiguous]")


def test_whom_the_clinics_system_finds_by_a_number_comes_before_who_has_a_longer_one(
    nora: Visitor, fake_api: FakeApi
) -> None:
    form = ConsentForm(
        id="c", title="IVF", status=ConsentStatus.PENDING, patient_id="p-1", patient_name="Bríd O’Shea"
    )
    fake_api.gives(LIST_CONSENTS, [form])
    page = nora.fragment("/find", "found", data={"q": "RF-1"})
    assert found(page) == ["Bríd O’Shea", "Ayşe Yıldız"]
    assert page.select("#found[data-ambiguous]")


def test_a_treatment_isnt_named_after_another_one(nora: Visitor, fake_api: FakeApi) -> None:
    form = ConsentForm(
        id="c",
        title="IVF",
        status=ConsentStatus.PENDING,
        patient_id="p-12",
        patient_name="Ayşe Yıldız",
        episode_id="e-13",
    )
    fake_api.gives(LIST_CONSENTS, [form])
    fake_api.refuses(READ_EPISODE, 503, id_="e-13")
    (link,) = nora.fragment("/find", "found", data={"q": "ayse"}).select("#found .hit-second")
    assert (link["href"], link.words) == ("/episodes/e-13", "Treatment · Ayşe Yıldız")


def test_a_conversation_of_another_doesnt_give_a_patients_record_their_name(
    nora: Visitor, fake_api: FakeApi
) -> None:
    joseph = Participant(id="joseph", name="Joseph Yıldız", role="patient")
    fake_api.gives(LIST_CONVERSATIONS, [Conversation(id="t", patient_id="p-12", participants=(joseph,))])
    page = nora.fragment("/find", "found", data={"q": "joseph"})
    assert (found(page), "2 May 1990" in page.words) == (["Ayşe Yıldız"], True)
    listed = nora.get("/patients").select("main")[0].words
    assert "Ayşe Yıldız" in listed
    assert "Joseph" not in listed
