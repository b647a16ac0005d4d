"""The rows of a protocol as form data: a medicine or a check as text, and its validation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.parse import amount, paragraphs
from portal.services.records.protocols import Check, Medication
from portal.web.filters import in_a_row

LONGEST, LONG = 200, 10_000
_FIRST_DAY, _LAST_DAY = -60, 400
_LARGEST_DOSE = 1_000_000
_LONGEST_TYPED = 20_000
_TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


class MedicationRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A medicine as text; `id` is empty for a new one."""

    id: str = ""
    drug: str = ""
    drug_class: str = ""
    dose: str = ""
    unit: str = ""
    route: str = ""
    start_day: str = ""
    end_day: str = ""
    stop_rule: str = ""
    time: str = ""
    instructions: str = ""

    @classmethod
    def of(cls, medication: Medication) -> MedicationRow:
        """The row for this medicine."""
        return cls(
            id=medication.id or "",
            drug=clean(medication.drug),
            drug_class=clean(medication.drug_class),
            dose=number_text(medication.dose),
            unit=clean(medication.unit),
            route=clean(medication.route),
            start_day=str(medication.start_day),
            end_day="" if medication.end_day is None else str(medication.end_day),
            stop_rule=clean(medication.stop_rule),
            time=clean(medication.time),
            instructions=clean(medication.instructions),
        )

    def medication(self) -> Medication:
        """The medicine from this row; call only if there are no errors."""
        return Medication(
            id=self.id or None,
            drug=self.drug,
            drug_class=self.drug_class,
            dose=number_in(self.dose),
            unit=self.unit,
            route=self.route,
            start_day=int(self.start_day),
            end_day=int(self.end_day) if self.end_day else None,
            stop_rule=self.stop_rule or None,
            time=self.time or None,
            instructions=self.instructions or None,
        )

    def words(self) -> str:
        """The row as one line."""
        days = (
            _("days %(start)s to %(end)s", start=self.start_day, end=self.end_day)
            if self.end_day
            else _("from day %(start)s", start=self.start_day)
        )
        parts = (self.drug_class, f"{self.dose} {self.unit}".strip(), self.route, self.time, days)
        rest = (self.stop_rule, self.instructions)
        return in_a_row(part for part in (self.drug, *parts, *rest) if part)

    def faults(self) -> dict[str, str]:
        """The errors, by column."""
        found: dict[str, str] = {}
        for column, sentence in (
            ("drug", _("Enter the medicine.")),
            ("drug_class", _("Enter its class, such as GnRH antagonist.")),
            ("unit", _("Enter the unit, such as IU.")),
            ("route", _("Enter the route, such as subcutaneous.")),
        ):
            if not getattr(self, column):
                found[column] = sentence
        dose = number_in(self.dose)
        if dose is None or not 0 < dose <= _LARGEST_DOSE:
            found["dose"] = _("Enter the dose as a number over 0, such as 225 or 0.25.")
        start, end = day_in(self.start_day), day_in(self.end_day)
        if start is None:
            found["start_day"] = _not_a_day()
        if self.end_day and end is None:
            found["end_day"] = _not_a_day()
        elif start is not None and end is not None and end < start:
            found["end_day"] = _("The last day comes before the first.")
        if self.time and not _TIME.fullmatch(self.time):
            found["time"] = _("Enter the time as 24 hours, such as 19:00.")
        return found | _too_long(self, ("stop_rule", "instructions"))


class CheckRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A check as text. `key` is its name when the form was opened, empty for a new one."""

    key: str = ""
    day: str = ""
    kind: str = ""
    note: str = ""

    @classmethod
    def of(cls, check: Check) -> CheckRow:
        """The row for this check."""
        return cls(day=str(check.day), kind=clean(check.kind), note=clean(check.note))

    def check(self) -> Check:
        """The check from this row; call only if there are no errors."""
        return Check(day=int(self.day), kind=self.kind, note=self.note or None)

    def words(self) -> str:
        """The row as one line."""
        return in_a_row(part for part in (_("day %(day)s", day=self.day), self.kind, self.note) if part)

    def faults(self) -> dict[str, str]:
        """The errors, by column."""
        found: dict[str, str] = {}
        if day_in(self.day) is None:
            found["day"] = _not_a_day()
        if not self.kind:
            found["kind"] = _("Enter what is looked at, such as a scan.")
        return found | _too_long(self, ("note",))


RowT = TypeVar("RowT", MedicationRow, CheckRow)
MEDICATION_COLUMNS = tuple(name for name in MedicationRow.__struct_fields__ if name != "id")
CHECK_COLUMNS = tuple(name for name in CheckRow.__struct_fields__ if name != "key")


def column_labels() -> dict[str, str]:
    """The labels of the columns."""
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
        "instructions": _("Instructions"),
        "day": _("Day"),
        "kind": _("What is looked at"),
        "note": _("Note"),
    }


def number_text(number: float | None) -> str:
    """A number in input format: 225, 0.25."""
    if number is None:
        return ""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def number_in(text: str) -> float | None:
    """The typed number, with a decimal point or comma, or None."""
    found = amount(text)
    return None if found is None else float(found)


def day_in(text: str) -> int | None:
    """The typed day of the protocol (-60 to 400), or None."""
    if not re.fullmatch(r"[-+]?[0-9]{1,3}", text):
        return None
    return int(text) if _FIRST_DAY <= int(text) <= _LAST_DAY else None


def clean(text: str | None) -> str:
    """Text normalized as form data, so that record and form can be compared."""
    return paragraphs(text, longest=_LONGEST_TYPED)


def time_typed(text: str) -> str:
    """A time in the record's format: `8:00` becomes `08:00`; anything else is unchanged."""
    return f"0{text}" if re.fullmatch(r"[0-9]:[0-5][0-9]", text) else text


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


def too_long(longest: int) -> str:
    """The error for a text with more characters than that."""
    return _("Write at most %(longest)s characters.", longest=longest)


def _too_long(row: MedicationRow | CheckRow, long: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in column_labels():
        limit = LONG if name in long else LONGEST
        if len(getattr(row, name, "")) > limit:
            found[name] = too_long(limit)
    return found


def _not_a_day() -> str:
    return _("Enter a day of the protocol as a whole number, such as 1 or -3.")
