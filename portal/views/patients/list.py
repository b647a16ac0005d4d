"""The clinic's patients: those whom the newest forms, messages and protocols are about, as no endpoint lists patients."""

from __future__ import annotations

from collections.abc import Sequence

from portal.i18n.gettext import _
from portal.services.listed import Listed
from portal.services.people import FoundPerson, NewestPeople
from portal.values import Value
from portal.views.hits import RelatedLink, latest_words, name_of, patient_page, treatment_link, who_words
from portal.web import audit
from portal.web.filters import in_a_row
from portal.web.known_people import KnownPerson
from portal.web.pages import Page

_PAGE = 25


class PatientRow(Value, frozen=True):
    """A patient: what tells them apart as far as this session has read it, their treatment, and what is new about them."""

    name: str
    href: str
    facts: str
    treatment: RelatedLink | None
    latest: str


class ListPage(Page, template="patients/list.html"):
    """One page of the patients; `found` are all that were read, `is_lost` says that others may be missing."""

    found: Listed[FoundPerson]
    is_lost: bool
    rows: list[PatientRow]
    number: int
    pages: int


def list_page(newest: NewestPeople, known: Sequence[KnownPerson], number: int) -> ListPage:
    """Return a page of the patients that were read, and record in the audit trail what it shows of them."""
    found, first = newest.found, (number - 1) * _PAGE
    shown = found.items[first : first + _PAGE]
    for kind, ids in (
        ("consent", [form.id for person in shown for form in person.forms]),
        ("conversation", [talk.id for person in shown for talk in person.conversations]),
        ("protocol", [plan.id for person in shown for plan in person.protocols]),
    ):
        audit.shown(f"{kind}.list", kind, ids)
    remembered = {person.patient_id: person for person in reversed(known)}
    treatments = {person.key: person.treatment for person in known}
    here = [remembered.get(person.patient_id or "") for person in shown]
    audit.shown("episode.list", "episode", [person.episode_id for person in here if person])
    return ListPage(
        found=found,
        is_lost=newest.is_lost,
        rows=[
            _row(person, kept, treatments.get((person.episode_id or "", person.patient_id or ""), ""))
            for person, kept in zip(shown, here, strict=True)
        ],
        number=number,
        pages=max(1, -(-len(found.items) // _PAGE)),
    )


def _row(person: FoundPerson, known: KnownPerson | None, treatment: str) -> PatientRow:
    return PatientRow(
        name=name_of(person, known) or _("Patient without a known name"),
        href=patient_page(person.patient_id, person.episode_id) or "/open",
        facts=in_a_row(who_words(known.mrn, known.born), " · ") if known else "",
        treatment=treatment_link(person.episode_id, treatment),
        latest=in_a_row(latest_words(person), " · "),
    )
