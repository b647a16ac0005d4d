"""Access control: endpoints are denied unless they declare whom they admit.

`@signed_in(Side.PATIENT, Side.STAFF)` admits these people and passes the view `care`, a client of the care API with the
person's token, and `person`. An endpoint that is neither decorated nor in `PUBLIC` returns 404.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote, urlencode

import msgspec
from flask import Flask, Response, abort, current_app, g, make_response, request

from portal.clock import age
from portal.config.strong_sign_in import Strength, StrongSignIn
from portal.config.tenants import Side, Tenant
from portal.context import context, session
from portal.i18n.locale import language
from portal.parse import address_parts
from portal.request_values import request_g
from portal.services.adapter import PLAIN
from portal.services.api import AnyEndpoint
from portal.services.client import Care
from portal.services.demand import FRESH, Demand
from portal.services.errors import NotAllowed, NotSignedIn, StepUpNeeded, Unavailable
from portal.services.salvage import Lost
from portal.signin.refresh import SessionBearer
from portal.signin.service_client import ServiceBearer
from portal.state.session_records import Person
from portal.values import Value
from portal.web import as_patient, audit, csrf, htmx, modules, patient_banner, read_only, unsent
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
        "sign_in.client_keys",
        "branding.stylesheet",
        "branding.manifest",
        "style_guide.show",
        "language.choose",
        "health.healthz",
        "health.readyz",
        "health.metrics",
        "page_speed.report",
        "booking.show",
        "booking.book",
        "booking.calendar",
    }
)
"""Endpoints that anyone may call; all others need `signed_in`."""

SESSION_TAG, LASTS = "Session-Tag", "Session-Lasts"
NO_SESSION = "none"

STRENGTH = "strength"
"""How strong the sign-in has to be that the session waits for, in its data."""

_ACCESS = "access"
_FRAMES = frozenset({"iframe", "frame", "embed", "object", "fencedframe"})


class Access(Value, frozen=True):
    """Whom a view admits.

    `background` requests, which scripts send on their own, don't extend the session. `is_file` tells views that answer with
    something other than a page.
    """

    sides: frozenset[Side]
    roles: frozenset[str] | None
    background: bool
    is_file: bool = False

    def admits(self, person: Person) -> bool:
        """Whether the person's side and roles allow the view."""
        return person.side in self.sides and (self.roles is None or not self.roles.isdisjoint(person.roles))


_STAFF = Access(frozenset({Side.STAFF}), None, background=False)


def signed_in(
    *sides: Side, roles: set[str] | None = None, background: bool = False, is_file: bool = False
) -> Callable[[Callable[Concatenate[Care, Person, P], R]], Callable[P, R]]:
    """Admit signed-in people of these sides and, if given, with one of these roles (decorator)."""
    access = Access(frozenset(sides), frozenset(roles) if roles else None, background, is_file)

    def mark(view: Callable[Concatenate[Care, Person, P], R]) -> Callable[P, R]:
        @wraps(view)
        def handler(*args: P.args, **kwargs: P.kwargs) -> R:
            seen_id = as_patient.patient_id()
            person = admit(_STAFF if seen_id else access)
            care = care_of(person)
            _renew_token(care)
            if seen_id:
                care, person = as_patient.look_through(care, person, seen_id)
            return view(care, person, *args, **kwargs)

        setattr(handler, _ACCESS, access)
        return handler

    return mark


def init_app(app: Flask) -> None:
    """Deny undeclared endpoints and requests of other sites; add the session's tag and end to responses."""

    def deny_by_default() -> None:
        endpoint = request.endpoint
        if endpoint is None or endpoint in PUBLIC:
            return
        if access_of(current_app.view_functions[endpoint]) is None:
            current_app.logger.error("endpoint without access declaration: %s", endpoint)
            abort(404)

    def keep_only() -> Response | None:
        """Only save the text of a form that was posted after its session ended, even if someone has signed in since."""
        if request.method != "POST" or unsent.ONLY_KEEP not in request.form:
            return None
        if request.form[unsent.ONLY_KEEP] == unsent.LEFT:
            unsent.forget_left()
            return make_response("", 204)
        unsent.keep()
        return htmx.redirect_to(page_to_return_to()) if session().person else to_sign_in()

    app.before_request(_refuse_other_windows)
    app.before_request(deny_by_default)
    app.before_request(keep_only)
    app.after_request(_tell_session)


def _refuse_other_windows() -> None:
    """Return 404 to frames of other sites, and to background requests that aren't sent by the portal's scripts.

    Otherwise another site could learn who is signed in from whether a window or frame stays empty. Decided by Fetch Metadata;
    in browsers without it, by the `HX-Request` header, which other sites can't set either.
    """
    destination, site = request.headers.get("Sec-Fetch-Dest"), request.headers.get("Sec-Fetch-Site")
    if destination in _FRAMES and site != "same-origin":
        abort(404)
    is_from_script = "HX-Request" in request.headers if destination is None else destination == "empty"
    if is_background() and not (is_from_script and csrf.is_same_origin()):
        abort(404)


def access_of(view: object) -> Access | None:
    """Return whom a view admits; None if it isn't decorated."""
    return getattr(view, _ACCESS, None)


def admits(address: str, person: Person) -> bool:
    """Return whether there is a page at this address and the person may open it."""
    endpoint = endpoint_at(unquote(address_parts(address).path))
    access = access_of(current_app.view_functions.get(endpoint or ""))
    return endpoint in PUBLIC or (access is not None and access.admits(person))


def is_background() -> bool:
    """Return whether a page's script sends this request without the person doing anything."""
    view = current_app.view_functions.get(request.endpoint or "")
    access = access_of(view)
    return access is not None and access.background


def admit(access: Access) -> Person:
    """Return the signed-in person; raise NotSignedIn, NotAllowed or, if their roles need a stronger sign-in, StepUpNeeded."""
    current = session()
    person = current.person
    if person is None:
        raise NotSignedIn
    g.signed_in = person  # of a page that refuses them, too
    require_access(access, person, g.tenant)
    if not access.background:
        current.use()
    g.person = person
    return person


def require_access(access: Access, person: Person, tenant: Tenant) -> None:
    """Raise NotAllowed unless the view admits this person, and StepUpNeeded if the clinic wants a stronger sign-in."""
    if not access.admits(person):
        raise NotAllowed
    strong = tenant.strong
    needed = strong.to_come_in(person.roles) if strong else None
    if needed and not needed.is_met(person.acr, person.amr):
        raise StepUpNeeded(Demand(strength=needed))


def care_of(person: Person) -> Care:
    """Return a client of the care API with this person's token, for this request."""
    the, current, tenant = context(), session(), g.tenant
    record = current.record
    bearer = SessionBearer(current, the.refresher, tenant, the.sign_in.provider(tenant), the.clock)
    g.care = Care(
        **of_request(bearer, person.issuer, tenant.key, person.sub, record.epoch if record else ""),
        suffices=partial(suffices, person),
        by_patient=person.is_patient,
        idempotency=tenant.idempotency,
        on_not_offered=partial(the.capabilities.note_missing, tenant.key),
        on_unreadable=_count_unreadable,
        on_read=_unnoticed if is_background() else note_read,
        modules_off=modules.off(),
        accounts={person.record: person.sub} if person.record else {},
    )
    return g.care


def of_request(bearer: SessionBearer | ServiceBearer, *partition: str) -> dict[str, Any]:
    """Return what every client of the care API has during this request, by its fields; `partition` is the reader."""
    the, tenant = context(), g.tenant
    return {
        "base_url": tenant.base_url,
        "bearer": bearer,
        "prover": bearer.prover,
        "timeouts": the.settings.timeouts,
        "deadline": g.started + the.settings.timeouts.page,
        "language": language(),
        "clock": the.clock,
        "correlation_id": g.request_id,
        "references": the.references,
        "partition": partition,
        "before_act": read_only.before_act,
        "breakers": the.breakers,
        "observer": the.answers.of(tenant.key),
        "adapter": the.adapters.get(tenant.key, PLAIN),
    }


def _renew_token(care: Care) -> None:
    """Renew the token if due, even for a page without API calls, so that a disabled account's session ends."""
    with suppress(Unavailable):  # the page's own calls will fail and report it
        care.bearer.token()


def _count_unreadable(records: int, lost: tuple[Lost, ...]) -> None:
    """Note what couldn't be decoded: the page says that it leaves it out, and what isn't given where it would stand.

    What was probably meant as none is only said in its place.
    """
    g.unreadable = g.get("unreadable", 0) + records
    g.lacks_details = g.get("lacks_details", False) or any(not value.is_none for value in lost)
    g.lost_members = g.get("lost_members", frozenset[str]()) | {value.member for value in lost}


def note_read(endpoint: AnyEndpoint, query: object, answer: object) -> None:
    """Note what was read: for the audit trail, the patient's banner, and what pages say of members that never come."""
    request_g().setdefault("endpoints_read", set[str]()).add(f"{endpoint.method} {endpoint.template}")
    audit.note_read(endpoint, query, answer)
    patient_banner.note_read(answer)


def _unnoticed(_endpoint: AnyEndpoint, _query: object, _answer: object) -> None:
    """Background requests aren't audited as reads: they only show a count."""


def is_fresh(person: Person, max_age: int = FRESH) -> bool:
    """Return whether the person signed in at most `max_age` seconds ago (`auth_time`)."""
    return age(person.auth_time, context().clock()) <= max_age


def strength_of(demand: Demand) -> Strength | None:
    """Return how strong the sign-in has to be at this clinic, if it demands that."""
    if demand.strength is not None or demand.act is None:
        return demand.strength
    strong: StrongSignIn | None = g.tenant.strong
    return strong.to_do(demand.act, demand.kind) if strong else None


def suffices(person: Person, demand: Demand) -> bool:
    """Return whether the person's sign-in meets the demand."""
    if demand.max_age is not None and not is_fresh(person, demand.max_age):
        return False
    strength = strength_of(demand)
    return strength is None or strength.is_met(person.acr, person.amr)


def to_sign_in(
    *, next_path: str | None = None, fresh: bool = False, demand: Demand | None = None
) -> Response:
    """Redirect to sign-in, which returns to `next_path` or the current page.

    `fresh` requires the password, and so does a `demand`; how strong it has to be is kept in the session. The audit record
    says that the request asked for it.
    """
    query: dict[str, str] = {"next": next_path or page_to_return_to()}
    if fresh or demand:
        query["fresh"] = "1"
        audit.note_refusal(request.endpoint or "-", "step-up")
    if demand and (strength := strength_of(demand)):
        session()[STRENGTH] = msgspec.to_builtins(strength)
    return htmx.redirect_to(f"/sign-in?{urlencode(query)}")


def page_to_return_to() -> str:
    """Return the page to return to: the requested one, or for a form or fragment the page that contains it."""
    if request.method == "GET" and not htmx.is_htmx():
        return current_address()
    candidates = (unsent.page_of_form(), htmx.current_path(), referring_page(), current_address())
    return next((address for address in candidates if address and _is_page(address)), "/")


def referring_page() -> str | None:
    """Return the page of this host that the request comes from, with its query."""
    referrer = address_parts(request.headers.get("Referer"))
    address = without_sign_in_code(referrer.path + (f"?{referrer.query}" if referrer.query else ""))
    return address if referrer.netloc == request.host and _is_page(address) else None


def _is_page(address: str) -> bool:
    """Return whether the address is one here that can be opened with GET; that of a rejected form may only accept POST."""
    parts = address_parts(address)
    return not parts.netloc and endpoint_at(unquote(parts.path)) is not None


def _tell_session(response: Response) -> Response:
    """Add headers with the session's tag and remaining seconds to pages, fragments and background responses.

    A page that receives a response of another session, or of none, removes its content (scripts/session_end.js).
    """
    current = session()
    if not current.is_loaded:
        return response
    response.headers.setdefault(SESSION_TAG, current.tag or NO_SESSION)
    if current.tag:
        response.headers[LASTS] = str(current.lasts)
    return response
