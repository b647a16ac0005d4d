"""Search for staff, available on every page: people by name, record number or words; records by id or link.

Search text is posted, never put into an address. While typing, only the hits are requested; without scripts, the text is
stored sealed in the session and the form redirects to a result page, so that Back doesn't resubmit it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response, request, session, url_for
from werkzeug.exceptions import TooManyRequests

from portal.config.tenants import Side
from portal.folding import folded
from portal.i18n.gettext import _, ngettext
from portal.parse import line
from portal.services.client import Care
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation
from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.services.listed import Count
from portal.services.notifications import Notification
from portal.services.people import FoundPerson, find_people, happened_at
from portal.services.protocols import Protocol
from portal.state.session_records import Person
from portal.views.consents.labels import state_word
from portal.views.episodes.view import EpisodeView
from portal.views.open_by_id import Answer, look_up, page_of_link
from portal.views.recent import Opened, recently_opened, show_recent
from portal.web import audit
from portal.web.extensions import limit_find, limiter, person_or_address, seconds_to_wait
from portal.web.filters import in_a_row, long_date
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, wants
from portal.web.pages import Page
from portal.web.record_links import address_of

bp = Blueprint("find", __name__, url_prefix="/find")

_SOUGHT = "sought"
_LONGEST = 2000
_SHORTEST = 2
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}", re.IGNORECASE)
"""A UUID (RFC 9562) or a ULID, which can't be a name."""
_LINK = re.compile(r"/|https?:", re.IGNORECASE)
_MOST_BESIDE = 3


@dataclass(frozen=True, slots=True)
class Beside:
    """Another record of a person's that can be opened."""

    label: str
    href: str
    icon: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A person, or a record whose id was typed: its name, distinguishing facts, the latest event."""

    name: str
    href: str
    facts: str = ""
    latest: str = ""
    latest_at: datetime | None = None
    beside: tuple[Beside, ...] = ()


@dataclass(frozen=True, slots=True)
class Hits:
    """The hits for `text`; `says` explains why there are none, `is_partial` that there may be more.

    `among` is 0, or among how many records these are the names like `text`, which nobody has.
    """

    text: str
    hits: tuple[Hit, ...] = ()
    says: str = ""
    is_partial: bool = False
    among: int = 0

    @property
    def count(self) -> Count:
        """How many were found."""
        return Count(len(self.hits), not self.is_partial)

    @property
    def is_ambiguous(self) -> bool:
        """Whether the first two have the same name, or only a name like it; then Enter doesn't open the first one."""
        if self.among:
            return True
        names = [folded(hit.name) for hit in self.hits[:2]]
        return len(names) == 2 and names[0] == names[1]


class FindPage(Page, template="find/show.html"):
    """The hits or, before a search, recently opened records."""

    sought: Hits | None
    recent: list[Opened]


@bp.get("")
@signed_in(Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the search form and recently opened records."""
    return render(FindPage(sought=None, recent=show_recent()))


@bp.post("")
@limiter.limit(limit_find, key_func=person_or_address)
@signed_in(Side.STAFF)
def find(care: Care, person: Person) -> Response:
    """Return only the hits, or redirect to the one matching record or to the result page."""
    text = line(request.form.get("q"), longest=_LONGEST)
    sought = _seek(care, person, text)
    if wants("found"):
        return render(FindPage(sought=sought, recent=[]), fragment="found")
    if len(sought.hits) == 1 and not sought.is_partial:
        return redirect_to(sought.hits[0].href)
    session[_SOUGHT] = text
    return redirect_to(url_for(".results"))


@bp.errorhandler(TooManyRequests)
def say_too_many(error: TooManyRequests) -> Response:
    """Show the rate limit message in place of the hits; the search text is kept."""
    audit.note(request.endpoint or "-", "too-many")
    seconds = seconds_to_wait()
    says = ngettext(
        "That was a lot of looking up in a short time. Go on in %(num)s second.",
        "That was a lot of looking up in a short time. Go on in %(num)s seconds.",
        seconds,
    )
    text = line(request.form.get("q") or session.get(_SOUGHT), longest=_LONGEST)
    response = render(FindPage(sought=Hits(text, says=says), recent=[]), fragment="found", status=429)
    response.headers["Retry-After"] = str(seconds)
    return response


@bp.get("/results")
@limiter.limit(limit_find, key_func=person_or_address)
@signed_in(Side.STAFF)
def results(care: Care, person: Person) -> Response:
    """Show the hits for this session's last search."""
    text = line(session.get(_SOUGHT), longest=_LONGEST)
    if not text:
        return redirect_to(url_for(".show"))
    return render(FindPage(sought=_seek(care, person, text), recent=[]))


def _seek(care: Care, person: Person, text: str) -> Hits:
    if _LINK.search(text) or _ID.fullmatch(text):
        return _record(care, text)
    if len(text) < _SHORTEST:
        return Hits(text, says=_("Type two letters at least.") if text else "")
    found = attempt(lambda: find_people(care, text))
    if isinstance(found, CareError):
        return Hits(text, says=_("The clinic’s system isn’t answering, so nobody can be looked up."))
    _note(found.people)
    hits = tuple(_hit(one, person) for one in found.people if _can_open(one))
    return Hits(text, hits, is_partial=found.is_partial, among=found.among)


def _record(care: Care, text: str) -> Hits:
    """The record that an id or a link names."""
    found = page_of_link(text) if _LINK.search(text) else look_up(care, text)
    if isinstance(found, Answer):
        audit.note("find", "not found", id_=text if _ID.fullmatch(text) else None)
        return Hits(text, says=found.words)
    known = next((one for one in recently_opened() if one.href == found), None)
    return Hits(text, (Hit(known.title if known else _("Open this record"), found),))


def _note(people: tuple[FoundPerson, ...]) -> None:
    """Record in the audit trail whose records were shown: the hits, and the episodes read for them."""
    audit.shown("consent.search", "consent", [form.id for one in people for form in one.forms])
    audit.shown("conversation.search", "conversation", [talk.id for one in people for talk in one.talks])
    audit.shown("protocol.search", "protocol", [plan.id for one in people for plan in one.protocols])
    audit.shown("notification.search", "notification", [news.id for one in people for news in one.news])
    audit.shown("episode.list", "episode", [one.episode.id for one in people if one.episode])


def _can_open(one: FoundPerson) -> bool:
    """Whether it isn't only an enquiry at a clinic that has switched those off."""
    return bool(one.episode_id or not one.prospect_id or address_of("prospect", one.prospect_id))


def _hit(one: FoundPerson, person: Person) -> Hit:
    latest = one.latest
    at = happened_at(latest)
    others = _beside(one)
    address = address_of("episode", one.episode_id) or address_of("prospect", one.prospect_id)
    href = address or (others[0].href if others else url_for("open_by_id.show"))
    return Hit(
        name=one.name or (_("Enquiry") if one.prospect_id else _("Patient without a known name")),
        href=href,
        facts=in_a_row(_facts(one, person), " · "),
        latest=_words(latest),
        latest_at=at if at.year > 1 else None,
        beside=tuple(other for other in others if other.href != href)[:_MOST_BESIDE],
    )


def _facts(one: FoundPerson, person: Person) -> list[str]:
    """Facts that distinguish a person: record number, date of birth, treatment."""
    facts: list[str] = []
    if one.prospect_id and one.name:
        facts.append(_("Enquiry"))
    if one.record and one.record.mrn:
        facts.append(_("MRN %(mrn)s", mrn=one.record.mrn))
    if one.record and one.record.date_of_birth:
        facts.append(_("born %(date)s", date=long_date(one.record.date_of_birth)))
    if one.episode:
        facts.append(EpisodeView(one.episode, person).title)
    return facts


def _words(record: ConsentForm | Conversation | Protocol | Notification) -> str:
    match record:
        case ConsentForm():
            return in_a_row([record.title, state_word(record)], " · ")
        case Conversation():
            return record.subject or _("Message")
        case Protocol():
            return record.name
        case Notification():
            return record.title


def _beside(one: FoundPerson) -> list[Beside]:
    found: list[tuple[datetime, Beside]] = []
    for form in one.forms:
        found.append((happened_at(form), Beside(form.title, address_of("consent", form.id) or "", "consent")))
    for talk in one.talks:
        href = address_of("conversation", talk.id) or ""
        found.append((happened_at(talk), Beside(talk.subject or _("Message"), href, "message")))
    for plan in one.protocols:
        found.append(
            (happened_at(plan), Beside(plan.name, address_of("protocol", plan.id) or "", "protocol"))
        )
    for news in one.news:
        href = address_of(news.entity_type or "", news.entity_id, data=news.data) or "/notifications"
        found.append((happened_at(news), Beside(news.title, href, "bell")))
    newest = sorted(found, key=lambda pair: pair[0], reverse=True)
    return [beside for _at, beside in newest if beside.href]
