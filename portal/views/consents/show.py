"""The page of one form: its text, who signs it, and what the person can do with it."""

from __future__ import annotations

from flask import Response

from portal.services.records.consents import ConsentForm
from portal.state.sessions import Person
from portal.views.consents.eligibility import Eligibility, eligibility_of
from portal.web.htmx import render
from portal.web.pages import Page


class ShowPage(Page, template="consents/show.html"):
    """The form; `refusal` says why what the person tried can't be done."""

    form: ConsentForm
    eligibility: Eligibility
    refusal: str | None


def show_form(form: ConsentForm, person: Person) -> Response:
    """Answer with the form."""
    return render(ShowPage(form=form, eligibility=eligibility_of(form, person), refusal=None))


def show_refusal(form: ConsentForm, person: Person, refusal: str) -> Response:
    """Answer with the form and the reason why it can't be signed or withdrawn (403)."""
    page = ShowPage(form=form, eligibility=eligibility_of(form, person), refusal=refusal)
    return render(page, status=403)
