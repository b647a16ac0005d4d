"""The form of a protocol, new or edited: its page, its errors by field, and its choices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

import msgspec
from flask import Response, g

from portal.config.protocol_choices import ProtocolChoices
from portal.i18n.collation import sort_key
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.parse import whole_number
from portal.services import errors
from portal.services.gather import attempt, known
from portal.services.patient_ref import PatientRef
from portal.services.physicians import list_physicians
from portal.services.protocols import Protocol, ProtocolType
from portal.values import Value
from portal.views.episodes.lookup import episode_id_of
from portal.views.protocols.day_grid import DayGrid
from portal.views.protocols.dose_changes import NewDose, new_doses
from portal.views.protocols.plan import FACTS, Plan
from portal.views.protocols.rows import CHECK_COLUMNS, MEDICATION_COLUMNS, column_labels
from portal.views.protocols.view import PlanOwner, read_owner
from portal.web.filters import within_a_sentence
from portal.web.forms import Choices, Values
from portal.web.handlers import Care, Page, render
from portal.web.labels import treatment_name
from portal.web.refusals import physicians_unlisted

_CELL = re.compile(
    rf"(?P<what>medication|check)-(?P<number>[0-9]{{1,3}})-(?P<column>{'|'.join((*MEDICATION_COLUMNS, *CHECK_COLUMNS))})"
)
_MOVE = re.compile(r"(?P<verb>up|down)-(?P<what>medication|check)-(?P<number>[0-9]{1,3})")
_SPLIT = re.compile(r"split-medication-(?P<number>[0-9]{1,3})")
_REMOVE = re.compile(r"remove-(?P<what>medication|check)-(?P<number>[0-9]{1,3})")


class PlanDays(Value, frozen=True):
    """The days of a form's rows: as a grid, and the dates of typed days by field id."""

    grid: DayGrid | None
    dates: dict[str, date]

    @classmethod
    def of(cls, plan: Plan) -> PlanDays:
        """The days of the rows typed so far; incomplete ones are left out."""
        return cls(DayGrid.of(plan), plan.dates())


class EditPage(Page, template="protocols/edit.html", about="protocol", is_pinned=True):
    """The form for a protocol or, if `protocol` is None, for a new one, which `operation` stores.

    `opened` is the protocol when the form was opened, as JSON; `focus` the id of the field or button to focus; `summary`
    the errors by field id, with the names of row and column.
    """

    plan: Plan
    days: PlanDays
    protocol: Protocol | None
    whose: PlanOwner
    new_doses: Mapping[int, NewDose]
    opened: str
    operation: str
    faults: dict[str, str]
    summary: list[tuple[str, str]]
    note: str
    focus: str
    types: list[tuple[str, str]]
    physicians: list[tuple[str, str]]
    physicians_hint: str | None
    columns: dict[str, str]
    choices: ProtocolChoices

    @property
    def patient_ref(self) -> PatientRef | None:
        """Whose plan it is; of a new one, the patient of the treatment that is named, if any."""
        if self.protocol:
            return self.protocol.patient_ref
        named = episode_id_of(self.plan.episode) if self.plan.episode else None
        return PatientRef(None, episode_id=named) if named else None


class DaysPage(Page, template="protocols/days.html"):
    """The days of a form's rows typed so far."""

    days: PlanDays


def faults_named_by(error: errors.Invalid) -> dict[str, str]:
    """The API's errors by field id; those not on the page are shown at the name."""
    sentence = _("The clinic’s system doesn’t accept this; please check it.")
    found: dict[str, str] = {}
    for name in error.fields:
        path = name.split(".")
        row = {"medications": "medication", "monitoring": "check"}.get(path[0])
        is_cell = row and len(path) == 3 and whole_number(path[1]) is not None and path[2] in column_labels()
        field = f"{row}-{path[1]}-{path[2]}" if is_cell else name
        found[field if is_cell or name in (*FACTS, "status") else "name"] = sentence
    return found or {"name": sentence}


def form_page(
    care: Care,
    plan: Plan,
    protocol: Protocol | None,
    *,
    opened: Values | None = None,
    faults: Mapping[str, str] | None = None,
    note: str = "",
    status: int = 200,
    act: str = "",
    operation: str = "",
) -> Response:
    """Show the form for a protocol or, if `protocol` is None, for a new one."""
    physicians = physician_choices(care, plan.physician_id)
    page = EditPage(
        plan=plan,
        days=PlanDays.of(plan),
        protocol=protocol,
        whose=read_owner(care, protocol) if protocol else PlanOwner(),
        new_doses=new_doses(protocol, plan),
        opened=msgspec.json.encode(opened or {}).decode(),
        operation=operation,
        faults=dict(faults or {}),
        summary=_summary(faults or {}),
        note=note,
        focus=_focus(plan, act),
        types=types(str(protocol.type or "") if protocol else ""),
        physicians=physicians.pairs,
        physicians_hint=physicians.hint,
        columns=column_labels(),
        choices=g.tenant.protocol_choices,
    )
    return render(page, fragment="rows", status=status)


def _summary(faults: Mapping[str, str]) -> list[tuple[str, str]]:
    """The errors in the order of the page, with row and column where the sentence needs them."""
    names = column_labels()
    found: list[tuple[str, str]] = []
    for id_, fault in faults.items():
        row = _CELL.fullmatch(id_)
        if row is None:
            found.append((id_, fault))
            continue
        told = {
            "number": int(row["number"]) + 1,
            "field": within_a_sentence(names[row["column"]]),
            "fault": fault,
        }
        if row["what"] == "medication":
            found.append((id_, _("Medicine %(number)s, %(field)s: %(fault)s", **told)))
        else:
            found.append((id_, _("Check %(number)s, %(field)s: %(fault)s", **told)))
    return found


def _focus(plan: Plan, act: str) -> str:
    """The id of the element to focus after a row button was pressed.

    That is a new row's first field, the button of a moved row, or the next Remove button after a removal.
    """
    moved = _MOVE.fullmatch(act)
    removed = _REMOVE.fullmatch(act)
    if removed:
        what = removed["what"]
        left = len(plan.medications if what == "medication" else plan.checks)
        return f"remove-{what}-{min(int(removed['number']), left - 1)}" if left else f"add-{what}"
    if split := _SPLIT.fullmatch(act):
        return f"medication-{int(split['number']) + 1}-dose"
    if act == "add-medication" and plan.medications:
        return f"medication-{len(plan.medications) - 1}-drug"
    if act == "add-check" and plan.checks:
        return f"check-{len(plan.checks) - 1}-day"
    if moved is None:
        return ""
    last = len(plan.medications if moved["what"] == "medication" else plan.checks) - 1
    now = min(max(int(moved["number"]) + (-1 if moved["verb"] == "up" else 1), 0), last)
    at_the_end = now == (0 if moved["verb"] == "up" else last)
    verb = {"up": "down", "down": "up"}[moved["verb"]] if at_the_end else moved["verb"]
    return f"{verb}-{moved['what']}-{now}"


def types(held: str = "") -> list[tuple[str, str]]:
    """The types to choose from, and the one that is `held`: a list without it would change it unseen."""
    names = dict.fromkeys([*(type_.value for type_ in ProtocolType), *filter(None, [held])])
    return [(name, treatment_name(name, plain=False)) for name in names]


def physician_choices(care: Care, current: str) -> Choices:
    """The choices: nobody, and the clinic's physicians; always includes the current one."""
    listed = attempt(lambda: list_physicians(care).value)
    page = known(listed)
    found = sorted(
        ((item.id, item.name) for item in page.items if item.is_active or item.id == current) if page else (),
        key=lambda pair: sort_key(pair[1], language()),
    )
    if current and current not in dict(found):
        found.append((current, _("As it is now (%(id)s…)", id=current[:8])))
    return Choices([("", _("Nobody")), *found], None if page else physicians_unlisted(listed))
