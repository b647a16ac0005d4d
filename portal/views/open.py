"""Opening a record by its id, or by a link to it, and what was opened last. For staff.

No endpoint lists episodes, results, enquiries or connections, so an id from elsewhere is often the only way in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

import msgspec
from flask import Blueprint, Response, current_app, g, request, session, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from portal.services.client import Care
from portal.services.consents import get_consent
from portal.services.episodes import get_episode
from portal.services.errors import CareError, NotAllowed, NotFound, NotOffered, Refused
from portal.services.gather import gather_all
from portal.services.pgt_results import get_pgt_result
from portal.sessions import Person
from portal.tenants import Side
from portal.views import emr_endpoints, prospects
from portal.web import audit, unsent
from portal.web.guard import PUBLIC, signed_in
from portal.web.htmx import is_htmx, redirect_to, render
from portal.words import _

bp = Blueprint("open", __name__, url_prefix="/open")

_RECENT = "recently_opened"
_REMEMBERED = 10
_LONGEST = 2000
_PAGES = {
    "episode": "/episodes/{id}",
    "consent": "/consents/{id}",
    "pgt-result": "/pgt-results/{id}",
    "prospect": "/prospects/{id}/book",
    "emr-endpoint": "/emr-endpoints/{id}/remove",
}
_BLUEPRINTS = {
    "episodes": "episode",
    "consents": "consent",
    "pgt_results": "pgt-result",
    "prospects": "prospect",
    "emr_endpoints": "emr-endpoint",
    "conversations": "conversation",
    "protocols": "protocol",
}
"""The kinds of record whose pages are remembered, by the blueprint that shows them."""


class Opened(msgspec.Struct, frozen=True, array_like=True):
    """A record that was opened: its kind, its id and the page's address; never a name."""

    kind: str
    id: str
    href: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search came to when it led nowhere."""

    status: int
    words: str


@bp.get("")
@signed_in(Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Ask for an id or a link, and list what was opened last."""
    return _page(person)


@bp.post("")
@signed_in(Side.STAFF)
@unsent.typed_text("id", "kind", page="open.show")
def find(care: Care, person: Person) -> Response:
    """Go to the record that was asked for; where that isn't possible, say why."""
    pasted = request.form.get("id", "").strip()
    kind = request.form.get("kind", "")
    if not pasted:
        return _page(person, Answer(422, _("Paste an id or a link.")))
    if "/" in pasted:
        found = _linked(pasted)
    elif not _is_id(pasted):
        found = Answer(422, _("This is neither an id nor a link: an id has 128 characters at most."))
    elif kind:
        found = _address(kind, pasted) if kind in dict(kinds(person)) else Answer(422, _("Choose a kind."))
    else:
        found = _looked_up(care, pasted)
    if isinstance(found, Answer):
        audit.note("open", "not found")
        return _page(person, found)
    audit.note("open", "done")
    return redirect_to(found)


@bp.after_app_request
def remember(response: Response) -> Response:
    """Remember which record a member of staff looked at: once for each, so that reading again writes nothing."""
    person: Person | None = g.get("person")
    kind = _BLUEPRINTS.get((request.endpoint or "").partition(".")[0])
    if (
        person is None
        or not person.is_staff
        or kind is None
        or not request.view_args
        or request.method != "GET"
        or response.status_code != 200
        or response.mimetype != "text/html"
        or is_htmx()
    ):
        return response
    id_ = str(next(iter(request.view_args.values())))
    pattern = _PAGES.get(kind, f"/{kind}s/{{id}}")
    opened = Opened(kind, id_, pattern.format(id=quote(id_, safe="")))
    before = recent()
    if before[:1] != [opened]:
        kept = [opened, *(one for one in before if (one.kind, one.id) != (kind, id_))][:_REMEMBERED]
        session[_RECENT] = msgspec.to_builtins(kept)
    return response


def recent() -> list[Opened]:
    """Return what this person opened last in this session, the newest first."""
    return msgspec.convert(session.get(_RECENT, []), list[Opened])


def kinds(person: Person) -> list[tuple[str, str]]:
    """Return the kinds of record that this person can open by id, with their words."""
    found = [("episode", _("Episode")), ("consent", _("Consent form")), ("pgt-result", _("PGT result"))]
    if person.roles & prospects.ROLES:
        found.append(("prospect", _("Enquiry (prospect)")))
    if person.roles & emr_endpoints.ROLES:
        found.append(("emr-endpoint", _("EMR connection")))
    return [(kind, words) for kind, words in found if _exists(_PAGES[kind].format(id="x"))]


def kind_words(kind: str) -> str:
    """Return the word for a kind of record."""
    words = {
        "episode": _("Episode"),
        "consent": _("Consent form"),
        "pgt-result": _("PGT result"),
        "prospect": _("Enquiry"),
        "emr-endpoint": _("EMR connection"),
        "conversation": _("Conversation"),
        "protocol": _("Protocol"),
    }
    return words.get(kind, kind)


def _page(person: Person, answer: Answer | None = None) -> Response:
    form = unsent.given_back(url_for(".find")) or request.form
    return render(
        "open/show.html",
        status=answer.status if answer else 200,
        error=answer.words if answer else "",
        pasted=form.get("id", "")[:_LONGEST],
        kind=form.get("kind", ""),
        kinds=kinds(person),
        recent=recent(),
        kind_words=kind_words,
    )


def _linked(link: str) -> str | Answer:
    """The page that a link leads to, when it is one of this clinic's portal."""
    try:
        parts = urlsplit(link if "//" in link or link.startswith("/") else f"//{link}")
    except ValueError:  # a host in brackets that is none
        return _elsewhere()
    if parts.netloc and parts.netloc.lower() not in g.tenant.hosts:
        return _elsewhere()
    path = unquote(parts.path)
    if not _exists(path):
        return Answer(404, _("This link leads to no page of the portal."))
    return quote(path, safe="/:@") + (f"?{parts.query}" if parts.query else "")


def _elsewhere() -> Answer:
    return Answer(422, _("This link leads elsewhere. Paste one of this clinic’s portal, or an id."))


def _looked_up(care: Care, id_: str) -> str | Answer:
    """Try the three kinds that can be read by id, side by side."""
    tries: list[tuple[str, Callable[[], object]]] = [
        ("episode", lambda: get_episode(care, id_)),
        ("consent", lambda: get_consent(care, id_)),
        ("pgt-result", lambda: get_pgt_result(care, id_)),
    ]
    answers = gather_all([read for _kind, read in tries])
    for (kind, _read), answer in zip(tries, answers, strict=True):
        if not isinstance(answer, CareError):
            audit.note(f"{kind}.read", "done", kind=kind, id_=id_)
            return _address(kind, id_)
    if any(not isinstance(a, NotFound | NotAllowed | NotOffered | Refused) for a in answers):
        return Answer(
            503, _("The clinic’s system isn’t answering, so it can’t be looked up. Choose its kind.")
        )
    return Answer(
        404,
        _("No episode, consent form or PGT result here has this id. If it is of another kind, choose which."),
    )


def _address(kind: str, id_: str) -> str:
    return _PAGES[kind].format(id=quote(id_, safe=""))


def _exists(path: str) -> bool:
    """Whether the portal has a page there that is for people who are signed in."""
    try:
        endpoint, _args = current_app.url_map.bind(request.host).match(path, method="GET")
    except (HTTPException, RequestRedirect):
        return False
    return endpoint not in PUBLIC


def _is_id(text: str) -> bool:
    """Whether it may be an id: opaque, 1 to 128 characters, and no dot segment."""
    return len(text) <= 128 and text.isprintable() and text not in (".", "..")
