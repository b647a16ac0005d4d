"""Several forms for one patient at once: chosen together, looked over together, and each sent once by itself.

What can't be sent stays, with its reason; what was sent isn't sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from urllib.parse import urlencode

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _, ngettext
from portal.parse import calendar_date, record_id
from portal.services.consents import all_consents, list_consents
from portal.services.consents.forms import NOTHING_WITHOUT_EMBRYOS, ConsentForm
from portal.services.errors import CareError, NotFound, Refused
from portal.services.gather import attempt, known
from portal.services.listed import Listed
from portal.state.operations import State
from portal.values import Value
from portal.views.consents import lawful
from portal.views.consents.begin_draft import from_template
from portal.views.consents.drafts import alike_of, all_faults_of, drafts, search_in, send_in, unlike_draft
from portal.views.consents.form_sources import show_sources, subject_at, templates_in_use
from portal.views.consents.labels import names_of
from portal.views.consents.missing import account_words
from portal.views.consents.new_form import NewForm
from portal.views.creation import Draft, changed_since_shown, create_once, is_as_shown
from portal.web.act_once import Reopened, Unconfirmed, settled
from portal.web.editing import tell_unlike
from portal.web.filters import in_a_row
from portal.web.handlers import Care, Page, Person, Side, redirect_to, render, signed_in, toast
from portal.web.permissions import PREPARE_CONSENT
from portal.web.refusals import refusal_message

bp = Blueprint("bundle", __name__)

_MOST = 20
_RECENT = 100


class BundledForm(Value, frozen=True):
    """One form of the bundle: `href` is its page once it is sent, `lacks` why it can't be sent as it is.

    `failure` says why it didn't go just now.
    """

    draft: Draft[NewForm]
    href: str
    lacks: str
    failure: str = ""

    @property
    def new_form(self) -> NewForm:
        return self.draft.content

    @property
    def signers(self) -> str:
        return names_of(self.new_form.preview().required_signers)

    @property
    def without_account(self) -> list[str]:
        """Sentences about signers who need an account first."""
        return account_words(self.new_form.without_account())

    @property
    def procedure(self) -> date | None:
        return calendar_date(self.new_form.procedure_date)

    @property
    def is_ready(self) -> bool:
        return not (self.href or self.lacks)


class BundlePage(Page, template="consents/bundle.html", about="about", is_pinned=True):
    """The forms chosen for a patient; `ready` is how many can be sent."""

    about: NewForm
    forms: list[BundledForm]
    ready: int


@bp.post("/new/bundle")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
def choose(care: Care, person: Person) -> Response:
    """Begin a draft of each chosen template."""
    ids = (record_id(request.form.get(name)) for name in ("episode", "patient", "partner"))
    subject = subject_at(care, *ids)
    if subject is None:
        raise NotFound
    templates = templates_in_use()
    unlawful = lawful.template_faults(templates)
    chosen = [name for name in dict.fromkeys(request.form.getlist("template")) if name in templates.by_name][
        :_MOST
    ]
    if not chosen or any(name in unlawful for name in chosen):
        found = attempt(lambda: list_consents(care, limit=8))
        fault = _("Tick the forms that you want to send")
        return show_sources(found, subject, subject.about.query, fault=fault)
    recent = known(attempt(lambda: list_consents(care, limit=_RECENT)))
    forms = recent.items if recent else ()
    begun = [
        drafts.begin(
            person, from_template(templates.by_name[name], subject.about, subject.episode, person, forms)
        )
        for name in chosen
    ]
    query = urlencode([("operation", draft.operation.id) for draft in begun])
    return redirect_to(f"{url_for('.show')}?{query}")


@bp.get("/new/bundle")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
def show(care: Care, person: Person) -> Response:
    """Show the forms of the bundle: who will sign each, and what one still lacks."""
    return _show(care, person, request.args.getlist("operation"), {})


@bp.post("/new/bundle/send")
@signed_in(Side.STAFF, roles=PREPARE_CONSENT)
def send(care: Care, person: Person) -> Response:
    """Send each form that can be sent, once; back to the patient if all went."""
    ids = request.form.getlist("operation")
    failures: dict[str, str] = {}
    for form in _read(care, person, ids):
        if form.is_ready and (
            words := _send(care, form.draft) if is_as_shown(form.draft) else changed_since_shown()
        ):
            failures[form.draft.operation.id] = words
    after = _read(care, person, ids)
    if not after or not all(form.href for form in after):
        return _show(care, person, ids, failures)
    toast(
        ngettext(
            "%(num)s form was sent to its signers.", "%(num)s forms were sent to their signers.", len(after)
        )
    )
    about = after[0].new_form.about
    return redirect_to(
        url_for("patients.overview.show", patient_id=about.patient_id, episode=about.episode_id)
    )


def _send(care: Care, draft: Draft[NewForm]) -> str:
    """Send one form; return why it didn't go, or an empty string."""
    try:
        done = create_once(draft, send_in(care), search_in(care))
    except Reopened:
        return _("It wasn’t sent. You can send it again.")
    except Unconfirmed:
        return _("The clinic’s system didn’t confirm it. Look whether it is there before you send it again.")
    except Refused as error:
        return refusal_message(error.code)
    except CareError:
        return _("The clinic’s system didn’t take it. It wasn’t sent; you can try again.")
    if done.result is not None and (labels := unlike_draft(care, draft.content, done.result)):
        title = draft.content.title
        tell_unlike([_("%(name)s: %(state)s", name=title, state=in_a_row(labels))])
    return ""


def _show(care: Care, person: Person, ids: Sequence[str], failures: dict[str, str]) -> Response:
    forms = _read(care, person, ids, failures)
    if not forms:
        return drafts.begin_again()
    ready = sum(form.is_ready for form in forms)
    page = BundlePage(about=forms[0].new_form, forms=forms, ready=ready)
    return render(page, status=422 if failures else 200)


def _read(
    care: Care, person: Person, ids: Sequence[str], failures: dict[str, str] | None = None
) -> list[BundledForm]:
    """The drafts of one patient as they are now."""
    found = [draft for id_ in dict.fromkeys(ids[:_MOST]) if (draft := drafts.find(person, id_))]
    if not found:
        return []
    patient_id = found[0].content.about.patient_id
    mine = [draft for draft in found if draft.content.about.patient_id == patient_id]
    forms = known(attempt(lambda: all_consents(care, patient_id=patient_id))) or Listed[ConsentForm]()
    return [_bundled(draft, forms, (failures or {}).get(draft.operation.id, "")) for draft in mine]


def _bundled(draft: Draft[NewForm], forms: Listed[ConsentForm], failure: str) -> BundledForm:
    operation = settled(draft.person.sub, draft.operation)
    if operation.state is State.DONE:
        return BundledForm(draft, url_for("consents.show", consent_id=operation.outcome), "")
    if operation.state is not State.OPEN:
        words = _("The clinic’s system didn’t confirm it. Look whether it is there before you send it again.")
        return BundledForm(draft, "", words)
    if faults := all_faults_of(draft.content):
        return BundledForm(draft, "", faults[0][1])
    offers = draft.content.embryos if draft.content.kind in NOTHING_WITHOUT_EMBRYOS else ()
    if offers and not draft.content.embryo_ids:
        return BundledForm(
            draft, "", _("It names no embryo, so it would allow nothing. Open “Change” to choose them.")
        )
    if alike_of(forms, draft.content):
        return BundledForm(draft, "", _("A form like this is there already. Open “Change” to replace it."))
    return BundledForm(draft, "", "", failure)
