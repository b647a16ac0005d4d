"""The laboratory's record of an embryo, for staff: its status, location and paid period.

A move is offered only if the patient's forms, the disposition and a second person's signature allow it.
"""

from __future__ import annotations

from flask import Blueprint, Response, g, request, url_for

from portal.i18n.gettext import _
from portal.services.storage import MOVE, EmbryoStatus, EmbryoStorage, update_embryo_storage
from portal.views.embryo_view import EmbryoView
from portal.views.storage.form import LONGEST_NOTES, embryo_fields
from portal.views.storage.lookup import find_embryo
from portal.views.storage.moves import Moves, Withheld, move_name, read_moves
from portal.views.storage.pending_moves import PendingMove, keep_pending_move, pending_move
from portal.views.storage.read_inventory import forgetting_inventory
from portal.views.storage.straw_check import StrawLabel, straw_check_page
from portal.web.edit_form import Change, Edit, EditForm, Saved, values_of
from portal.web.editing import EDIT_FORM, Editing, check_edit, open_form, save_edit, tell_saved
from portal.web.forms import Form, Values, sent
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.permissions import EDIT_EMBRYO, may
from portal.web.unsent import typed_text

bp = Blueprint("laboratory_record", __name__)

_BOTH_NAMES = 500
"""How much of the notes is left for who made a move of two people."""


class LaboratoryRecordPage(Page, template="storage/laboratory_record.html", about="view"):
    """The record; `edit` is its form for those who may edit it, `withheld` are the moves not offered.

    `pending` is a move that waits for a second person, `move` what it is in words. `is_edited` says that the form has been filled
    in.
    """

    view: EmbryoView
    edit: Edit | None
    withheld: list[Withheld]
    pending: PendingMove | None = None
    move: str = ""
    is_edited: bool = False


def show_laboratory_record(care: Care, person: Person, view: EmbryoView) -> Response:
    """Show the record, as a form if this person may edit it."""
    if view.embryo.is_terminal or not may(person, "embryo.edit"):
        return render(LaboratoryRecordPage(view=view, edit=None, withheld=[]))
    moves = read_moves(care, person, view)
    return _answer(person, view, moves, open_form(_editing(care, person, view.embryo.id, moves), view.embryo))


@bp.post("/<record:embryo_id>")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
@typed_text(*EDIT_FORM, "status", "location_*", "storage_expires_at", "notes")
def save(care: Care, person: Person, embryo_id: str) -> Response:
    """Save the record; an irreversible move first asks for what is on the straw, and maybe for a second person."""
    view = find_embryo(care, person, embryo_id)
    embryo = view.embryo
    moves = read_moves(care, person, view)
    editing = _editing(care, person, embryo_id, moves)
    if (asked := _irreversible_move(embryo, moves)) is not None:
        wanted, form = asked
        if (pending := pending_move(embryo)) and not pending.is_by(person):
            return _wait(pending, person)
        typed = StrawLabel.posted()
        if typed.faults(view):
            action = url_for("storage.laboratory_record.save", embryo_id=embryo_id, episode=view.episode.id)
            page = straw_check_page(view, moves, wanted, typed, action=action, carried=_carried(form))
            return render(page, status=200 if typed.code is None else 422)
        confirmed = _editing(care, person, embryo_id, moves, confirmed=wanted)
        if not g.tenant.second_person_for_embryos:
            editing = confirmed
        elif isinstance(change := check_edit(confirmed, embryo), Change) and change.record.status == wanted:
            return _begin(care, person, view, change.form.values)
    with forgetting_inventory():
        result = save_edit(editing, embryo)
    if not isinstance(result, Saved):
        return _answer(person, view, moves, result)
    tell_saved(result, _("Embryo %(code)s is saved.", code=view.code))
    return redirect_to(view.href)


def _begin(care: Care, person: Person, view: EmbryoView, values: Values) -> Response:
    """Keep the move for a second person; the first one's sign-in has to be as recent as if it were sent."""
    care.need(MOVE)
    audit.assure()
    pending = keep_pending_move(view, person, values)
    if pending.is_by(person):
        audit.note("embryo.begin", "done", id_=view.embryo.id)
    return _wait(pending, person)


def _wait(pending: PendingMove, person: Person) -> Response:
    if not pending.is_by(person):
        toast(
            _("%(name)s has already sent a move of this embryo. Check that one.", name=pending.name),
            tone="info",
        )
    return redirect_to(pending.href)


def _answer(person: Person, view: EmbryoView, moves: Moves, edit: Edit) -> Response:
    embryo = view.embryo
    pending = pending_move(embryo)
    page = LaboratoryRecordPage(
        view=view,
        edit=edit,
        withheld=moves.withheld(embryo),
        pending=pending,
        move=move_name(embryo, pending.wanted) if pending else "",
        is_edited=request.method == "POST",
    )
    return render(page, status=edit.status)


def _editing(
    care: Care, person: Person, embryo_id: str, moves: Moves, *, confirmed: EmbryoStatus | None = None
) -> Editing[EmbryoStorage]:
    """How the record is edited; `confirmed` is the irreversible status that was confirmed from the straw, if any."""
    return Editing(
        owner=person.sub,
        event="embryo.update",
        fields=lambda embryo: embryo_fields(embryo, moves),
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        write=lambda embryo, read: update_embryo_storage(care, embryo_id, embryo=embryo, before=read),
        check=lambda embryo, form: _check(embryo, form, confirmed),
    )


def _check(embryo: EmbryoStorage, form: Form, confirmed: EmbryoStatus | None) -> None:
    """Add an error for a move that wasn't confirmed, and for an embryo lost in warming without a note of what was seen."""
    wanted, notes = EmbryoStatus(form.value("status")), form.value("notes").strip()
    is_move = wanted != embryo.status and EmbryoStorage.is_irreversible(wanted)
    is_lost = embryo.status == EmbryoStatus.THAWED and wanted == EmbryoStatus.DISCARDED
    if is_lost and (not any(map(str.isalnum, notes)) or notes == (embryo.notes or "").strip()):
        form.add_error("notes", _("Say what was seen after warming."))
    if is_move and g.tenant.second_person_for_embryos and len(notes) > LONGEST_NOTES - _BOTH_NAMES:
        form.add_error("notes", _("Shorten this: the names of both people are added to it."))
    if is_move and wanted != confirmed and not form.errors:
        form.add_error("status", _("Choose this once more: the straw has to be checked first."))


def _irreversible_move(embryo: EmbryoStorage, moves: Moves) -> tuple[EmbryoStatus, Form] | None:
    """The irreversible move that the form asks for, with the form; None if it asks for none or has errors."""
    wanted = EmbryoStatus(request.form.get("status") or str(embryo.status))
    move = moves.to(embryo, wanted)
    if move is None or not move.is_offered or not EmbryoStorage.is_irreversible(wanted):
        return None
    if request.form.get("keep-status") == "now":
        return None
    fields = embryo_fields(embryo, moves)
    form = EditForm(fields, sent(values_of(fields, embryo)))
    form.validate()
    _check(embryo, form, wanted)
    return None if form.errors else (wanted, form)


def _carried(form: Form) -> list[tuple[str, str]]:
    """The fields that the pages between the form and its saving send again."""
    given = request.form
    hidden = [(name, given[name]) for name in given if name in ("opened", "seen") or name.startswith("keep-")]
    return [*hidden, *((field.name, field.data or "") for field in form)]
