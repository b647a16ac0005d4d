"""A patient's decisions about an embryo: one page each, with the consequences.

Keeping the embryo or leaving it open is decided here. Ending its storage is decided by signing a form, so those pages link
to it; such a decision can be revoked here at any time.
"""

from __future__ import annotations

from flask import Blueprint, Response

from portal.i18n.gettext import _
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.services.errors import NotFound
from portal.services.gather import attempt, known
from portal.services.rules.embryo_moves import names_embryo
from portal.services.storage import Disposition, EmbryoStorage, choose_disposition
from portal.views.embryo_view import EmbryoView
from portal.views.storage.decisions import (
    BY_FORM,
    DECISIONS,
    Decision,
    consequences_of,
    decisions_about,
    is_stopped_by_clinic,
    obstacle_to,
)
from portal.views.storage.letter import Letter, letter_about
from portal.views.storage.lookup import find_embryo
from portal.web import labels
from portal.web.edit_form import Edit, Saved
from portal.web.editing import Editing, open_form, save_edit
from portal.web.fields import member
from portal.web.forms import choice
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast

bp = Blueprint("decide", __name__)


class DecisionPage(Page, template="storage/decide.html"):
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
    """Why a decision can't be made now; `is_of_hold` says that it is the clinic's hold, which has a reason of its own."""

    view: EmbryoView
    wish: str
    obstacle: str
    is_of_hold: bool


@bp.get("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def show(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Show the consequences of a decision, and ask; or link to the form that makes it."""
    view = find_embryo(care, person, embryo_id)
    audit.shown("embryo.read", "embryo", view.embryo.id)
    _wanted(decision)
    if (obstacle := obstacle_to(view.embryo, decision)) is not None:
        return _refuse(view, decision, obstacle)
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
        toast(_("Embryo %(code)s is left as it is now.", code=view.code), tone="info")
        return redirect_to(view.href)
    if (obstacle := obstacle_to(embryo, decision)) is not None:
        return _refuse(view, decision, obstacle)
    if decision in BY_FORM:
        audit.note("embryo.decide", "refused", id_=embryo.id)
        return _lead_to_form(care, view, decision, person, status=403)
    result = save_edit(_editing(care, person, embryo_id), embryo)
    if not isinstance(result, Saved):
        return _ask(view, decision, result)
    if result.record.disposition == wanted:
        toast(_recorded(decision, view.code, result.record))
    else:
        toast(_("Embryo %(code)s is left as it is now.", code=view.code), tone="info")
    return redirect_to(view.href)


def _recorded(decision: str, code: str, embryo: EmbryoStorage) -> str:
    if decision != "take-back":
        return _("Embryo %(code)s: your decision is recorded.", code=code)
    if embryo.is_stopped:
        return _("Embryo %(code)s: your decision is taken back. It is on hold.", code=code)
    return _("Embryo %(code)s: your decision is taken back.", code=code)


def _wanted(decision: str) -> Disposition:
    if decision not in DECISIONS:
        raise NotFound
    return DECISIONS[decision]


def _lead_to_form(care: Care, view: EmbryoView, name: str, person: Person, *, status: int = 200) -> Response:
    """The page of a decision made by a form, with the open or signed form."""
    embryo, wanted = view.embryo, DECISIONS[name]
    answer = attempt(lambda: all_consents(care, patient_id=embryo.patient_id))
    forms = known(answer)
    fitting = [form for form in forms or () if form.disposition == wanted and names_embryo(form, embryo.id)]
    waiting = next((form for form in fitting if form.is_open), None)
    page = ByFormPage(
        view=view,
        decision=next(decision for decision in decisions_about(embryo) if decision.name == name),
        consequences=consequences_of(embryo, name),
        waiting=waiting,
        signed=next((form for form in fitting if form.is_signed), None)
        if embryo.disposition == wanted
        else None,
        is_incomplete=forms is None or not forms.is_whole,
        letter=None if waiting or embryo.disposition == wanted else letter_about(view.code, name, person),
    )
    return render(page, status=status)


def _editing(care: Care, person: Person, embryo_id: str) -> Editing[EmbryoStorage]:
    """Save only the disposition, if it is still what it was when the page was opened."""
    words = [(str(disposition), labels.choice_name(disposition)) for disposition in Disposition]
    return Editing(
        owner=person.sub,
        event="embryo.decide",
        fields=lambda embryo: [member("disposition", choice(_("Your wish"), words), value=Disposition)],
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        write=lambda embryo, _read: choose_disposition(
            care, embryo_id, disposition=embryo.disposition, stamp=embryo.concurrency_stamp
        ),
    )


def _ask(view: EmbryoView, name: str, edit: Edit) -> Response:
    embryo = view.embryo
    page = DecisionPage(
        view=view,
        decision=next(decision for decision in decisions_about(embryo) if decision.name == name),
        wanted=DECISIONS[name],
        consequences=consequences_of(embryo, name),
        edit=edit,
    )
    return render(page, status=edit.status)


def _refuse(view: EmbryoView, decision: str, obstacle: str) -> Response:
    audit.note("embryo.decide", "refused", id_=view.embryo.id)
    page = ObstaclePage(
        view=view,
        wish=labels.choice_name(_wanted(decision)),
        obstacle=obstacle,
        is_of_hold=is_stopped_by_clinic(view.embryo, decision),
    )
    return render(page, status=403)
