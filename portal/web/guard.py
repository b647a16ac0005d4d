"""Access control: nobody may call a handler that isn't marked.

`@signed_in(Side.PATIENT, Side.STAFF)` on a handler admits those people and hands it `care`, the care API as this
person, and `person`. An endpoint without a mark that is not on the short public list is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote, urlencode

from flask import Flask, Response, abort, current_app, g, request

from portal.clock import age
from portal.config.tenants import Side
from portal.context import context, session
from portal.i18n.locale import language
from portal.parse import address_parts
from portal.services.adapter import PLAIN
from portal.services.api import AnyEndpoint
from portal.services.client import Care
from portal.services.errors import NotAllowed, NotSignedIn, Unavailable
from portal.services.sign_in_age import FRESH
from portal.signin.refresh import SessionBearer
from portal.state.session_records import Person
from portal.web import audit, csrf, htmx, modules, unsent
from portal.web.routing import current_address, endpoint_at, without_sign_in_code

P = ParamSpec("P")
R = TypeVar("R")

PUBLIC = frozenset(
    {
        "sign_in.start",
        "sign_in.callback",
        "sign_in.sign_out",
        "sign_in.signed_out",
        "sign_in.whose",
        "sign_in.back_channel",
        "branding.stylesheet",
        "branding.manifest",
        "style_guide.show",
        "language.choose",
        "health.healthz",
        "health.readyz",
        "health.metrics",
        "booking.show",
        "booking.book",
        "booking.calendar",
    }
)
"""Endpoints that anyone may call. Everything else carries a mark."""

SESSION_TAG = "Session-Tag"
NO_SESSION = "none"

_ACCESS = "access"
_FRAMES = frozenset({"iframe", "frame", "embed", "object", "fencedframe"})


@dataclass(frozen=True, slots=True)
class Access:
    """Whom a handler admits; `background` calls don't count as use of the session."""

    sides: frozenset[Side]
    roles: frozenset[str] | None
    background: bool


def signed_in(
    *sides: Side, roles: set[str] | None = None, background: bool = False
) -> Callable[[Callable[Concatenate[Care, Person, P], R]], Callable[P, R]]:
    """Admit signed-in people of these sides (and, where given, with one of these roles)."""
    access = Access(frozenset(sides), frozenset(roles) if roles else None, background)

    def mark(view: Callable[Concatenate[Care, Person, P], R]) -> Callable[P, R]:
        @wraps(view)
        def handler(*args: P.args, **kwargs: P.kwargs) -> R:
            person = admit(access)
            care = care_of(person)
            _renew_token(care)
            return view(care, person, *args, **kwargs)

        setattr(handler, _ACCESS, access)
        return handler

    return mark


def init_app(app: Flask) -> None:
    """Refuse every endpoint that is neither marked nor public; tell every page whose session answered."""

    def deny_by_default() -> None:
        endpoint = request.endpoint
        if endpoint is None or endpoint in PUBLIC:
            return
        if access_of(current_app.view_functions[endpoint]) is None:
            current_app.logger.error("endpoint without a mark: %s", endpoint)
            abort(404)

    def keep_only() -> Response | None:
        """Keep a form posted after its session ended, even if someone has signed in since."""
        if request.method != "POST" or unsent.ONLY_KEEP not in request.form:
            return None
        unsent.keep()
        return htmx.redirect_to(page_to_return_to()) if session().person else to_sign_in()

    app.before_request(_refuse_other_windows)
    app.before_request(deny_by_default)
    app.before_request(keep_only)
    app.after_request(_tell_session)


def _refuse_other_windows() -> None:
    """Answer 404 to a frame on another site, and to a window that asks for what only a page's script asks for.

    Otherwise a stranger's page could learn from an empty or unchanged window or frame who is signed in (Fetch Metadata).
    Browsers that send none can't set htmx's header for another site's page either.
    """
    to, site = request.headers.get("Sec-Fetch-Dest"), request.headers.get("Sec-Fetch-Site")
    if to in _FRAMES and site != "same-origin":
        abort(404)
    by_script = "HX-Request" in request.headers if to is None else to == "empty"
    if is_background() and not (by_script and csrf.is_same_origin()):
        abort(404)


def access_of(view: object) -> Access | None:
    """Return the mark of a handler, or None."""
    return getattr(view, _ACCESS, None)


def is_background() -> bool:
    """Whether this request is one that a page makes by itself."""
    view = current_app.view_functions.get(request.endpoint or "")
    access = access_of(view)
    return access is not None and access.background


def admit(access: Access) -> Person:
    """Return who is signed in; raise NotSignedIn or NotAllowed."""
    here = session()
    person = here.person
    if person is None:
        raise NotSignedIn
    if person.side not in access.sides or (access.roles is not None and not access.roles & person.roles):
        raise NotAllowed
    if not access.background:
        here.use()
    g.person = person
    return person


def care_of(person: Person) -> Care:
    """Return the care API as this person, for the time of this request."""
    the = context()
    here = session()
    record = here.record
    tenant = g.tenant
    return Care(
        base_url=tenant.base_url,
        bearer=SessionBearer(here, the.refresher, tenant, the.sign_in.provider(tenant), the.clock),
        timeouts=the.settings.timeouts,
        deadline=g.started + the.settings.timeouts.page,
        language=language(),
        correlation_id=g.request_id,
        references=the.references,
        is_fresh=partial(is_fresh, person),
        partition=(person.issuer, tenant.key, person.sub, record.epoch if record else ""),
        by_patient=person.is_patient,
        idempotency=tenant.idempotency,
        on_not_offered=partial(the.capabilities.note_missing, tenant.key),
        on_unreadable=_count_unreadable,
        on_read=_unnoticed if is_background() else audit.has_read,
        before_act=audit.assure,
        breakers=the.breakers,
        observer=the.answers.of(tenant.key),
        adapter=the.adapters.get(tenant.key, PLAIN),
        modules_off=modules.off(),
    )


def _renew_token(care: Care) -> None:
    """Renew the token if it is due, also for a page without calls: a disabled account's session ends with its token."""
    with suppress(Unavailable):  # the page's own calls tell
        care.bearer.token()


def _count_unreadable(records: int) -> None:
    """Count records that the page can't show, so that it says so."""
    g.unreadable = g.get("unreadable", 0) + records


def _unnoticed(_endpoint: AnyEndpoint, _query: object, _answer: object) -> None:
    """What a page asks for by itself is shown to nobody but as a number."""


def is_fresh(person: Person, max_age: int = FRESH) -> bool:
    """Whether the person proved who they are at most `max_age` seconds ago."""
    return age(person.auth_time, context().clock()) <= max_age


def to_sign_in(*, next_path: str | None = None, fresh: bool = False) -> Response:
    """Send the browser to sign in (again) and back to where it was."""
    query: dict[str, str] = {"next": next_path or page_to_return_to()}
    if fresh:
        query["fresh"] = "1"
    return htmx.redirect_to(f"/sign-in?{urlencode(query)}")


def page_to_return_to() -> str:
    """Return the page to come back to: this one, or for a form or a fragment the page that it stands on."""
    if request.method == "GET" and not htmx.is_htmx():
        return current_address()
    came_from = address_parts(request.headers.get("Referer"))
    referrer = came_from.path + (f"?{came_from.query}" if came_from.query else "")
    known = (
        unsent.page_of_form(),
        htmx.current_path(),
        without_sign_in_code(referrer) if came_from.netloc == request.host else None,
        current_address(),
    )
    return next((address for address in known if address and _is_page(address)), "/")


def _is_page(address: str) -> bool:
    """Whether the portal answers GET there: a form that was refused stands at an address that only takes POST."""
    return endpoint_at(unquote(address_parts(address).path)) is not None


def _tell_session(response: Response) -> Response:
    """Tell pages whose session answered, if that is known, and when it ends: fragments and the bell bring news of it, too.

    A page that gets an answer from another session, or from none, clears itself (scripts/session_end.js).
    """
    here = session()
    if not here.is_loaded:
        return response
    response.headers.setdefault(SESSION_TAG, here.tag or NO_SESSION)
    if here.tag:
        ends_at = datetime.fromtimestamp(here.expires_at, UTC)
        response.headers["Session-Expires-At"] = ends_at.isoformat(timespec="seconds")
    return response
