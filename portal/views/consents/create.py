"""Creating a consent form, for staff: from a template or a copy, filled in, previewed, and sent once."""

from __future__ import annotations

from flask import Blueprint, Response, request

from portal.i18n.gettext import _
from portal.parse import line, record_id
from portal.services import errors
from portal.services.consents import all_consents, get_consent, list_consents
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Episode
from portal.services.gather import attempt, known
from portal.services.listed import Listed
from portal.services.rules.ending import is_carried_out
from portal.state.operations import Operation
from portal.views.consents import lawful
from portal.views.consents.begin_draft import from_form, from_template, names_of_others
from portal.views.consents.drafts import alike_of, all_faults_of, drafts, search_in, send_in, unlike_draft
from portal.views.consents.eligibility import Eligibility, eligibility_of
from portal.views.consents.fill_page import explain_refusal, show_filled, warn_of
from portal.views.consents.form_sources import (
    LONGEST_EPISODE,
    ask_episode,
    episode_at,
    episode_of,
    sources_page,
    templates_in_use,
)
from portal.views.consents.labels import listed, text_gap_words
from portal.views.consents.missing import account_words
from portal.views.consents.new_form import Earlier, NewForm
from portal.views.consents.show import show_refusal
from portal.views.consents.signers import Parties, parties_of_episode, parties_of_patient
from portal.views.creation import Creation, Draft
from portal.web import unsent
from portal.web.act_once import Unconfirmed
from portal.web.handlers import Care, Page, Person, Side, render, signed_in
from portal.web.permissions import PREPARE_CONSENT

bp = Blueprint("create", __name__)

_RECENT = 100


class PreviewPage(Page, template="consents/preview.html", about="form"):
    """The preview, whose digest is `shown`: the form as its signers will see it; `left_out` are embryos that only the replaced form names."""

    operation: Operation
    shown: str
    form: ConsentForm
    eligibility: Eligibility
    embryos: list[str]
    replaces: Earlier | None
    left_out: list[str]
    without_account: list[str]


class UnconfirmedPage(Page, template="consents/new_unconfirmed.html", about="new_form"):
    """The response was lost; `is_readable` says that the record was read and doesn't contain the form."""

    operation: Operation
    new_form: NewForm
    is_readable: bool


@bp.get("/new")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
def choose(care: Care, person: Person) -> Response:
    """Choose a template or a form to copy; if chosen, fill it in."""
    if not ("template" in request.args or "copy" in request.args):
        return sources_page(care)
    template = templates_in_use().by_name.get(request.args.get("template", ""))
    copy = record_id(request.args.get("copy"))
    copied = get_consent(care, copy) if copy else None
    if template is None and copied is None:
        raise errors.NotFound
    if template and request.args["template"] in lawful.template_faults(templates_in_use()):
        return sources_page(care, refused=request.args["template"])
    typed = line(request.args.get("episode"), longest=LONGEST_EPISODE)
    if copied and copied.text_gap:
        return show_refusal(care, copied, person, text_gap_words(copied.text_gap))
    patient_id = None if typed else record_id(request.args.get("patient"))
    episode = episode_at(care, typed) if typed else None if patient_id else episode_of(care, copied)
    if isinstance(episode, str):
        return ask_episode(typed, error=episode)
    about = parties_of_episode(episode, _patient_in(episode, copied)) if episode else None
    if patient_id:
        partner_id = record_id(request.args.get("partner"))
        about = parties_of_patient(patient_id, all_consents(care, patient_id=patient_id), partner_id)
    if about is None and copied is None:
        return ask_episode("")
    recent = known(attempt(lambda: list_consents(care, limit=_RECENT)))
    forms = recent.items if recent else ()
    if copied:
        new_form = from_form(copied, about, episode, person, forms)
        words = _names_fault(copied, about) or lawful.text_fault(new_form, templates_in_use())
        if words:
            return show_refusal(care, copied, person, words)
    else:
        assert template and about
        new_form = from_template(template, about, episode, person, forms).naming(request.args.get("embryo"))
        if replaced := _replaced(care, new_form, episode):
            new_form = new_form.beside(replaced)
    return show_filled(drafts.begin(person, new_form))


def _patient_in(episode: Episode, copied: ConsentForm | None) -> str | None:
    """Which of an episode's people the new form is for: as the copied one of that episode, or whose the asked embryo is."""
    if copied:
        return copied.patient_id if copied.episode_id == episode.id else None
    embryo = next((embryo for embryo in episode.embryos if embryo.id == request.args.get("embryo")), None)
    return embryo.patient_id if embryo else None


def _replaced(care: Care, new_form: NewForm, episode: Episode | None) -> ConsentForm | None:
    """The form that this one is to take the place of, as the address says: the same patient's, of the same kind."""
    id_ = record_id(request.args.get("replaces"))
    form = get_consent(care, id_) if id_ else None
    if form is None or form.is_ended or is_carried_out(form, episode):
        return None
    is_alike = (form.patient_id, str(form.kind)) == (new_form.about.patient_id, new_form.kind)
    return form if is_alike else None


def _names_fault(copied: ConsentForm, about: Parties | None) -> str:
    """Why the text doesn't do for other people: it names those whom the copied form was for; empty if it doesn't."""
    names = names_of_others(copied, about) if about else []
    words = _(
        "The text of this form names %(names)s, whom the new one isn’t about. Begin with the template instead.",
        names=listed(names),
    )
    return words if names else ""


@bp.get("/new/fill")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
@drafts.open_step
def change(care: Care, draft: Draft[NewForm]) -> Response:
    return show_filled(draft)


@bp.post("/new/fill")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
@unsent.typed_text(
    "title",
    "version",
    "procedure_date",
    "expires_on",
    "replaces",
    "embryo",
    "disposition",
    "donated",
    "signer-*",
)
@drafts.open_step
def fill(care: Care, draft: Draft[NewForm]) -> Response:
    """Save the draft and show the preview; warn of a similar form."""
    draft = draft.keep(draft.content.posted(request.form))
    if faults := all_faults_of(draft.content):
        return show_filled(draft, faults, status=422)
    forms = attempt(lambda: all_consents(care, patient_id=draft.content.about.patient_id))
    if alike := alike_of(known(forms) or Listed(), draft.content):
        return warn_of(draft, alike, status=422)
    return drafts.to_preview(draft)


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
@drafts.open_step
def preview(care: Care, draft: Draft[NewForm]) -> Response:
    if faults := all_faults_of(draft.content):
        return show_filled(draft, faults, status=422)
    form = draft.content.preview()
    return render(
        PreviewPage(
            operation=draft.operation,
            shown=draft.digest,
            form=form,
            eligibility=eligibility_of(form, draft.person),
            embryos=[
                embryo.code for embryo in draft.content.embryos if embryo.id in draft.content.embryo_ids
            ],
            replaces=draft.content.earlier if draft.content.replaces else None,
            left_out=draft.content.left_out(),
            without_account=account_words(draft.content.without_account()),
        )
    )


@bp.post("/new")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
@drafts.shown_step
def create(care: Care, draft: Draft[NewForm]) -> Response:
    """Send the form to its signers, once."""
    if faults := all_faults_of(draft.content):
        return show_filled(draft, faults, status=422)
    return drafts.create(draft, _creation(care))


@bp.get("/new/look", endpoint="outcome")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
@drafts.sent_step
def look_again(care: Care, draft: Draft[NewForm]) -> Response:
    """After a lost response, say whether the form exists now."""
    return drafts.look_again(draft, _creation(care))


def _creation(care: Care) -> Creation[NewForm, ConsentForm]:
    return Creation(
        send=send_in(care),
        search=search_in(care),
        created=_("The form was sent to its signers."),
        not_found=_("The form isn’t in the clinic’s record. You can send it again."),
        unconfirmed=_unconfirmed,
        refused=lambda draft, error: explain_refusal(care, draft, error),
        unlike=lambda new_form, made: unlike_draft(care, new_form, made),
    )


def _unconfirmed(draft: Draft[NewForm], error: Unconfirmed) -> Response:
    page = UnconfirmedPage(operation=draft.operation, new_form=draft.content, is_readable=error.is_readable)
    return render(page, status=error.status)
