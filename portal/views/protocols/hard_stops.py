"""The hard stops on a plan's review: doses outside their range, doubled, or changed a lot, and a trigger that doesn't fit the
egg collection. Each has to be answered before the plan is sent, by typing the stored value again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from flask import g
from msgspec.structs import replace

from portal.config.dose_ranges import DoseRange, range_of, usual_units
from portal.config.units import is_same_unit
from portal.dates import days_after
from portal.i18n.gettext import _
from portal.parse import dose, whole_number
from portal.services.episodes import Appointment
from portal.services.protocols import Medication
from portal.services.rules.doses import Course, courses, horizon, minutes
from portal.values import Value
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from portal.web.doses import dose_number
from portal.web.filters import in_a_row, number
from portal.web.visit_times import visit_doubt, visit_time

EARLIEST, LATEST = 34, 37
"""Hours from trigger to egg collection that need no answer."""


class HardStop(Value, frozen=True):
    """A question on the review: `text` says what is unusual; `wanted` is what has to be typed again at the field `name`."""

    name: str
    text: str
    label: str
    wanted: str
    fault: str | None = None

    def is_answered_by(self, typed: str) -> bool:
        """Whether the stored value was typed again."""
        given, wanted = dose(typed), dose(self.wanted)
        return given == wanted if wanted is not None else typed.strip() == self.wanted


def hard_stops(before: Plan | None, after: Plan, collection: Appointment | None) -> list[HardStop]:
    """Return the questions about what is new or changed since `before`; `collection` is when eggs are collected."""
    known = set(before.medications) if before else set[MedicationRow]()
    found: list[HardStop] = []
    for index, row in enumerate(after.medications):
        if row in known:
            continue
        reasons = [
            *_in_other_unit(row, g.tenant.dose_ranges),
            *_out_of_range(row, g.tenant.dose_ranges),
            *_doubled(index, after),
            *_changed_a_lot(row, before, after),
        ]
        if reasons:
            label = _("Type the dose of %(drug)s again: %(amount)s", drug=row.drug, amount=row.amount)
            found.append(HardStop(f"again-{index}", " ".join(reasons), label, row.dose))
    return found + _trigger_hard_stops(after, collection)


def unanswered(found: Sequence[HardStop], form: Mapping[str, str]) -> list[HardStop]:
    """Return all questions, with a fault at those not answered; empty if all are."""
    checked = [
        stop
        if stop.is_answered_by(form.get(stop.name, ""))
        else replace(stop, fault=_("Type %(wanted)s, or change it.", wanted=stop.wanted))
        for stop in found
    ]
    return checked if any(stop.fault for stop in checked) else []


def triggers_told(plan: Plan, collection: Appointment | None, *, is_unread: bool = False) -> list[str]:
    """Return for each hour of a trigger: `35 h before egg collection, Fri 27 Nov, 08:00`; or that it can't be told, where the
    treatment couldn't be read (`is_unread`).
    """
    if is_unread and any(row.is_trigger for row in plan.medications):
        return [_("The treatment can’t be read right now, so it isn’t known when eggs are collected.")]
    return [gap.told for gap in _gaps(plan, collection)]


class _Gap(Value, frozen=True):
    """The time from an hour of a trigger, in row `index`, to the egg collection."""

    index: int
    at: str
    hours: float
    told: str


def _gaps(plan: Plan, collection: Appointment | None) -> list[_Gap]:
    begins = plan.begins
    found: list[_Gap] = []
    for index, row in enumerate(plan.medications if begins and collection else ()):
        on: date | None = days_after(begins, int(row.start_day) - 1) if begins and row.is_trigger else None
        for hour in row.hours:
            at = minutes(hour)
            if on is None or at is None or collection is None:
                continue
            moment = datetime.combine(on, time(*divmod(at, 60)), g.tenant.time_zone)
            hours = (collection.start - moment).total_seconds() / 3600
            told = _(
                "%(hours)s h before egg collection, %(moment)s",
                hours=number(_to_a_tenth(hours)),
                moment=in_a_row(filter(None, (visit_time(collection), visit_doubt(collection))), " · "),
            )
            found.append(_Gap(index, hour, hours, told))
    return found


def _to_a_tenth(hours: float) -> float:
    """Round these hours away from the usual ones, so that 33 h 59 min doesn't read as 34."""
    if hours < EARLIEST:
        return math.floor(hours * 10) / 10
    return math.ceil(hours * 10) / 10 if hours > LATEST else round(hours, 1)


def _trigger_hard_stops(plan: Plan, collection: Appointment | None) -> list[HardStop]:
    return [
        HardStop(
            f"again-{gap.index}-{gap.at.replace(':', '')}",
            _(
                "The trigger is %(told)s. Usual are %(least)s to %(most)s hours.",
                told=gap.told, least=EARLIEST, most=LATEST,
            ),
            _("Type the hour of the trigger again: %(time)s", time=gap.at),
            gap.at,
        )
        for gap in _gaps(plan, collection)
        if not EARLIEST <= gap.hours <= LATEST
    ]  # fmt: skip


def _in_other_unit(row: MedicationRow, ranges: Sequence[DoseRange]) -> list[str]:
    units = usual_units(ranges, row.drug, row.unit)
    if not units:
        return []
    return [
        _("%(drug)s is usually given in %(units)s, not in %(unit)s.", drug=row.drug, units=in_a_row(units), unit=row.unit)
    ]  # fmt: skip


def _out_of_range(row: MedicationRow, ranges: Sequence[DoseRange]) -> list[str]:
    value, usual = dose(row.dose), range_of(ranges, row.drug, row.unit, row.route)
    if value is None or usual is None or usual.least <= float(value) <= usual.most:
        return []
    return [
        _(
            "%(amount)s of %(drug)s is outside the usual range of %(least)s to %(most)s %(unit)s.",
            amount=row.amount, drug=row.drug, least=dose_number(usual.least), most=dose_number(usual.most), unit=row.unit,
        )
    ]  # fmt: skip


def _doubled(index: int, plan: Plan) -> list[str]:
    row = plan.medications[index]
    rows = [medication.medication() for medication in plan.medications]
    of = courses(rows)
    until = horizon(of, None)
    mine = _days(of, rows[index], until)
    for other, beside in enumerate(rows):
        if (
            other != index
            and beside.drug.casefold() == row.drug.casefold()
            and mine & _days(of, beside, until)
        ):
            return [_("%(drug)s is in two rows on the same day.", drug=row.drug)]
    return []


def _days(of: Sequence[Course], row: Medication, until: int) -> set[int]:
    return {day for dosed in of if dosed.medication is row for day in dosed.days(until)}


def _changed_a_lot(row: MedicationRow, before: Plan | None, after: Plan) -> list[str]:
    """A change of more than half each time, or of the unit: against the same row before, or else against the row of the drug
    that ends where it begins, to which a trigger isn't compared. Against the same row also one of how much it is a day.
    """
    same = _same_row(row, before)
    was = same or (None if row.is_trigger else _earlier_row(row, after))
    if was is None:
        return []
    if not is_same_unit(was.unit, row.unit) or _is_much(_each_time(was), _each_time(row)):
        return [_("%(drug)s changes from %(was)s to %(now)s.", drug=row.drug, was=was.amount, now=row.amount)]
    if same and _is_much(before_a_day := _of_day(was), a_day := _of_day(row)):
        told = {"was": f"{dose_number(before_a_day)} {was.unit}", "now": f"{dose_number(a_day)} {row.unit}"}
        return [_("%(drug)s changes from %(was)s to %(now)s a day.", drug=row.drug, **told)]
    return []


def _same_row(row: MedicationRow, before: Plan | None) -> MedicationRow | None:
    rows = before.medications if before and row.id else ()
    return next((medication for medication in rows if medication.id == row.id), None)


def _earlier_row(row: MedicationRow, after: Plan) -> MedicationRow | None:
    earlier = [
        medication
        for medication in after.medications
        if medication is not row
        and not medication.is_trigger
        and medication.drug.casefold() == row.drug.casefold()
        and int(medication.start_day) < int(row.start_day)
    ]
    return max(earlier, key=lambda medication: int(medication.start_day), default=None)


def _each_time(row: MedicationRow) -> float:
    """How much is taken each time; 0 if that isn't given."""
    return float(dose(row.dose) or 0)


def _of_day(row: MedicationRow) -> float:
    """How much is taken a day, on average; 0 if that isn't given."""
    return _each_time(row) * max(len(row.hours), 1) / (whole_number(row.every_days, least=1) or 1)


def _is_much(was: float, now: float) -> bool:
    """Whether one is more than half more or less than the other; not if one isn't given."""
    return was > 0 and now > 0 and abs(now - was) * 2 > was
