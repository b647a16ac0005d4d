"""Creating a consent form, for staff: from a template or a copy, filled in, previewed, and sent once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.parse import line, record_id
from portal.services import errors
from portal.services.consents import (
    all_consents,
    create_consent,
    find_alike,
    find_created,
    get_consent,
    list_consents,
)
from portal.services.consents.forms import ConsentForm
from portal.services.gather import attempt, known
from portal.services.listed import Listed
from portal.state.operations import Operation
from portal.views.consents import draft_faults, lawful
from portal.views.consents.begin_draft import from_form, from_template
from portal.views.consents.draft import Earlier, NewForm
from portal.views.consents.draft_faults import faults_named_by
from portal.views.consents.eligibility import CREATORS, Eligibility, eligibility_of
from portal.views.consents.form_sources import (
    LONGEST_EPISODE,
    ask_episode,
    episode_at,
    episode_of,
    sources_page,
    templates_in_use,
)
from portal.views.consents.labels import text_gap_words
from portal.views.consents.missing import account_words
from portal.views.consents.people import about_episode, about_patient
from portal.views.consents.show import show_refusal
from portal.views.creation import Draft, Drafts, Making, Search
from portal.web import unsent
from portal.web.act_once import Unconfirmed
from portal.web.handlers import Care, Page, Person, Side, render, signed_in
from portal.web.refusals import refusal_message

bp = Blueprint("create", __name__)

_ROLES = set(CREATORS)
_RECENT = 100
drafts = Drafts(
    "consent",
    NewForm,
    pages="consents.create",
    first="choose",
    address=lambda id_: url_for("consents.show", consent_id=id_),
)


class FillPage(Page, template="consents/fill.html", about="new_form"):
    operation: Operation
    new_form: NewForm
    faults: dict[str, str]
    without_account: list[str]
    asks_for_donor: bool


class PreviewPage(Page, template="consents/preview.html", about="form"):
    """The preview: the form as its signers will see it; `left_out` are embryos that only the replaced form names."""

    operation: Operation
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
@signed_in(Side.STAFF, roles=_ROLES)
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
    about = about_episode(episode) if episode else None
    if patient_id:
        partner_id = record_id(request.args.get("partner"))
        about = about_patient(patient_id, all_consents(care, patient_id=patient_id), partner_id)
    if about is None and copied is None:
        return ask_episode("")
    recent = known(attempt(lambda: list_consents(care, limit=_RECENT)))
    forms = recent.items if recent else ()
    if copied:
        new_form = from_form(copied, about, episode, person, forms)
        if words := lawful.text_fault(new_form, templates_in_use()):
            return show_refusal(care, copied, person, words)
    else:
        assert template and about
        new_form = from_template(template, about, episode, person, forms)
    return _fill(drafts.begin(person, new_form))


@bp.get("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
@drafts.open_step
def change(care: Care, draft: Draft[NewForm]) -> Response:
    return _fill(draft)


@bp.post("/new/fill")
@signed_in(Side.STAFF, roles=_ROLES)
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
    if faults := faults_of(draft.content):
        return _fill(draft, faults, status=422)
    forms = attempt(lambda: all_consents(care, patient_id=draft.content.about.patient_id))
    if alike := alike_of(known(forms) or Listed(), draft.content):
        return _warn(draft, alike, status=422)
    return drafts.to_preview(draft)


@bp.get("/new/preview")
@signed_in(Side.STAFF, roles=_ROLES)
@drafts.open_step
def preview(care: Care, draft: Draft[NewForm]) -> Response:
    if faults := faults_of(draft.content):
        return _fill(draft, faults, status=422)
    form = draft.content.preview()
    return render(
        PreviewPage(
            operation=draft.operation,
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
@signed_in(Side.STAFF, roles=_ROLES)
@drafts.open_step
def create(care: Care, draft: Draft[NewForm]) -> Response:
    """Send the form to its signers, once."""
    if faults := faults_of(draft.content):
        return _fill(draft, faults, status=422)
    return drafts.create(draft, _making(care))


@bp.get("/new/look", endpoint="outcome")
@signed_in(Side.STAFF, roles=_ROLES)
@drafts.sent_step
def look_again(care: Care, draft: Draft[NewForm]) -> Response:
    """After a lost response, say whether the form exists now."""
    return drafts.look_again(draft, _making(care))


def send_in(care: Care) -> Callable[[NewForm, str], ConsentForm | None]:
    return lambda new_form, key: create_consent(care, new_form.draft(), operation=key)


def _making(care: Care) -> Making[NewForm, ConsentForm]:
    return Making(
        send=send_in(care),
        search=search_in(care),
        created=_("The form was sent to its signers."),
        not_found=_("The form isn’t in the clinic’s record. You can send it again."),
        unconfirmed=_unconfirmed,
        refused=lambda draft, error: _refused(care, draft, error),
    )


def search_in(care: Care) -> Search[NewForm, ConsentForm]:
    """Return how a form that was sent is found again."""
    return Search(
        alike=lambda new_form: all_consents(care, patient_id=new_form.about.patient_id).items,
        recognise=lambda forms, new_form: find_created(forms, new_form.draft()),
    )


def alike_of(forms: Iterable[ConsentForm], new_form: NewForm) -> list[ConsentForm]:
    """The existing forms that this would duplicate, except the one that it replaces."""
    draft = new_form.draft()
    return [form for form in find_alike(forms, draft) if form.id != draft.supersedes_id]


def _warn(draft: Draft[NewForm], alike: list[ConsentForm], *, status: int) -> Response:
    """Say which form is similar, and offer to replace it."""
    if len(alike) > 1:
        words = _("Several forms like this are open or signed already. Withdraw all of them but one first.")
        return _fill(draft, [("title", words)], status=status)
    words = _("A form like this is there already. Replace it, or give this one another title.")
    return _fill(draft.keep(draft.content.beside(alike[0])), [("replaces", words)], status=status)


def _refused(care: Care, draft: Draft[NewForm], error: errors.CareError) -> Response:
    match error:
        case errors.Invalid():
            return _fill(draft, faults_named_by(error, draft.content), status=422)
        case errors.Refused(code="FormAlreadyOpen"):
            forms = all_consents(care, patient_id=draft.content.about.patient_id)
            if alike := alike_of(forms, draft.content):
                return _warn(draft, alike, status=403)
            return _fill(draft, [("title", refusal_message("FormAlreadyOpen"))], status=403)
        case errors.Refused(code="SupersedesOther" | "ConsentActedUpon" as code):
            return _fill(draft, [("replaces", refusal_message(code))], status=403)
        case errors.Refused(code=code):
            return _fill(draft, [("title", refusal_message(code))], status=403)
        case errors.Conflict():
            return _fill(draft, [("title", _("Someone changed this meanwhile"))], status=409)
        case _:
            raise error


# ── the pages ───────────────────────────────────────────────────────────────────────────────────────────


def _fill(
    draft: Draft[NewForm], faults: list[tuple[str, str]] | None = None, *, status: int = 200
) -> Response:
    """The form; when it is opened, with unsent input from a session that ended."""
    given = unsent.restored_form(url_for(".fill"), typed_for=draft.content.typed_for)
    new_form = draft.content.posted(given) if given else draft.content
    page = FillPage(
        operation=draft.operation,
        new_form=new_form,
        faults=dict(faults or []),
        without_account=account_words(new_form.without_account()),
        asks_for_donor=lawful.asks_for_donor(new_form, templates_in_use()),
    )
    return render(page, status=status)


def _unconfirmed(draft: Draft[NewForm], error: Unconfirmed) -> Response:
    page = UnconfirmedPage(operation=draft.operation, new_form=draft.content, is_readable=error.is_readable)
    return render(page, status=error.status)


def faults_of(new_form: NewForm) -> list[tuple[str, str]]:
    """Return the errors of a draft as (field id, sentence) pairs, by the law of the country and by its own rules."""
    return [*lawful.faults(new_form, templates_in_use()), *draft_faults.faults_of(new_form)]
