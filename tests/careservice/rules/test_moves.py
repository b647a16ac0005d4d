"""Which status may follow which, literally: of cases, protocols and embryos."""

from __future__ import annotations

from enum import StrEnum

import pytest

from portal.careservice.domain import cases, embryos, protocols
from portal.careservice.domain.enumerations import CareStatus
from portal.careservice.domain.rules import Refused

CASES = {
    "Planned": "Waitlist Active Cancelled",
    "Waitlist": "Active Cancelled",
    "Active": "OnHold Finished Cancelled",
    "OnHold": "Active Finished Cancelled",
    "Finished": "",
    "Cancelled": "",
    "EnteredInError": "",
}
PROTOCOLS = {
    "Draft": "Active Cancelled",
    "Active": "OnHold Completed Cancelled",
    "OnHold": "Active Completed Cancelled",
    "Completed": "",
    "Cancelled": "",
}
EMBRYOS = {
    "Stored": "Reserved OnHold Thawed Discarded Donated ShippedOut",
    "Reserved": "Stored OnHold Thawed Discarded Donated ShippedOut",
    "OnHold": "Stored Reserved",
    "Thawed": "Stored Transferred Discarded",
    "Transferred": "",
    "Discarded": "",
    "Donated": "",
    "ShippedOut": "",
}


def written(moves: dict[StrEnum, frozenset[StrEnum]]) -> dict[str, set[str]]:
    return {str(one): {str(other) for other in others} for one, others in moves.items()}


@pytest.mark.parametrize(
    ("moves", "literal"),
    [(cases.MOVES, CASES), (protocols.MOVES, PROTOCOLS), (embryos.MOVES, EMBRYOS)],
    ids=["cases", "protocols", "embryos"],
)
def test_which_status_may_follow_which(
    moves: dict[StrEnum, frozenset[StrEnum]], literal: dict[str, str]
) -> None:
    assert written(moves) == {one: set(others.split()) for one, others in literal.items()}


def test_a_case_may_follow_them_or_turn_out_to_be_an_error() -> None:
    def may(current: CareStatus, wanted: CareStatus) -> bool:
        try:
            cases._require_move(current, wanted)
        except Refused:
            return False
        return True

    allowed = {one: {other for other in CareStatus if may(one, other)} for one in CareStatus}
    assert allowed == {one: {*CASES[one].split(), "EnteredInError"} for one in CareStatus}
