"""The drafts of consent forms: their pages, everything that is wrong with one, and how one is sent and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flask import url_for

from portal.services.client import Care
from portal.services.consents import all_consents, create_consent, find_alike, find_created
from portal.services.consents.forms import ConsentForm
from portal.views.consents import draft_faults, lawful
from portal.views.consents.form_sources import templates_in_use
from portal.views.consents.new_form import NewForm
from portal.views.creation import Drafts, Search

drafts = Drafts(
    "consent",
    NewForm,
    pages="consents.create",
    first="choose",
    address=lambda id_: url_for("consents.show", consent_id=id_),
)


def all_faults_of(new_form: NewForm) -> list[tuple[str, str]]:
    """Return the errors of a draft as (field id, sentence) pairs, by the law of the country and by its own rules."""
    return [*lawful.faults(new_form, templates_in_use()), *draft_faults.faults_of(new_form)]


def send_in(care: Care) -> Callable[[NewForm, str], ConsentForm | None]:
    return lambda new_form, key: create_consent(care, new_form.draft(), operation=key)


def search_in(care: Care) -> Search[NewForm, ConsentForm]:
    """Return how a form that was sent is found again."""
    return Search(
        alike=lambda new_form: all_consents(care, patient_id=new_form.about.patient_id),
        recognise=lambda forms, new_form: find_created(forms, new_form.draft()),
    )


def alike_of(forms: Iterable[ConsentForm], new_form: NewForm) -> list[ConsentForm]:
    """The existing forms that this would duplicate, except the one that it replaces."""
    draft = new_form.draft()
    return [form for form in find_alike(forms, draft) if form.id != draft.supersedes_id]
