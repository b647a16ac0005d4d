"""Opening a record by its id or a link, for staff.

No endpoint lists episodes, results, enquiries or connections, so an id from elsewhere is often the only way to find one.
"""

from __future__ import annotations

from functools import partial
from urllib.parse import quote, unquote, urlsplit

from flask import Blueprint, Response, g, request, url_for

from portal.i18n.gettext import _
from portal.parse import line, record_id
from portal.services.errors import CareError, NotAllowed, NotFound, NotOffered, Refused
from portal.services.gather import gather_all
from portal.values import Value
from portal.views.recent import Opened, show_recent
from portal.web import unsent
from portal.web.guard import PUBLIC
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in
from portal.web.record_links import KINDS, address_of, labels
from portal.web.routing import endpoint_at

bp = Blueprint("open_by_id", __name__, url_prefix="/open")

_LONGEST = 2000


class OpenPage(Page, template="open/show.html"):
    """Asks for an id or a link; `error` says why the last one wasn't found."""

    error: str
    pasted: str
    kind: str
    kinds: list[tuple[str, str]]
    recent: list[Opened]


class NothingFound(Value, frozen=True):
    status: int
    words: str


@bp.get("")
@signed_in(Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Ask for an id or a link, and list recently opened records."""
    return _page(person)


@bp.post("")
@signed_in(Side.STAFF)
@unsent.typed_text("id", "kind", page="open_by_id.show")
def find(care: Care, person: Person) -> Response:
    """Redirect to the requested record, or say why that isn't possible."""
    pasted = line(request.form.get("id"), longest=_LONGEST)
    kind = request.form.get("kind", "")
    if not pasted:
        return _page(person, NothingFound(422, _("Paste an id or a link.")))
    if "/" in pasted:
        found = page_of_link(pasted)
    elif (id_ := record_id(pasted)) is None:
        found = NothingFound(422, _("This is neither an id nor a link: an id has 128 characters at most."))
    elif not kind:
        found = look_up(care, id_)
    else:
        address = address_of(kind, id_) if kind in dict(_kinds(person)) else None
        found = address or NothingFound(422, _("Choose a kind."))
    if isinstance(found, NothingFound):
        audit.note("open", "not found", id_=record_id(pasted) if "/" not in pasted else None)
        return _page(person, found)
    audit.note("open", "done")
    return redirect_to(found)


def _kinds(person: Person) -> list[tuple[str, str]]:
    """The kinds of record that this person can open by id, with labels."""
    return [(kind.name, labels()[kind.name]) for kind in KINDS if kind.is_opened_by_id(person)]


def _page(person: Person, answer: NothingFound | None = None) -> Response:
    form = unsent.restored_form(url_for(".show")) or request.form
    page = OpenPage(
        error=answer.words if answer else "",
        pasted=line(form.get("id"), longest=_LONGEST),
        kind=form.get("kind", ""),
        kinds=_kinds(person),
        recent=show_recent(),
    )
    return render(page, status=answer.status if answer else 200)


def page_of_link(link: str) -> str | NothingFound:
    """The path of a link, if it is to this clinic's portal."""
    try:
        parts = urlsplit(link if "//" in link or link.startswith("/") else f"//{link}")
    except ValueError:  # an invalid host in brackets
        return _elsewhere()
    if parts.netloc and parts.netloc.lower() not in g.tenant.hosts:
        return _elsewhere()
    path = unquote(parts.path)
    endpoint = endpoint_at(path)
    if endpoint is None or endpoint in PUBLIC:
        return NothingFound(404, _("This link leads to no page of the portal."))
    return quote(path, safe="/:@") + (f"?{parts.query}" if parts.query else "")


def _elsewhere() -> NothingFound:
    return NothingFound(422, _("This link leads elsewhere. Paste one of this clinic’s portal, or an id."))


def look_up(care: Care, id_: str) -> str | NothingFound:
    """Try the kinds that can be read by id, concurrently."""
    tries = [(kind.name, kind.read) for kind in KINDS if kind.read]
    answers = gather_all([partial(read, care, id_) for _kind, read in tries])
    for (kind, _read), answer in zip(tries, answers, strict=True):
        address = None if isinstance(answer, CareError) else address_of(kind, id_)
        if address:
            audit.shown(f"{kind}.read", kind, id_)
            return address
    if any(not isinstance(a, NotFound | NotAllowed | NotOffered | Refused) for a in answers):
        return NothingFound(
            503, _("The clinic’s system isn’t answering, so it can’t be looked up. Choose its kind.")
        )
    return NothingFound(
        404,
        _("No episode, consent form or PGT result here has this id. If it is of another kind, choose which."),
    )
