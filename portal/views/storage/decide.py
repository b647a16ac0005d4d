"""What a patient decides about an embryo: one decision a page, with what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.consents import all_consents
from portal.services.errors import CareError, NotFound
from portal.services.gather import gather
from portal.services.records.consents import ConsentForm, ConsentKind
from portal.services.records.storage import Disposition, EmbryoStatus, EmbryoStorage
from portal.services.storage import choose_disposition
from portal.state.sessions import Person
from portal.views.storage.view import EmbryoView, find_embryo, paid_until
from portal.web import audit, labels
from portal.web.conflicts import Comparison, Editing, Filled, Saved, open_form, save_edit
from portal.web.filters import long_date
from portal.web.forms import choice
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.pages import Page

bp = Blueprint("decide", __name__)

DECISIONS = {
    "keep": Disposition.CONTINUE_STORAGE,
    "move": Disposition.TRANSPORT,
    "donate-research": Disposition.DONATE_RESEARCH,
    "donate-patients": Disposition.DONATE_PATIENT,
    "let-go": Disposition.DISCARD,
}
"""The last part of a decision's address, and what it says to the clinic."""

_NEEDS_FORM = (Disposition.DISCARD, Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT)


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that may be decided; `is_chosen` when it is the wish already."""

    name: str
    title: str
    lede: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a decision can't be made now; `form` is the one to sign first, if the clinic has sent it."""

    words: str
    form: ConsentForm | None = None


class DecisionPage(Page, template="storage/decide.html"):
    """What follows from a decision, and the form that makes it."""

    view: EmbryoView
    decision: Decision
    wanted: Disposition
    consequences: list[str]
    edit: Filled | Comparison


class ObstaclePage(Page, template="storage/cannot.html"):
    """Why a decision can't be made now."""

    view: EmbryoView
    wish: str
    obstacle: Obstacle


@bp.get("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def show(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Say what follows from one decision, and ask."""
    view = find_embryo(care, person, embryo_id)
    audit.shown("embryo.read", "embryo", view.embryo.id)
    wanted = _wanted(decision)
    if (obstacle := _obstacle(care, view.embryo, wanted)) is not None:
        return _refuse(view, wanted, obstacle)
    return _ask(view, decision, open_form(_editing(care, person, embryo_id, wanted), view.embryo))


@bp.post("/<record:embryo_id>/<decision>")
@signed_in(Side.PATIENT)
def confirm(care: Care, person: Person, embryo_id: str, decision: str) -> Response:
    """Tell the clinic the decision; sent twice it is one decision."""
    view = find_embryo(care, person, embryo_id)
    embryo, wanted = view.embryo, _wanted(decision)
    if (obstacle := _obstacle(care, embryo, wanted)) is not None:
        return _refuse(view, wanted, obstacle)
    result = save_edit(_editing(care, person, embryo_id, wanted), embryo)
    if not isinstance(result, Saved):
        return _ask(view, decision, result)
    if result.record.disposition == wanted:
        toast(_("Embryo %(code)s: your decision is recorded.", code=embryo.embryo_code))
    else:
        toast(_("Embryo %(code)s is left as it is now.", code=embryo.embryo_code), tone="info")
    return redirect_to(view.href)


def decisions_about(embryo: EmbryoStorage) -> list[Decision]:
    """Return what may be decided about it in its state; while it is on hold, only to keep it."""
    if embryo.status not in (EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD):
        return []
    words = {
        "keep": (_("Keep it in storage"), _("Renew, so that it stays frozen for you.")),
        "move": (_("Move it to another clinic"), _("It stays frozen and travels in a tank.")),
        "donate-research": (
            _("Donate it to research"),
            _("It helps others to learn, and is not transferred."),
        ),
        "donate-patients": (_("Donate it to other patients"), _("Someone else may have a child from it.")),
        "let-go": (_("Let it go"), _("Storage ends and it is not used.")),
    }
    names = ["keep"] if embryo.is_on_hold else list(DECISIONS)
    return [Decision(name, *words[name], embryo.disposition == DECISIONS[name]) for name in names]


def _wanted(decision: str) -> Disposition:
    if decision not in DECISIONS:
        raise NotFound
    return DECISIONS[decision]


def _obstacle(care: Care, embryo: EmbryoStorage, wanted: Disposition) -> Obstacle | None:
    """Why this can't be decided now: its state, a hold, or a form that isn't signed."""
    if wanted not in {DECISIONS[one.name] for one in decisions_about(embryo)}:
        if embryo.is_on_hold:
            return Obstacle(
                _("This embryo is on hold. Until the clinic has talked with you, it can only be kept.")
            )
        return Obstacle(_("This embryo is no longer in storage, so there is nothing to decide."))
    if wanted not in _NEEDS_FORM:
        return None
    forms = _decision_forms(care, embryo)
    if forms is None or any(form.is_signed for form in forms):
        return None
    words = _("Before the clinic can do this, everyone concerned signs a form about what happens to embryos.")
    return Obstacle(words, next((form for form in forms if form.is_open), None))


def _decision_forms(care: Care, embryo: EmbryoStorage) -> list[ConsentForm] | None:
    """The forms on which such a decision rests; None when they can't be read, so that the API alone decides."""
    (forms,) = gather(lambda: all_consents(care, patient_id=embryo.patient_id))
    if isinstance(forms, CareError):
        return None
    kinds = (ConsentKind.DISPOSITION, ConsentKind.DONATION)
    return [form for form in forms if form.kind in kinds and form.patient_id in (embryo.patient_id, None)]


def _editing(care: Care, person: Person, embryo_id: str, wanted: Disposition) -> Editing[EmbryoStorage]:
    """The wish alone is written; it is compared with what it was when the page was opened."""
    words = [(str(one), labels.disposition_name(one)) for one in Disposition]
    return Editing(
        owner=person.sub,
        event="embryo.decide",
        kind="embryo",
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        values=lambda embryo: {"disposition": str(embryo.disposition)},
        fields=lambda embryo: {"disposition": choice(_("Your wish"), words)},
        write=lambda embryo, values: choose_disposition(
            care, embryo.id, disposition=Disposition(values["disposition"]), stamp=embryo.concurrency_stamp
        ),
    )


def _ask(view: EmbryoView, name: str, edit: Filled | Comparison) -> Response:
    embryo, wanted = view.embryo, DECISIONS[name]
    page = DecisionPage(
        view=view,
        decision=next(one for one in decisions_about(embryo) if one.name == name),
        wanted=wanted,
        consequences=_consequences(embryo, wanted),
        edit=edit,
    )
    return render(page, status=edit.status)


def _refuse(view: EmbryoView, wanted: Disposition, obstacle: Obstacle) -> Response:
    audit.note("embryo.decide", "refused", kind="embryo", id_=view.embryo.id)
    page = ObstaclePage(view=view, wish=labels.disposition_name(wanted), obstacle=obstacle)
    return render(page, status=403)


def _consequences(embryo: EmbryoStorage, wanted: Disposition) -> list[str]:
    """What follows from a decision, in sentences."""
    changeable = _("You can change your mind here until the clinic has acted on it.")
    match wanted:
        case Disposition.CONTINUE_STORAGE:
            paid = paid_until(embryo)
            return [
                _("The embryo stays frozen, as it is now."),
                _("Storage is paid until %(day)s. That date moves on when the next payment has arrived.", day=long_date(paid))
                if paid
                else _("The clinic tells you what storage costs and until when it is paid."),
                _("How long you agreed to storage doesn’t change by this. Where it ends soon, the clinic sends you a form to renew it."),
                changeable,
            ]  # fmt: skip
        case Disposition.TRANSPORT:
            return [
                _("The clinic talks with you and the other clinic, and arranges the transport."),
                _("The embryo stays in storage here until it leaves, and storage is paid until then."),
                changeable,
            ]
        case Disposition.DONATE_RESEARCH:
            return [
                _(
                    "The embryo is used in a research project, and can’t be transferred to anybody afterwards."
                ),
                _("The form that was signed says which research is allowed."),
                _(
                    "Once it has been handed over, this can’t be undone. Until then you can change your mind here."
                ),
            ]
        case Disposition.DONATE_PATIENT:
            return [
                _(
                    "The embryo may be transferred to someone you don’t know, and a child may be born from it."
                ),
                _("The law says what such a child may learn about you. The clinic offers counselling first."),
                _(
                    "Once it has been handed over, this can’t be undone. Until then you can change your mind here."
                ),
            ]
        case _:
            return [
                _("The clinic takes the embryo out of storage, and it can’t be used any more."),
                _("This can’t be undone once it is done. Until then you can change your mind here."),
                _("If you want to talk first, your care team is there. There is no hurry."),
            ]
