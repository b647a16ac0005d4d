"""Rules that count days: on each limit, before and after it; and which stages they are about."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from portal.services.cases import CareStatus
from portal.services.episodes import Episode, EpisodeStage, TimelineEvent
from portal.services.patients import Patient
from portal.services.protocols import ProtocolType
from portal.services.rules import stages, work_lists
from portal.services.rules.workdays import Period, Workday
from tests.support.builders import consent

DAY = date(2026, 7, 15)  # a Wednesday


def episode(**members: object) -> Episode:
    return Episode(**{"id": "e-1", "status": CareStatus.ACTIVE, "patient": Patient(id="p-1"), **members})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("days", "found"),
    [(-31, "older"), (-30, "late"), (-1, "late"), (0, "late"), (1, "week"), (7, "week"), (8, None), (None, "undated")],
)  # fmt: skip
def test_a_form_is_on_the_list_of_the_day_for_which_it_is_needed(days: int | None, found: str | None) -> None:
    on = None if days is None else DAY + timedelta(days=days)
    assert work_lists.when_needed(consent(procedure_date=on), DAY) == found


def test_old_forms_are_sorted_after_those_without_a_day() -> None:
    days = (None, -31, 8, 0, -30)
    forms = [
        consent(id=str(days), procedure_date=None if days is None else DAY + timedelta(days=days))
        for days in days
    ]
    forms.sort(key=lambda form: work_lists.by_need(DAY, form))
    assert [form.id for form in forms] == ["-30", "0", "8", "None", "-31"]


@pytest.mark.parametrize(("ahead", "friday"), [(0, 17), (1, 17), (2, 17), (3, 24)])
def test_the_next_friday_may_be_today(ahead: int, friday: int) -> None:
    assert work_lists.friday(DAY + timedelta(days=ahead)) == date(2026, 7, friday)


@pytest.mark.parametrize(("days", "is_so"), [(-31, False), (-30, True), (2, True), (3, False)])
def test_needed_until_counts_both_ends(days: int, is_so: bool) -> None:
    assert work_lists.is_until(DAY + timedelta(days=days), DAY + timedelta(days=2), DAY) is is_so


@pytest.mark.parametrize(("ago", "needs"), [(14, True), (15, False), (None, True)])
def test_signs_may_come_two_weeks_after_the_end(ago: int | None, needs: bool) -> None:
    end = None if ago is None else DAY - timedelta(days=ago)
    for status in (CareStatus.FINISHED, CareStatus.CANCELLED):
        ended = episode(status=status, end_date=end, stage=EpisodeStage.STIMULATION)
        assert stages.needs_call_now(ended, DAY, UTC) is needs


@pytest.mark.parametrize(("zone", "needs"), [("UTC", False), ("Europe/London", True)])
def test_the_last_that_is_known_was_on_a_day_of_the_clinics(zone: str, needs: bool) -> None:
    at = datetime.combine(DAY - timedelta(days=15), time(23, 30), UTC)
    ended = episode(status=CareStatus.FINISHED, timeline=(TimelineEvent(id="t-1", occurred_at=at),))
    assert stages.needs_call_now(ended, DAY, ZoneInfo(zone)) is needs


def test_signs_may_come_from_stimulation_to_the_early_scan_and_while_nobody_knows() -> None:
    without = {stage for stage in EpisodeStage if not stages.needs_call_now(episode(stage=stage), DAY, UTC)}
    assert without == {EpisodeStage.PLANNED, EpisodeStage.BASELINE, EpisodeStage.ENDED}
    assert stages.needs_call_now(episode(), DAY, UTC)
    assert stages.needs_call_now(episode(stage=EpisodeStage("Elsewhere")), DAY, UTC)


def test_days_are_counted_to_the_trigger_and_for_six_weeks_since_the_transfer() -> None:
    assert " ".join(stages.COUNTED) == "Baseline Stimulation Trigger"
    assert " ".join(stages.SINCE_TRANSFER) == "Transfer LutealSupport PregnancyTest EarlyScan"
    assert stages.COUNTED_DAYS == 42


_EGGS = "Baseline Stimulation Trigger Retrieval"


@pytest.mark.parametrize(
    ("kinds", "steps"),
    [
        ("FetNatural FetMedicated", "Baseline Transfer PregnancyTest EarlyScan"),
        ("EggFreezing", f"{_EGGS} Freeze"),
        ("Iui", "Baseline Stimulation Trigger PregnancyTest EarlyScan"),
        (
            "Antagonist LongAgonist ShortFlare Ppos MildStimulation NaturalCycle DonorCycle",
            f"{_EGGS} Fertilisation Culture Transfer PregnancyTest EarlyScan",
        ),
    ],
)
def test_each_kind_of_treatment_has_its_steps(kinds: str, steps: str) -> None:
    for kind in kinds.split():
        assert stages.steps_of(episode(type=ProtocolType(kind)), ()) == steps.split()


def test_steps_that_a_treatment_went_through_besides_are_shown_but_not_that_it_was_planned() -> None:
    seen = [TimelineEvent(id=stage, stage=stage) for stage in (EpisodeStage.PLANNED, EpisodeStage.BIOPSY)]
    found = stages.steps_of(episode(type=ProtocolType.FET_NATURAL, stage=EpisodeStage.FREEZE), seen)
    assert found == ["Baseline", "Biopsy", "Freeze", "Transfer", "PregnancyTest", "EarlyScan"]


def test_free_is_what_nothing_takes_after_the_moment() -> None:
    def period(start: float, end: float) -> Period:
        midnight = datetime(2026, 7, 15, tzinfo=UTC)
        return Period(midnight + timedelta(hours=start), midnight + timedelta(hours=end))

    taken = (period(16, 19), period(10, 11), period(10.5, 12), period(7, 9), period(12, 12))
    day = Workday(DAY, (period(9, 12.5), period(14, 17)), taken)
    after = datetime(2026, 7, 15, 9, 30, tzinfo=UTC)
    for moment in (after, after.astimezone(ZoneInfo("Asia/Dubai"))):
        assert [one.hours for one in day.free(moment)] == [(9.5, 10), (12, 12.5), (14, 16)]
    assert period(14, 24).hours == (14, 24)
