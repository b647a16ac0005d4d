"""The laboratory's record of an embryo, for staff: its status, location and paid period.

A move is offered only if the patient's forms, the disposition and a second person's signature allow it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time

import msgspec
from flask import Blueprint, Response, g, request

from portal.config.tenants import Side
from portal.dates import in_zone
from portal.i18n.gettext import _
from portal.parse import calendar_date, line
from portal.services.client import Care
from portal.services.records.consents import ConsentForm, Signature
from portal.services.records.storage import EmbryoStatus, EmbryoStorage, StorageLocation
from portal.services.rules.embryo_moves import second_signatures
from portal.services.storage import update_embryo_storage
from portal.state.session_records import Person
from portal.views.storage.moves import Moves, Withheld, move_name, read_moves, reason
from portal.views.storage.view import LOCATION, EmbryoView, find_embryo, paid_until
from portal.web import labels
from portal.web.conflicts import EDIT_FORM, Editing, Filled, Saved, open_form, save_edit
from portal.web.forms import Fields, Form, Values, a_date, choice, sent, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.pages import Page
from portal.web.permissions import EDIT_EMBRYO, may
from portal.web.three_way_merge import Comparison
from portal.web.unsent import typed_text

bp = Blueprint("inventory", __name__)

_LONGEST_CODE = 100


class InventoryPage(Page, template="storage/inventory.html"):
    """The record; `edit` is its form for those who may edit it, `withheld` are the moves not offered."""

    view: EmbryoView
    edit: Filled | Comparison | None
    withheld: list[Withheld]


class FinalStatusPage(Page, template="storage/final.html"):
    """Asks for what is on the embryo's straw before an irreversible move, and shows what allows the move.

    The page doesn't contain what is to be typed. `form` is the one that allows the move and `second` the signatures of a
    second person on it.
    """

    view: EmbryoView
    wanted: str
    is_final: bool
    is_use: bool
    form: ConsentForm | None
    second: tuple[Signature, ...]
    carried: list[tuple[str, str]]
    typed: OnStraw
    faults: list[tuple[str, str]]


class OnStraw(msgspec.Struct, frozen=True):
    """The embryo's code and its patient's record number, as typed or scanned from the straw; None if not given yet."""

    code: str | None
    record_number: str | None

    @classmethod
    def posted(cls) -> OnStraw:
        """What the request says."""
        given = (request.form.get("code"), request.form.get("record_number"))
        return cls(*(None if text is None else line(text, longest=_LONGEST_CODE) for text in given))

    def faults(self, view: EmbryoView) -> list[tuple[str, str]]:
        """The errors by field, without telling what is expected."""
        found: list[tuple[str, str]] = []
        if not _is_same(self.code, view.embryo.embryo_code):
            words = _(
                "This isn’t the code of the embryo that you opened. If the straw says so, stop: it is another one."
            )
            found.append(("code", words))
        if (number := view.episode.patient.mrn) and not _is_same(self.record_number, number):
            words = _(
                "This isn’t the patient’s record number. If the straw says so, stop: it is another patient’s."
            )
            found.append(("record_number", words))
        return found


def _is_same(typed: str | None, expected: str) -> bool:
    return "".join((typed or "").split()) == "".join(expected.split())


def show_inventory(care: Care, person: Person, view: EmbryoView) -> Response:
    """Show the record, as a form if this person may edit it."""
    if view.embryo.is_terminal or not may(person, "embryo.edit"):
        return render(InventoryPage(view=view, edit=None, withheld=[]))
    moves = read_moves(care, person, view)
    return _answer(view, moves, open_form(_editing(care, person, view.embryo.id, moves), view.embryo))


@bp.post("/<record:embryo_id>")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
@typed_text(*EDIT_FORM, "status", "location_*", "storage_expires_at", "notes")
def save(care: Care, person: Person, embryo_id: str) -> Response:
    """Save the record; an irreversible move first asks for what is on the straw."""
    view = find_embryo(care, person, embryo_id)
    embryo = view.embryo
    moves = read_moves(care, person, view)
    editing = _editing(care, person, embryo_id, moves)
    if (asked := _ask_for_straw(view, moves, editing)) is not None:
        return asked
    result = save_edit(editing, embryo)
    if not isinstance(result, Saved):
        return _answer(view, moves, result)
    toast(_("Embryo %(code)s is saved.", code=view.code) if result.is_changed else _("Nothing was changed."))
    return redirect_to(view.href)


def _answer(view: EmbryoView, moves: Moves, edit: Filled | Comparison) -> Response:
    page = InventoryPage(view=view, edit=edit, withheld=moves.withheld(view.embryo))
    return render(page, status=edit.status)


def _editing(care: Care, person: Person, embryo_id: str, moves: Moves) -> Editing[EmbryoStorage]:
    return Editing(
        owner=person.sub,
        event="embryo.update",
        kind="embryo",
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        values=_values,
        fields=lambda embryo: _fields(embryo, moves),
        check=_check,
        write=lambda embryo, values: _write(care, embryo, values),
    )


def _values(embryo: EmbryoStorage) -> Values:
    return {
        "status": str(embryo.status),
        **{f"location_{name}": getattr(embryo.location, name, "") for name in LOCATION},
        "storage_expires_at": day.isoformat() if (day := paid_until(embryo)) else "",
        "notes": embryo.notes or "",
    }


def _fields(embryo: EmbryoStorage, moves: Moves) -> Fields:
    offered = (embryo.status, *(move.status for move in moves.of(embryo) if move.is_offered))
    return {
        "status": choice(
            _("Status"),
            [(str(status), move_name(embryo, status)) for status in offered],
            radios=True,
            known={str(status): move_name(embryo, status) for status in EmbryoStatus},
            wrong=_why_not(embryo, moves),
        ),
        "location_facility": text(_("Facility"), longest=100),
        "location_tank": text(_("Tank"), longest=40),
        "location_canister": text(_("Canister"), longest=40),
        "location_cane": text(_("Cane"), longest=40),
        "location_position": text(_("Position"), longest=40),
        "storage_expires_at": text(_("Paid until"), kind="date", check=a_date),
        "notes": text(_("Notes"), kind="textarea", longest=10_000),
    }


def _why_not(embryo: EmbryoStorage, moves: Moves) -> str:
    """The error for a submitted status that isn't offered."""
    move = moves.to(embryo, EmbryoStatus(request.form.get("status") or str(embryo.status)))
    if move is None or move.is_offered:
        return _("Its present state doesn’t allow this step.")
    return " ".join(reason(embryo, one).words for one in move.missing)


def _check(embryo: EmbryoStorage, form: Form) -> None:
    """Add an error if an embryo lost in warming has no note of what was seen."""
    is_lost = embryo.status == EmbryoStatus.THAWED and form.value("status") == EmbryoStatus.DISCARDED
    notes = form.value("notes").strip()
    if is_lost and (not any(map(str.isalnum, notes)) or notes == (embryo.notes or "").strip()):
        form.add_error("notes", _("Say what was seen after warming."))


def _write(care: Care, embryo: EmbryoStorage, values: Values) -> EmbryoStorage | None:
    place = {name: values[f"location_{name}"] for name in LOCATION}
    status = EmbryoStatus(values["status"])
    return update_embryo_storage(
        care,
        embryo.id,
        is_move=status != embryo.status,
        status=status,
        location=StorageLocation(**place) if any(place.values()) else None,
        storage_expires_at=_instant_of(embryo, calendar_date(values["storage_expires_at"])),
        disposition=embryo.disposition,
        notes=values["notes"] or None,
        stamp=embryo.concurrency_stamp,
    )


def _instant_of(embryo: EmbryoStorage, day: date | None) -> datetime | None:
    """The instant to save for a date: the record's if the date is unchanged, else the start of that day at the clinic."""
    if day is None or day == paid_until(embryo):
        return embryo.storage_expires_at if day else None
    return in_zone(datetime.combine(day, time(), tzinfo=g.tenant.time_zone), UTC)


def _ask_for_straw(view: EmbryoView, moves: Moves, editing: Editing[EmbryoStorage]) -> Response | None:
    """The page that asks for what is on the straw before an irreversible move.

    None once it has been given, or if there are errors.
    """
    embryo, given = view.embryo, request.form
    wanted = EmbryoStatus(given.get("status") or str(embryo.status))
    move = moves.to(embryo, wanted)
    typed = OnStraw.posted()
    faults = typed.faults(view)
    if move is None or not move.is_offered or not EmbryoStorage.is_irreversible(wanted):
        return None
    if given.get("keep-status") == "now" or not faults:
        return None
    form = editing.form(embryo, sent(_values(embryo)))
    form.validate()
    _check(embryo, form)
    if form.errors:
        return None
    carried = [
        (name, given[name]) for name in given if name in ("opened", "seen") or name.startswith("keep-")
    ]
    page = FinalStatusPage(
        view=view,
        wanted=labels.embryo_status_term(embryo, wanted),
        is_final=EmbryoStorage.is_final(wanted),
        is_use=wanted in (EmbryoStatus.THAWED, EmbryoStatus.TRANSFERRED),
        form=move.form,
        second=second_signatures(move.form, moves.sub) if move.form else (),
        carried=[*carried, *((field.name, field.data or "") for field in form)],
        typed=typed,
        faults=[] if typed.code is None else faults,
    )
    return render(page, status=200 if typed.code is None else 422)
