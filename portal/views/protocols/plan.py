"""A protocol as a form holds it: text, row by row; what is wrong with it, and what it makes of a record.

Each row of medication or monitoring is one value of its own under a name that stays: a change by someone else is met
row by row, because a dose of one version with the days of the other is a plan that nobody made.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from portal.services.records import Check, Medication, Protocol, ProtocolDraft, ProtocolStatus, ProtocolType
from portal.web.clinical import treatment_name
from portal.web.filters import in_a_row
from portal.web.forms import Form, Values, a_date, day_of
from portal.words import _

FACTS = ("name", "type", "description", "start_date", "physician_id")
MOST_MEDICATIONS, MOST_CHECKS = 100, 200
_FIRST_DAY, _LAST_DAY = -60, 400
_LARGEST_DOSE = 1_000_000
_LONGEST, _LONG = 200, 10_000
_KEY = re.compile(r"c-[0-9a-f]{12}-[0-9]{1,3}")
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
        """The row that shows this medicine."""
        return cls(
            id=medication.id or "",
            drug=medication.drug,
            drug_class=medication.drug_class,
            dose=written(medication.dose),
            unit=medication.unit,
            route=medication.route,
            start_day=str(medication.start_day),
            end_day="" if medication.end_day is None else str(medication.end_day),
            stop_rule=medication.stop_rule or "",
            time=medication.time or "",
            instructions=medication.instructions or "",
        )

    def medication(self) -> Medication:
        """The medicine that this row says; the row is without fault."""
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
        """What is wrong, by column."""
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
    """Something looked at on a day, as text. `key` is the name under which it was opened, empty for a new one."""

    key: str = ""
    day: str = ""
    kind: str = ""
    note: str = ""

    @classmethod
    def of(cls, check: Check) -> CheckRow:
        """The row that shows this check."""
        return cls(day=str(check.day), kind=check.kind, note=check.note or "")

    def check(self) -> Check:
        """The check that this row says; the row is without fault."""
        return Check(day=int(self.day), kind=self.kind, note=self.note or None)

    def words(self) -> str:
        """The row as one line."""
        return in_a_row(part for part in (_("day %(day)s", day=self.day), self.kind, self.note) if part)

    def faults(self) -> dict[str, str]:
        """What is wrong, by column."""
        found: dict[str, str] = {}
        if day_in(self.day) is None:
            found["day"] = _not_a_day()
        if not self.kind:
            found["kind"] = _("Enter what is looked at, such as a scan.")
        return found | _too_long(self, ("note",))


RowT = TypeVar("RowT", MedicationRow, CheckRow)
MEDICATION_COLUMNS = tuple(name for name in MedicationRow.__struct_fields__ if name != "id")
CHECK_COLUMNS = tuple(name for name in CheckRow.__struct_fields__ if name != "key")


class Plan(msgspec.Struct, frozen=True):
    """All that the form holds. `episode` (an id or link) and `status` are asked for a new protocol alone."""

    name: str = ""
    type: str = ""
    description: str = ""
    start_date: str = ""
    physician_id: str = ""
    episode: str = ""
    status: str = ProtocolStatus.DRAFT.value
    medications: tuple[MedicationRow, ...] = ()
    checks: tuple[CheckRow, ...] = ()

    @classmethod
    def of(cls, protocol: ProtocolDraft) -> Plan:
        """The form of a record as it is."""
        return cls(
            name=protocol.name,
            type=str(protocol.type or ""),
            description=protocol.description or "",
            start_date=protocol.start_date.isoformat() if protocol.start_date else "",
            physician_id=protocol.physician_id or "",
            medications=tuple(MedicationRow.of(one) for one in protocol.medications),
            checks=_keyed(CheckRow.of(one) for one in protocol.monitoring),
        )

    @classmethod
    def posted(cls, form: Mapping[str, str]) -> Plan:
        """The form as it was sent: rows are numbered, and as many as were shown."""
        facts = {name: _trimmed(form.get(name, "")) for name in (*FACTS, "episode", "status")}
        return cls(
            **facts,
            medications=tuple(
                MedicationRow(**row)
                for row in _rows(form, "medication", ("id", *MEDICATION_COLUMNS), MOST_MEDICATIONS)
            ),
            checks=tuple(
                CheckRow(**{**row, "key": row["key"] if _KEY.fullmatch(row["key"]) else ""})
                for row in _rows(form, "check", ("key", *CHECK_COLUMNS), MOST_CHECKS)
            ),
        )

    @classmethod
    def from_values(cls, values: Mapping[str, str]) -> Plan:
        """The form that these values make (`values` turned round); a row's empty value is a row removed."""
        facts = {name: values.get(name, "") for name in FACTS}
        medications = [
            row
            for name, text in values.items()
            if name.startswith("m-") and (row := _read(text, MedicationRow)) is not None
        ]
        checks = [
            replace(row, key="" if name.startswith("c-new") else name)
            for name, text in values.items()
            if name.startswith("c-") and (row := _read(text, CheckRow)) is not None
        ]
        return cls(**facts, medications=tuple(medications), checks=tuple(checks))

    def values(self) -> Values:
        """The same as text by name: one for each fact and each row; a row keeps its name while it is edited."""
        found = {name: getattr(self, name) for name in FACTS}
        for number, row in enumerate(self.medications):
            found[f"m-{_short(row.id)}" if row.id else f"m-new-{number}"] = _json(row)
        for number, row in enumerate(self.checks):
            found[row.key or f"c-new-{number}"] = _json(replace(row, key=""))
        return found

    def faults(self) -> dict[str, str]:
        """What is wrong, by the id of its field."""
        found: dict[str, str] = {}
        if not self.name:
            found["name"] = _("Enter a name for the protocol.")
        elif len(self.name) > _LONGEST:
            found["name"] = _too_long_sentence(_LONGEST)
        if not self.type or not ProtocolType(self.type).known:
            found["type"] = _("Choose the type of protocol.")
        if self.start_date and (wrong := a_date(self.start_date)):
            found["start_date"] = wrong
        if len(self.description) > _LONG:
            found["description"] = _too_long_sentence(_LONG)
        for number, row in enumerate(self.medications):
            found |= {f"medication-{number}-{column}": text for column, text in row.faults().items()}
        for number, row in enumerate(self.checks):
            found |= {f"check-{number}-{column}": text for column, text in row.faults().items()}
        return found

    def changed(self, act: str) -> Plan:
        """The form after a button of its rows: `add-medication`, `remove-check-2`; anything else changes nothing."""
        verb, _dash, rest = act.partition("-")
        what, _dash, number = rest.partition("-")
        index = int(number) if number.isascii() and number.isdigit() else -1
        match verb, what:
            case "add", "medication" if len(self.medications) < MOST_MEDICATIONS:
                return replace(self, medications=(*self.medications, MedicationRow()))
            case "add", "check" if len(self.checks) < MOST_CHECKS:
                return replace(self, checks=(*self.checks, CheckRow()))
            case "remove", "medication":
                return replace(self, medications=_without(self.medications, index))
            case "remove", "check":
                return replace(self, checks=_without(self.checks, index))
            case _:
                return self

    def drawn(self) -> tuple[list[Medication], list[Check]]:
        """Those rows that say enough to be drawn."""
        medications = [
            row.medication()
            for row in self.medications
            if row.drug and not row.faults().keys() & {"dose", "start_day", "end_day"}
        ]
        return medications, [row.check() for row in self.checks if not row.faults()]

    def draft(self, *, patient_id: str | None, episode_id: str | None) -> ProtocolDraft:
        """The new protocol that this makes; the form is without fault."""
        return ProtocolDraft(
            name=self.name,
            status=ProtocolStatus(self.status),
            type=ProtocolType(self.type),
            description=self.description or None,
            patient_id=patient_id,
            episode_id=episode_id,
            physician_id=self.physician_id or None,
            start_date=day_of(self.start_date),
            medications=tuple(row.medication() for row in self.medications),
            monitoring=tuple(row.check() for row in self.checks),
        )

    def onto(self, protocol: Protocol) -> Protocol:
        """The record with what this form says; rows that weren't touched stay exactly as the record has them."""
        untouched = {MedicationRow.of(one): one for one in protocol.medications}
        return replace(
            protocol,
            name=self.name,
            type=ProtocolType(self.type),
            description=self.description or None,
            start_date=day_of(self.start_date),
            physician_id=self.physician_id or None,
            medications=tuple(untouched.get(row) or row.medication() for row in self.medications),
            monitoring=tuple(row.check() for row in self.checks),
        )

    @property
    def copied(self) -> Plan:
        """The same rows for a protocol of its own: new, without dates or names of this one."""
        return replace(
            self,
            start_date="",
            physician_id="",
            medications=tuple(replace(row, id="") for row in self.medications),
            checks=tuple(replace(row, key="") for row in self.checks),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that saving changes: what, and its words before and after ("" where there is none)."""

    label: str
    before: str
    after: str


def changes(before: Plan, after: Plan, physicians: Sequence[tuple[str, str]]) -> list[Change]:
    """What saving `after` over `before` changes, fact by fact; within a row that stays, column by column."""
    words = Wording((before.values(), after.values()), physicians)
    old, new = before.values(), after.values()
    found: list[Change] = []
    for name in dict.fromkeys((*old, *new)):
        was, is_now = old.get(name, ""), new.get(name, "")
        if was == is_now:
            continue
        rows = _row(name, was), _row(name, is_now)
        if rows[0] and rows[1]:
            found += _columns_changed(words.label(name), rows[0], rows[1])
        else:
            found.append(Change(words.label(name), words.words(name, was), words.words(name, is_now)))
    return found


class Wording(Form):
    """Names and values of a plan as a person reads them, for comparing its versions."""

    def __init__(self, versions: Sequence[Values], physicians: Sequence[tuple[str, str]]) -> None:
        super().__init__({}, {})
        self._versions = versions
        self._physicians = dict(physicians)

    def label(self, name: str) -> str:
        """A fact's name, or which row it is."""
        if name in FACTS:
            return fact_labels()[name]
        rows = (_row(name, version.get(name, "")) for version in self._versions)
        row = next((row for row in rows if row), None)
        if isinstance(row, MedicationRow):
            return _("Medication: %(drug)s", drug=row.drug)
        return _("Monitoring: day %(day)s", day=row.day if row else "")

    def words(self, name: str, value: str) -> str:
        """A value in words."""
        if name == "type" and value:
            return treatment_name(value, plain=False)
        if name == "physician_id":
            return self._physicians.get(value, value)
        row = _row(name, value)
        return row.words() if row else "" if name not in FACTS else value


def fact_labels() -> dict[str, str]:
    """What the facts are called."""
    return {
        "name": _("Name"),
        "type": _("Type"),
        "description": _("Description"),
        "start_date": _("Day 1"),
        "physician_id": _("Physician"),
    }


def column_labels() -> dict[str, str]:
    """What the columns of the rows are called."""
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


def written(number: float | None) -> str:
    """A number as one types it: 225, 0.25."""
    if number is None:
        return ""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


def number_in(text: str) -> float | None:
    """The number that was typed, with a point or a comma, or None."""
    if not re.fullmatch(r"[0-9]{1,9}([.,][0-9]{1,9})?", text):
        return None
    number = float(text.replace(",", "."))
    return number if math.isfinite(number) else None


def day_in(text: str) -> int | None:
    """The day of the protocol that was typed (-60 to 400), or None."""
    if not re.fullmatch(r"[-+]?[0-9]{1,3}", text):
        return None
    return int(text) if _FIRST_DAY <= int(text) <= _LAST_DAY else None


def _columns_changed(
    label: str, before: MedicationRow | CheckRow, after: MedicationRow | CheckRow
) -> list[Change]:
    names = column_labels()
    columns = [name for name in type(after).__struct_fields__ if name in names]
    return [
        Change(in_a_row((label, names[name])), getattr(before, name), getattr(after, name))
        for name in columns
        if getattr(before, name) != getattr(after, name)
    ]


def _row(name: str, value: str) -> MedicationRow | CheckRow | None:
    if name.startswith("m-"):
        return _read(value, MedicationRow)
    return _read(value, CheckRow) if name.startswith("c-") else None


def _rows(form: Mapping[str, str], what: str, columns: Sequence[str], most: int) -> Iterable[dict[str, str]]:
    first = columns[1]
    for number in range(most):
        if f"{what}-{number}-{first}" not in form:
            return
        yield {column: _trimmed(form.get(f"{what}-{number}-{column}", "")) for column in columns}


def _keyed(rows: Iterable[CheckRow]) -> tuple[CheckRow, ...]:
    """Name each check by its day and kind; the API gives them no ids."""
    seen: Counter[str] = Counter()
    named: list[CheckRow] = []
    for row in rows:
        base = _short(f"{row.day}\0{row.kind}")
        seen[base] += 1
        named.append(replace(row, key=f"c-{base}-{seen[base]}"))
    return tuple(named)


def _without(rows: tuple[RowT, ...], index: int) -> tuple[RowT, ...]:
    return tuple(row for number, row in enumerate(rows) if number != index)


def _read(text: str, into: type[RowT]) -> RowT | None:
    try:
        return msgspec.json.decode(text, type=into) if text else None
    except msgspec.DecodeError:
        return None


def _json(row: MedicationRow | CheckRow) -> str:
    return msgspec.json.encode(row).decode()


def _short(text: str) -> str:
    """An opaque id as a part of a field's name."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _trimmed(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _too_long(row: MedicationRow | CheckRow, long: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in column_labels():
        limit = _LONG if name in long else _LONGEST
        if len(getattr(row, name, "")) > limit:
            found[name] = _too_long_sentence(limit)
    return found


def _too_long_sentence(longest: int) -> str:
    return _("Write at most %(longest)s characters.", longest=longest)


def _not_a_day() -> str:
    return _("Enter a day of the protocol as a whole number, such as 1 or -3.")
