"""Signing in."""

from __future__ import annotations

import logging

import msgspec
from flask import Response, abort, g, jsonify, make_response, request, url_for

from portal import metrics
from portal.config.strong_sign_in import Strength
from portal.config.tenants import Side
from portal.context import context, session
from portal.i18n.locale import language
from portal.services.client import Care
from portal.services.errors import Unavailable
from portal.signin.claims import NoRole
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.errors import NotFresh, NotStrong, SignInFailed
from portal.signin.flow import BROWSER_COOKIE, PasswordNeeded, SignInLoop, StrengthNeeded, local_path
from portal.signin.logout import revoke_soon
from portal.state.session_records import Person, Tokens
from portal.state.sessions import Session
from portal.views.sign_in.sign_out import bp, origin
from portal.web import audit, unsent
from portal.web.extensions import limiter, person_or_address
from portal.web.guard import NO_SESSION, SESSION_TAG, STRENGTH, signed_in
from portal.web.htmx import redirect_outside, redirect_to, render
from portal.web.pages import Page
from portal.web.routing import CALLBACK

log = logging.getLogger("portal")

_OUTCOMES: dict[type[Exception], str] = {SignInLoop: "loop", ClientRefused: "client-refused"}


def _sign_in_limit() -> str:
    return context().settings.limit_sign_in


class FailedPage(Page, template="sign_in/failed.html"):
    """A failed sign-in; `keeps_cookies` says whether the browser accepts cookies."""

    keeps_cookies: bool


class NoRolePage(Page, template="sign_in/no_role.html"):
    """A sign-in of somebody who has no access to this clinic's portal."""


class NotStrongPage(Page, template="sign_in/not_strong.html"):
    """A sign-in that should have been stronger; `to_come_in` says whether the person needs it to come in at all,
    `again` where to try again."""

    to_come_in: bool
    again: str


class NotFreshPage(Page, template="sign_in/not_fresh.html"):
    """A sign-in that should have been fresh; `is_dated` says whether the server tells when the person signed in."""

    is_dated: bool


@bp.get("/sign-in")
@limiter.limit(_sign_in_limit, key_func=person_or_address)
def start() -> Response:
    """Send the browser to the clinic's identity server; `another` is for somebody else than who is signed in here."""
    here = session()
    person = here.person
    is_another = request.args.get("another") == "1"
    fresh = is_another or request.args.get("fresh") == "1"
    wanted = request.args.get("next", "/")
    next_path = local_path(wanted)
    if next_path != wanted:
        audit.note("sign-in.next", "refused")
    if person and not fresh:
        return redirect_to(next_path)
    if is_another:
        return _start(next_path, None, fresh=True, is_another=True)
    return _start(next_path, here.whose(), fresh=fresh, strength=_strength_waited_for(here))


def _strength_waited_for(here: Session) -> Strength | None:
    """Take what the session's step-up needs, which isn't in the address, where anyone could ask for anything."""
    waited_for = here.pop(STRENGTH, None)
    return msgspec.convert(waited_for, Strength) if waited_for else None


def _start(
    next_path: str,
    whose: tuple[str, str] | None,
    *,
    fresh: bool = False,
    is_another: bool = False,
    is_second: bool = False,
    strength: Strength | None = None,
) -> Response:
    try:
        started = context().sign_in.start(
            g.tenant,
            redirect_uri=origin() + CALLBACK,
            next_path=next_path,
            cookie=request.cookies.get(BROWSER_COOKIE),
            language=language(),
            fresh=fresh,
            is_another=is_another,
            whose=whose,
            is_signed_in=session().person is not None,
            is_second=is_second,
            strength=strength,
        )
    except (ProviderDown, ProviderRefused, SignInLoop) as error:
        log.warning("sign-in not begun: %s: %s", type(error).__name__, error)
        audit.note("sign-in", _OUTCOMES.get(type(error), "unavailable"), reason=str(error) or None)
        raise
    metrics.sign_in_begun(g.tenant.key)
    response = redirect_outside(started.location)
    _bind(response, started.cookie)
    return response


@bp.get("/.well-known/jwks.json")
def client_keys() -> Response:
    """The public keys of the clinic's clients (RFC 7517 §5), for the identity server; 404 if they have none."""
    clients = [
        client for client in (g.tenant.client, g.tenant.service_client) if client and client.signing_key
    ]
    keys = {key["kid"]: key for client in clients for key in client.signing_key.public}
    if not keys:
        abort(404)
    response = jsonify(keys=list(keys.values()))
    response.headers["Content-Type"] = "application/jwk-set+json"
    response.headers["Cache-Control"] = "public, max-age=300"
    return response


@bp.get(CALLBACK)
@limiter.limit(_sign_in_limit, key_func=person_or_address)
def callback() -> Response:
    """Handle the authorization response, which can start at most one session."""
    here = session()
    try:
        finished = context().sign_in.finish(
            g.tenant, cookie=request.cookies.get(BROWSER_COOKIE), answer=_answer()
        )
    except ClientRefused:
        audit.note("sign-in", "client-refused")
        raise
    except PasswordNeeded as needed:
        _revoke_soon(needed.tokens)
        return _start(needed.next, needed.whose, is_second=True)
    except StrengthNeeded as needed:
        _revoke_soon(needed.tokens)
        return _start(needed.next, needed.whose, strength=needed.strength)
    except NotStrong as error:
        _note("sign-in too weak", "not-strong", error)
        _revoke_soon(error.tokens)
        again = url_for(".start", next=error.next, fresh=1) if error.to_come_in else error.next
        return render(NotStrongPage(to_come_in=error.to_come_in, again=again), status=403)
    except NotFresh as error:
        _note("fresh sign-in refused", "not-fresh" if error.is_dated else "no-auth-time", error)
        return render(NotFreshPage(is_dated=error.is_dated), status=400)
    except NoRole as error:
        _note("sign-in without access", "no-role", error)
        return render(NoRolePage(), status=403)
    except SignInFailed as error:
        _note("sign-in refused", "refused", error)
        return _failed()
    except Unavailable as error:
        _note("sign-in not finished", "unavailable", error)
        return _failed(503)
    if finished is None:
        _note("sign-in unknown", "unknown", _why_unknown())
        return redirect_to("/") if here.person else _failed()
    replaced = here.tokens
    here.sign_in(finished.person, finished.tokens, device=_device())
    audit.note("sign-in", "fresh" if finished.fresh else "done", person=finished.person)
    unsent.await_return(finished.person)
    _revoke_soon(replaced)
    return redirect_to(finished.next)


@bp.get("/session")
def whose() -> Response:
    """Tell an open page whether its session goes on, by the answer's `Session-Tag`; isn't use of the session."""
    return make_response("", 204, {SESSION_TAG: session().tag or NO_SESSION})


@bp.get("/session/stay")
@signed_in(Side.PATIENT, Side.STAFF)
def stay(care: Care, person: Person) -> Response:
    """Use the session, which then ends later; reads and shows nothing that would count as seen."""
    return make_response("", 204)


def _note(what: str, outcome: str, why: object) -> None:
    """Log why nobody was signed in, and record it in the audit trail."""
    log.warning("%s: %s", what, why)
    audit.note("sign-in", outcome, reason=str(why))


def _revoke_soon(tokens: Tokens | None) -> None:
    revoke_soon(g.tenant, context().sign_in.provider(g.tenant), tokens, context().settings.timeouts)


def _answer() -> dict[str, str]:
    """The authorization response; repeated parameters count as absent (RFC 6749 §3.1)."""
    return {name: values[0] for name, values in request.args.lists() if len(values) == 1}


def _why_unknown() -> str:
    """Why no pending sign-in fits the answer."""
    if "response" in request.args:
        return "answered with a JWT (JARM)"
    return "unknown state" if BROWSER_COOKIE in request.cookies else "no cookie"


def _failed(status: int = 400) -> Response:
    return render(FailedPage(keeps_cookies=BROWSER_COOKIE in request.cookies), status=status)


def _bind(response: Response, cookie: str) -> None:
    response.set_cookie(
        BROWSER_COOKIE, cookie, max_age=15 * 60, path="/", secure=True, httponly=True, samesite="Lax"
    )


def _device() -> str:
    """Browser and system in a few words, for the list of signed-in devices."""
    agent = request.headers.get("User-Agent", "")
    browser = next((name for name in ("Edg", "Firefox", "Chrome", "Safari") if name in agent), "")
    system = next(
        (name for name in ("Android", "iPhone", "iPad", "Windows", "Mac OS", "Linux") if name in agent), ""
    )
    return " · ".join(part for part in ({"Edg": "Edge"}.get(browser, browser), system) if part)
