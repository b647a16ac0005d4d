"""The fields of a protocol's form: its facts, and each medicine and check as one row.

A row is kept or changed as a whole: the dose from one version with the days from the other would be a plan that nobody made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.parse import calendar_date
from portal.services.protocols import Protocol, ProtocolType
from portal.views.protocols.form import types
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import CheckRow, MedicationRow, RowT, decode_row, encode_row
from portal.views.protocols.typed_values import clean
from portal.web.fields import Fields, Rows, given, member
from portal.web.filters import isolate
from portal.web.forms import Values, text

_LONGEST = 100_000
"""How long each may be is said by `Plan.faults`."""


def plan_fields(physicians: Sequence[tuple[str, str]]) -> Fields[Protocol]:
    """The fields of a protocol's form; `physicians` are the choices, by id and name."""
    return [
        member("name", _input(_("Name")), text=clean, value=str),
        member("type", _input(_("Type"), dict(types())), value=ProtocolType),
        member("description", _input(_("Description")), text=clean, value=given),
        member("start_date", _input(_("Day 1")), value=calendar_date),
        member("physician_id", _input(_("Physician"), dict(physicians))),
        Rows("m-", _texts("m-"), _with_medications, _medication_label, _words(MedicationRow), _without_id),
        Rows("c-", _texts("c-"), _with_checks, _check_label, _words(CheckRow)),
    ]


def draft_fields() -> Fields[Any]:
    """What a new protocol consists of."""
    return [
        member("patient_id", _input(_("Patient"))),
        member("episode_id", _input(_("Treatment"))),
        member("status", _input(_("Status"))),
        *plan_fields([]),
    ]


def _input(label: str, known: Mapping[str, str] | None = None) -> Any:
    """A text whose values `known` has in words."""
    field = text(label, longest=_LONGEST)
    field.known = known or {}
    return field


def _texts(prefix: str) -> Any:
    def texts(protocol: Protocol) -> Values:
        values = Plan.of(protocol).values()
        return {name: text for name, text in values.items() if name.startswith(prefix)}

    return texts


def _with_medications(protocol: Protocol, values: Values) -> Protocol:
    came = {MedicationRow.of(medication): medication for medication in protocol.medications}
    rows = _rows(values, MedicationRow)
    return replace(protocol, medications=tuple(came.get(row) or row.medication() for row in rows))


def _with_checks(protocol: Protocol, values: Values) -> Protocol:
    came = {CheckRow.of(check): check for check in protocol.monitoring}
    rows = _rows(values, CheckRow)
    return replace(protocol, monitoring=tuple(came.get(row) or row.check() for row in rows))


def _rows(values: Values, kind: type[RowT]) -> list[RowT]:
    return [row for text in values.values() if (row := decode_row(text, kind)) is not None]


def _medication_label(text: str) -> str:
    row = decode_row(text, MedicationRow)
    return _("Medication: %(drug)s", drug=row.drug if row else "")


def _check_label(text: str) -> str:
    row = decode_row(text, CheckRow)
    return _("Monitoring: day %(day)s", day=isolate(row.day) if row else "")


def _words(kind: type[RowT]) -> Any:
    def words(text: str) -> str:
        row = decode_row(text, kind)
        return row.words() if row else ""

    return words


def _without_id(text: str) -> str:
    row = decode_row(text, MedicationRow)
    return encode_row(replace(row, id="")) if row else ""
