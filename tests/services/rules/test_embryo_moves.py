"""Which requirements each embryo move lacks, derived from the records alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.cases import CareStatus
from portal.services.consents.forms import (
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
)
from portal.services.episodes import Episode
from portal.services.patients import Patient
from portal.services.rules.embryo_moves import Evidence, Gap, Move, moves_of
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage
from portal.state.session_records import Person
from tests.support.builders import person

NOW = datetime(2026, 11, 24, 20, tzinfo=UTC)
GRACE = Patient(id="grace", user_id="grace-account", first_name="Grace", last_name="Okafor")
JOSEPH = Patient(id="joseph", first_name="Joseph", last_name="Okafor")
EPISODE = Episode(id="e", status=CareStatus.ACTIVE, patient=GRACE, partner=JOSEPH)
EMBRYO = EmbryoStorage(id="GO-1", embryo_code="GO-1", status=EmbryoStatus.STORED, patient_id="grace")
ELIF = person("elif", Side.STAFF)
NORA = person("nora", Side.STAFF, name="Nora")
SIGNED = (
    Signature(role=SignerRole.PATIENT, person_id="grace-account", name="Grace Okafor"),
    Signature(role=SignerRole.PARTNER, person_id="joseph", name="Joseph Okafor"),
    Signature(role=SignerRole.WITNESS, person_id="nora", name="Nora"),
)


def form(kind: ConsentKind, **more: Any) -> ConsentForm:
    members: dict[str, Any] = {
        "status": ConsentStatus.SIGNED,
        "patient_id": "grace",
        "episode_id": "e",
        "embryo_storage_ids": ("GO-1",),
        "signatures": SIGNED,
    }
    return ConsentForm(id="f", title="A form", kind=kind, **{**members, **more})


TREATMENT = form(ConsentKind.TREATMENT)
DISCARD = form(ConsentKind.DISPOSITION, disposition=Disposition.DISCARD)


def move(
    to: EmbryoStatus, *forms: ConsentForm, by: Person = ELIF, episode: Episode = EPISODE, **embryo: Any
) -> Move:
    evidence = Evidence(forms, {"e": episode}, NOW)
    moves = moves_of(replace(EMBRYO, **embryo), episode, evidence, by)
    return next(one for one in moves if one.status == to)


def gaps(found: Move) -> list[Gap]:
    return [one.gap for one in found.missing]


def test_a_thaw_needs_the_treatment_form_and_an_end_needs_the_decision() -> None:
    assert move(EmbryoStatus.THAWED, TREATMENT, DISCARD).form is TREATMENT
    end = move(EmbryoStatus.DISCARDED, TREATMENT, DISCARD, disposition=Disposition.DISCARD)
    assert end.is_offered
    assert end.form is DISCARD


@pytest.mark.parametrize(
    ("changes", "gap"),
    [
        ({"embryo_storage_ids": ("GO-2",)}, Gap.NOT_NAMED),
        ({"embryo_storage_ids": None}, Gap.NOT_NAMED),
        ({"kind": ConsentKind.STORAGE}, Gap.NO_FORM),
        ({"kind": None}, Gap.NO_FORM),
        ({"patient_id": "somebody"}, Gap.NO_FORM),
        ({"status": ConsentStatus.REVOKED}, Gap.NO_FORM),
        ({"status": ConsentStatus.PARTIALLY_SIGNED}, Gap.NOT_SIGNED),
        ({"signatures": SIGNED[:1] + SIGNED[2:]}, Gap.PARTY_MISSING),
        ({"signatures": SIGNED[:2]}, Gap.SECOND_PERSON),
        ({"effective_at": NOW + timedelta(seconds=1)}, Gap.NOT_IN_FORCE),
        ({"episode_id": "another"}, Gap.TREATMENT_UNKNOWN),
        ({"episode_id": None}, Gap.TREATMENT_UNKNOWN),
    ],
)
def test_each_fault_of_the_form_prevents_the_thaw(changes: dict[str, Any], gap: Gap) -> None:
    found = move(EmbryoStatus.THAWED, replace(TREATMENT, **changes))
    assert gaps(found) == [gap] and (found.missing[0].form is None) == (gap is Gap.NO_FORM)
    lost = move(EmbryoStatus.DISCARDED, replace(TREATMENT, **changes), status=EmbryoStatus.THAWED)
    assert gaps(lost) == ([gap] if gap is not Gap.TREATMENT_UNKNOWN else [])


def test_an_embryo_that_names_no_patient_is_not_said_to_lack_a_form() -> None:
    assert gaps(move(EmbryoStatus.THAWED, TREATMENT, patient_id=None)) == [Gap.PATIENT_UNKNOWN]


def test_a_signature_on_paper_that_names_no_account_counts_as_the_signers() -> None:
    asked = tuple(Signer(role=one.role, person_id=one.person_id, name=one.name) for one in SIGNED)
    on_paper = (SIGNED[0], replace(SIGNED[1], person_id=None), SIGNED[2])
    signed = replace(TREATMENT, required_signers=asked, signatures=on_paper)
    assert move(EmbryoStatus.THAWED, signed).is_offered
    before_the_account = (replace(SIGNED[0], person_id="grace"), *SIGNED[1:])
    assert move(EmbryoStatus.THAWED, replace(TREATMENT, signatures=before_the_account)).is_offered
    two_asked = replace(signed, required_signers=(*asked, replace(asked[1], person_id="somebody")))
    assert gaps(move(EmbryoStatus.THAWED, two_asked)) == [Gap.PARTY_MISSING]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"disposition": Disposition.UNDECIDED}, [Gap.WISH_DIFFERS]),
        ({"disposition": Disposition.DONATE_RESEARCH}, [Gap.WISH_DIFFERS]),
    ],
)
def test_the_disposition_must_match_the_form(changes: dict[str, Any], expected: list[Gap]) -> None:
    assert gaps(move(EmbryoStatus.DISCARDED, DISCARD, **changes)) == expected


def test_a_form_that_decides_something_else_or_nothing_allows_no_end() -> None:
    for decided in (Disposition.TRANSPORT, None):
        other = replace(DISCARD, disposition=decided)
        assert gaps(move(EmbryoStatus.DISCARDED, other, disposition=Disposition.DISCARD)) == [Gap.NO_FORM]
    research = replace(DISCARD, disposition=Disposition.DONATE_RESEARCH)
    to_patients = move(EmbryoStatus.DONATED, research, disposition=Disposition.DONATE_PATIENT)
    assert gaps(to_patients) == [Gap.NO_FORM]


def test_a_disposition_that_ends_storage_prevents_a_thaw() -> None:
    assert gaps(move(EmbryoStatus.THAWED, TREATMENT, disposition=Disposition.DISCARD)) == [Gap.WISH_DIFFERS]


def test_the_caller_cannot_be_the_second_person() -> None:
    assert gaps(move(EmbryoStatus.THAWED, TREATMENT, by=NORA)) == [Gap.SECOND_PERSON]
    by_two = replace(TREATMENT, signatures=(*SIGNED, replace(SIGNED[2], person_id="victor")))
    assert move(EmbryoStatus.THAWED, by_two, by=NORA).is_offered
    on_paper = replace(TREATMENT, signatures=(*SIGNED[:2], replace(SIGNED[2], person_id=None)))
    assert gaps(move(EmbryoStatus.THAWED, on_paper, by=NORA)) == [Gap.SECOND_PERSON]
    of_signer = replace(
        on_paper, required_signers=(Signer(role=SignerRole.WITNESS, person_id="elif", name="Nora"),)
    )
    assert gaps(move(EmbryoStatus.THAWED, of_signer)) == [Gap.SECOND_PERSON]
    assert move(EmbryoStatus.THAWED, on_paper).is_offered


@pytest.mark.parametrize("status", [CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.WAITLIST])
def test_a_treatment_that_is_not_under_way_allows_no_thaw(status: CareStatus) -> None:
    over = replace(EPISODE, status=status)
    assert gaps(move(EmbryoStatus.THAWED, TREATMENT, episode=over)) == [Gap.TREATMENT_OVER]


def test_missing_signers_are_named() -> None:
    lacking = move(EmbryoStatus.THAWED, replace(TREATMENT, signatures=SIGNED[:1] + SIGNED[2:]))
    assert lacking.missing[0].names == ("Joseph Okafor",)


@pytest.mark.parametrize("reason", ["Consent withdrawn", "CONSENT_WITHDRAWN", "Decision taken back"])
def test_the_clinic_cannot_end_a_patients_hold(reason: str) -> None:
    held: dict[str, Any] = {"status": EmbryoStatus.ON_HOLD, "hold_reason": reason}
    assert gaps(move(EmbryoStatus.STORED, TREATMENT, **held)) == [Gap.HELD_BY_PATIENT]
    thawed: dict[str, Any] = {**held, "status": EmbryoStatus.THAWED}
    assert gaps(move(EmbryoStatus.TRANSFERRED, TREATMENT, **thawed)) == [Gap.HELD_BY_PATIENT]
    assert move(EmbryoStatus.STORED, **thawed).is_offered, "refreezing must be offered while on hold"


def test_the_clinic_can_end_its_own_hold() -> None:
    assert move(EmbryoStatus.STORED, status=EmbryoStatus.ON_HOLD, hold_reason="Biopsy").is_offered


def test_unreadable_forms_allow_no_move_that_needs_one() -> None:
    moves = moves_of(EMBRYO, EPISODE, Evidence(None, {}, NOW), ELIF)
    offered = {one.status for one in moves if one.is_offered}
    assert offered == {EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD}
    assert all(Gap.FORMS_UNREADABLE in gaps(one) for one in moves if not one.is_offered)


def test_no_form_is_said_only_where_all_forms_were_read() -> None:
    part = Evidence((replace(TREATMENT, status=ConsentStatus.REVOKED),), {"e": EPISODE}, NOW, is_whole=False)
    for one in moves_of(EMBRYO, EPISODE, part, ELIF):
        if not one.is_offered:
            assert Gap.FORMS_PARTLY_READ in gaps(one) and Gap.NO_FORM not in gaps(one), one.status
    found = moves_of(EMBRYO, EPISODE, replace(part, forms=(TREATMENT,)), ELIF)
    assert next(one for one in found if one.status == EmbryoStatus.THAWED).is_offered


@pytest.mark.parametrize(
    ("statuses", "gap"),
    [
        ((CareStatus.FINISHED, CareStatus.CANCELLED), Gap.TREATMENT_OVER),
        ((CareStatus.FINISHED, None), Gap.TREATMENT_UNKNOWN),
        ((CareStatus.FINISHED, CareStatus("Elsewhere")), Gap.TREATMENT_UNKNOWN),
    ],
)
def test_a_treatment_is_over_only_where_each_that_a_form_is_for_was_read(
    statuses: tuple[CareStatus | None, ...], gap: Gap
) -> None:
    forms = tuple(replace(TREATMENT, id=f"f{at}", episode_id=f"e{at}") for at in range(len(statuses)))
    episodes = {
        f"e{at}": replace(EPISODE, status=status) for at, status in enumerate(statuses) if status is not None
    }
    found = moves_of(EMBRYO, EPISODE, Evidence(forms, episodes, NOW), ELIF)
    assert gaps(next(one for one in found if one.status == EmbryoStatus.THAWED)) == [gap]


def test_a_form_with_a_second_person_is_preferred_over_the_first() -> None:
    alone = form(ConsentKind.TREATMENT, signatures=SIGNED[:2])
    first, second = replace(alone, id="first"), replace(alone, id="second")
    whole = replace(TREATMENT, id="whole")
    evidence = Evidence((first, whole), {"e": EPISODE}, NOW)

    def thaw(evidence: Evidence) -> Move:
        found = moves_of(EMBRYO, EPISODE, evidence, ELIF)
        return next(one for one in found if one.status == EmbryoStatus.THAWED)

    named = thaw(evidence).form
    assert named is not None and named.id == "whole"
    lacking = thaw(Evidence((first, second), {"e": EPISODE}, NOW))
    assert lacking.form is not None and lacking.form.id == "first"
    assert [one.form and one.form.id for one in lacking.missing] == ["first"]


def test_without_an_allowing_form_the_first_one_is_named() -> None:
    over = replace(EPISODE, status=CareStatus.FINISHED)
    treatments = tuple(replace(TREATMENT, id=id_) for id_ in ("first", "second"))
    found = moves_of(EMBRYO, EPISODE, Evidence(treatments, {"e": over}, NOW), ELIF)
    (missing,) = next(one for one in found if one.status == EmbryoStatus.THAWED).missing
    assert (missing.gap, missing.form and missing.form.id) == (Gap.TREATMENT_OVER, "first")
    grace, joseph, nora = SIGNED
    half = (
        replace(TREATMENT, id="first", signatures=(grace, nora)),
        replace(TREATMENT, id="second", signatures=(joseph, nora)),
    )
    found = moves_of(EMBRYO, EPISODE, Evidence(half, {"e": EPISODE}, NOW), ELIF)
    (missing,) = next(one for one in found if one.status == EmbryoStatus.THAWED).missing
    assert (missing.gap, missing.form and missing.form.id) == (Gap.PARTY_MISSING, "first")
    assert missing.names == ("Joseph Okafor",)
