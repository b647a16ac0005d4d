"""One calendar of doses: whatever the plan, every page, drawing and file names the same doses for a day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import pytest
from dateutil.rrule import rrulestr
from flask import g
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from portal.services.cases import CareStatus
from portal.services.episodes import Episode, Outcome
from portal.services.patients import Patient
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Standing, courses, doses_of_day, doses_on, minutes, standing
from portal.views.episodes import view
from portal.views.episodes.view import EpisodeView
from portal.views.protocols.schedule import calendar_of, days
from portal.web import plan_view
from portal.web.doses import PlanWords
from portal.web.drawings.schedule import bars
from portal.web.filters import day as write_day
from tests.support.full import examples

LONDON = ZoneInfo("Europe/London")
BEGINS = date(2026, 3, 20)  # clocks change on 29 March
HOURS = ["00:30", "02:59", "03:00", "07:00", "11:59", "12:00", "19:00", "21:00", "23:45"]


@st.composite
def rows(draw: Any) -> list[Medication]:
    plan = [
        Medication(
            id=str(number),
            drug=f"drug-{number}",
            drug_class=draw(st.sampled_from(["Gonadotropin", "Luteal support"])),
            dose=1,
            unit="mg",
            start_day=draw(st.integers(-3, 14)),
            end_day=draw(st.none() | st.integers(-3, 20)),
            last_dose_day=draw(st.none() | st.none() | st.integers(1, 14)),
            stop_rule=draw(st.sampled_from([None, "Until trigger", "Until the test"])),
            times=tuple(sorted(draw(st.sets(st.sampled_from(HOURS), max_size=3)))),
            every_days=draw(st.sampled_from([None, 1, 2, 3])),
        )
        for number in range(draw(st.integers(1, 4)))
    ]
    for number in range(draw(st.integers(0, 2))):
        plan.append(
            Medication(
                id=f"t{number}", drug=f"trigger-{number}", dose=1, unit="mg", is_trigger=True,
                start_day=draw(st.integers(1, 14)), time=draw(st.none() | st.sampled_from(HOURS)),
            )
        )  # fmt: skip
    return plan


@pytest.fixture(scope="module", autouse=True)
def clinic(portal: Any) -> Iterator[None]:
    with portal.app.app_context():
        g.language = "en"
        g.tenant = SimpleNamespace(contact=None, time_zone=LONDON, country="GB", key="c", medicines=())
        yield


def plan(medications: list[Medication], **changes: Any) -> Protocol:
    given_ = {
        "id": "p",
        "name": "n",
        "status": ProtocolStatus.ACTIVE,
        "start_date": BEGINS,
        "patient_id": "a",
    }
    return Protocol(medications=tuple(medications), **{**given_, **changes})


def episode(protocol: Protocol, **changes: Any) -> Episode:
    person = Patient(id="a", first_name="A", last_name="B")
    return Episode(id="e", patient=person, protocol=protocol, **{"status": CareStatus.ACTIVE, **changes})


PATIENT: Any = SimpleNamespace(is_patient=True, is_staff=False, sub="a", roles=())


def seen(of: Episode, on: date, monkeypatch: pytest.MonkeyPatch) -> EpisodeView:
    for module in (view, plan_view):
        monkeypatch.setattr(module, "today", lambda: on)
    monkeypatch.setattr(
        plan_view, "now", lambda: datetime.combine(on, datetime.min.time(), LONDON).replace(hour=9)
    )
    return EpisodeView(of, PATIENT)


def told(lines: list[Any]) -> list[tuple[str, str]]:
    return [(line.drug, line.time[-5:] if minutes(line.time[-5:]) is not None else "") for line in lines]


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(medications=rows(), now=st.integers(1, 20))
def test_all_views_name_the_same_doses_on_every_day(
    medications: list[Medication], now: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = plan(medications)
    today = BEGINS + timedelta(days=now - 1)
    until = now + 10
    expected = {
        day: [(d.medication.drug, d.time or "") for d in doses_of_day(courses(medications), day)]
        for day in range(-5, until + 1)
    }

    page = seen(episode(protocol), today, monkeypatch)
    assert told(page.plan.doses) == expected[now]
    for on, lines in page.coming_days:
        assert told(lines) == expected[(on - BEGINS).days + 1]
    if not page.coming_days:
        assert not any(expected[day] for day in range(now + 1, now + 7))

    printed = {
        one.number: [(d.medication.drug, d.time or "") for d in one.doses]
        for one in days(protocol, None, today)
    }
    drawn = {(bar.medication.drug, day) for bar in bars(medications, now) for day in bar.days}
    downloaded = in_calendar(
        calendar_of(
            protocol, None, zone=LONDON, clinic="c", made_at=datetime.combine(today, datetime.min.time(), UTC),
            address="https://clinic.example/p", is_named=True,
        )
    )  # fmt: skip
    for day in range(-4, until):
        assert printed.get(day, []) == expected[day], day
        assert {drug for drug, at in drawn if at == day} == {drug for drug, _time in expected[day]}, day
        listed = {(d.medication.drug, d.day, d.time or "") for d in doses_of_day(courses(medications), day)}
        for dose in listed:
            assert dose in downloaded
    assert {(drug, day, time) for drug, day, time in downloaded if day < until - 1} <= {
        (d.medication.drug, d.day, d.time or "")
        for day in range(-5, until + 1)
        for d in doses_of_day(courses(medications), day)
    }


def in_calendar(file: bytes) -> set[tuple[str, int, str]]:
    found = set[tuple[str, int, str]]()
    for event in icalendar.Calendar.from_ical(file).walk("VEVENT"):
        start = event["DTSTART"].dt
        naive = (
            start.replace(tzinfo=None)
            if isinstance(start, datetime)
            else datetime(start.year, start.month, start.day)
        )
        time = f"{start:%H:%M}" if isinstance(start, datetime) else ""
        name = str(event["SUMMARY"]).split(" 1\N{NO-BREAK SPACE}")[0]
        for moment in rrulestr(event["RRULE"].to_ical().decode(), dtstart=naive):
            found.add((name, (moment.date() - BEGINS).days + 1, time))
    return found


@settings(max_examples=examples(150), deadline=None)
@given(medications=rows())
def test_nothing_until_the_trigger_comes_after_it_or_on_its_evening(medications: list[Medication]) -> None:
    triggers = [(m.start_day, minutes(m.time)) for m in medications if m.triggers]
    for course in courses(medications):
        row = course.medication
        if not row.is_until_trigger or not triggers:
            continue
        at = minutes(course.time)
        for day, hour in triggers:
            if day < row.start_day and max(d for d, _h in triggers) >= row.start_day:
                continue  # a later trigger ends it
            for dose in course.days(60):
                assert dose <= day, "after the trigger"
                if dose < day:
                    continue
                assert hour is None or (at is not None and at < hour), "at or after the trigger's hour"
                assert row.last_dose_day is not None or (at is not None and at < 12 * 60), "on its evening"


def course(hour: str | None = "21:00", **changes: Any) -> list[tuple[str | None, range]]:
    """The course of a row beside a trigger on day 10 at this hour."""
    fsh = Medication(
        **{"drug": "FSH", "drug_class": "Gonadotropin", "start_day": 1, "time": "19:00", **changes}
    )
    hcg = Medication(drug="hCG", start_day=10, is_trigger=True, time=hour)
    return [(one.time, one.days(30)) for one in courses([fsh, hcg]) if one.medication.drug == "FSH"]


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"stop_rule": "Until trigger"}, 9),
        ({"stop_rule": "Hasta el desencadenante"}, 9),
        ({"stop_rule": "until trigger", "time": "08:00"}, 10),
        ({"stop_rule": "until trigger", "time": None}, 9),
        ({"stop_rule": "until trigger", "last_dose_day": 10}, 10),
        ({"stop_rule": "until trigger", "last_dose_day": 8}, 8),
        ({"stop_rule": "until trigger", "last_dose_day": 12, "time": "22:00"}, 9),
        ({"stop_rule": "until trigger", "last_dose_day": 10, "hour": None}, 10),
        ({"stop_rule": "until trigger", "start_day": 10, "time": "08:00"}, 10),
        ({"stop_rule": "until trigger", "hour": "06:00"}, 9),
        ({"stop_rule": "until trigger", "hour": "05:59"}, 8),
        ({"end_day": 10}, 10),
        ({"drug_class": "GnRH antagonist", "stop_rule": None}, 9),
        ({"drug_class": "Vitamin", "stop_rule": None}, 30),
        ({"stop_rule": "Until the test"}, 30),
        ({"stop_rule": "14 days after the trigger"}, 9),
        ({"drug_class": "Luteal support", "stop_rule": "14 days after the trigger"}, 30),
        ({"drug_class": "Luteal support", "stop_rule": "2 weeks post-trigger", "start_day": 12}, 30),
        ({"drug_class": "Luteal support", "stop_rule": "14 días después de la inyección desencadenante"}, 30),
        ({"drug_class": "Luteal support", "stop_rule": "14 يومًا بعد حقنة التفجير"}, 30),
        ({"drug_class": "Vitamin", "stop_rule": "Daily after meals until trigger"}, 9),
        ({"drug_class": "Vitamin", "stop_rule": "Every day from day 1 until the trigger"}, 9),
    ],
)
def test_a_row_ends_as_it_says(changes: dict[str, Any], last: int) -> None:
    ((_time, found),) = course(**changes)
    assert found[-1] == last


def test_a_trigger_after_midnight_belongs_to_the_evening_before() -> None:
    fsh = Medication(drug="FSH", start_day=1, time="19:00", stop_rule="Until trigger")
    hcg = Medication(drug="hCG", start_day=10, is_trigger=True, time="00:30")
    protocol = plan([fsh, hcg])
    evening, night = BEGINS + timedelta(days=8), BEGINS + timedelta(days=9)
    assert [d.medication.drug for d in doses_on(protocol, None, evening)] == ["hCG"]
    assert doses_on(protocol, None, night) == []


@pytest.mark.parametrize(
    ("hour", "read"),
    [
        ("08:00:00", "08:00"),
        ("8:00", "08:00"),
        (" 08:00:00.0000000", "08:00"),
        ("00:30:00", "00:30"),
        ("08:00:30", "08:00:30"),
        ("at 8", "at 8"),
    ],
)
def test_an_hour_may_have_seconds(hour: str, read: str) -> None:
    row = Medication(drug="FSH", start_day=1, time=hour, times=(hour,))
    assert (row.time, row.hours) == (read, (read,))


@pytest.mark.parametrize("time", [None, "", " "])
@pytest.mark.parametrize("times", [(), ("",), (" ",)])
def test_an_empty_hour_is_none(time: str | None, times: tuple[str, ...]) -> None:
    assert Medication(drug="FSH", start_day=1, time=time, times=times).hours == (None,)
    assert Medication(drug="FSH", start_day=1, time="08:00", times=times).hours == ("08:00",)


@pytest.mark.parametrize("times", [("22:00", "00:30"), ("00:30", "22:00")])
def test_of_a_triggers_hours_the_first_ends_what_comes_before_it(times: tuple[str, str]) -> None:
    fsh = Medication(drug="FSH", start_day=1, time="19:00", stop_rule="Until trigger")
    hcg = Medication(drug="hCG", start_day=10, is_trigger=True, time=times[0], times=times)
    (last,) = (one.last for one in courses([fsh, hcg]) if one.medication is fsh)
    assert last == 8


def test_a_night_dose_says_from_which_day_to_which_and_is_there_after_midnight(monkeypatch: Any) -> None:
    hcg = Medication(drug="hCG", start_day=6, is_trigger=True, time="00:30")  # Wednesday 25 March
    fsh = Medication(drug="FSH", start_day=1, end_day=5, time="19:00")
    of = episode(plan([hcg, fsh]))
    assert [(line.drug, line.time) for line in seen(of, date(2026, 3, 24), monkeypatch).plan.doses] == [
        ("FSH", "19:00"),
        ("hCG", "night from Tuesday to Wednesday, 00:30"),
    ]
    page = seen(of, date(2026, 3, 25), monkeypatch)
    monkeypatch.setattr(plan_view, "now", lambda: datetime(2026, 3, 25, 0, 10, tzinfo=LONDON))
    assert [line.drug for line in page.plan.doses] == ["hCG"]
    page = seen(of, date(2026, 3, 25), monkeypatch)
    monkeypatch.setattr(plan_view, "now", lambda: datetime(2026, 3, 25, 9, 0, tzinfo=LONDON))
    assert page.plan.doses == []


def test_a_dose_without_an_hour_says_whom_to_call(monkeypatch: Any) -> None:
    hcg = Medication(drug="hCG", start_day=5, is_trigger=True)
    page = seen(episode(plan([hcg])), date(2026, 3, 24), monkeypatch)
    assert [line.time for line in page.plan.doses] == ["Time not given: call your clinic"]


def test_a_dose_without_an_amount_says_whom_to_call(monkeypatch: Any) -> None:
    fsh = Medication(drug="FSH", unit="IU", start_day=1, time="19:00")
    page = seen(episode(plan([fsh])), BEGINS, monkeypatch)
    assert [line.amount for line in page.plan.doses] == ["(amount not given: call your clinic)"]


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"status": ProtocolStatus.ON_HOLD}, Standing.ON_HOLD),
        ({"status": ProtocolStatus.DRAFT}, Standing.DRAFT),
        ({"status": ProtocolStatus.COMPLETED}, Standing.COMPLETED),
        ({"status": ProtocolStatus.CANCELLED}, Standing.CANCELLED),
        ({"status": ProtocolStatus("Paused")}, Standing.UNKNOWN),
        ({"start_date": None}, Standing.UNDATED),
        ({"medications": ()}, Standing.EMPTY),
    ],
)
def test_a_plan_that_is_not_followed_has_no_doses_and_says_why(
    changes: dict[str, Any], found: Standing, monkeypatch: Any
) -> None:
    fsh = Medication(drug="FSH", start_day=1, time="19:00")
    given_ = {"medications": [fsh], **changes}
    protocol = plan(given_.pop("medications"), **given_)
    assert standing(protocol, None, BEGINS) is found
    page = seen(episode(protocol), BEGINS, monkeypatch)
    assert page.plan.doses == [] and page.coming_days == [] and page.plan.grid is None
    assert days(protocol, None, BEGINS) == []
    assert page.plan.state is not None and "all" in page.plan.state[1], page.plan.state


@pytest.mark.parametrize(
    ("ending", "left"),
    [
        ({"status": CareStatus.FINISHED, "outcome": Outcome.PREGNANCY}, ["Progesterone"]),
        ({"status": CareStatus.FINISHED, "outcome": Outcome.NO_PREGNANCY}, []),
        ({"status": CareStatus.CANCELLED}, []),
    ],
)
def test_what_outlasts_the_treatment_stays_shown(
    ending: dict[str, Any], left: list[str], monkeypatch: Any
) -> None:
    medications = [
        Medication(drug="FSH", start_day=1, time="19:00", stop_rule="Until trigger"),
        Medication(
            drug="Progesterone", dose=400, unit="mg", start_day=3, end_day=60, times=("08:00", "20:00")
        ),
        Medication(drug="Later", start_day=50),
    ]
    ended = episode(plan(medications), end_date=BEGINS + timedelta(days=2), **ending)  # on day 3
    page = seen(ended, BEGINS + timedelta(days=59), monkeypatch)
    assert sorted({line.drug for line in page.plan.doses}) == left
    assert len(page.plan.go_on) == len(left)
    assert all(
        "Go on with Progesterone 400\N{NO-BREAK SPACE}mg (08:00, 20:00) until Mon" in sentence
        for sentence in page.plan.go_on
    )
    assert left or page.plan.state is not None


@pytest.mark.parametrize(
    ("language", "unit", "dose", "words"),
    [
        ("en", "IU", 2250, "2250\N{NO-BREAK SPACE}units"),
        ("en", "µg", 250, "250\N{NO-BREAK SPACE}micrograms"),
        ("en", "iu", 1, "1\N{NO-BREAK SPACE}unit"),
        ("en", "mg", 0.25, "0.25\N{NO-BREAK SPACE}mg"),
        ("es", "IU", 2250, "2250\N{NO-BREAK SPACE}unidades"),
        ("es", "mcg", 6.5, "6,5\N{NO-BREAK SPACE}microgramos"),
        ("ar", "IU", 2250, "2250\N{NO-BREAK SPACE}وحدة"),
    ],
)
def test_patients_read_units_written_out_and_ungrouped(
    language: str, unit: str, dose: float, words: str, portal: Any
) -> None:
    row = Medication(drug="d", dose=dose, unit=unit, start_day=1, time="19:00")
    with portal.app.test_request_context("/"):
        g.language = language
        assert PlanWords(plan([row]), is_plain=True).amount(row) == words


@pytest.mark.parametrize("drug_class", ["hCG", "GnRH agonist"])
def test_a_trigger_ends_on_its_day(drug_class: str, portal: Any) -> None:
    row = Medication(drug="d", drug_class=drug_class, start_day=11, time="21:00", is_trigger=True)
    with portal.app.test_request_context("/"):
        g.language = "en"
        words = PlanWords(plan([row]), is_plain=True)
        assert words.until(row) == ("Day 11", write_day(words.date_of(11)))


def test_a_night_that_ends_while_a_page_is_made_brings_no_dose_of_the_night_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hcg = Medication(drug="hCG", start_day=6, is_trigger=True, time="00:30")
    page = seen(episode(plan([hcg])), date(2026, 3, 25), monkeypatch)
    assert page.plan.standing
    monkeypatch.setattr(plan_view, "now", lambda: datetime(2026, 3, 26, 0, 0, 0, 100, LONDON))
    assert told(page.plan.doses) == []
