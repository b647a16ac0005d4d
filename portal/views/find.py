"""Search for staff, available on every page: people by name, record number or words; records by id or link.

Search text is posted, never put into an address. While typing, only the hits are requested; without scripts, the text is
stored sealed in the session and the form redirects to a result page, so that Back doesn't resubmit it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from flask import Blueprint, Response, request, session, url_for
from werkzeug.exceptions import TooManyRequests

from portal.i18n.gettext import _, ngettext
from portal.parse import line
from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.services.people import FoundPerson, People, find_people
from portal.views.hits import Hit, Hits, action_hit, hit_of, is_named, known_hit, recent_hit
from portal.views.known_search import KnownFound, KnownMatch, search_known
from portal.views.open_by_id import NothingFound, look_up, page_of_link
from portal.views.quick_actions import matching_actions, usual_actions
from portal.views.recent import recently_opened, show_recent
from portal.web.extensions import limit_find, limiter, person_or_address, seconds_to_wait
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, wants
from portal.web.known_people import KnownPerson, known_people, learn_what_was_read
from portal.web.record_links import address_of

bp = Blueprint("find", __name__, url_prefix="/find")

_SOUGHT = "sought"
_LONGEST = 2000
_SHORTEST = 2
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}", re.IGNORECASE)
"""A UUID (RFC 9562) or a ULID, which can't be a name."""
_LINK = re.compile(r"/|https?:|[^/\s.:]+[.:][^/\s]*/", re.IGNORECASE)
"""The beginning of an address: numbers, days and places in the store may have a stroke, too."""
_MOST_ACTIONS = 4


@bp.after_app_request
def learn(response: Response) -> Response:
    """Keep whom the page's treatments are about, so that they are found by what no endpoint searches."""
    learn_what_was_read()
    return response


class FindPage(Page, template="find/show.html"):
    """The hits or, before a search, recently opened records and what can be done."""

    sought: Hits


@bp.get("")
@signed_in(Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the search form and recently opened records."""
    return render(FindPage(sought=_seek(care, person, "")))


@bp.post("")
@limiter.limit(limit_find, key_func=person_or_address)
@signed_in(Side.STAFF)
def find(care: Care, person: Person) -> Response:
    """Return only the hits, or redirect to the one matching record or to the result page."""
    text = line(request.form.get("q"), longest=_LONGEST)
    sought = _seek(care, person, text)
    if wants("found"):
        return render(FindPage(sought=sought), fragment="found")
    if text and len(sought.hits) == 1 and not (sought.is_partial or sought.is_ambiguous):
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
    response = render(FindPage(sought=Hits(text, says=says)), fragment="found", status=429)
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
    return render(FindPage(sought=_seek(care, person, text)))


def _seek(care: Care, person: Person, text: str) -> Hits:
    if not text:
        recent = tuple(map(recent_hit, show_recent()))
        return Hits("", recent, actions=tuple(map(action_hit, usual_actions(person))))
    if _LINK.match(text) or _ID.fullmatch(text):
        return _record(care, text)
    if len(text) < _SHORTEST:
        return Hits(text, says=_("Type two letters at least."))
    read = known_people()
    known = search_known(text, read)
    acts = tuple(map(action_hit, matching_actions(person, text)[:_MOST_ACTIONS]))
    found = attempt(lambda: find_people(care, text, is_found=bool(known.first or acts)))
    if isinstance(found, CareError):
        return _from_read(
            text, known, acts, _("The clinic’s system isn’t answering, so nobody can be looked up.")
        )
    if not any(map(_can_open, found.people)):
        _note(found.people, known.first)
        lost = _("Not everything could be looked through, and nobody was found in the rest.")
        return _from_read(text, known, acts, lost if found.is_lost else "", among=found.among)
    return _merged(text, found, known, acts, {patient.patient_id: patient for patient in reversed(read)})


def _merged(
    text: str, found: People, known: KnownFound, acts: tuple[Hit, ...], remembered: Mapping[str, KnownPerson]
) -> Hits:
    """Whom the API finds with whom the session has read: by number, by name, what can be done, and others."""
    openable = [patient for patient in found.people if _can_open(patient)]
    ids = {patient.patient_id for patient in openable}
    exact = [hit for hit in known.exact if address_of("episode", hit.person.episode_id)]
    ids_of_exact = {hit.person.patient_id for hit in exact if hit.embryo is None}
    named = [hit for hit in known.named if hit.person.patient_id not in ids]
    alike = [hit for hit in known.alike if hit.embryo or hit.person.patient_id not in ids]
    _note(found.people, (*exact, *named, *alike))
    people = [
        (
            hit_of(person, text, kept := remembered.get(person.patient_id or "")),
            is_named(person, kept, text) or bool(found.among),
        )
        for person in openable
        if person.patient_id not in ids_of_exact
    ]
    hits = (
        *map(known_hit, exact),
        *(hit for hit, is_by_name in people if is_by_name),
        *map(known_hit, named),
        *acts,
        *(hit for hit, is_by_name in people if not is_by_name),
        *map(known_hit, alike),
    )
    return Hits(
        text,
        hits,
        is_partial=found.is_partial,
        is_lost=found.is_lost,
        among=found.among,
        is_alike=bool(alike) and not exact,
    )


def _from_read(text: str, known: KnownFound, acts: tuple[Hit, ...], says: str, *, among: int = 0) -> Hits:
    """What the session has read, where the API finds nobody or doesn't answer; `says` is why it didn't."""
    hits = (*map(known_hit, known.first), *acts)
    return Hits(
        text,
        hits,
        says=says,
        is_partial=bool(known.first),
        among=among,
        is_from_read=bool(known.first),
        is_alike=not known.exact and bool(known.alike or (known.near and not known.named)),
    )


def _record(care: Care, text: str) -> Hits:
    """The record that an id or a link names."""
    found = page_of_link(text) if _LINK.match(text) else look_up(care, text)
    if isinstance(found, NothingFound):
        audit.note("find", "not found", id_=text if _ID.fullmatch(text) else None)
        return Hits(text, says=found.words)
    opened = next((opened for opened in recently_opened() if opened.href == found), None)
    return Hits(text, (Hit(opened.title if opened else _("Open this record"), found),))


def _note(people: tuple[FoundPerson, ...], known: Iterable[KnownMatch]) -> None:
    """Record in the audit trail whose records were shown: the hits, and the episodes read for them or before."""
    known = tuple(known)
    audit.shown("consent.search", "consent", [form.id for person in people for form in person.forms])
    audit.shown(
        "conversation.search", "conversation", [talk.id for person in people for talk in person.conversations]
    )
    audit.shown("protocol.search", "protocol", [plan.id for person in people for plan in person.protocols])
    audit.shown(
        "notification.search", "notification", [item.id for person in people for item in person.notifications]
    )
    read = [person.episode.id for person in people if person.episode]
    audit.shown("episode.list", "episode", [*read, *(hit.person.episode_id for hit in known)])
    audit.shown("embryo.list", "embryo", [hit.embryo.id for hit in known if hit.embryo])


def _can_open(person: FoundPerson) -> bool:
    """Whether it isn't only an enquiry at a clinic that has switched those off."""
    return bool(person.episode_id or not person.prospect_id or address_of("prospect", person.prospect_id))
