"""Which doses stand around a moment: over midnight, after their hour, and the trigger from the evening before."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import is_at_night
from portal.services.rules.doses_around import Around, DueDose, Timing, doses_around, evening_of, nearest
from portal.services.rules.medicine_names import speaks_of

LONDON = ZoneInfo("Europe/London")
EVENING = Medication(drug="Evening", start_day=1, end_day=9, times=("19:00",))
MORNING = Medication(drug="Morning", start_day=1, end_day=9, times=("08:00",))
TRIGGER = Medication(drug="Trigger", start_day=8, end_day=8, times=("21:00",), is_trigger=True)


def plan(*medications: Medication) -> Protocol:
    """A plan whose day 1 is 20 November, so that day 8 is Friday the 27th."""
    return Protocol(
        id="p", name="", status=ProtocolStatus.ACTIVE, start_date=date(2026, 11, 20), medications=medications
    )


def at(moment: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-{moment}").replace(tzinfo=LONDON)


def told(doses: tuple[DueDose, ...]) -> list[str]:
    return [f"{due.dose.medication.drug} {due.on:%d} {due.dose.time}" for due in doses]


@pytest.mark.parametrize(
    ("now", "around", "first"),
    [
        ("25 07:00", ["Evening 24 19:00", "Morning 25 08:00", "Evening 25 19:00"], ["Morning 25 08:00"]),
        ("25 12:00", ["Morning 25 08:00", "Evening 25 19:00"], ["Morning 25 08:00"]),
        ("25 14:30", ["Morning 25 08:00", "Evening 25 19:00"], ["Evening 25 19:00"]),
        ("25 20:00", ["Morning 25 08:00", "Evening 25 19:00"], ["Evening 25 19:00"]),
        ("26 00:10", ["Evening 25 19:00", "Morning 26 08:00", "Evening 26 19:00"], ["Evening 25 19:00"]),
        ("26 01:00", ["Evening 25 19:00", "Morning 26 08:00", "Evening 26 19:00"], ["Evening 25 19:00"]),
        ("26 01:01", ["Evening 25 19:00", "Morning 26 08:00", "Evening 26 19:00"], ["Morning 26 08:00"]),
        ("26 03:00", ["Evening 25 19:00", "Morning 26 08:00", "Evening 26 19:00"], ["Morning 26 08:00"]),
        ("26 07:01", ["Morning 26 08:00", "Evening 26 19:00"], ["Morning 26 08:00"]),
    ],
)
def test_the_nearest_dose_comes_first_and_the_evenings_is_in_sight_all_night(
    now: str, around: list[str], first: list[str]
) -> None:
    found = doses_around(plan(EVENING, MORNING), None, at(now))
    assert told(found.doses) == around
    assert told(nearest(found.doses, lambda due: False, at(now))) == first


def test_what_is_done_is_not_spoken_of_first_nor_what_was_due_long_ago() -> None:
    now = at("25 20:00")
    doses = doses_around(plan(EVENING, MORNING), None, now).doses
    assert nearest(doses, lambda due: due.dose.medication is EVENING, now) == ()


def test_doses_of_one_moment_are_spoken_of_together() -> None:
    second = Medication(drug="Second", start_day=1, end_day=9, times=("19:00",))
    now = at("25 18:00")
    found = doses_around(plan(EVENING, second, MORNING), None, now)
    assert told(nearest(found.doses, lambda due: False, now)) == ["Evening 25 19:00", "Second 25 19:00"]


def test_two_rows_of_one_medicine_are_two_doses() -> None:
    others = (replace(EVENING, drug="Second"), replace(EVENING, times=("21:00",)))
    found = doses_around(plan(EVENING, EVENING, *others), None, at("25 18:00")).doses
    assert [(*dose.split(), due.number) for dose, due in zip(told(found), found, strict=True)] == [
        *(("Evening", "25", "19:00", number) for number in (0, 1)),
        *(("Second", "25", "19:00", 0), ("Evening", "25", "21:00", 0)),
    ]


@pytest.mark.parametrize(
    ("hours", "now", "is_told"),
    [
        *[(("21:00",), *row) for row in (("26 16:59", False), ("26 17:00", True), ("27 21:30", True))],
        *[(("21:00",), *row) for row in (("29 09:00", True), ("29 09:01", False))],
        *[(("00:30",), *row) for row in (("25 16:59", False), ("25 17:00", True))],
        *[(("00:30",), *row) for row in (("28 12:30", True), ("28 12:31", False))],
        *[((), *row) for row in (("26 16:59", False), ("27 23:59", True), ("28 00:00", False))],
    ],
)
def test_a_trigger_is_told_from_the_evening_before_its_day_or_night(
    hours: tuple[str, ...], now: str, is_told: bool
) -> None:
    trigger = Medication(drug="Trigger", start_day=8, times=hours, is_trigger=True)
    assert bool(doses_around(plan(trigger), None, at(now)).triggers) is is_told


def test_two_triggers_of_one_moment_are_told_together() -> None:
    dual = Medication(drug="Second trigger", start_day=8, end_day=8, times=("21:00",), is_trigger=True)
    assert len(doses_around(plan(TRIGGER, dual), None, at("27 20:00")).triggers) == 2


def test_the_next_doses_are_found_days_ahead_and_none_after_the_last() -> None:
    later = Medication(drug="Later", start_day=12, end_day=12, times=("08:00", "20:00"))
    assert told(doses_around(plan(EVENING, later), None, at("28 20:00")).following) == ["Later 01 08:00"]
    assert told(doses_around(plan(MORNING), None, at("25 20:00")).following) == ["Morning 26 08:00"]
    assert doses_around(plan(EVENING), None, at("28 20:00")).following == ()
    last = [Medication(drug="Last", start_day=day, end_day=day, times=("08:00",)) for day in (69, 70)]
    found = [doses_around(plan(one), None, at("28 20:00")).following for one in last]
    assert [told(doses) for doses in found] == [["Last 27 08:00"], []], "for two months"


@pytest.mark.parametrize(
    "changes",
    [*({"status": one} for one in ProtocolStatus if one != ProtocolStatus.ACTIVE), {"start_date": None}],
)
def test_a_plan_that_isnt_followed_has_no_doses(changes: dict[str, Any]) -> None:
    now = at("25 18:00")
    assert doses_around(replace(plan(EVENING, TRIGGER), **changes), None, now) == Around((), (), ())
    assert doses_around(None, None, now) == Around((), (), ())


@pytest.mark.parametrize(
    ("now", "timing", "may_be_taken"),
    [
        ("25 16:59", Timing.AHEAD, False),
        ("25 17:00", Timing.AHEAD, True),
        ("25 18:44", Timing.AHEAD, True),
        ("25 18:45", Timing.DUE, True),
        ("25 19:30", Timing.DUE, True),
        ("25 19:31", Timing.PAST, True),
    ],
)
def test_a_dose_is_ahead_due_or_past(now: str, timing: Timing, may_be_taken: bool) -> None:
    (due,) = doses_around(plan(EVENING), None, at(now)).doses
    assert (due.timing(at(now)), due.may_be_taken(at(now))) == (timing, may_be_taken)


def test_a_dose_without_an_hour_stands_on_its_day_alone() -> None:
    untimed = Medication(drug="Untimed", start_day=1, end_day=9)
    (due,) = doses_around(plan(untimed), None, at("25 00:10")).doses
    assert (due.on, due.at, due.timing(at("25 00:10"))) == (date(2026, 11, 25), None, Timing.UNTIMED)
    assert due.may_be_taken(at("25 00:10")) and not due.may_be_taken(at("24 23:59"))


def test_the_hour_holds_when_clocks_change() -> None:
    changing = Protocol(
        id="p", name="", status=ProtocolStatus.ACTIVE, start_date=date(2026, 10, 24), medications=(EVENING,)
    )
    now = datetime(2026, 10, 25, 12, tzinfo=LONDON)
    (due,) = doses_around(changing, None, now).doses
    assert due.at == datetime(2026, 10, 25, 19, tzinfo=LONDON)


@pytest.mark.parametrize(
    ("moment", "evening"), [("25 16:59", None), ("25 17:00", 25), ("26 02:59", 25), ("26 03:00", None)]
)
def test_an_evening_lasts_until_three(moment: str, evening: int | None) -> None:
    found = evening_of(at(moment))
    assert (found.day if found else None) == evening


@pytest.mark.parametrize(
    ("time", "is_misread"),
    [("23:29", False), ("23:30", True), ("02:59", True), ("03:00", False), (None, False)],
)
def test_the_date_of_a_dose_from_half_past_eleven_to_three_is_misread(
    time: str | None, is_misread: bool
) -> None:
    assert is_at_night(time) is is_misread


@pytest.mark.parametrize(
    ("text", "name", "is_named"),
    [
        ("Cetrorelix at the same hour every morning.", "Cetrorelix", True),
        ("La progesterona sigue hasta la semana 10.", "Progesterone", True),
        ("Oestradiol goes on.", "Estradiol valerate", True),
        ("Your follitropin pen", "rFSH (follitropin alfa)", True),
        ("The alfa group meets on Monday.", "rFSH (follitropin alfa)", False),
        ("Come with an empty bladder.", "Cetrorelix", False),
        ("Your HCG comes at 22:00.", "hCG 5000", True),
        ("Call us about your pen.", "rFSH pen", False),
        ("The FSH is high.", "rFSH pen", False),
        ("", "Cetrorelix", False),
        ("Cetrorelix", "", False),
    ],
)
def test_a_text_names_a_medicine_by_a_word_of_its_name(text: str, name: str, is_named: bool) -> None:
    assert speaks_of(text, [name]) is is_named
