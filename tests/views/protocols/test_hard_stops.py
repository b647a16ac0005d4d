"""What of a changed row is asked about: more than half more or less each time or a day, and another unit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, g
from msgspec.structs import replace

from portal.config.dose_ranges import DoseRange, range_of, usual_ranges, usual_units
from portal.services.episodes import Appointment
from portal.views.protocols.hard_stops import (
    HardStop,
    _changed_a_lot,
    _out_of_range,
    hard_stops,
    triggers_told,
    unanswered,
)
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from portal.web import visit_times

ROW = MedicationRow(
    id="p", drug="Progesterone", dose="400", unit="mg", start_day="1", end_day="10", time="08:00"
)
TRIGGER = MedicationRow(
    id="t", drug="hCG", dose="250", unit="µg", start_day="11", time="21:00", is_trigger="yes"
)


@pytest.fixture(autouse=True)
def words() -> Iterator[None]:
    """Words need an application to be said in."""
    with Flask("words").test_request_context():
        yield


def asked(was: MedicationRow, **members: Any) -> list[str]:
    now = replace(was, **members)
    return _changed_a_lot(now, Plan(medications=(was,)), Plan(medications=(now,)))


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"dose": "600"}, None),
        ({"dose": "601"}, "from 400 mg (four hundred) to 601 mg (six hundred and one)."),
        ({"dose": "200"}, None),
        ({"dose": "199"}, "to 199 mg"),
        ({"unit": "g"}, "from 400 mg (four hundred) to 400 g"),
        ({"unit": "MG"}, None),
        ({"time": "08:00, 20:00"}, "from 400 mg to 800 mg a day."),
        ({"time": "08:00, 20:00", "dose": "300"}, None),
        ({"every_days": "2"}, None),
        ({"every_days": "3"}, "a day."),
        ({"time": "08:00, 20:00", "every_days": "2"}, None),
    ],
    ids=str,
)
def test_a_row_is_compared_with_itself_as_it_was(members: dict[str, str], told: str | None) -> None:
    found = asked(ROW, **members)
    assert [told in sentence for sentence in found] == [True] if told else found == []


@pytest.mark.parametrize(
    ("was", "now", "is_asked"),
    [
        ({"dose": "0.25"}, {"dose": "0.5"}, True),
        ({"dose": "0.5"}, {"dose": "0.2"}, True),
        ({"dose": "0.5"}, {"dose": "0.75"}, False),
        ({"dose": ""}, {"dose": "400"}, False),
        ({"dose": "400"}, {"dose": ""}, False),
        ({"every_days": ""}, {"every_days": "2"}, False),
        ({"every_days": ""}, {"every_days": "3"}, True),
        ({"every_days": "3"}, {"every_days": ""}, True),
    ],
    ids=str,
)
def test_small_doses_are_compared_and_those_not_given_are_not(
    was: dict[str, str], now: dict[str, str], is_asked: bool
) -> None:
    assert bool(asked(replace(ROW, **was), **now)) is is_asked


def test_units_in_other_words_are_the_same_and_micrograms_are_not_units() -> None:
    fsh = replace(ROW, unit="IU", dose="75")
    assert asked(fsh, unit="units") == []
    assert asked(fsh, unit="µg")


def test_a_trigger_is_compared_with_itself_alone() -> None:
    assert asked(TRIGGER, dose="500") and not asked(TRIGGER, start_day="12")
    low = replace(TRIGGER, id="l", dose="25", start_day="1", is_trigger="")
    support = replace(low, start_day="14")
    assert _changed_a_lot(TRIGGER, None, Plan(medications=(low, TRIGGER))) == []
    assert _changed_a_lot(support, None, Plan(medications=(TRIGGER, support))) == []


def test_a_new_row_is_compared_with_the_one_before_it_in_any_unit() -> None:
    for members in ({"dose": "900"}, {"unit": "g"}, {"time": "08:00, 14:00"}):
        later = replace(ROW, id="", start_day="11", end_day="", **members)
        found = _changed_a_lot(later, None, Plan(medications=(ROW, later)))
        assert bool(found) is ("time" not in members), "one that begins with a single dose is usual"
        assert not _changed_a_lot(ROW, None, Plan(medications=(ROW, later))), (
            "the first row has none before it"
        )


@pytest.mark.parametrize(
    ("start", "dose", "is_asked"), [("5", "290", False), ("5", "301", True), ("3", "400", False)]
)
def test_a_new_row_is_compared_with_the_last_that_began_on_a_day_before_it(
    start: str, dose: str, is_asked: bool
) -> None:
    rows = [replace(ROW, id="", dose=was, start_day=day) for was, day in (("200", "3"), ("267", "1"))]
    later = replace(ROW, id="", dose=dose, start_day=start)
    assert bool(_changed_a_lot(later, None, Plan(medications=(*rows, later)))) is is_asked


def test_a_trigger_of_a_treatment_that_is_unread_says_so() -> None:
    told = ["The treatment can’t be read right now, so it isn’t known when eggs are collected."]
    collection: Appointment | None = None
    assert triggers_told(Plan(medications=(ROW, TRIGGER)), collection, is_unread=True) == told
    assert triggers_told(Plan(medications=(ROW,)), collection, is_unread=True) == []
    assert triggers_told(Plan(medications=(ROW, TRIGGER)), collection) == []


def test_a_trigger_is_timed_for_an_egg_collection_that_may_have_been_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(visit_times, "now", lambda: datetime(2026, 11, 11, tzinfo=UTC))
    g.tenant, g.current_date = SimpleNamespace(time_zone=UTC, country="GB"), date(2026, 11, 11)
    collection = Appointment(id="a", start=datetime(2026, 11, 13, 8, tzinfo=UTC), status="Rescheduled")
    (told,) = triggers_told(Plan(start_date="2026-11-01", medications=(TRIGGER,)), collection)
    assert told.startswith("35 h before egg collection") and told.endswith("08:00 · To be confirmed")


@pytest.fixture
def clinic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visit_times, "now", lambda: datetime(2026, 11, 1, tzinfo=UTC))
    g.tenant = SimpleNamespace(time_zone=UTC, country="GB", dose_ranges=usual_ranges())
    g.current_date = date(2026, 11, 1)


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (33 * 60 + 54, "33.9 h"),
        (33 * 60 + 59, "33.9 h"),
        (34 * 60, None),
        (37 * 60, None),
        (37 * 60 + 1, "37.1 h"),
    ],
)
def test_a_trigger_that_does_not_fit_its_egg_collection_is_asked_about(
    minutes: int, told: str | None
) -> None:
    injected = datetime(2026, 11, 11, 21, tzinfo=UTC)
    collection = Appointment(id="a", start=injected + timedelta(minutes=minutes))
    plan = Plan(start_date="2026-11-01", medications=(ROW, TRIGGER))
    found = hard_stops(plan, plan, collection)
    assert [(stop.name, stop.wanted, stop.label) for stop in found] == [
        ("again-1-2100", "21:00", "Type the hour of the trigger again: 21:00")
    ] * (told is not None)
    for stop in found:
        assert stop.text.startswith(f"The trigger is {told} before egg collection")
        assert stop.text.endswith("Usual are 34 to 37 hours.")
    assert hard_stops(plan, plan, None) == hard_stops(plan, replace(plan, start_date=""), collection) == []


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("members", "is_asked"),
    [
        ({}, True),
        ({"drug": "PROGESTERONE"}, True),
        ({"drug": "Cyclogest"}, False),
        ({"start_day": "10", "end_day": ""}, True),
        ({"start_day": "11", "end_day": ""}, False),
    ],
    ids=str,
)
def test_a_medicine_in_two_rows_on_one_day_is_asked_about(members: dict[str, str], is_asked: bool) -> None:
    second = replace(ROW, id="", time="20:00", **members)
    other = replace(ROW, id="o", drug="Aspirin", start_day="11", end_day="12")
    before, after = Plan(medications=(ROW, other)), Plan(medications=(ROW, second, other))
    told = [(stop.name, stop.wanted, stop.text) for stop in hard_stops(before, after, None)]
    assert told == [("again-1", "400", f"{second.drug} is in two rows on the same day.")] * is_asked
    assert hard_stops(after, after, None) == [], "it was so before"
    assert len(hard_stops(None, after, None)) == 2 * is_asked, "each is new, and the other isn't in two"


@pytest.mark.usefixtures("clinic")
def test_each_question_names_the_medicine_its_dose_and_what_is_usual() -> None:
    rows = (
        replace(ROW, drug="rFSH", unit="mg", dose="9"),
        replace(ROW, id="f", drug="FSH", unit="IU", dose="900"),
    )
    found = hard_stops(None, Plan(medications=rows), None)
    assert [(stop.text, stop.label) for stop in found] == [
        ("rFSH is usually given in IU, not in mg.", "Type the dose of rFSH again: 9 mg (nine)"),
        (
            "900 IU (nine hundred) of FSH is outside the usual range of 37.5 to 450 IU.",
            "Type the dose of FSH again: 900 IU (nine hundred)",
        ),
    ]


@pytest.mark.parametrize(
    ("wanted", "typed", "is_answer"),
    [
        *(("225", typed, True) for typed in ("225", " 225 ", "225.0")),
        *(("225", typed, False) for typed in ("22", "2255", "", "x")),
        *(("21:00", typed, typed == " 21:00") for typed in (" 21:00", "21", "")),
    ],
)
def test_a_question_is_answered_by_what_is_asked_for_alone(wanted: str, typed: str, is_answer: bool) -> None:
    stop = HardStop("again-0", "text", "label", wanted)
    other = HardStop("again-1", "text", "label", "1")
    assert stop.is_answered_by(typed) is is_answer
    assert unanswered([], {}) == unanswered([stop], {"again-0": wanted}) == []
    faults = [one.fault for one in unanswered([stop, other], {"again-0": typed})]
    assert faults == [None if is_answer else f"Type {wanted}, or change it.", "Type 1, or change it."]


@pytest.mark.parametrize(
    ("drug", "unit", "units"),
    [
        ("rFSH (follitropin alfa)", "mg", ["IU"]),
        ("rFSH (follitropin alfa)", "mL", ["IU"]),
        ("rFSH (follitropin alfa)", "Units", []),
        ("Rekovelle (follitropin delta)", "IU", ["µg"]),
        ("Rekovelle (follitropin delta)", "mcg", []),
        ("Choriogonadotropin alfa", "IU", ["µg"]),
        ("Pregnyl (hCG)", "IU", []),
        ("Oestradiol valerate", "μg", []),
        ("Menotropin", "ampoule", []),
        ("Something else", "mg", []),
        ("Folitropina delta", "UI", ["µg"]),
        ("Cetrorelix", "miligramos", []),
        ("Ganirelix", "unidades internacionales", ["mg"]),
    ],
    ids=str,
)
def test_a_medicine_in_a_unit_that_is_not_its_own_is_asked_about(
    drug: str, unit: str, units: list[str]
) -> None:
    assert usual_units(usual_ranges(), drug, unit) == units


@pytest.mark.parametrize("unit", ["IU", "I.U.", "ui", "units", "وحدة"])
def test_a_range_holds_for_each_spelling_of_its_unit(unit: str) -> None:
    found = range_of(usual_ranges(), "rFSH", unit)
    assert found and (found.least, found.most) == (37.5, 450)
    assert range_of(usual_ranges(), "rFSH", "mg") is None
    edges = {"37.4": True, "37.5": False, "450": False, "450.1": True}
    row = MedicationRow(drug="rFSH", unit=unit)
    told = {dose: bool(_out_of_range(replace(row, dose=dose), usual_ranges())) for dose in edges}
    assert told == edges


@pytest.mark.parametrize(
    ("route", "most"), [("IM", 100), ("Subcutaneously", 50), ("Vaginal", 800), ("", 800)]
)
def test_a_range_may_hold_for_one_route(route: str, most: float) -> None:
    found = range_of(usual_ranges(), "Progesterone", "mg", route)
    assert found and found.most == most
    clinics = (DoseRange("progesterone", "mg", 100, 400),)
    own = range_of((*clinics, *usual_ranges()), "Progesterone", "mg", route)
    assert own and own.most == 400


@pytest.mark.parametrize(
    ("drug", "unit", "most"),
    [
        ("Medroxyprogesterone acetate", "mg", 20),
        ("Acetato de medroxiprogesterona", "mg", 20),
        ("Progesterone", "mg", 400),
        ("Progesterona", "mg", 800),
        ("Letrozol", "mg", 7.5),
        ("Cetrorelix", "milligrams", 3),
        ("Cetrorelix", "ملغ", 3),
        ("FSH", "وحدة دولية", 225),
        ("Corifollitropin alfa", "IU", None),
    ],
)
def test_a_clinic_s_own_range_is_of_no_other_medicine(drug: str, unit: str, most: float | None) -> None:
    own = (DoseRange("progesterone", "mg", 100, 400), DoseRange("FSH", "IU", 75, 225))
    found = range_of((*own, *usual_ranges()), drug, unit)
    assert (found.most if found else None) == most
