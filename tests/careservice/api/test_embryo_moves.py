"""What thawing, transferring and ending the storage of an embryo require, and what prevents it."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from portal.careservice.domain.embryos import HoldCause
from portal.careservice.domain.enumerations import CareStatus, Disposition
from tests.careservice.api.calls import (
    CONSENTS,
    EPISODES,
    Api,
    code,
    created,
    form,
    members,
    person,
    revoke,
    sign,
)
from tests.careservice.families import Families, Family


class Case:
    """A family of Grace's, or of Grace and Daniel, with one embryo."""

    def __init__(self, api: Api, family: Family) -> None:
        self.api, self.family, self.embryo_id = api, family, family.embryos[0]

    @property
    def embryo(self) -> dict[str, Any]:
        found = self.api.get("elif", f"{EPISODES}/{self.family.episode}")["embryos"]
        return next(one for one in found if one["id"] == self.embryo_id)

    def put(self, who: str, **changes: Any) -> requests.Response:
        body = {"concurrencyStamp": self.embryo["concurrencyStamp"], **changes}
        return self.api(who, "PUT", f"/api/care/embryo-storage/{self.embryo_id}", body)

    def refused(self, who: str = "elif", **changes: Any) -> str:
        return code(self.put(who, **changes)).removeprefix("ClientelePortal:")

    def made(self, kind: str, *others: str, **changes: Any) -> dict[str, Any]:
        """A form about the embryo that the family and `others` (role:name) are to sign."""
        return created(self.api, **self.asked(kind, *others, **changes))

    def asked(self, kind: str, *others: str, **changes: Any) -> dict[str, Any]:
        """What is sent to make it."""
        is_ones_own = kind == "Storage"
        has_partner = self.family.partner is not None and not is_ones_own
        named = [("Patient", "grace"), *([("Partner", "daniel")] if has_partner else [])]
        named += [tuple(other.split(":")) for other in others]
        signers = [{"role": role, "personId": person(name)} for role, name in named]
        about: dict[str, Any] = {
            "patientId": self.family.patient, "partnerId": None, "episodeId": self.family.episode,
            "embryoStorageIds": [self.embryo_id], "kind": kind, "requiredSigners": signers, **changes,
        }  # fmt: skip
        return form(**about)

    def signed(self, kind: str, *others: str, **changes: Any) -> dict[str, Any]:
        return self.sign(self.made(kind, *others, **changes))

    def sign(self, form: dict[str, Any]) -> dict[str, Any]:
        """The form with everybody's signature."""
        names = {person(name): name for name in ("grace", "daniel", "victor", "nora", "elif")}
        given = {signature["personId"] for signature in form["signatures"]}
        for signer in form["requiredSigners"]:
            if signer["personId"] in given:
                continue
            answer = sign(self.api, names[signer["personId"]], form, signer["role"])
            assert answer.status_code == 200, answer.text
            form = answer.json()
        assert form["status"] == "Signed"
        return form


@pytest.fixture
def alone(api: Api, families: Families) -> Case:
    return Case(api, families.add("grace"))


@pytest.fixture
def couple(api: Api, families: Families) -> Case:
    return Case(api, families.add("grace", "daniel"))


ENDS = [
    ("Discarded", "Disposition", "Discard"),
    ("Donated", "Disposition", "DonateResearch"),
    ("Donated", "Donation", "DonatePatient"),
    ("ShippedOut", "Disposition", "Transport"),
]


@pytest.mark.parametrize(("end", "kind", "wish"), ENDS)
def test_ending_storage_needs_a_form_that_decides_it_and_a_second_person(
    couple: Case, end: str, kind: str, wish: str
) -> None:
    assert couple.refused(status=end) == "FormMissing"
    couple.signed("Storage", "Witness:nora")
    couple.signed("Research", "Witness:nora")
    assert couple.refused(status=end) == "FormMissing"
    couple.signed(f" {kind.upper()} ", "Witness:nora", disposition=wish)
    assert couple.embryo["disposition"] == wish
    others = {status for status, *_ in ENDS} - {end}
    assert {couple.refused(status=other) for other in others} == {"FormMissing"}
    assert couple.refused(status="Thawed") == "FormMissing"
    assert couple.put("elif", status=end).json()["status"] == end
    assert couple.refused(status="Stored") == "IllegalTransition"


def test_a_form_that_names_no_embryo_or_another_one_allows_no_move(api: Api, families: Families) -> None:
    case = Case(api, families.add("grace", embryos=2))
    case.signed("Disposition", "Witness:nora", disposition="Discard", embryoStorageIds=None)
    case.signed(
        "Disposition", "Witness:nora", disposition="Discard", embryoStorageIds=[case.family.embryos[1]]
    )
    case.signed("Treatment", "Witness:nora", embryoStorageIds=None)
    case.signed("Disposition", "Witness:nora")
    assert case.embryo["disposition"] == "Undecided"
    assert case.refused(status="Discarded") == "FormMissing"
    assert case.refused(status="Thawed") == "FormMissing"


def test_an_unsigned_form_allows_no_move(couple: Case) -> None:
    form = couple.made("Disposition", "Clinician:victor", disposition="Discard")
    form = sign(couple.api, "victor", form, "Clinician").json()
    form = sign(couple.api, "daniel", form, "Partner").json()
    assert couple.embryo["disposition"] == "Undecided"
    assert couple.refused(status="Discarded") == "FormMissing"
    assert sign(couple.api, "grace", form).json()["status"] == "Signed"
    assert couple.put("elif", status="Discarded").status_code == 200


@pytest.mark.parametrize("wish", ["Discard", "DonateResearch", "DonatePatient", "Transport"])
@pytest.mark.parametrize("who", ["grace", "elif", "victor"])
def test_a_disposition_that_ends_storage_cannot_be_set_without_a_form(
    alone: Case, wish: str, who: str
) -> None:
    assert alone.refused(who, disposition=wish) == ("FormMissing" if who == "grace" else "WishNotYours")
    assert alone.embryo["disposition"] == "Undecided"


def test_the_second_person_is_someone_else_who_signs_as_witness_or_clinician(alone: Case) -> None:
    alone.signed("Disposition", "Interpreter:nora", disposition="Discard")
    assert alone.refused(status="Discarded") == "SecondPersonMissing"
    alone.signed("Disposition", "Clinician:victor", disposition="Discard")
    assert alone.refused("victor", status="Discarded") == "SecondPersonMissing"
    assert alone.put("elif", status="Discarded").status_code == 200


def test_a_thaw_needs_a_treatment_under_way_and_a_disposition_to_keep(alone: Case) -> None:
    assert alone.refused(status="Thawed") == "FormMissing"
    alone.signed("Treatment")
    assert alone.refused(status="Thawed") == "SecondPersonMissing"
    alone.signed("Treatment", "Clinician:victor")
    assert alone.refused("victor", status="Thawed") == "SecondPersonMissing"
    decision = alone.signed("Disposition", "Witness:nora", disposition="Transport")
    assert alone.refused(status="Thawed") == "WishDiffers"
    alone.signed("Disposition", "Witness:nora", disposition="ContinueStorage", supersedesId=decision["id"])
    assert alone.embryo["disposition"] == "ContinueStorage"
    assert alone.put("elif", status="Thawed").json()["status"] == "Thawed"
    assert alone.refused("victor", status="Transferred") == "SecondPersonMissing"
    assert alone.put("elif", status="Transferred").json()["status"] == "Transferred"


@pytest.mark.parametrize("status", [CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.WAITLIST])
def test_a_thaw_is_refused_when_no_treatment_is_under_way(
    api: Api, families: Families, status: CareStatus
) -> None:
    case = Case(api, families.add("grace", status=status))
    case.signed("Treatment", "Clinician:victor")
    assert case.refused(status="Thawed") == "FormMissing"


@pytest.mark.parametrize("kind", ["Treatment", "Storage"])
def test_a_thawed_embryo_whose_consent_was_withdrawn_is_refrozen_on_hold(alone: Case, kind: str) -> None:
    forms = {one: alone.signed(one, "Clinician:victor") for one in ("Treatment", "Storage")}
    assert alone.put("elif", status="Thawed").status_code == 200
    assert revoke(alone.api, "grace", forms[kind]).status_code == 200
    assert (alone.embryo["status"], alone.embryo["holdReason"]) == ("Thawed", "Consent withdrawn")
    assert alone.refused(status="Transferred") == "OnHold"
    assert alone.refused(status="Discarded", notes="Lysed") == "OnHold"
    assert alone.put("elif", status="Stored").json()["status"] == "OnHold"
    assert alone.refused(status="Stored") == "OnHold"


def test_a_second_person_counts_only_for_the_form_they_signed(alone: Case) -> None:
    alone.signed("Donation", "Witness:nora", disposition="DonatePatient")
    alone.signed("Disposition", "Interpreter:nora", disposition="DonateResearch")
    assert alone.embryo["disposition"] == "DonateResearch"
    assert alone.refused(status="Donated") == "SecondPersonMissing"


def test_discarding_a_thawed_embryo_needs_notes(alone: Case) -> None:
    alone.signed("Storage", "Witness:nora")  # doesn't allow a thaw
    alone.signed("Treatment", "Clinician:victor")
    assert alone.put("elif", status="Thawed").status_code == 200
    assert members(alone.put("elif", status="Discarded")) == ["notes"]
    assert members(alone.put("elif", status="Discarded", notes=" ")) == ["notes"]
    assert alone.refused("victor", status="Discarded", notes="Lysed") == "SecondPersonMissing"
    assert alone.put("elif", status="Discarded", notes="Lysed on warming").json()["status"] == "Discarded"


@pytest.mark.parametrize("who", ["grace", "daniel"])
def test_either_partner_may_take_a_decision_back(couple: Case, who: str) -> None:
    couple.signed("Treatment", "Clinician:victor")
    couple.signed("Disposition", "Witness:nora", disposition="Discard")
    assert couple.refused(disposition="Undecided") == "WishNotYours"  # staff may not
    back = couple.put(who, disposition="Undecided").json()
    assert (back["status"], back["disposition"]) == ("OnHold", "Undecided")
    assert back["holdReason"] == "Decision taken back"
    for status in ("Stored", "Reserved", "Thawed", "Discarded", "Donated", "ShippedOut", "Transferred"):
        assert couple.refused(status=status) == "OnHold"


def test_taking_a_decision_back_voids_the_form_for_its_other_embryos(api: Api, families: Families) -> None:
    case = Case(api, families.add("grace", embryos=2))
    both = list(case.family.embryos)
    case.signed("Disposition", "Witness:nora", disposition="Discard", embryoStorageIds=both)
    assert case.put("grace", disposition="Undecided").status_code == 200
    case.embryo_id = both[1]
    assert case.embryo["disposition"] == "Discard"
    assert case.refused(status="Discarded") == "FormMissing"


@pytest.mark.parametrize("kind", ["StorageRenewal", "Disposition", "Donation"])
def test_only_a_new_form_that_names_the_embryo_ends_the_hold(couple: Case, kind: str) -> None:
    old = couple.made("StorageRenewal", "Clinician:victor", title="Before")
    for who, role in (("grace", "Patient"), ("daniel", "Partner")):
        old = sign(couple.api, who, old, role).json()
    couple.signed("Disposition", "Witness:nora", disposition="Discard")
    assert couple.put("daniel", disposition="Undecided").json()["status"] == "OnHold"
    assert sign(couple.api, "victor", old, "Clinician").json()["status"] == "Signed"
    assert couple.embryo["status"] == "OnHold"  # they signed it before the decision was taken back
    couple.signed("Treatment", "Witness:nora")
    couple.signed(kind, "Witness:nora", embryoStorageIds=None)
    assert couple.embryo["status"] == "OnHold"
    couple.signed(kind, "Witness:nora")
    assert couple.embryo["status"] == "Stored"
    assert couple.embryo["holdReason"] is None
    assert couple.refused(status="Discarded") == "FormMissing"


@pytest.mark.parametrize("first", ["grace", "daniel"])
def test_one_persons_new_storage_form_does_not_undo_the_others_withdrawal(couple: Case, first: str) -> None:
    roles = {"grace": "Patient", "daniel": "Partner"}

    def agree(who: str, title: str) -> dict[str, Any]:
        alone = [{"role": roles[who], "personId": person(who)}]
        return couple.sign(couple.made("Storage", requiredSigners=alone, title=title))

    second = next(who for who in roles if who != first)
    old = {who: agree(who, "At first") for who in roles}
    assert revoke(couple.api, second, old[second]).json()["status"] == "Revoked"
    assert couple.embryo["status"] == "OnHold"
    agree(first, "Again")
    assert couple.embryo["status"] == "OnHold"
    agree(second, "Again")
    assert couple.embryo["status"] == "Stored"


def end_sharing(case: Case) -> None:
    episode = case.api.get("grace", f"{EPISODES}/{case.family.episode}")
    for relationship in episode["relationships"]:
        path = f"/api/care/relationships/{relationship['id']}"
        assert case.api("grace", "DELETE", path).status_code in (200, 204)
    assert case.api("daniel", "GET", f"{EPISODES}/{case.family.episode}").status_code == 404


def test_a_former_partner_takes_back_a_decision_he_signed_and_gets_only_five_members(couple: Case) -> None:
    couple.signed("Storage")
    couple.signed("Disposition", "Witness:nora", disposition="Discard")
    end_sharing(couple)
    for more in ({"status": "Reserved"}, {"notes": "?"}, {"disposition": "ContinueStorage"}):
        assert couple.put("daniel", **{"disposition": "Undecided", **more}).status_code in (403, 404)
    assert couple.embryo["disposition"] == "Discard"
    back = couple.put("daniel", disposition="Undecided", concurrencyStamp="unknown")
    assert back.status_code == 200, back.text
    assert back.json() == {
        "id": couple.embryo_id, "patientId": couple.family.patient, "embryoCode": "X-1",
        "status": "OnHold", "disposition": "Undecided",
    }  # fmt: skip
    assert couple.embryo["holdReason"] == "Decision taken back"
    assert couple.put("daniel", disposition="Undecided").status_code == 404


def test_a_former_partner_may_not_take_back_a_decision_he_did_not_sign(api: Api, families: Families) -> None:
    case = Case(api, families.add("grace", "daniel", disposition=Disposition.DISCARD))
    case.signed("StorageRenewal")  # names the embryo but doesn't decide its end
    end_sharing(case)
    assert case.put("daniel", disposition="Undecided").status_code == 404
    assert case.embryo["disposition"] == "Discard"


def test_a_form_partly_signed_before_a_decision_was_taken_back_does_not_count(couple: Case) -> None:
    first = couple.made("Disposition", "Clinician:victor", disposition="Discard")
    for who, role in (("grace", "Patient"), ("daniel", "Partner")):
        first = sign(couple.api, who, first, role).json()
    couple.signed("Disposition", "Witness:nora", disposition="Discard")
    assert couple.put("grace", disposition="Undecided").status_code == 200
    assert sign(couple.api, "victor", first, "Clinician").json()["status"] == "Signed"
    assert (couple.embryo["status"], couple.embryo["disposition"]) == ("OnHold", "Undecided")
    couple.signed("Storage")
    assert couple.refused(status="Discarded") == "FormMissing"


@pytest.mark.parametrize("kind", ["Storage", "Disposition", "Treatment"])
def test_withdrawing_a_form_puts_the_embryos_it_names_on_hold(alone: Case, kind: str) -> None:
    more = {"disposition": "Discard"} if kind == "Disposition" else {}
    form = alone.signed(kind, "Witness:nora", **more)
    assert revoke(alone.api, "grace", form).json()["status"] == "Revoked"
    held = alone.embryo
    assert (held["status"], held["holdReason"], held["disposition"]) == (
        "OnHold", "Consent withdrawn", "Undecided",
    )  # fmt: skip
    assert alone.refused(status="Stored") == "OnHold"
    assert alone.refused(status="Discarded") == "OnHold"


def test_declining_a_form_puts_no_embryo_on_hold(alone: Case) -> None:
    form = alone.made("Disposition", "Witness:nora", disposition="Discard")
    assert revoke(alone.api, "grace", form).json()["status"] == "Revoked"
    assert alone.embryo["status"] == "Stored"


def test_the_clinic_may_end_its_own_hold(alone: Case) -> None:
    alone.signed("Disposition", "Witness:nora", disposition="Discard")
    assert alone.put("elif", status="OnHold").json()["status"] == "OnHold"
    assert alone.refused(status="Discarded") == "OnHold"
    alone.signed("Storage")
    assert alone.embryo["status"] == "OnHold"
    assert alone.put("elif", status="Stored").json()["status"] == "Stored"
    assert alone.put("elif", status="Discarded").json()["status"] == "Discarded"


@pytest.mark.parametrize("stop", ["withdrawn", "taken back", "both"])
def test_the_clinics_own_hold_remains_after_the_patients_hold_ended(
    api: Api, families: Families, stop: str
) -> None:
    case = Case(api, families.add("grace", hold_cause=HoldCause.CLINIC, hold_reason="Repeat biopsy"))
    storage = case.signed("Storage")
    case.signed("Disposition", "Witness:nora", disposition="Discard")
    assert case.put("elif", status="OnHold").json()["holdReason"] == "Repeat biopsy"
    if stop != "withdrawn":
        assert case.put("grace", disposition="Undecided").json()["holdReason"] == "Decision taken back"
    if stop != "taken back":
        assert revoke(case.api, "grace", storage).status_code == 200
        assert case.embryo["holdReason"] == "Consent withdrawn"
    assert case.refused(status="Stored") == "OnHold"
    case.signed("Disposition", "Witness:nora", disposition="Discard")
    assert (case.embryo["status"], case.embryo["holdReason"]) == ("OnHold", "Repeat biopsy")
    assert case.refused(status="Discarded") == "OnHold"
    freed = case.put("elif", status="Stored").json()
    assert (freed["status"], freed["holdReason"]) == ("Stored", None)
    assert case.put("elif", status="Discarded").json()["status"] == "Discarded"


def test_older_forms_signed_only_by_a_clinician_allow_no_move(api: Api, families: Families) -> None:
    case = Case(api, families.add("grace", disposition=Disposition.DISCARD))
    for kind in ("Treatment", "Disposition"):
        families.older_form(case.family, kind, signed_by="victor", embryos=case.family.embryos)
    assert case.refused(status="Discarded") == "FormMissing"
    assert case.put("grace", disposition="Undecided").json()["status"] == "OnHold"


def test_an_older_form_without_the_patient_cannot_be_signed(api: Api, families: Families) -> None:
    family = families.add("grace", "daniel")
    form = api.get("victor", f"{CONSENTS}/{families.older_form(family, 'Storage')}")
    assert code(sign(api, "victor", form, "Clinician")) == "ClientelePortal:PatientMustSign"


def test_a_discarded_embryo_cannot_be_changed(alone: Case) -> None:
    alone.signed("Disposition", "Witness:nora", disposition="Discard")
    assert alone.put("elif", status="Discarded").status_code == 200
    assert alone.refused("grace", disposition="Undecided") == "IllegalTransition"
    ended = alone.embryo
    for who in ("grace", "elif"):
        assert alone.put(who, disposition="Discard").json()["lastModifierId"] == ended["lastModifierId"]
    assert alone.embryo == ended
