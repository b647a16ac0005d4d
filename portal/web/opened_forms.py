"""When patients first opened the forms that they sign, for themselves to see on the form and its receipt.

Stored encrypted for each person and clinic: a moment for each form's id.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from portal.services.consents.forms import ConsentForm
from portal.state.session_records import Person
from portal.web.filters import now
from portal.web.last_known import LastKnown

_MOST = 60
"""Maximum number of forms kept for one person; the one opened first is dropped first."""


class OpenedForms(msgspec.Struct, frozen=True):
    """One person's forms by id, with the moment in which each was opened first."""

    forms: dict[str, datetime]


_OPENED = LastKnown("forms", OpenedForms(forms={}), seconds=365 * 24 * 3600)


def note(person: Person, form: ConsentForm) -> None:
    """Store that a patient opens the form now, unless they opened or signed it before."""
    if not person.is_patient or not form.is_open or form.signature_of(person.sub):
        return

    def with_form(saved: OpenedForms) -> OpenedForms | None:
        if form.id in saved.forms:
            return None
        return OpenedForms(dict([*saved.forms.items(), (form.id, now())][-_MOST:]))

    _OPENED.update(person, with_form)


def first_opened(form: ConsentForm, person: Person) -> datetime | None:
    """Return when the person first opened the form; None if that isn't known."""
    return _OPENED.get(person).forms.get(form.id) if person.is_patient else None
