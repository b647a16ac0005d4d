"""The page on which a new consent form is filled in, also with what is wrong with it, or why it wasn't taken."""

from __future__ import annotations

from flask import Response, url_for

from portal.i18n.gettext import _
from portal.services import errors
from portal.services.consents import all_consents
from portal.services.consents.forms import ConsentForm
from portal.state.operations import Operation
from portal.views.consents import lawful
from portal.views.consents.draft_faults import faults_named_by
from portal.views.consents.drafts import alike_of
from portal.views.consents.form_sources import templates_in_use
from portal.views.consents.missing import account_words
from portal.views.consents.new_form import NewForm
from portal.views.creation import Draft
from portal.web import unsent
from portal.web.handlers import Care, Page, render
from portal.web.refusals import refusal_message


class FillPage(Page, template="consents/fill.html", about="new_form"):
    operation: Operation
    new_form: NewForm
    faults: dict[str, str]
    without_account: list[str]
    asks_for_donor: bool


def explain_refusal(care: Care, draft: Draft[NewForm], error: errors.CareError) -> Response:
    match error:
        case errors.Invalid():
            return show_filled(draft, faults_named_by(error, draft.content), status=422)
        case errors.Refused(code="FormAlreadyOpen"):
            forms = all_consents(care, patient_id=draft.content.about.patient_id)
            if alike := alike_of(forms, draft.content):
                return warn_of(draft, alike, status=403)
            return show_filled(draft, [("title", refusal_message("FormAlreadyOpen"))], status=403)
        case errors.Refused(code="SupersedesOther" | "ConsentActedUpon" as code):
            return show_filled(draft, [("replaces", refusal_message(code))], status=403)
        case errors.Refused(code=code):
            return show_filled(draft, [("title", refusal_message(code))], status=403)
        case errors.Conflict():
            return show_filled(draft, [("title", _("Someone changed this meanwhile"))], status=409)
        case _:
            raise error


def warn_of(draft: Draft[NewForm], alike: list[ConsentForm], *, status: int) -> Response:
    """Say which form is similar, and offer to replace it."""
    if len(alike) > 1:
        words = _("Several forms like this are open or signed already. Withdraw all of them but one first.")
        return show_filled(draft, [("title", words)], status=status)
    words = _("A form like this is there already. Replace it, or give this one another title.")
    return show_filled(draft.keep(draft.content.beside(alike[0])), [("replaces", words)], status=status)


def show_filled(
    draft: Draft[NewForm], faults: list[tuple[str, str]] | None = None, *, status: int = 200
) -> Response:
    """The form; when it is opened, with unsent input from a session that ended."""
    given = unsent.restored_form(url_for("consents.create.fill"), typed_for=draft.content.typed_for)
    new_form = draft.content.posted(given) if given else draft.content
    page = FillPage(
        operation=draft.operation,
        new_form=new_form,
        faults=dict(faults or []),
        without_account=account_words(new_form.without_account()),
        asks_for_donor=lawful.asks_for_donor(new_form, templates_in_use()),
    )
    return render(page, status=status)
