"""Who may sign a form."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.consents.forms import (
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
    SigningOrder,
)
from portal.services.rules.signing import (
    OTHER_ACCOUNT,
    OTHERS_FIRST,
    SIGNERS_UNKNOWN,
    STATUS_UNKNOWN,
    TEXT_MISSING,
    Obstacle,
    expected_name,
    has_signed,
    is_awaited,
    obstacle_to_signing,
    open_role,
    same_name,
    unseen_by,
    without_account,
)
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent, person


def test_a_lost_signing_is_resolved_from_the_signatures() -> None:
    form = consent(signatures=(Signature(role=SignerRole.PATIENT, person_id="amelia"),))
    assert has_signed(form, person("amelia"))
    assert has_signed(form, person("amelia"), SignerRole.PATIENT)
    assert not has_signed(form, person("amelia"), SignerRole.WITNESS)
    assert not has_signed(form, person("daniel"))


RECORD = Signer(role=SignerRole.PARTNER, person_id="partner-record", name="Daniel", order=2)
OF_RECORD = Signature(role=SignerRole.PATIENT, person_id="amelia-record")
NURSE = Signer(role=SignerRole.WITNESS, person_id="partner-record", name="Nora", order=3)


@pytest.mark.parametrize(
    ("changes", "sub", "waits"),
    [
        ({}, "amelia", [RECORD]),
        ({"status": ConsentStatus.REVOKED}, "amelia", []),
        ({"partner_id": "another-record"}, "amelia", []),
        ({"signatures": (Signature(role=SignerRole.PARTNER, person_id="partner-record"),)}, "amelia", []),
        ({}, "partner-record", []),
        ({"signatures": (replace(OF_RECORD, method=SigningMethod.PAPER),)}, "daniel", [RECORD]),
        ({"signatures": (replace(OF_RECORD, method=SigningMethod.TYPED_NAME),)}, "daniel", []),
    ],
    ids=[
        *("an open form", "an ended one", "another's record", "signed by", "ids are accounts'"),
        *("a record has signed on paper", "a record has signed here"),
    ],
)
def test_an_open_form_waits_for_the_account_of_its_partners_record(
    changes: dict[str, Any], sub: str, waits: list[Signer]
) -> None:
    named = {
        "patient_id": "amelia-record",
        "partner_id": "partner-record",
        "required_signers": (AMELIA, RECORD, NURSE),
    }
    assert [*without_account(consent(**(named | changes)), person(sub))] == waits


def test_only_a_witness_is_told_whom_of_the_patients_side_they_have_not_seen_sign() -> None:
    form = consent(partner_id="partner-record", required_signers=(AMELIA, RECORD, NURSE))
    for role in SignerRole:
        assert unseen_by(form, role) == ((AMELIA, RECORD) if role == SignerRole.WITNESS else ())


@pytest.mark.parametrize(
    ("name", "other", "is_same"),
    [("José  O’Neil", "jose oneil", True), ("Ann 2", "Ann", False), ("Ann", "Anne", False), ("", "", False)],
)
def test_names_are_the_same_by_their_letters_and_digits(name: str, other: str, is_same: bool) -> None:
    assert same_name(name, other) is is_same


@pytest.mark.parametrize(
    ("name", "role"),
    [
        *(("Amelia Hart", SignerRole.PATIENT), ("amelia", SignerRole.PATIENT)),
        *(("Daniel Hart", SignerRole.PARTNER), ("Daniel J. Hart", SignerRole.PARTNER)),
        *(("Grace Okafor", None), ("", None)),
    ],
)
def test_nobody_signs_as_another_person_whose_account_the_form_does_not_say(
    name: str, role: SignerRole | None
) -> None:
    signers = (replace(AMELIA, person_id=None, name=""), replace(DANIEL, person_id=None, name="Daniel Hart"))
    form = consent(patient_name="Amelia Hart", required_signers=signers)
    reader = person("somebody", name=name)
    assert (open_role(form, reader), is_awaited(form, reader)) == (role, role is not None)
    if role is None:
        assert obstacle_to_signing(form, reader).code == SIGNERS_UNKNOWN


def test_who_is_not_named_at_all_may_be_anybody() -> None:
    form = consent(required_signers=(replace(AMELIA, person_id=None, name=""),))
    assert open_role(form, person("somebody")) == SignerRole.PATIENT


UNNAMED = replace(DANIEL, person_id=None)


@pytest.mark.parametrize(
    ("changes", "who", "obstacle"),
    [
        ({"status": ConsentStatus.DRAFT}, "amelia", Obstacle("FormNotSent")),
        ({"status": ConsentStatus("Held")}, "amelia", Obstacle(STATUS_UNKNOWN)),
        ({"signatures": (Signature(role=SignerRole.PATIENT, person_id="amelia"),)}, "amelia", Obstacle("AlreadySigned")),
        ({"body": None}, "amelia", Obstacle(TEXT_MISSING)),
        ({"body": None, "required_signers": (AMELIA, UNNAMED)}, "daniel", Obstacle(TEXT_MISSING)),
        ({"body": None}, "zoe", Obstacle("NotASigner")),
        ({}, "daniel", Obstacle(OTHERS_FIRST, (AMELIA,))),
        ({"required_signers": (AMELIA, UNNAMED)}, "daniel", Obstacle(OTHERS_FIRST, (AMELIA,))),
        ({}, "victor", Obstacle(OTHERS_FIRST, (AMELIA, DANIEL))),
        ({}, "zoe", Obstacle("NotASigner")),
        ({}, "daniel of the clinic", Obstacle(OTHER_ACCOUNT, (DANIEL,))),
        ({"required_signers": ()}, "zoe", Obstacle(SIGNERS_UNKNOWN)),
        ({"required_signers": (AMELIA, UNNAMED)}, "zoe", Obstacle(SIGNERS_UNKNOWN)),
        ({"required_signers": (AMELIA, UNNAMED)}, "zoe of the clinic", Obstacle("NotASigner")),
        ({"required_signers": (DANIEL, VICTOR)}, "zoe", Obstacle("PatientMustSign")),
        ({"required_signers": (VICTOR,)}, "victor", Obstacle("PatientMustSign")),
        ({"required_signers": (AMELIA, replace(VICTOR, person_id="zoe"))}, "zoe", Obstacle(OTHERS_FIRST, (AMELIA,))),
        ({"required_signers": (AMELIA, replace(VICTOR, person_id="zoe", order=1))}, "zoe", Obstacle("RoleNotYours")),
    ],
)  # fmt: skip
def test_why_somebody_cannot_sign(changes: dict[str, Any], who: str, obstacle: Obstacle) -> None:
    waits = {"required_signers": (AMELIA, DANIEL, VICTOR), "signing_order": SigningOrder.SEQUENTIAL}
    name, _, place = who.partition(" of ")
    is_staff = bool(place) or who == "victor"
    reader = person(f"{name}-1" if place else name, Side.STAFF if is_staff else Side.PATIENT, name=name)
    form = consent(**(waits | changes))
    assert open_role(form, reader) is None
    assert obstacle_to_signing(form, reader) == obstacle


def test_who_signs_by_which_name() -> None:
    form = consent(required_signers=(AMELIA, replace(DANIEL, name=""), replace(VICTOR, person_id="amelia")))
    names = [
        expected_name(form, person(sub, name="Account"), role)
        for sub, role in (
            *(("amelia", SignerRole.PATIENT), ("amelia", SignerRole.CLINICIAN)),
            *(("daniel", SignerRole.PARTNER), ("daniel", SignerRole.PATIENT)),
        )
    ]
    assert names == ["Amelia", "Victor", "Account", "Account"]
