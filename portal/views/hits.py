"""The lines of a search: a person, a record, or something to do."""

from __future__ import annotations

from datetime import date, datetime
from urllib.parse import urlencode

from flask import url_for

from portal.folding import folded
from portal.i18n.gettext import _
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation
from portal.services.listed import Count
from portal.services.notifications import Notification
from portal.services.people import NO_MATCH, FoundPerson, happened_at, rank_of
from portal.services.protocols import Protocol
from portal.values import Value
from portal.views.consents.labels import short_name
from portal.views.known_search import KnownMatch
from portal.views.quick_actions import Action
from portal.views.recent import Opened
from portal.web.filters import day, in_a_row, isolate, long_date
from portal.web.known_people import KnownPerson
from portal.web.labels import treatment_name
from portal.web.record_links import address_of, page_of


class RelatedLink(Value, frozen=True):
    """Another record of a person's that can be opened."""

    label: str
    href: str
    icon: str


class Hit(Value, frozen=True):
    """One line: a name and distinguishing facts; `icon` unless it is a person.

    `second` leads to a person's treatment or, if the name isn't like the words, to the newest record in which they stand.
    """

    name: str
    href: str
    facts: str = ""
    icon: str = ""
    second: RelatedLink | None = None


class Hits(Value, frozen=True):
    """The hits for `text`; `says` explains why there are none, `is_partial` that there may be more, `is_lost`
    that a list couldn't be read.

    `among` is 0, or among how many records these are the names like `text`, which nobody has. `is_from_read` says that only
    what the session has read was searched, `is_alike` that what was typed is nobody's own, as a name that differs by a letter.
    `actions` are what can be done before anything is typed.
    """

    text: str
    hits: tuple[Hit, ...] = ()
    says: str = ""
    is_partial: bool = False
    is_lost: bool = False
    among: int = 0
    is_from_read: bool = False
    is_alike: bool = False
    actions: tuple[Hit, ...] = ()

    @property
    def count(self) -> Count:
        return Count(len(self.hits), not self.is_partial)

    @property
    def others(self) -> str:
        """That there may be more than these, and why; "" if there aren't, or `says` and `among` tell it."""
        if not self.is_partial or self.among or self.is_from_read:
            return ""
        if self.is_lost:
            return _("There may be more: not everything could be looked through.")
        return _("There may be more: type more letters.")

    @property
    def is_ambiguous(self) -> bool:
        """Whether another has the first one's name, or others may be meant; then Enter doesn't open the first one."""
        if self.among or self.is_alike:
            return True
        names = [folded(hit.name) for hit in self.hits]
        return names.count(names[0]) > 1 if names else False


def hit_of(person: FoundPerson, text: str, known: KnownPerson | None) -> Hit:
    """A person whom the API found; `known` is what the session has read about them."""
    others = _related_links(person)
    address = patient_page(person.patient_id, person.episode_id) or address_of("prospect", person.prospect_id)
    href = address or (others[0].href if others else url_for("open_by_id.show"))
    is_known = known is not None and known.episode_id == person.episode_id
    name = person.episode.type if person.episode else known.treatment if known and is_known else ""
    return Hit(
        name=name_of(person, known)
        or (_("Enquiry") if person.prospect_id else _("Patient without a known name")),
        href=href,
        facts=in_a_row(_facts(person, known), " · "),
        second=(
            None
            if is_named(person, known, text)
            else next((other for other in others if other.href != href), None)
        )
        or treatment_link(person.episode_id, name),
    )


def known_hit(found: KnownMatch) -> Hit:
    """A person or an embryo that the session has read about."""
    person, embryo = found.person, found.embryo
    if embryo is None:
        facts = in_a_row(who_words(person.mrn, person.born), " · ")
        href = patient_page(person.patient_id, person.episode_id) or "/open"
        return Hit(person.name, href, facts, second=treatment_link(person.episode_id, person.treatment))
    href = address_of("embryo", embryo.id, data={"episodeId": person.episode_id}) or "/open"
    place = " ".join(part for part in embryo.place[1:] if part)
    facts = [fact for fact in (place, embryo.owner, *who_words(embryo.mrn, None)) if fact]
    return Hit(embryo.code, href, in_a_row(facts, " · "), "storage")


def recent_hit(opened: Opened) -> Hit:
    return Hit(opened.title, opened.href, opened.line, "clock")


def action_hit(action: Action) -> Hit:
    return Hit(action.words, action.href, icon=action.icon)


def name_of(person: FoundPerson, known: KnownPerson | None) -> str:
    """The name that is shown beside the facts: the record's own, as a conversation may name somebody else."""
    return (known.name if known and person.record is None else "") or person.name


def is_named(person: FoundPerson, known: KnownPerson | None, text: str) -> bool:
    """Whether the name that is shown is like the text."""
    name = name_of(person, known)
    return bool(name) and rank_of(name, text) < NO_MATCH


def _facts(person: FoundPerson, known: KnownPerson | None) -> list[str]:
    """Facts that distinguish a person: date of birth and record number, or else the latest record about them."""
    mrn = person.record.mrn if person.record else known.mrn if known else ""
    born = person.record.date_of_birth if person.record else known.born if known else None
    is_enquiry = [_("Enquiry")] if person.prospect_id and person.name else []
    return [*is_enquiry, *(who_words(mrn, born) or latest_words(person))]


def who_words(mrn: str, born: date | None) -> list[str]:
    """Date of birth and record number, as far as known."""
    facts = [
        _("born %(date)s", date=long_date(born)) if born else "",
        _("MRN %(mrn)s", mrn=isolate(mrn)) if mrn else "",
    ]
    return [fact for fact in facts if fact]


def latest_words(person: FoundPerson) -> list[str]:
    at = happened_at(person.latest)
    match person.latest:
        case ConsentForm() as form:
            what = short_name(form)
        case Conversation(subject=what) | Protocol(name=what) | Notification(title=what):
            pass
    return [fact for fact in (what, day(at) if at.year > 1 else "") if fact]


def patient_page(patient_id: str | None, episode_id: str | None) -> str | None:
    """The page of a patient: by their id and, where it is known, a treatment, which comes with the rest of the record."""
    page = address_of("patient", patient_id)
    return f"{page}?{urlencode({'episode': episode_id})}" if page and episode_id else page


def treatment_link(episode_id: str | None, kind: str) -> RelatedLink | None:
    href = address_of("episode", episode_id)
    return (
        RelatedLink(treatment_name(kind, plain=False) if kind else _("Treatment"), href, "treatment")
        if href
        else None
    )


def _related_links(person: FoundPerson) -> list[RelatedLink]:
    found: list[tuple[datetime, RelatedLink]] = []
    for form in person.forms:
        found.append(
            (happened_at(form), RelatedLink(form.title, address_of("consent", form.id) or "", "consent"))
        )
    for talk in person.conversations:
        href = address_of("conversation", talk.id) or ""
        found.append((happened_at(talk), RelatedLink(talk.subject or _("Message"), href, "message")))
    for plan in person.protocols:
        found.append(
            (happened_at(plan), RelatedLink(plan.name, address_of("protocol", plan.id) or "", "protocol"))
        )
    for notification in person.notifications:
        href = (
            page_of(notification.entity_type, notification.entity_id, notification.data) or "/notifications"
        )
        found.append((happened_at(notification), RelatedLink(notification.title, href, "bell")))
    newest = sorted(found, key=lambda pair: pair[0], reverse=True)
    return [beside for _at, beside in newest if beside.href]
