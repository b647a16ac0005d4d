"""Staff read what rests on a partner with whom nothing is shared any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from portal.careservice.ids import sample_id
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Episode
from portal.services.listed import Listed
from portal.services.notifications import Notification, is_pressing
from portal.services.patients import Patient
from portal.services.relationships import Relationship, RelationshipType
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.views.episodes import separation
from tests.careservice.api.calls import AMELIA_EPISODE
from tests.support.builders import DANIEL
from tests.support.builders import consent as form_of
from tests.support.signing import consent
from tests.support.stack import CareService, PortalThread

TODAY = date(2026, 11, 24)
ENDED = "Sharing with Daniel Hart ended"
EPISODE = f"/episodes/{AMELIA_EPISODE}"


@pytest.fixture
def parted(service: CareService) -> Iterator[None]:
    """Amelia's sharing with Daniel, which ended yesterday."""

    def end(on: str | None) -> None:
        with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
            change = "UPDATE relationships SET end_date = ? WHERE id = ?"
            database.execute(change, (on, sample_id("relationship", "amelia-daniel")))

    end((date.today() - timedelta(days=1)).isoformat())
    yield
    end(None)


def test_staff_read_what_rests_on_a_partner_who_shares_no_more(portal: PortalThread, parted: None) -> None:
    nora = portal.sign_in("nora")
    for tab in ("", "/timeline", "/consents"):
        assert ENDED in nora.get(EPISODE + tab).words, tab
    for tab in ("", "/consents"):
        page = nora.get(EPISODE + tab)
        notice = next(one for one in page.select(".notice") if ENDED in one.words)
        assert "only while their consent stands" in notice.words
        waiting, review = ([link["href"] for link in found.select("a")] for found in notice.select("ul"))
        assert consent("amelia-sperm") in waiting and consent("amelia-storage") not in waiting
        assert {consent("amelia-storage"), consent("amelia-treatment-2")} <= set(review)
        assert not set(waiting) & set(review) and consent("amelia-disclosure") not in review
    assert "See which forms wait for them" in nora.get(f"{EPISODE}/timeline").words
    assert ENDED not in portal.sign_in("amelia").get(EPISODE).words


def test_forms_are_read_for_it_alone(portal: PortalThread, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_given: Any, **_more: Any) -> None:
        raise AssertionError("the forms are asked for")

    monkeypatch.setattr(separation, "list_forms_of", unwanted)
    assert ENDED not in portal.sign_in("nora").get(EPISODE).words


@pytest.mark.parametrize(
    ("members", "is_told"),
    [
        ({"end_date": TODAY}, True),
        ({"end_date": None}, False),
        ({"end_date": TODAY + timedelta(days=1)}, False),
        ({"end_date": TODAY, "type": RelationshipType.EMERGENCY_CONTACT}, False),
    ],
)
def test_an_end_counts_from_its_day_and_for_partners(members: dict[str, Any], is_told: bool) -> None:
    one = Relationship(**{"id": "r", "related_patient_id": "d", "type": RelationshipType.SPOUSE, **members})
    again = Relationship(id="again", related_patient_id="d", type=RelationshipType.PARTNER)

    def episode(*found: Relationship, status: CareStatus = CareStatus.ACTIVE) -> Episode:
        return Episode(id="e", status=status, patient=Patient(id="p"), relationships=found)

    assert (separation.ended_sharing(episode(one), TODAY) == one) is is_told
    assert separation.ended_sharing(episode(one, status=CareStatus.FINISHED), TODAY) is None
    assert separation.ended_sharing(episode(one, again), TODAY) is None


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"patient_id": "d", "related_patient_id": "x", "related_name": "Jo Former"}, ""),
        ({"related_patient_id": "x", "related_name": "Jo Former", "end_date": date(2021, 5, 1)}, ""),
        ({"patient_id": "d", "related_patient_id": "p", "related_name": "Amelia Hart"}, "Daniel Hart"),
        ({"patient_id": "x", "related_patient_id": "p", "related_name": "Amelia Hart"}, ""),
        ({"related_name": "Jo Former"}, "Jo Former"),
        ({"related_name": "daniel HART"}, ""),
    ],
)
def test_an_end_is_the_patients_own_of_this_treatment(members: dict[str, Any], told: str) -> None:
    given = {"id": "r", "patient_id": "p", "type": RelationshipType.SPOUSE, "end_date": TODAY, **members}
    live = Relationship(id="l", related_name="Daniel Hart", type=RelationshipType.PARTNER)
    episode = Episode(
        id="e",
        status=CareStatus.ACTIVE,
        start_date=date(2026, 11, 1),
        patient=Patient(id="p", first_name="Amelia", last_name="Hart"),
        partner=Patient(id="d", first_name="Daniel", last_name="Hart"),
        relationships=(Relationship(**given), *([] if members.get("patient_id") else [live])),
    )
    ended = separation.ended_sharing(episode, TODAY)
    assert (ended.related_name if ended else "") == told


def test_an_end_before_the_treatment_counts_where_an_embryo_is_older(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(separation, "local", lambda at: at)
    embryo = EmbryoStorage(
        id="f",
        embryo_code="AH-1",
        status=EmbryoStatus.STORED,
        cryopreserved_at=datetime(2020, 5, 2, tzinfo=UTC),
    )
    ended = Relationship(id="r", type=RelationshipType.SPOUSE, end_date=date(2021, 5, 1))
    episode = Episode(
        id="e",
        status=CareStatus.ACTIVE,
        start_date=date(2026, 11, 1),
        patient=Patient(id="p"),
        embryos=(embryo,),
        relationships=(ended,),
    )
    assert separation.ended_sharing(episode, TODAY) == ended


def test_a_form_that_cannot_be_read_may_wait_too(portal: PortalThread, parted: None) -> None:
    read = separation.list_forms_of

    def without_one(*given: Any) -> Listed[ConsentForm]:
        found = read(*given).where(lambda form: not consent("amelia-sperm").endswith(form.id))
        return replace(found, is_whole=False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separation, "list_forms_of", without_one)
        notice = next(
            one.words for one in portal.sign_in("nora").get(EPISODE).select(".notice") if ENDED in one.words
        )
    assert "See which forms wait for them" in notice
    assert "Still waiting for their signature" in notice, "what was read is told too"


def test_its_notification_comes_first() -> None:
    assert is_pressing(Notification(id="n", type="SharingEnded"))


@pytest.mark.parametrize(("signs_as", "is_waiting"), [("daniel", True), ("d", True), ("p", False)])
def test_a_form_waits_for_the_partner_by_account_or_record(
    monkeypatch: pytest.MonkeyPatch, signs_as: str, is_waiting: bool
) -> None:
    monkeypatch.setattr(separation, "today", lambda: TODAY)
    episode = Episode(
        id="e",
        status=CareStatus.ACTIVE,
        patient=Patient(id="p"),
        partner=Patient(id="d", user_id="daniel"),
        relationships=(
            Relationship(id="r", related_patient_id="d", type=RelationshipType.SPOUSE, end_date=TODAY),
        ),
    )
    form = form_of(required_signers=(replace(DANIEL, person_id=signs_as),))
    found = separation.separation_of(episode, Listed((form,)))
    assert found and bool(found.waiting) is is_waiting
