"""The rows of a protocol as form data: a medicine or a check as text, and its validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.i18n.number_words import in_words
from portal.parse import dose, whole_number
from portal.services.protocols import Check, Medication, is_until_trigger
from portal.views.protocols.typed_values import (
    LONG,
    LONGEST,
    TIME,
    clean,
    contradicts,
    day_in,
    dose_fault,
    not_a_day,
    number_in,
    number_text,
    too_long,
)
from portal.web.doses import dose_number
from portal.web.filters import in_a_row, isolate

_LONGEST_INTERVAL = 100
_MOST_HOURS = 24


class MedicationRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A medicine as text; `id` is empty for a new one.

    `end_day` is the last day with a dose, its evening included even if the trigger is that day, but for one that the API
    gave as `endDay` of a row until the trigger: while it stays that, in `given_end_day`, the evening isn't. `time` lists all
    hours of a day; `is_trigger` is "yes" or empty.
    """

    id: str = ""
    drug: str = ""
    drug_class: str = ""
    dose: str = ""
    unit: str = ""
    route: str = ""
    start_day: str = ""
    end_day: str = ""
    given_end_day: str = ""
    stop_rule: str = ""
    time: str = ""
    every_days: str = ""
    is_trigger: str = ""
    instructions: str = ""

    @classmethod
    def of(cls, medication: Medication) -> MedicationRow:
        last = min((d for d in (medication.end_day, medication.last_dose_day) if d is not None), default=None)
        is_given = medication.is_until_trigger and medication.last_dose_day is None
        return cls(
            id=medication.id or "",
            drug=clean(medication.drug),
            drug_class=clean(medication.drug_class),
            dose=number_text(medication.dose),
            unit=clean(medication.unit),
            route=clean(medication.route),
            start_day=str(medication.start_day),
            end_day="" if last is None else str(last),
            given_end_day=str(last) if last is not None and is_given else "",
            stop_rule=clean(medication.stop_rule),
            time=in_a_row((clean(hour) for hour in medication.hours if hour), ", "),
            every_days="" if (medication.every_days or 1) <= 1 else str(medication.every_days),
            is_trigger="yes" if medication.triggers else "",
            instructions=clean(medication.instructions),
        )

    def medication(self) -> Medication:
        """The medicine from this row; call only if there are no errors."""
        last = int(self.end_day) if self.end_day else None
        is_last_dose = is_until_trigger(self.stop_rule) and self.end_day != self.given_end_day
        return Medication(
            id=self.id or None,
            drug=self.drug,
            drug_class=self.drug_class,
            dose=number_in(self.dose),
            unit=self.unit,
            route=self.route,
            start_day=int(self.start_day),
            end_day=None if is_last_dose else last,
            last_dose_day=last if is_last_dose else None,
            stop_rule=self.stop_rule or None,
            time=next(iter(self.hours), None),
            times=self.hours,
            every_days=whole_number(self.every_days, least=1) or 1,
            is_trigger=bool(self.is_trigger),
            instructions=self.instructions or None,
        )

    @property
    def hours(self) -> tuple[str, ...]:
        return tuple(sorted(filter(None, self.time.split(", "))))

    @property
    def amount(self) -> str:
        """The dose that is stored, with its unit and in words: `5 IU (five)`."""
        number = dose(self.dose)
        if number is None:
            return f"{self.dose} {self.unit}".strip()
        return f"{dose_number(float(number))} {self.unit} ({in_words(number)})"

    @property
    def days(self) -> str:
        if self.end_day and self.end_day == self.start_day:
            return _("day %(day)s", day=isolate(self.start_day))
        if self.start_day and self.end_day:
            return _("days %(start)s to %(end)s", start=isolate(self.start_day), end=isolate(self.end_day))
        return _("from day %(start)s", start=isolate(self.start_day)) if self.start_day else ""

    @property
    def brief(self) -> str:
        """How much, when: what tells the row in a list of them."""
        return in_a_row(part for part in (f"{self.dose} {self.unit}".strip(), self.time, self.days) if part)

    def words(self) -> str:
        trigger = _("trigger") if self.is_trigger else ""
        often = _("every %(num)s days", num=self.every_days) if self.every_days not in ("", "1") else ""
        parts = (self.drug_class, trigger, self.amount, self.route, self.time, often, self.days)
        rest = (self.stop_rule, self.instructions)
        return in_a_row(part for part in (self.drug, *parts, *rest) if part)

    def faults(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for column, sentence in (
            ("drug", _("Enter the medicine.")),
            ("drug_class", _("Enter its class, such as GnRH antagonist.")),
            ("unit", _("Enter the unit, such as IU.")),
            ("route", _("Enter the route, such as subcutaneous.")),
        ):
            if not getattr(self, column):
                found[column] = sentence
        if fault := dose_fault(self.dose):
            found["dose"] = fault
        start, end = day_in(self.start_day), day_in(self.end_day)
        if start is None:
            found["start_day"] = not_a_day()
        if self.end_day and end is None:
            found["end_day"] = not_a_day()
        elif start is not None and end is not None and end < start:
            found["end_day"] = _("The last day comes before the first.")
        if any(not TIME.fullmatch(hour) for hour in self.hours) or len(self.hours) > _MOST_HOURS:
            found["time"] = _("Enter the time as 24 hours, such as 19:00; several as 08:00, 20:00.")
        if self.every_days and whole_number(self.every_days, least=1, most=_LONGEST_INTERVAL) is None:
            found["every_days"] = _("Enter 2 for every second day, or leave it empty for every day.")
        if not self.is_trigger and "trigger" in self.drug_class.casefold():
            found["is_trigger"] = _(
                "Its class says that it is the trigger. Tick this, or choose another class."
            )
        elif self.is_trigger and end is not None and end != start:
            found["end_day"] = _("A trigger is given once. Leave its last day empty.")
        if contradicts(self.instructions, len(self.hours), self.every_days or "1"):
            found["instructions"] = _(
                "This says something else than the hours and days of the row. Enter every hour under Time."
            )
        return found | _too_long(self, ("stop_rule", "instructions"))


class CheckRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A check as text. `key` is its name when the form was opened, empty for a new one."""

    key: str = ""
    day: str = ""
    kind: str = ""
    note: str = ""

    @classmethod
    def of(cls, check: Check) -> CheckRow:
        return cls(day=str(check.day), kind=clean(check.kind), note=clean(check.note))

    def check(self) -> Check:
        """The check from this row; call only if there are no errors."""
        return Check(day=int(self.day), kind=self.kind, note=self.note or None)

    @property
    def brief(self) -> str:
        """When: what tells the row in a list of them."""
        day = self.day and _("day %(day)s", day=isolate(self.day))
        return in_a_row(part for part in (day, self.note) if part)

    def words(self) -> str:
        day = _("day %(day)s", day=isolate(self.day))
        return in_a_row(part for part in (day, self.kind, self.note) if part)

    def faults(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if day_in(self.day) is None:
            found["day"] = not_a_day()
        if not self.kind:
            found["kind"] = _("Enter what is looked at, such as a scan.")
        return found | _too_long(self, ("note",))


RowT = TypeVar("RowT", MedicationRow, CheckRow)
MEDICATION_COLUMNS = tuple(name for name in MedicationRow.__struct_fields__ if name != "id")
CHECK_COLUMNS = tuple(name for name in CheckRow.__struct_fields__ if name != "key")


def column_labels() -> dict[str, str]:
    return {
        "drug": _("Medicine"),
        "drug_class": _("Class"),
        "dose": _("Dose"),
        "unit": _("Unit"),
        "route": _("Route"),
        "start_day": _("First day"),
        "end_day": _("Last day"),
        "stop_rule": _("Stop rule"),
        "time": _("Time"),
        "every_days": _("Every … days"),
        "is_trigger": _("Trigger"),
        "instructions": _("Instructions"),
        "day": _("Day"),
        "kind": _("What is looked at"),
        "note": _("Note"),
    }


def decode_row(text: str, into: type[RowT]) -> RowT | None:
    """The row from a hidden field, or None for a removed row."""
    try:
        row = msgspec.json.decode(text, type=into) if text else None
    except msgspec.DecodeError:
        return None
    return row and replace(row, **{name: clean(getattr(row, name)) for name in row.__struct_fields__})


def encode_row(row: MedicationRow | CheckRow) -> str:
    """The row as a hidden field's value."""
    return msgspec.json.encode(row).decode()


def _too_long(row: MedicationRow | CheckRow, long: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in column_labels():
        limit = LONG if name in long else LONGEST
        if len(getattr(row, name, "")) > limit:
            found[name] = too_long(limit)
    return found
