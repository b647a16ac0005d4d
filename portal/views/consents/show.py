"""The page of one form: its text, who signs it, and what the person can do with it."""

from __future__ import annotations

from flask import Response

from portal.services.consents.forms import ConsentForm
from portal.views.consents.eligibility import Eligibility, eligibility_of
from portal.views.consents.embryos import episode_of, names_in
from portal.views.consents.queue import Place
from portal.views.recent import name_opened
from portal.web import opened_forms
from portal.web.handlers import Care, Page, Person, render


class ShowPage(Page, template="consents/show.html", about="form"):
    """The form; `refusal` says why the attempted act isn't possible."""

    form: ConsentForm
    eligibility: Eligibility
    embryos: list[str]
    refusal: str | None
    place: Place | None


def show_form(care: Care, form: ConsentForm, person: Person, place: Place | None = None) -> Response:
    """Show the form; `place` is its position in the list that it was opened from."""
    return render(_page(care, form, person, None, place))


def show_refusal(care: Care, form: ConsentForm, person: Person, refusal: str) -> Response:
    """Show the form and the reason why it can't be signed or withdrawn (403)."""
    return render(_page(care, form, person, refusal), status=403)


def _page(
    care: Care, form: ConsentForm, person: Person, refusal: str | None, place: Place | None = None
) -> ShowPage:
    name_opened(form.patient_name, form.title)
    opened_forms.note(person, form)
    episode = episode_of(care, form)
    return ShowPage(
        form=form,
        eligibility=eligibility_of(form, person, episode),
        embryos=names_in(care, form, episode),
        refusal=refusal,
        place=place,
    )
