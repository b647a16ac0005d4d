"""Which members of every record each kind of person gets; a member that isn't listed fails by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.domain.consents.forms import ConsentForm, Signer
from portal.careservice.domain.enumerations import Disposition, RelationshipType
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Relationship
from portal.careservice.ids import new_id, sample_id
from tests.careservice.api.calls import GRACE_EPISODE, patient, person
from tests.careservice.api.canaries import Seen, ids_of, plant, read_all
from tests.careservice.api.clinic import Clinic, new_clinic
from tests.careservice.api.seen_members import (
    FURTHER,
    NOT_IN_SAMPLES,
    PLACES_FURTHER,
    listed_members,
    may_be_in,
)

STAFF = ("nora", "victor", "elif", "colin", "ada")
SHARED = sample_id("relationship", "amelia-daniel")
LISTED = (
    "everybody gets what the records of portal/services declare, unmarked; "
    "tests/careservice/api/seen_members.py says who gets what besides"
)
Look = Callable[..., Seen]


@pytest.fixture(scope="module")
def look(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Look]:
    """What a person sees; `ended` after the sharing with Daniel ended, `unnamed` without the forms that he signs.

    Daniel is the partner in Grace's episode too, so that there is one with embryos and results,
    and a form of Amelia's and his decides about embryos.
    """
    clinic = new_clinic(tmp_path_factory.mktemp("canaries"))
    known: dict[str, Any] = {}

    def prepare(session: Session) -> None:
        session.get_one(Episode, GRACE_EPISODE).partner_id = patient("daniel")
        session.add(_shared("grace"))
        form = session.get_one(ConsentForm, sample_id("consent", "amelia-treatment-2"))
        form.disposition = Disposition.DISCARD
        session.flush()
        known["planted"] = plant(session)
        known["ids"] = ids_of(session)

    clinic.change(prepare)

    @cache
    def seen(who: str, *, ended: bool = False, unnamed: bool = False) -> Seen:
        undo: list[Any] = []
        clinic.change(lambda session: undo.extend(_end(session, clinic, ended=ended, unnamed=unnamed)))
        result = read_all(clinic, who, known["planted"], known["ids"])
        clinic.change(lambda session: _restore(session, undo))
        return result

    yield seen
    with clinic.app.app_context():
        database.engine().dispose()


def _shared(name: str) -> Relationship:
    return Relationship(
        id=new_id(),
        tenant_id=sample_id("tenant", "riverside"),
        patient_id=patient(name),
        related_patient_id=patient("daniel"),
        related_name="",
        type=RelationshipType.PARTNER,
        is_portal_shared=True,
    )


def _end(session: Session, clinic: Clinic, *, ended: bool, unnamed: bool) -> list[Any]:
    removed: list[Any] = []
    if unnamed:
        rows = session.query(Signer).filter_by(person_id=person("daniel")).all()
        names = ("form_id", "position", "role", "person_id", "name", "order")
        removed = [Signer(**{name: getattr(row, name) for name in names}) for row in rows]
        session.execute(delete(Signer).where(Signer.person_id == person("daniel")))
    for one in session.query(Relationship).filter_by(related_patient_id=patient("daniel")):
        one.end_date = clinic.moment.date() if ended else None
    return removed


def _restore(session: Session, removed: list[Any]) -> None:
    session.add_all(removed)


def places(seen: Seen, who: str) -> set[str]:
    """The columns and members whose marks were seen; a patient's with whose they are."""
    return {
        f"{place} ({'own' if key == patient(who) else 'others'})" if place.startswith("patients.") else place
        for place, key in seen.places
    }


def shared(one: Seen, other: Seen) -> set[str]:
    """The tables of which both see the same records; Daniel's own record, which both may know of, aside."""
    both = one.places & other.places
    return {place.partition(".")[0] for place, key in both if key != patient("daniel")}


def assert_listed(seen: Seen, who: str, kind: str) -> None:
    assert seen.members - listed_members(kind) == set(), f"may {kind} get these? {LISTED}"
    unlisted = {place for place in places(seen, who) if not may_be_in(kind, place)}
    assert not unlisted, f"may {kind} get these? {LISTED}"


@pytest.mark.parametrize("who", STAFF)
def test_staff_get_exactly_the_listed_members(look: Look, who: str) -> None:
    assert_listed(look(who), who, "staff")


@pytest.mark.parametrize("who", ["amelia", "grace"])
def test_patients_get_exactly_the_listed_members(look: Look, who: str) -> None:
    assert_listed(look(who), who, "patient")


def test_a_sharing_partner_gets_exactly_the_listed_members(look: Look) -> None:
    assert_listed(look("daniel"), "daniel", "partner")


def test_a_former_partner_gets_only_the_forms_that_name_him(look: Look) -> None:
    former = look("daniel", ended=True)
    assert_listed(former, "daniel", "former signer")
    hers = {place for place, _ in former.places & look("amelia").places}
    assert {place.partition(".")[0] for place in hers} == {
        "consent_forms", "consent_signatures", "consent_signers", "files", "patients", "physicians",
    }  # fmt: skip
    assert {place for place in hers if place.startswith("patients.")} == {
        "patients.first_name", "patients.last_name",
    }  # fmt: skip


def test_a_former_partner_whom_no_form_names_gets_nothing_of_hers(look: Look) -> None:
    former = look("daniel", ended=True, unnamed=True)
    assert_listed(former, "daniel", "former")
    assert shared(former, look("amelia")) == {"physicians"}


def test_the_lists_have_no_member_that_nobody_gets(look: Look) -> None:
    for kind, seen in {
        "staff": [(who, look(who)) for who in STAFF],
        "patient": [(who, look(who)) for who in ("amelia", "grace")],
        "partner": [("daniel", look("daniel"))],
        "former signer": [("daniel", look("daniel", ended=True))],
        "former": [("daniel", look("daniel", ended=True, unnamed=True))],
    }.items():
        got = set[str]().union(*(one.members for _, one in seen))
        assert FURTHER[kind] - NOT_IN_SAMPLES <= got, kind
        if kind == "staff":
            assert listed_members(kind) - got == NOT_IN_SAMPLES, "fill these in a sample"
        marked = set[str]().union(*(places(one, who) for who, one in seen))
        assert {place for place in PLACES_FURTHER[kind].split("; ") if place} <= marked, kind


def test_another_patient_gets_nothing_of_hers(look: Look) -> None:
    assert shared(look("grace"), look("amelia")) == {"physicians"}


def test_another_clinic_gets_nothing(look: Look) -> None:
    assert look("omar").places and look("maya").places
    for who in (*STAFF, "amelia", "daniel"):
        assert not (look("omar").places | look("maya").places) & look(who).places
