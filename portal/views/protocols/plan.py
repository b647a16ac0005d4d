"""A protocol as form data: text by row, and its validation."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from itertools import count

import msgspec
from msgspec.structs import replace

from portal.dates import days_after
from portal.i18n.gettext import _
from portal.parse import calendar_date, whole_number
from portal.services.protocols import Check, Medication, ProtocolDraft, ProtocolStatus, ProtocolType
from portal.views.protocols.rows import (
    CHECK_COLUMNS,
    MEDICATION_COLUMNS,
    CheckRow,
    MedicationRow,
    RowT,
    decode_row,
    encode_row,
)
from portal.views.protocols.typed_values import LONG, LONGEST, clean, day_in, times_typed, too_long
from portal.web.filters import today
from portal.web.forms import Values, a_date

FACTS = ("name", "type", "description", "start_date", "physician_id")
MOST_MEDICATIONS, MOST_CHECKS = 100, 200
"""How many rows can be added to."""
DAYS = ("start_day", "end_day")
_KEY = re.compile(r"c-[0-9a-f]{12}-[0-9]{1,3}")


class Plan(msgspec.Struct, frozen=True):
    """The form's data. `episode` (an id or link) and `status` are only for a new protocol."""

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
        return cls(
            name=clean(protocol.name),
            type=str(protocol.type or ""),
            description=clean(protocol.description),
            start_date=protocol.start_date.isoformat() if protocol.start_date else "",
            physician_id=protocol.physician_id or "",
            medications=tuple(MedicationRow.of(medication) for medication in protocol.medications),
            checks=_keyed(CheckRow.of(check) for check in protocol.monitoring),
        )

    @classmethod
    def posted(cls, form: Mapping[str, str]) -> Plan:
        """The submitted form data; rows are numbered."""
        facts = {name: clean(form.get(name)) for name in (*FACTS, "episode", "status")}
        return cls(
            **facts,
            medications=tuple(
                MedicationRow(**{**row, "time": times_typed(row["time"])})
                for row in _rows(form, "medication", ("id", *MEDICATION_COLUMNS))
            ),
            checks=tuple(
                CheckRow(**{**row, "key": row["key"] if _KEY.fullmatch(row["key"]) else ""})
                for row in _rows(form, "check", ("key", *CHECK_COLUMNS))
            ),
        )

    @classmethod
    def from_values(cls, values: Mapping[str, str]) -> Plan:
        """The form data for these values (the inverse of `values`); an empty row value means a removed row."""
        facts = {name: clean(values.get(name)) for name in FACTS}
        medications = [
            row
            for name, text in values.items()
            if name.startswith("m-") and (row := decode_row(text, MedicationRow)) is not None
        ]
        checks = [
            replace(row, key="" if name.startswith("c-new") else name)
            for name, text in values.items()
            if name.startswith("c-") and (row := decode_row(text, CheckRow)) is not None
        ]
        return cls(**facts, medications=tuple(medications), checks=tuple(checks))

    def values(self) -> Values:
        """The data as text by name, one for each fact and row; a row keeps its name while it is edited."""
        found = {name: getattr(self, name) for name in FACTS}
        for number, row in enumerate(self.medications):
            found[f"m-{_short(row.id)}" if row.id else f"m-new-{number}"] = encode_row(row)
        for number, row in enumerate(self.checks):
            found[row.key or f"c-new-{number}"] = encode_row(replace(row, key=""))
        return found

    def faults(self, before: Plan | None = None) -> dict[str, str]:
        """What is wrong, by the id of the input, but for facts and rows that are as they were `before`: they keep nobody from
        changing something else."""
        found = self._faults()
        if before is None:
            return found
        kept = {name for name in FACTS if getattr(self, name) == getattr(before, name)}
        rows = (("medication", self.medications, before.medications), ("check", self.checks, before.checks))
        of_rows = {
            f"{what}-{number}" for what, now, then in rows for number, row in enumerate(now) if row in then
        }
        return {
            id_: fault
            for id_, fault in found.items()
            if id_ not in kept and id_.rpartition("-")[0] not in of_rows
        }

    def _faults(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if not self.name:
            found["name"] = _("Enter a name for the protocol.")
        elif len(self.name) > LONGEST:
            found["name"] = too_long(LONGEST)
        if not self.type or not ProtocolType(self.type).known:
            found["type"] = _("Choose the type of protocol.")
        if self.start_date and (wrong := a_date(self.start_date)):
            found["start_date"] = wrong
        if len(self.description) > LONG:
            found["description"] = too_long(LONG)
        for number, row in enumerate(self.medications):
            found |= {f"medication-{number}-{column}": text for column, text in row.faults().items()}
        for number, row in enumerate(self.checks):
            found |= {f"check-{number}-{column}": text for column, text in row.faults().items()}
        return found

    def changed(self, act: str) -> Plan:
        """The data after a row button: `add-medication`, `remove-check-2`, `up-medication-1`.

        Anything else changes nothing.
        """
        verb, _dash, rest = act.partition("-")
        what, _dash, number = rest.partition("-")
        index = whole_number(number)
        match verb, what:
            case "add", "medication" if len(self.medications) < MOST_MEDICATIONS:
                return replace(self, medications=(*self.medications, MedicationRow()))
            case "add", "check" if len(self.checks) < MOST_CHECKS:
                return replace(self, checks=(*self.checks, CheckRow()))
            case "remove", "medication":
                return replace(self, medications=_without(self.medications, index))
            case "remove", "check":
                return replace(self, checks=_without(self.checks, index))
            case "up" | "down", "medication":
                return replace(self, medications=_moved(self.medications, index, verb))
            case "up" | "down", "check":
                return replace(self, checks=_moved(self.checks, index, verb))
            case _:
                return self

    @property
    def begins(self) -> date | None:
        """The date of day 1, if a valid one was typed."""
        return calendar_date(self.start_date)

    @property
    def today(self) -> int | None:
        """Today as a day of the plan; None without a day 1."""
        return (today() - self.begins).days + 1 if self.begins else None

    def dates(self) -> dict[str, date]:
        """The dates of the typed days, by field id; none without a day 1."""
        begins = self.begins
        typed = {
            **{
                f"medication-{n}-{c}": getattr(row, c) for n, row in enumerate(self.medications) for c in DAYS
            },
            **{f"check-{number}-day": row.day for number, row in enumerate(self.checks)},
        }
        days = {id_: day_in(text) for id_, text in typed.items()}
        found = {id_: days_after(begins, day - 1) for id_, day in days.items() if begins and day is not None}
        return {id_: on for id_, on in found.items() if on}

    def drawn(self) -> tuple[list[Medication], list[Check]]:
        """The rows complete enough to be drawn."""
        medications = [
            row.medication()
            for row in self.medications
            if row.drug and not row.faults().keys() & {"dose", "start_day", "end_day"}
        ]
        return medications, [row.check() for row in self.checks if not row.faults()]

    def draft(self, *, patient_id: str | None, episode_id: str | None) -> ProtocolDraft:
        """The new protocol; call only if there are no errors."""
        return ProtocolDraft(
            name=self.name,
            status=ProtocolStatus(self.status),
            type=ProtocolType(self.type),
            description=self.description or None,
            patient_id=patient_id,
            episode_id=episode_id,
            physician_id=self.physician_id or None,
            start_date=calendar_date(self.start_date),
            medications=tuple(row.medication() for row in self.medications),
            monitoring=tuple(row.check() for row in self.checks),
        )

    @property
    def copied(self) -> Plan:
        """The same rows for a new protocol, without this one's dates and ids."""
        return replace(
            self,
            start_date="",
            physician_id="",
            medications=tuple(replace(row, id="") for row in self.medications),
            checks=tuple(replace(row, key="") for row in self.checks),
        )


def _rows(form: Mapping[str, str], what: str, columns: Sequence[str]) -> Iterable[dict[str, str]]:
    """All rows of the form, also where the record has more than can be added here."""
    first = columns[1]
    for number in count():
        if f"{what}-{number}-{first}" not in form:
            return
        yield {column: clean(form.get(f"{what}-{number}-{column}")) for column in columns}


def _keyed(rows: Iterable[CheckRow]) -> tuple[CheckRow, ...]:
    """Name each check by its day and kind, because the API assigns them no ids."""
    seen: Counter[str] = Counter()
    named: list[CheckRow] = []
    for row in rows:
        base = _short(f"{row.day}\0{row.kind}")
        seen[base] += 1
        named.append(replace(row, key=f"c-{base}-{seen[base]}"))
    return tuple(named)


def _without(rows: tuple[RowT, ...], index: int | None) -> tuple[RowT, ...]:
    return tuple(row for number, row in enumerate(rows) if number != index)


def _moved(rows: tuple[RowT, ...], index: int | None, verb: str) -> tuple[RowT, ...]:
    """The rows with one moved up or down; unchanged if there is no such row or position."""
    if index is None:
        return rows
    first = index - 1 if verb == "up" else index
    if not 0 <= first < len(rows) - 1:
        return rows
    return (*rows[:first], rows[first + 1], rows[first], *rows[first + 2 :])


def _short(text: str) -> str:
    """An opaque id encoded for use in a field's name."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
