"""What the review of a plan tells of the doses of single days."""

from __future__ import annotations

import pytest
from flask import g

from portal.views.protocols.dose_changes import DoseDifference, dose_differences
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from tests.support.in_process import InProcess

EVENING = MedicationRow(drug="rFSH", dose="225", unit="IU", start_day="1", end_day="9", time="19:00")
MORNING = MedicationRow(drug="rFSH", dose="75", unit="IU", start_day="3", end_day="9", time="07:00")


def split(row: MedicationRow, first: int, dose: str) -> tuple[MedicationRow, MedicationRow]:
    """The row until the day before `first`, and the same with this dose from then on."""
    return (
        MedicationRow(**{**fields(row), "end_day": str(first - 1)}),
        MedicationRow(**{**fields(row), "start_day": str(first), "dose": dose}),
    )


def fields(row: MedicationRow) -> dict[str, str]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


@pytest.mark.parametrize(
    ("dose", "told"),
    [
        ("225", []),
        (
            "250",
            [
                DoseDifference(
                    "Day 5",
                    "rFSH",
                    "07:00 75\N{NO-BREAK SPACE}IU, 19:00 225\N{NO-BREAK SPACE}IU",
                    "07:00 75\N{NO-BREAK SPACE}IU, 19:00 250\N{NO-BREAK SPACE}IU",
                )
            ],
        ),
    ],
)
def test_rows_in_another_order_are_no_other_doses(
    in_process: InProcess, dose: str, told: list[DoseDifference]
) -> None:
    before = Plan(medications=(EVENING, MORNING))
    after = Plan(medications=(*split(EVENING, 5, dose), MORNING))
    with in_process.app.test_request_context():
        g.language = "en"
        assert dose_differences(before, after) == told
