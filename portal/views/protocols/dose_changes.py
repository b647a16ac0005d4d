"""Changing a dose from a day on: the old row ends, a new one begins, and days gone by stay as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date

from msgspec.structs import replace

from portal.config.routes import route_of
from portal.config.units import is_same_unit
from portal.dates import days_after
from portal.i18n.gettext import _
from portal.services.protocols import Medication, Protocol
from portal.services.rules.doses import Course, common_horizon, courses, minutes
from portal.values import Value
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from portal.views.protocols.typed_values import day_in
from portal.web.doses import amount
from portal.web.filters import day as write_day
from portal.web.filters import in_a_row, local, now, number, today

_EVENING = 17 * 60


class NewDose(Value, frozen=True):
    """What the button of a row does: begin a new dose on day `first` of the plan."""

    first: int
    label: str


class DoseDifference(Value, frozen=True):
    """What is given of one medicine from a day on, before and after the change: amounts with their hours, or empty."""

    when: str
    drug: str
    before: str
    after: str


def dose_differences(before: Plan, after: Plan) -> list[DoseDifference]:
    """Return the doses that differ, by the first day of each difference; a difference that goes on is told once."""
    old, new = (courses([row.medication() for row in plan.medications]) for plan in (before, after))
    until = common_horizon(old, new, today=after.today)
    found: list[tuple[int, DoseDifference]] = []
    for drug in sorted({course.medication.drug for course in (*old, *new)}):
        was, is_now = _by_day(old, drug, until), _by_day(new, drug, until)
        told = ("", "")
        for day in sorted(was.keys() | is_now.keys()):
            pair = was.get(day, ""), is_now.get(day, "")
            if pair[0] != pair[1] and pair != told:
                on = days_after(after.begins, day - 1) if after.begins else None
                when = write_day(on) if on else _("Day %(day)s", day=number(day))
                found.append((day, DoseDifference(when, drug, *pair)))
            told = pair if pair[0] != pair[1] else ("", "")
    return [change for _day, change in sorted(found, key=lambda entry: (entry[0], entry[1].drug))]


def _by_day(of: Sequence[Course], drug: str, until: int) -> dict[int, str]:
    found: dict[int, list[str]] = {}
    for course in sorted(of, key=_hour_and_amount):
        if course.medication.drug == drug:
            words = amount(course.medication, is_plain=False)
            for day in course.days(until):
                found.setdefault(day, []).append(f"{course.time or ''} {words}".strip())
    return {day: in_a_row(doses) for day, doses in found.items()}


def _hour_and_amount(course: Course) -> tuple[int, float]:
    """What orders the doses of a day, whatever the order of the rows."""
    at = minutes(course.time)
    return (24 * 60 if at is None else at), course.medication.dose or 0.0


def new_doses(protocol: Protocol | None, plan: Plan) -> dict[int, NewDose]:
    """Return the rows that have begun and go on, by index, each with the next day that a new dose can begin."""
    day = _day_of(protocol)
    if protocol is None or day is None:
        return {}
    found: dict[int, NewDose] = {}
    last_days = _last_days(plan)
    for index, row in enumerate(plan.medications):
        first = _next_due(row, day, last_days.get(index))
        if first is not None:
            found[index] = NewDose(first, _label(protocol, row, first))
    return found


def with_new_dose(protocol: Protocol | None, plan: Plan, act: str) -> Plan | None:
    """Return the plan after the button `split-medication-2`: that row ends and a copy of it begins; None for another act."""
    found = {f"split-medication-{index}": (index, new) for index, new in new_doses(protocol, plan).items()}
    if act not in found:
        return None
    index, new = found[act]
    row = plan.medications[index]
    ended = replace(row, end_day=str(new.first - 1), stop_rule="")
    begun = replace(row, id="", start_day=str(new.first))
    return replace(
        plan, medications=(*plan.medications[:index], ended, begun, *plan.medications[index + 1 :])
    )


def trigger_faults(plan: Plan) -> dict[str, str]:
    """The errors, by field id, of triggers without the hour that an active plan needs."""
    return {
        f"medication-{index}-time": _("An active protocol needs the hour of its trigger.")
        for index, row in enumerate(plan.medications)
        if row.is_trigger and not row.hours
    }


def dose_change_faults(protocol: Protocol, plan: Plan) -> dict[str, str]:
    """The errors, by field id, of changes to what an active plan already gave on earlier days, and of its trigger's hour."""
    day = _day_of(protocol)
    if protocol.is_active and (faults := trigger_faults(plan)):
        return faults
    if day is None:
        return {}
    begun = {
        medication.id: MedicationRow.of(medication)
        for medication in protocol.medications
        if medication.id and medication.start_day < day
    }
    found: dict[str, str] = {}
    if begun and plan.begins != protocol.start_date:
        found["start_date"] = _("The plan has begun, so its day 1 stays.")
    if plan.today is not None and all(medication.id for medication in protocol.medications):
        for index, row in enumerate(plan.medications):
            start = day_in(row.start_day)
            if row.id not in begun and start is not None and start < plan.today:
                found[f"medication-{index}-start_day"] = _("That day is over. Begin it today or later.")
    kept = {row.id: (index, row) for index, row in enumerate(plan.medications) if row.id}
    given = _doses_before(day, protocol.medications)
    longer = _doses_before(day, [row.medication() for row in plan.medications])
    going_on = new_doses(protocol, plan)
    for id_, old in begun.items():
        if id_ not in kept:
            removed = _(
                "%(drug)s was given on earlier days. Give it a last day instead of removing it.",
                drug=old.drug,
            )
            found["name"] = " ".join(filter(None, (found.get("name"), removed)))
            continue
        index, new = kept[id_]
        for column in ("drug", "dose", "unit", "route", "start_day"):
            if getattr(new, column) != getattr(old, column) and not _is_same(column, new, old):
                told = old.route if column == "route" else old.amount
                found[f"medication-{index}-{column}"] = (
                    _(
                        "It was given as %(amount)s on earlier days, which stay as they were. Press “New dose from …”.",
                        amount=told,
                    )
                    if index in going_on
                    else _(
                        "It was given as %(amount)s on earlier days, which stay as they were. Add the medicine again, from today or later.",
                        amount=told,
                    )
                )
        if new.start_day == old.start_day and longer[id_] - given[id_]:
            column = _column_of_more(new, old)
            found[f"medication-{index}-{column}"] = _(
                "This adds doses on earlier days, which stay as they were. Add the medicine again, from today or later."
            )
        elif new.start_day == old.start_day and (
            column := _column_of_fewer(new, old, given[id_] - longer[id_])
        ):
            found[f"medication-{index}-{column}"] = _(
                "This leaves out doses on earlier days, which stay as they were. Press “New dose from …”, or add the medicine again from today or later."
            )
    return found


def _doses_before(day: int, medications: Sequence[Medication]) -> dict[str | None, Counter[int]]:
    """How many doses each row has on each day before `day`; an hour may change, for the amount stays."""
    found: dict[str | None, Counter[int]] = {}
    for course in courses(medications):
        found.setdefault(course.medication.id, Counter()).update(course.days(day - 1))
    return found


def _column_of_more(new: MedicationRow, old: MedicationRow) -> str:
    """The column by which a row has more doses than before."""
    if new.end_day == old.end_day and new.every_days != old.every_days:
        return "every_days"
    return "time" if new.end_day == old.end_day and len(new.hours) > len(old.hours) else "end_day"


def _column_of_fewer(new: MedicationRow, old: MedicationRow, left_out: Counter[int]) -> str:
    """The column by which a row leaves out doses of before; none if it only ends earlier, as it may have been stopped."""
    last = day_in(new.end_day)
    if not any(last is None or day <= last for day in left_out):
        return ""
    if new.every_days != old.every_days:
        return "every_days"
    return "time" if len(new.hours) < len(old.hours) else ""


def _is_same(column: str, new: MedicationRow, old: MedicationRow) -> bool:
    """Whether a column says what it said in other words, or what wasn't given before."""
    match column:
        case "dose":
            return new.amount == old.amount
        case "unit":
            return is_same_unit(new.unit, old.unit)
        case "route":
            return not old.route or route_of(new.route) == route_of(old.route)
        case _:
            return False


def _day_of(protocol: Protocol | None) -> int | None:
    return protocol.day_on(today()) if protocol and (protocol.is_active or protocol.is_on_hold) else None


def _last_days(plan: Plan) -> dict[int, int]:
    """The last day with a dose of each row that ends, by index: by its own day, or with the trigger."""
    rows = {
        index: row.medication()
        for index, row in enumerate(plan.medications)
        if day_in(row.start_day) is not None and (not row.end_day or day_in(row.end_day) is not None)
    }
    of = courses(list(rows.values()))
    found: dict[int, int] = {}
    for index, row in rows.items():
        ends = [course.last for course in of if course.medication is row]
        known = [end for end in ends if end is not None]
        if len(known) == len(ends):
            found[index] = max(known)
    return found


def _next_due(row: MedicationRow, day: int, last: int | None) -> int | None:
    """The first day from today on which all hours of the row are still to come; None if it hasn't begun or is over."""
    start = day_in(row.start_day)
    if start is None or start >= day or row.is_trigger:
        return None
    here = local(now())
    is_to_come = all((minutes(hour) or 0) > here.hour * 60 + here.minute for hour in row.hours)
    every = int(row.every_days) if row.every_days.isdigit() and int(row.every_days) else 1
    earliest = day if row.hours and is_to_come else day + 1
    first = start + -(-(earliest - start) // every) * every
    return first if last is None or first <= last else None


def _label(protocol: Protocol, row: MedicationRow, first: int) -> str:
    on: date | None = days_after(protocol.start_date, first - 1) if protocol.start_date else None
    if on == today():
        hour = row.hours[0] if row.hours else ""
        if (minutes(hour) or 0) >= _EVENING:
            return _("New dose from tonight, %(time)s", time=hour)
        return _("New dose from today, %(time)s", time=hour)
    return (
        _("New dose from %(day)s", day=write_day(on))
        if on
        else _("New dose from day %(day)s", day=number(first))
    )
