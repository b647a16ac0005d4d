"""What the review of a plan tells of the doses of single days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from flask import g
from msgspec.structs import replace

from portal.services.episodes import READ_EPISODE
from portal.services.protocols import READ_PROTOCOL, Medication
from portal.views.protocols.dose_changes import DoseDifference, dose_differences
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from tests.pages.test_patient_banner import EPISODE, PLAN
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

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


@pytest.mark.parametrize("status", [200, 503, 404])
def test_the_review_of_a_trigger_says_where_its_treatment_cannot_be_read(
    visitor: Callable[..., Visitor], fake_api: FakeApi, status: int
) -> None:
    trigger = Medication(
        id="t", drug="hCG", drug_class="Trigger", dose=250, unit="µg", route="Subcutaneous", start_day=11,
        time="21:00", is_trigger=True,
    )  # fmt: skip
    fake_api.gives(READ_PROTOCOL, replace(PLAN, start_date=date(2026, 11, 16), medications=(trigger,)))
    if status == 200:
        fake_api.gives(READ_EPISODE, EPISODE)
    else:
        fake_api.refuses(READ_EPISODE, status)
    page = visitor("victor", "physician").get("/protocols/f-1/edit")
    form = page.form(page.tree.select_one("form:has([value=review])"))
    review = form.submit(button=("do", "review"), description="Another")
    assert ("it isn’t known when eggs are collected" in review.words) is (status == 503)
