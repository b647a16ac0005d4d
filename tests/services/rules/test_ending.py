"""Who may end a form."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from portal.services.consents.forms import ConsentStatus, Signature, SignerRole
from portal.services.rules.ending import Ending, ending_of, obstacle_to_ending
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent, person


@pytest.mark.parametrize(
    ("changes", "sub", "ending"),
    [
        ({}, "amelia", None),
        ({}, "daniel", Ending.WITHDRAW),
        ({"status": ConsentStatus.PENDING, "signatures": ()}, "amelia", None),
        ({"required_signers": (AMELIA, DANIEL)}, "amelia", Ending.DECLINE),
        ({"required_signers": (replace(DANIEL, person_id=None),)}, "amelia", None),
        ({"required_signers": (replace(DANIEL, person_id=None),), "signatures": ()}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="(record) 1"),)}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="p-2"),), "partner_id": "p-2"}, "amelia", Ending.WITHDRAW),
        ({"partner_id": "daniel", "patient_id": "amelia"}, "amelia", None),
        ({"required_signers": (VICTOR,), "signatures": ()}, "amelia", Ending.WITHDRAW),
    ],
    ids=[
        *("another's", "one's own", "asks another", "asks both", "signed by another", "asks somebody"),
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
