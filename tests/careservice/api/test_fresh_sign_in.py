"""Irreversible acts need a recent sign-in (RFC 9470)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from portal.careservice.domain.permissions import MAX_AGE, MAX_AGE_FOR_THE_CLINIC, Act
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import CONSENTS, EPISODES, GRACE_EPISODE, form, signature, signer
from tests.careservice.api.clinic import Clinic

FIVE_MINUTES = timedelta(minutes=5)
TWENTY_MINUTES = timedelta(minutes=20)
A_SECOND = timedelta(seconds=1)
NOBODY = "00000000-0000-4000-8000-000000000000"
BY_THE_TABLE = (
    (Act.REVOKE_CONSENT, "amelia", "POST", f"{CONSENTS}/{NOBODY}/revoke"),
    (Act.DELETE_RELATIONSHIP, "amelia", "DELETE", f"/api/care/relationships/{NOBODY}"),
    (Act.MERGE_PROSPECTS, "colin", "POST", f"/api/prospect/records/{NOBODY}/merge/{NOBODY}"),
    (Act.DELETE_EMR_ENDPOINT, "ada", "DELETE", f"/api/emr-integration/endpoints/{NOBODY}"),
)


def assert_challenged(answer: Any, seconds: int) -> None:
    assert (answer.status_code, answer.data) == (401, b"")
    challenge = answer.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer error="insufficient_user_authentication", error_description="')
    assert challenge.endswith(f', max_age="{seconds}"')


def test_every_act_that_needs_a_fresh_sign_in_is_tested() -> None:
    assert set(MAX_AGE) == {act for act, *_ in BY_THE_TABLE} | {Act.SIGN_CONSENT, Act.UPDATE_EMBRYO}
    assert set(MAX_AGE.values()) == {FIVE_MINUTES}
    assert MAX_AGE_FOR_THE_CLINIC == TWENTY_MINUTES


@pytest.mark.parametrize(("act", "who", "method", "path"), BY_THE_TABLE)
def test_an_act_after_an_old_sign_in_is_challenged(
    clinic: Clinic, act: Act, who: str, method: str, path: str
) -> None:
    fresh = clinic.call(clinic.token(who, FIVE_MINUTES - A_SECOND), method, path, {})
    assert fresh.status_code in (400, 404), act
    assert_challenged(clinic.call(clinic.token(who, FIVE_MINUTES + A_SECOND), method, path, {}), 300)


def test_permission_is_checked_before_the_age_of_the_sign_in(clinic: Clinic) -> None:
    old = clinic.token("nora", timedelta(hours=1))
    answer = clinic.call(old, "DELETE", f"/api/emr-integration/endpoints/{NOBODY}")
    assert (answer.status_code, answer.data) == (403, b"")


def test_reading_needs_no_fresh_sign_in(clinic: Clinic) -> None:
    old = clinic.token("amelia", timedelta(days=3))
    assert clinic.call(old, "GET", CONSENTS).status_code == 200


def test_patients_sign_within_five_minutes_clinicians_and_witnesses_within_twenty(clinic: Clinic) -> None:
    signers = [
        signer("Patient", "amelia"), signer("Partner", "daniel"), signer("Clinician", "victor"),
        signer("Witness", "nora"), signer("Interpreter", "colin"),
    ]  # fmt: skip
    path = f"{CONSENTS}/{clinic('nora', 'POST', CONSENTS, form(requiredSigners=signers)).json['id']}/sign"
    for who, role, allowed in (
        ("amelia", "Patient", FIVE_MINUTES),
        ("daniel", "Partner", FIVE_MINUTES),
        ("colin", "Interpreter", FIVE_MINUTES),
        ("victor", "Clinician", TWENTY_MINUTES),
        ("nora", "Witness", TWENTY_MINUTES),
    ):
        seen = clinic.get(who, path.removesuffix("/sign"))
        body = signature(seen, role, signature=next(
            one["name"] for one in seen["requiredSigners"] if one["role"] == role
        ))  # fmt: skip
        old = clinic.token(who, allowed + A_SECOND)
        assert_challenged(clinic.call(old, "POST", path, body), int(allowed.total_seconds()))
        fresh = clinic.call(clinic.token(who, allowed - A_SECOND), "POST", path, body)
        assert fresh.status_code == 200, (role, fresh.text)


def test_a_challenged_request_does_not_use_up_its_idempotency_key(clinic: Clinic) -> None:
    made = clinic("nora", "POST", CONSENTS, form()).json
    path = f"{CONSENTS}/{made['id']}/sign"
    body = signature(made)
    old = clinic.token("amelia", timedelta(hours=1))
    assert_challenged(clinic.call(old, "POST", path, body, Idempotency_Key="one"), 300)
    signed = clinic("amelia", "POST", path, body, Idempotency_Key="one")
    assert signed.status_code == 200
    again = clinic.call(old, "POST", path, body, Idempotency_Key="one")
    assert again.json == signed.json


@pytest.mark.parametrize(
    ("who", "change", "is_choice"),
    [
        ("grace", {"disposition": "ContinueStorage"}, True),
        ("elif", {"status": "Stored"}, True),
        ("elif", {"status": "Reserved", "notes": "Seen", "location": None}, False),
    ],
)
def test_embryo_decisions_and_moves_need_a_fresh_sign_in_and_notes_do_not(
    clinic: Clinic, who: str, change: dict[str, Any], is_choice: bool
) -> None:
    code = "GO-1" if who == "elif" else "GO-4"
    embryos = clinic.get(who, f"{EPISODES}/{GRACE_EPISODE}")["embryos"]
    stamp = next(one["concurrencyStamp"] for one in embryos if one["embryoCode"] == code)
    path = f"/api/care/embryo-storage/{sample_id('embryo', code)}"
    old = clinic.token(who, FIVE_MINUTES + A_SECOND)
    answer = clinic.call(old, "PUT", path, {**change, "concurrencyStamp": stamp})
    if is_choice:
        assert_challenged(answer, 300)
        answer = clinic(who, "PUT", path, {**change, "concurrencyStamp": stamp})
    assert answer.status_code == 200
