"""The second person's part in an embryo's irreversible move, where the clinic asks for two (`pending_moves`)."""

from __future__ import annotations

from contextlib import suppress

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.services.errors import CareError, Conflict, NotSignedIn, Refused, StepUpNeeded
from portal.services.storage import MOVE, EmbryoStorage, update_embryo_storage
from portal.store import StoreDown
from portal.views.embryo_view import EmbryoView
from portal.views.storage.form import embryo_fields
from portal.views.storage.lookup import find_embryo
from portal.views.storage.moves import Moves, move_name, read_moves, reason
from portal.views.storage.pending_moves import PendingMove, both_names, forget, pending_move, release, take
from portal.views.storage.read_inventory import forgetting_inventory
from portal.views.storage.straw_check import StrawCheckPage, StrawLabel, straw_check_page
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin_edit
from portal.web.edit_form import EditForm, changed, values_of
from portal.web.editing import compared, tell_saved
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.permissions import EDIT_EMBRYO
from portal.web.refusals import refusal_message

bp = Blueprint("second_person", __name__)


class WaitingPage(Page, template="storage/second_person.html", about="view", hides_mrn=True):
    view: EmbryoView
    pending: PendingMove
    move: str


@bp.get("/<record:embryo_id>/second-person")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
def show(care: Care, person: Person, embryo_id: str) -> Response:
    """Show the move that waits: to a second person what to check, to the first that somebody else is needed."""
    view = find_embryo(care, person, embryo_id)
    audit.shown("embryo.read", "embryo", view.embryo.id)
    pending = pending_move(view.embryo)
    if pending is None:
        return _nothing_waits(view)
    if pending.is_by(person):
        return render(WaitingPage(view=view, pending=pending, move=move_name(view.embryo, pending.wanted)))
    moves = read_moves(care, person, view)
    if (refused := _refusal(view, moves, pending)) is not None:
        return refused
    return render(_straw_page(view, moves, pending, StrawLabel(None, None)))


@bp.post("/<record:embryo_id>/second-person")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
def send(care: Care, person: Person, embryo_id: str) -> Response:
    """Send what the first person sent, once somebody else has checked the straw too."""
    view = find_embryo(care, person, embryo_id)
    pending = pending_move(view.embryo)
    if pending is None:
        return _nothing_waits(view)
    if pending.is_by(person) or pending.id != request.form.get("step"):
        return redirect_to(pending.href)
    moves = read_moves(care, person, view)
    if (refused := _refusal(view, moves, pending)) is not None:
        return refused
    typed = StrawLabel.posted()
    if typed.faults(view):
        return render(_straw_page(view, moves, pending, typed), status=422)
    care.need(MOVE)
    return _send(care, person, view, moves, pending)


@bp.post("/<record:embryo_id>/second-person/stop")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
def stop(care: Care, person: Person, embryo_id: str) -> Response:
    """Drop the move that waits, by either person; nothing has been sent."""
    view = find_embryo(care, person, embryo_id)
    pending = pending_move(view.embryo)
    if pending is None or pending.id != request.form.get("step"):
        return _nothing_waits(view)
    audit.assure()
    if not take(pending, person):
        toast(_("It is too late to stop this: it is being recorded."), tone="attention")
        return redirect_to(view.href)
    forget(pending.embryo_id)
    audit.note("embryo.stop", "done", id_=pending.embryo_id)
    toast(_("Stopped: nothing was recorded for embryo %(code)s.", code=view.code), tone="info")
    return redirect_to(view.href)


def _send(care: Care, person: Person, view: EmbryoView, moves: Moves, pending: PendingMove) -> Response:
    embryo = view.embryo
    values = {**pending.values, "notes": both_names(pending, person)}
    fields = embryo_fields(embryo, moves)
    wanted = changed(fields, embryo, values)

    def put(_key: str) -> EmbryoStorage | None:
        if not take(pending, person, again=True):
            raise Conflict  # stopped, or sent by somebody else, since it was read
        return update_embryo_storage(care, embryo.id, embryo=wanted, before=embryo)

    def read() -> EmbryoStorage:
        return find_embryo(care, person, embryo.id).embryo

    def look() -> EmbryoStorage | None:
        now = read()
        return now if now.status == pending.wanted else None

    try:
        with forgetting_inventory():
            done = act_once(
                Attempt(person.sub, begin_edit(person.sub, f"embryo.second-person:{embryo.id}", pending.id)),
                put,
                look=look,
                shows=lambda written: written is not None and written.status == pending.wanted,
                event="embryo.update",
                id_=embryo.id,
                is_repeatable=True,
                also={"first-person": audit.pseudonym_of(pending.sub)},
            )
    except Conflict:
        return _nothing_waits(view)
    except Refused as error:
        release(pending)
        toast(refusal_message(error.code), tone="attention")
        return redirect_to(view.href)
    except (NotSignedIn, StepUpNeeded, Unconfirmed):
        raise
    except CareError:  # it surely wasn't recorded
        release(pending)
        raise
    with suppress(StoreDown):  # it was for the version before
        forget(embryo.id)
    words = _("Embryo %(code)s is saved.", code=view.code)
    tell_saved(compared(fields, wanted, done.result or wanted, read), words)
    return redirect_to(view.href)


def _refusal(view: EmbryoView, moves: Moves, pending: PendingMove) -> Response | None:
    """The way back, with reasons, unless the patient's forms as they are now allow this person to make the move."""
    move = moves.to(view.embryo, pending.wanted)
    if move is not None and move.is_offered:
        return None
    missing = move.missing if move else ()
    words = [_("This can’t be done now."), *(reason(view.embryo, lack).words for lack in missing)]
    toast(" ".join(words), tone="attention")
    return redirect_to(view.href)


def _straw_page(view: EmbryoView, moves: Moves, pending: PendingMove, typed: StrawLabel) -> StrawCheckPage:
    fields = embryo_fields(view.embryo, moves)
    now, form = values_of(fields, view.embryo), EditForm(fields, pending.values)
    return straw_check_page(
        view,
        moves,
        pending.wanted,
        typed,
        action=url_for("storage.second_person.send", embryo_id=view.embryo.id, episode=view.episode.id),
        carried=[("step", pending.id)],
        pending=pending,
        more=[
            (form.label(name), form.words(name, value))
            for name, value in pending.values.items()
            if name != "status" and value != now[name]
        ],
    )


def _nothing_waits(view: EmbryoView) -> Response:
    toast(_("Nothing waits for a second person at this embryo."), tone="info")
    return redirect_to(view.href)
