"""The changes that saving a protocol makes, in words: by fact, and within a row by column."""

from __future__ import annotations

from collections.abc import Sequence

from portal.i18n.gettext import _
from portal.values import Value
from portal.views.protocols.fields import plan_fields
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import CheckRow, MedicationRow, column_labels, decode_row
from portal.web.edit_form import EditForm
from portal.web.filters import in_a_row, isolate
from portal.web.forms import Values


class Change(Value, frozen=True):
    label: str
    before: str
    after: str


def changes(before: Plan, after: Plan, physicians: Sequence[tuple[str, str]]) -> list[Change]:
    """The changes from `before` to `after`, by fact; within a row that stays, by column."""
    old, new = before.values(), after.values()
    words = EditForm(plan_fields(physicians), {**new, **old})
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
    return found + _order_changed(before, after)


def _columns_changed(
    label: str, before: MedicationRow | CheckRow, after: MedicationRow | CheckRow
) -> list[Change]:
    names = column_labels()
    columns = [name for name in type(after).__struct_fields__ if name in names]
    return [
        Change(in_a_row((label, names[name])), _told(before, name), _told(after, name))
        for name in columns
        if getattr(before, name) != getattr(after, name)
    ]


def _told(row: MedicationRow | CheckRow, column: str) -> str:
    """A column as it is stored; a dose also in words, and a tick by its name."""
    if isinstance(row, MedicationRow) and column == "dose":
        return row.amount
    return _("trigger") if column == "is_trigger" and getattr(row, column) else getattr(row, column)


def _order_changed(before: Plan, after: Plan) -> list[Change]:
    """Rows that stay but change their order; added and removed rows don't count as moving others."""
    labels = {"m-": _("Order of the medicines"), "c-": _("Order of the checks")}
    old, new = before.values(), after.values()
    found: list[Change] = []
    for prefix, label in labels.items():
        was = [name for name in old if name.startswith(prefix) and name in new]
        is_now = [name for name in new if name.startswith(prefix) and name in old]
        if was != is_now:
            found.append(Change(label, _in_order(was, old), _in_order(is_now, new)))
    return found


def _in_order(names: Sequence[str], values: Values) -> str:
    rows = (_row(name, values[name]) for name in names)
    return in_a_row(
        row.drug if isinstance(row, MedicationRow) else f"{isolate(row.day)} {row.kind}"
        for row in rows
        if row
    )


def _row(name: str, value: str) -> MedicationRow | CheckRow | None:
    if name.startswith("m-"):
        return decode_row(value, MedicationRow)
    return decode_row(value, CheckRow) if name.startswith("c-") else None
