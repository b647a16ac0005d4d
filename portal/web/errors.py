"""Every failure as a page or a fragment in words, with its true status. Each kind is said once, here.

A `NotSignedIn` from anywhere leads to sign-in, a `StepUpNeeded` to a fresh one; the API's own message never reaches the page.
"""

from __future__ import annotations

import logging
import re
import time

from flask import Flask, Response, current_app, g, make_response, request
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException

from portal.context import session
from portal.http import deadline
from portal.i18n.gettext import _
from portal.i18n.locale import direction, language
from portal.request_values import reader_is_staff
from portal.services.errors import (
    BadResponse,
    CareError,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSetUp,
    NotSignedIn,
    ReadOnlyMode,
    Refused,
    StepUpNeeded,
    TokenRefused,
    Unavailable,
)
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.flow import SignInLoop
from portal.state.sessions import COOKIE
from portal.store import StoreDown, StoreFull
from portal.web import act_once, audit, htmx, templates, unsent
from portal.web.downloads import TooManyDownloads
from portal.web.explanations import (
    Explanation,
    client_refused,
    explain,
    identity_down,
    internal_error,
    not_taken,
    not_understood,
    sign_in_loop,
    signed_out_here,
    stale_page,
    store_down,
    store_full,
    too_many,
    too_many_downloads,
    too_slow,
    typed_is_kept,
    unknown_address,
    wrong_method,
)
from portal.web.extensions import seconds_to_wait
from portal.web.guard import NO_SESSION, SESSION_TAG, is_background, page_to_return_to, to_sign_in
from portal.web.pages import Page
from portal.web.routing import current_address

log = logging.getLogger("portal")

_STORE_SECONDS = 10
"""How long a store takes to come back after a restart or a failover."""

_UNREADABLE = frozenset({400, 413, 414, 415, 421, 431})
"""What only a broken or a hostile client sends."""


class FailurePage(Page, template="errors/page.html"):
    """A failure as a page; `actions` are links with `label` and `href`."""

    title: str
    happened: str
    todo: str
    correlation_id: str | None
    actions: list[dict[str, str]]


class FailureFragment(Page, template="errors/fragment.html"):
    """A failure in place of the region `target`; `href` tries again."""

    title: str
    happened: str
    todo: str
    correlation_id: str | None
    target: str | None
    href: str | None


def init_app(app: Flask) -> None:
    """Answer every exception in one place."""
    app.register_error_handler(NotSignedIn, _not_signed_in)
    app.register_error_handler(StepUpNeeded, _step_up)
    app.register_error_handler(CareError, _failed)
    app.register_error_handler(ClientRefused, lambda error: answer(client_refused()))
    app.register_error_handler(ProviderDown, lambda error: answer(identity_down()))
    app.register_error_handler(ProviderRefused, lambda error: answer(identity_down()))
    app.register_error_handler(SignInLoop, lambda error: answer(sign_in_loop()))
    app.register_error_handler(StoreDown, _store_down)
    app.register_error_handler(deadline.Passed, _too_slow)
    app.register_error_handler(CSRFError, _csrf_failed)
    app.register_error_handler(TooManyDownloads, lambda error: _too_many_downloads())
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def answer(what: Explanation, *, retry_after: float | None = None, href: str | None = None) -> Response:
    """Return the failure as a fragment for htmx, else as a page; a bare page when even that can't be made.

    `href` is the page to refresh, where that is what helps.
    """
    audit.nothing_shown()
    said = {"title": what.title, "happened": what.happened, "todo": what.todo}
    number: str | None = g.get("request_id")
    page: Page
    try:
        if htmx.is_htmx():
            href = href or (htmx.current_path() if what.can_retry else None)
            page = FailureFragment(**said, correlation_id=number, target=htmx.target(), href=href)
        else:
            page = FailurePage(**said, correlation_id=number, actions=_actions(what, href))
        body = templates.render(page.template, page.context())
    except Exception:
        log.exception("error page failed")
        body = _plain(**said, correlation_id=number)
    response = make_response(body, what.status)
    response.vary.update(("HX-Request", "HX-Target"))
    if retry_after is not None:
        response.headers["Retry-After"] = str(max(1, round(retry_after)))
    return response


def _actions(what: Explanation, href: str | None) -> list[dict[str, str]]:
    """What can be done about it, the likeliest first; `href` is the page to refresh."""
    home = {"label": _("Go to the worklist") if reader_is_staff() else _("Go to the home page"), "href": "/"}
    if href:
        return [{"label": _("Refresh this page"), "href": href}, home]
    if what.can_retry and request.method == "GET":
        return [{"label": _("Try again"), "href": current_address()}, home]
    if what.can_retry and (behind := page_to_return_to()) != "/":
        return [{"label": _("Go back and try again"), "href": behind}, home]
    return [home]


def _not_signed_in(error: NotSignedIn) -> Response:
    # A background request, such as the bell's, must not take someone away from the page: that clears itself.
    if is_background():
        return make_response("", 204, {SESSION_TAG: NO_SESSION})
    unsent.keep()
    if COOKIE in request.cookies:  # forged, of another host, or expired
        audit.note("session", "unknown")
    return to_sign_in()


def _step_up(error: StepUpNeeded) -> Response:
    """Sign in afresh, or more strongly, and find the form as it was left (RFC 9470)."""
    if is_background():  # the bell must not take anyone away from the page
        return make_response("", 204)
    unsent.keep()
    return to_sign_in(demand=error.demand)


def _too_slow(error: deadline.Passed) -> Response:
    log.error("page not made in time", extra={"reason": "rendering"})
    deadline.set_to(time.monotonic())  # for the page that says so
    return _answer_passing(too_slow())


def _csrf_failed(error: CSRFError) -> Response:
    is_kept = unsent.keep()
    audit.note_refusal(request.endpoint or "-", "csrf-refused")
    return answer(stale_page(is_kept=is_kept), href=page_to_return_to())


def _failed(error: CareError) -> Response:
    log.warning("care api: %s", type(error).__name__, extra={"reason": _reason(error)})
    if isinstance(error, NotAllowed | NotFound | Refused | TokenRefused):
        audit.note_refusal(request.endpoint or "-", type(error).__name__)
    retry_after = error.retry_after if isinstance(error, Unavailable) else None
    if not g.get("tenant"):
        return _bare(503)
    what = explain(error)
    if isinstance(error, NotAllowed | NotFound | NotOffered | Refused) or act_once.may_have_sent(error):
        return answer(what, retry_after=retry_after)
    is_form = (
        unsent.names_of(current_app.view_functions.get(request.endpoint or "")) and request.method == "POST"
    )
    if (
        is_form
        and isinstance(error, BadResponse | Unavailable)
        and not isinstance(error, ReadOnlyMode | NotSetUp)
    ):
        what = not_taken()
    return _answer_passing(what, retry_after=retry_after)


def _answer_passing(what: Explanation, *, retry_after: float | None = None) -> Response:
    """Answer a failure that may pass: an open page that looks by itself stays as it is, and what was typed waits for its form.

    Nothing is kept of a form that may have been sent on: what waits is told as not sent.
    """
    if is_background():
        audit.nothing_shown()
        return make_response("", 204)
    if not act_once.may_have_sent() and unsent.keep():
        what = typed_is_kept(what)
    return answer(what, retry_after=retry_after)


def _reason(error: CareError) -> str:
    """Why, for the log: a rule's code comes from the API as it is, and must be a word to be written."""
    if isinstance(error, Refused) and not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", error.code):
        return "another rule"
    return str(error)


def _store_down(error: StoreDown) -> Response:
    """Answer that the store is down without asking it again, not even for the language."""
    log.error("store %s: %s", "full" if isinstance(error, StoreFull) else "down", error)
    g.is_store_down = True
    if is_background():
        response = make_response("", 204)
    elif not g.get("tenant"):
        response = _bare(503)
    else:
        what = store_full() if isinstance(error, StoreFull) else store_down()
        if session().ended:
            what = signed_out_here()
        audit.nothing_shown()
        page = _plain(
            title=what.title,
            happened=what.happened,
            todo=what.todo,
            locale=language(),
            direction=direction(),
            home=_("Go to the home page"),
            correlation_id=g.get("request_id"),
        )
        response = make_response(page, what.status)
    response.headers["Retry-After"] = str(_STORE_SECONDS)
    return response


def _http(error: HTTPException) -> Response | HTTPException:
    if error.response is not None or (error.code or 500) < 400:
        return error
    if error.code in _UNREADABLE:
        audit.note("request", str(error.code))
    if not g.get("tenant"):
        return _bare(error.code or 500)
    if request.url_rule is None and error.code in (404, 405):
        audit.note_unknown_address()
    match error.code:
        case 404:
            return answer(unknown_address() if request.url_rule is None else explain(NotFound()))
        case 403:
            return answer(explain(NotAllowed()))
        case 429:
            return _too_many()
        case 405:
            response = answer(wrong_method())
            if valid := getattr(error, "valid_methods", None):
                response.headers["Allow"] = ", ".join(valid)
            return response
        case code:
            return answer(not_understood(code or 500))


def _too_many() -> Response:
    audit.note_refusal(request.endpoint or "-", "too-many")
    seconds = seconds_to_wait()
    return _answer_passing(too_many(seconds), retry_after=seconds)


def _too_many_downloads() -> Response:
    audit.note_refusal(request.endpoint or "-", "too-many")
    return answer(too_many_downloads(), retry_after=30)


def _unexpected(error: Exception) -> Response:
    log.exception("unexpected")
    if not g.get("tenant"):
        return _bare(500)
    return _answer_passing(internal_error())


def _bare(status: int) -> Response:
    return make_response(_plain(correlation_id=g.get("request_id")), status)


def _plain(**context: object) -> str:
    """The page that needs neither session nor store."""
    return current_app.jinja_env.get_template("errors/bare.html").render(**context)
