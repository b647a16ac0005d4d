"""A patient's decisions about an embryo: one page each, with the consequences.

Keeping the embryo or leaving it open is decided here. Ending its storage is decided by signing a form, so those pages link
to it; such a decision can be revoked here at any time.
"""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.errors import NotFound
from portal.services.gather import attempt, known
from portal.services.rules.embryo_moves import names_embryo
from portal.services.storage import Disposition, EmbryoStorage, choose_disposition
from portal.state.session_records import Person
from portal.views.storage.letter import Letter, letter_about
from portal.views.storage.view import EmbryoView, find_embryo, paid_until
from portal.web import audit, labels
from portal.web.edit_form import Edit, Saved
from portal.web.editing import Editing, open_form, save_edit
from portal.web.fields import member
from portal.web.filters import long_date
from portal.web.forms import choice
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.pages import Page

bp = Blueprint("decide", __name__)

SAID_HERE = {
    "keep": Disposition.CONTINUE_STORAGE,
    "leave-open": Disposition.UNDECIDED,
    "take-back": Disposition.UNDECIDED,
}
BY_FORM = {
    "move": Disposition.TRANSPORT,
    "donate-research": Disposition.DONATE_RESEARCH,
    "donate-patients": Disposition.DONATE_PATIENT,
    "end-storage": Disposition.DISCARD,
}
DECISIONS = {**SAID_HERE, **BY_FORM}
"""The dispositions by the last part of a decision's address: made here, or by signing a form."""


@dataclass(frozen=True, slots=True)
class Decision:
    """An option; `is_chosen` if it is the current disposition."""

    name: str
    title: str
    lede: str
    is_chosen: bool


class DecisionPage(Page, template="storage/decide.html"):
    """The consequences of a decision, and the form to confirm it."""

    view: EmbryoView
    decision: Decision
    wanted: Disposition
    consequences: list[str]
    edit: Edit


class ByFormPage(Page, template="storage/by_form.html"):
    """The consequences of a decision made by signing a consent form, and that form.

    `waiting` is the open form, `signed` the one that made the decision; `is_incomplete` if forms can't be read. `letter`
    asks for the form where there is none, and it isn't decided.
    """

    view: EmbryoView
    decision: Decision
    consequences: list[str]
    waiting: ConsentForm | None
    signed: ConsentForm | None
    is_incomplete: bool
    letter: Letter | None


class ObstaclePage(Page, template="storage/cannot.html"):
    """Why a decision can't be made now."""

    view: EmbryoView
    wish: str
    obstacle: str


@bp.get("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def show(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Show the consequences of a decision, and ask; or link to the form that makes it."""
    view = find_embryo(care, person, embryo_id)
    audit.shown("embryo.read", "embryo", view.embryo.id)
    wanted = _wanted(decision)
    if (obstacle := _obstacle(view.embryo, decision)) is not None:
        return _refuse(view, wanted, obstacle)
    if decision in BY_FORM:
        return _lead_to_form(care, view, decision, person)
    return _ask(view, decision, open_form(_editing(care, person, embryo_id), view.embryo))


@bp.post("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def confirm(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Save the decision; a repeat is harmless."""
    view = find_embryo(care, person, embryo_id)
    embryo, wanted = view.embryo, _wanted(decision)
    if decision == "take-back" and embryo.disposition == wanted:
        toast(_("Embryo %(code)s is left as it is now.", code=embryo.embryo_code), tone="info")
        return redirect_to(view.href)
    if (obstacle := _obstacle(embryo, decision)) is not None:
        return _refuse(view, wanted, obstacle)
    if decision in BY_FORM:
        audit.note("embryo.decide", "refused", kind="embryo", id_=embryo.id)
        return _lead_to_form(care, view, decision, person, status=403)
    result = save_edit(_editing(care, person, embryo_id), embryo)
    if not isinstance(result, Saved):
        return _ask(view, decision, result)
    if decision == "take-back":
        toast(_("Embryo %(code)s: your decision is taken back. It is on hold.", code=embryo.embryo_code))
    elif result.record.disposition == wanted:
        toast(_("Embryo %(code)s: your decision is recorded.", code=embryo.embryo_code))
    else:
        toast(_("Embryo %(code)s is left as it is now.", code=embryo.embryo_code), tone="info")
    return redirect_to(view.href)


def decisions_about(embryo: EmbryoStorage) -> list[Decision]:
    """Return the options for the embryo in its current state.

    A decision made by a form can only be revoked; while the embryo is on hold by the clinic, it can only be kept.
    """
    words = {
        "keep": (_("Keep it in storage"), _("It stays frozen for you.")),
        "leave-open": (_("Leave it open"), _("You haven’t decided yet, and say so to the clinic.")),
        "take-back": (
            _("Take my decision back"),
            _("The embryo stays frozen and goes on hold. You can do this at any time."),
        ),
        "move": (_("Move it to another clinic"), _("It stays frozen and travels in a tank.")),
        "donate-research": (
            _("Donate it to research"),
            _("It helps others to learn, and is not transferred."),
        ),
        "donate-patients": (
            _("Donate it to other patients"),
            _("Another person or couple could have a child."),
        ),
        "end-storage": (
            _("End storage"),
            _("The embryo would be allowed to perish. We’ll talk with you first."),
        ),
    }
    return [Decision(name, *words[name], embryo.disposition == DECISIONS[name]) for name in _names(embryo)]


def _names(embryo: EmbryoStorage) -> list[str]:
    if embryo.has_final_wish:
        decided = next(name for name, wish in BY_FORM.items() if wish == embryo.disposition)
        return [] if embryo.is_terminal else [decided, "take-back"]
    if not embryo.is_in_storage:
        return []
    open_ = ["leave-open"] if embryo.disposition == Disposition.CONTINUE_STORAGE else []
    is_held_by_clinic = embryo.is_on_hold and not embryo.is_held_by_patient
    return ["keep", *open_, *(() if is_held_by_clinic else BY_FORM)]


def _wanted(decision: str) -> Disposition:
    if decision not in DECISIONS:
        raise NotFound
    return DECISIONS[decision]


def _obstacle(embryo: EmbryoStorage, decision: str) -> str | None:
    """Why this can't be decided now: the embryo's status, a hold, or an earlier decision."""
    if decision in _names(embryo):
        return None
    if embryo.has_final_wish and not embryo.is_terminal:
        return _("A signed form decided what happens to this embryo. Take that decision back first.")
    if decision == "take-back" and embryo.is_in_storage:
        return _("No decision that a form made stands for this embryo, so there is nothing to take back.")
    if embryo.is_on_hold:
        return _("This embryo is on hold. Until the clinic has talked with you, it can only be kept.")
    if embryo.is_in_storage:
        return _("This is what the clinic has on record already.")
    if not embryo.status.known:
        return _(
            "The portal doesn’t know the state of this embryo, so nothing can be decided here. Ask the clinic."
        )
    return _("This embryo is no longer in storage, so there is nothing to decide.")


def _lead_to_form(care: Care, view: EmbryoView, name: str, person: Person, *, status: int = 200) -> Response:
    """The page of a decision made by a form, with the open or signed form."""
    embryo, wanted = view.embryo, DECISIONS[name]
    answer = attempt(lambda: all_consents(care, patient_id=embryo.patient_id))
    forms = known(answer)
    fitting = [one for one in forms or () if one.disposition == wanted and names_embryo(one, embryo.id)]
    waiting = next((form for form in fitting if form.is_open), None)
    page = ByFormPage(
        view=view,
        decision=next(one for one in decisions_about(embryo) if one.name == name),
        consequences=_consequences(embryo, name),
        waiting=waiting,
        signed=next((form for form in fitting if form.is_signed), None)
        if embryo.disposition == wanted
        else None,
        is_incomplete=forms is None or not forms.is_whole,
        letter=None if waiting or embryo.disposition == wanted else letter_about(embryo, name, person),
    )
    return render(page, status=status)


def _editing(care: Care, person: Person, embryo_id: str) -> Editing[EmbryoStorage]:
    """Save only the disposition, if it is still what it was when the page was opened."""
    words = [(str(one), labels.disposition_name(one)) for one in Disposition]
    return Editing(
        owner=person.sub,
        event="embryo.decide",
        kind="embryo",
        fields=lambda embryo: [member("disposition", choice(_("Your wish"), words), value=Disposition)],
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        write=lambda _read, embryo: choose_disposition(
            care, embryo_id, disposition=embryo.disposition, stamp=embryo.concurrency_stamp
        ),
    )


def _ask(view: EmbryoView, name: str, edit: Edit) -> Response:
    embryo = view.embryo
    page = DecisionPage(
        view=view,
        decision=next(one for one in decisions_about(embryo) if one.name == name),
        wanted=DECISIONS[name],
        consequences=_consequences(embryo, name),
        edit=edit,
    )
    return render(page, status=edit.status)


def _refuse(view: EmbryoView, wanted: Disposition, obstacle: str) -> Response:
    audit.note("embryo.decide", "refused", kind="embryo", id_=view.embryo.id)
    page = ObstaclePage(view=view, wish=labels.disposition_name(wanted), obstacle=obstacle)
    return render(page, status=403)


def _consequences(embryo: EmbryoStorage, name: str) -> list[str]:
    """The consequences of a decision, in sentences."""
    once_signed = _(
        "Once the form is signed, you can still take it back here until the clinic has acted on it. The embryo then goes on hold."
    )
    match name:
        case "keep":
            paid = paid_until(embryo)
            return [
                _("The embryo stays on hold: saying this doesn’t end the hold.")
                if embryo.is_on_hold
                else _("The embryo stays frozen, as it is now."),
                _(
                    "Storage is paid until %(day)s. That date moves on when the next payment has arrived.",
                    day=long_date(paid),
                )
                if paid
                else _("The clinic tells you what storage costs and until when it is paid."),
                _(
                    "How long you agreed to storage doesn’t change by this. When that time ends, the clinic asks you with a form of its own."
                ),
                _("You can change your mind here at any time."),
            ]
        case "leave-open":
            return [
                _("The embryo stays frozen, as it is now."),
                _("The clinic sees that you haven’t decided yet."),
                _("You can change your mind here at any time."),
            ]
        case "take-back":
            return [
                _(
                    "What the form decided no longer holds, and the form allows nothing more. You can still read it."
                ),
                _("The embryo stays frozen and goes on hold: nobody at the clinic can move it."),
                _("The hold ends only when everyone concerned has signed a new form that names this embryo."),
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]
        case "move":
            return [
                _("The clinic talks with you and the other clinic, and arranges the transport."),
                _("The embryo stays in storage here until it leaves, and storage is paid until then."),
                once_signed,
            ]
        case "donate-research":
            return [
                _(
                    "The embryo is used in a research project, and can’t be transferred to anybody afterwards."
                ),
                _("The form says which research is allowed."),
                _("Once it has been handed over, this can’t be undone."),
                once_signed,
            ]
        case "donate-patients":
            return [
                _(
                    "The embryo may be transferred to someone you don’t know, and a child may be born from it."
                ),
                _("The law says what such a child may learn about you. The clinic offers counselling first."),
                _("Once it has been handed over, this can’t be undone."),
                once_signed,
            ]
        case _:
            return [
                _(
                    "The clinic takes the embryo out of storage. Once this has been done, it can’t be undone. Until then you can change your mind."
                ),
                once_signed,
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]
