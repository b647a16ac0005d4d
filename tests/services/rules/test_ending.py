"""Who may end a form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.consents.forms import ConsentStatus, Signature, Signer, SignerRole
from portal.services.rules.ending import Ending, ending_of, obstacle_to_ending
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent, person


@pytest.mark.parametrize(
    ("changes", "sub", "ending"),
    [
        ({}, "amelia", None),
        ({}, "daniel", Ending.WITHDRAW),
        ({"status": ConsentStatus.PENDING, "signatures": ()}, "amelia", None),
        ({"required_signers": (AMELIA, DANIEL)}, "amelia", Ending.WITHDRAW),
        ({"status": ConsentStatus.PARTIALLY_SIGNED, "required_signers": (AMELIA, DANIEL)}, "amelia", Ending.DECLINE),
        ({"required_signers": (replace(DANIEL, person_id=None),)}, "amelia", None),
        ({"required_signers": (replace(DANIEL, person_id=None),), "signatures": ()}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="(record) 1"),)}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="p-2"),), "partner_id": "p-2"}, "amelia", Ending.WITHDRAW),
        ({"partner_id": "daniel", "patient_id": "amelia"}, "amelia", None),
        ({"required_signers": (VICTOR,), "signatures": ()}, "amelia", Ending.WITHDRAW),
    ],
    ids=[
        *("another's", "one's own", "asks another", "in force without hers", "asks both", "signed by another", "asks somebody"),
        *("of a record", "of the partner's record", "ids are accounts'", "asks nobody"),
    ],
)  # fmt: skip
def test_nobody_is_offered_to_end_what_only_others_sign(
    changes: dict[str, Any], sub: str, ending: Ending | None
) -> None:
    signed = (Signature(role=SignerRole.PARTNER, person_id="daniel"),)
    named = {"status": ConsentStatus.SIGNED, "required_signers": (DANIEL, VICTOR), "signatures": signed}
    form = consent(**(named | changes))
    assert ending_of(form, person(sub)) == ending
    obstacle = obstacle_to_ending(form, person(sub))
    assert (obstacle and obstacle.code) == (None if ending else "WithdrawalNotYours")


@pytest.mark.parametrize("signed", [(DANIEL, VICTOR), (VICTOR,)])
def test_what_is_in_force_is_withdrawn_though_a_signature_is_not_listed(signed: tuple[Signer, ...]) -> None:
    form = consent(*signed, status=ConsentStatus.SIGNED, required_signers=(AMELIA, DANIEL, VICTOR))
    assert ending_of(form, person("amelia")) is Ending.WITHDRAW
    assert ending_of(form, person("nora", Side.STAFF)) is Ending.RECORD
    for sub in ("amelia", "nora"):
        at = datetime(2026, 11, 20, tzinfo=UTC)
        ended = replace(form, status=ConsentStatus.REVOKED, effective_at=at, revoked_by_id=sub)
        assert ended.is_withdrawn


def test_a_form_that_was_never_in_force_is_declined_or_cancelled() -> None:
    ended = consent(VICTOR, status=ConsentStatus.REVOKED, required_signers=(AMELIA, VICTOR))
    assert replace(ended, revoked_by_id="amelia").declined_by == AMELIA
    assert replace(ended, revoked_by_id="nora").is_cancelled
