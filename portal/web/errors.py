"""Every failure as a page or a fragment in words, with its true status. Each kind is said once, here.

A `NotSignedIn` from anywhere leads to sign-in, a `StepUpNeeded` to a fresh one; the API's own message never reaches the page.
"""

from __future__ import annotations

import logging
import math
import re
from dataclasses import dataclass

from flask import Flask, Response, current_app, g, make_response, request
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException

from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import direction, language
from portal.services.errors import (
    BadResponse,
    CareError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotOffered,
    NotSignedIn,
    Refused,
    StepUpNeeded,
    TokenRefused,
    Unavailable,
)
from portal.signin.discovery import ClientRefused, ProviderDown, ProviderRefused
from portal.signin.flow import Loop
from portal.state.sessions import COOKIE, Person
from portal.store import StoreDown, StoreFull
from portal.web import audit, htmx, templates, unsent
from portal.web.downloads import TooManyDownloads
from portal.web.pages import Page
from portal.web.refusals import refusal_message
from portal.web.routing import own_address

log = logging.getLogger("portal")

_STORE_SECONDS = 10
"""How long a store takes to come back after a restart or a failover."""

_UNREADABLE = frozenset({400, 413, 414, 415, 421, 431})
"""What only a broken or a hostile client sends."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a page says of a failure: what happened, what to do, and whether trying again may help."""

    status: int
    title: str
    happened: str
    todo: str
    again: bool = False


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
    app.register_error_handler(ClientRefused, lambda error: answer(_client_refused()))
    app.register_error_handler(ProviderDown, lambda error: answer(_identity_down()))
    app.register_error_handler(ProviderRefused, lambda error: answer(_identity_down()))
    app.register_error_handler(Loop, lambda error: answer(_loop()))
    app.register_error_handler(StoreDown, _store_down)
    app.register_error_handler(CSRFError, _csrf_failed)
    app.register_error_handler(TooManyDownloads, lambda error: _too_many_downloads())
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _unexpected)


def explain(error: CareError) -> Explanation:
    """Say what a failed call means to the person."""
    match error:
        case TokenRefused():
            return Explanation(
                502,
                _("The clinic’s system doesn’t accept your sign-in"),
                _("You are signed in here, but the clinic’s system refused that. Your records are safe."),
                _("Sign out, then sign in again. If it happens again, tell the clinic."),
                again=True,
            )
        case NotAllowed():
            return Explanation(
                403,
                _("You can’t open this"),
                _("Your role at this clinic doesn’t include this page or this action."),
                _("If you think it should, ask the clinic."),
            )
        case Refused():
            return Explanation(
                403,
                _("That can’t be done now"),
                refusal_message(error.code),
                _("Nothing was changed. Go back and look at it as it is now."),
            )
        case NotFound():
            return Explanation(
                404,
                _("We can’t find that"),
                _("It may have been removed, may not be ready yet, or may belong to someone else."),
                _("Check the address, or start again from the home page."),
            )
        case Conflict():
            return Explanation(
                409,
                _("Someone changed this meanwhile"),
                _("It is not as it was when you opened it, so nothing was saved over it."),
                _("Open it again to see it as it is now."),
                again=True,
            )
        case Invalid():
            return Explanation(
                400,
                _("The clinic’s system didn’t accept that"),
                _("Something in what was sent isn’t right. Nothing was changed."),
                _("Go back, check what you entered and try again."),
            )
        case NotOffered(about_record=True):
            return Explanation(
                501,
                _("This record is kept elsewhere"),
                _("The clinic keeps this record in another system, so it can’t be shown or changed here."),
                _("Ask the clinic and they will help you."),
            )
        case NotOffered():
            return Explanation(
                501,
                _("Your clinic doesn’t offer this here"),
                _("This part of the portal isn’t used by your clinic."),
                _("Ask the clinic and they will help you."),
            )
        case Unavailable(outcome_known=False):
            return Explanation(
                503,
                _("We couldn’t confirm that"),
                _("The clinic’s system didn’t answer, so we don’t know whether it was done."),
                _("Open the record and see how it stands before you try again."),
            )
        case Unavailable(is_undone=True):
            return Explanation(
                503,
                _("That wasn’t done"),
                _("The clinic’s system can’t take this right now. Nothing was changed."),
                _in_a_minute(),
                again=True,
            )
        case Unavailable() | BadResponse():
            return Explanation(
                503 if isinstance(error, Unavailable) else 502,
                _("This can’t be shown right now"),
                _("The clinic’s system isn’t answering. Your records are safe."),
                _in_a_minute(),
                again=True,
            )
        case _:
            return _ours()


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
            href = href or (htmx.current_path() if what.again else None)
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
    home = {"label": _("Go to the worklist") if _is_staff() else _("Go to the home page"), "href": "/"}
    if href:
        return [{"label": _("Refresh this page"), "href": href}, home]
    if what.again and request.method == "GET":
        return [{"label": _("Try again"), "href": own_address()}, home]
    if what.again and (behind := _page_behind()) != "/":
        return [{"label": _("Go back and try again"), "href": behind}, home]
    return [home]


def _page_behind() -> str:
    from portal.web.guard import page_behind

    return page_behind()


def _not_signed_in(error: NotSignedIn) -> Response:
    from portal.web.guard import is_background, to_sign_in

    # A page that only asked for its bell must not leave for sign-in under someone's hands.
    if is_background():
        return make_response("", 204)
    unsent.keep()
    if COOKIE in request.cookies:  # forged, of another host, or over
        audit.note("session", "unknown")
    return to_sign_in()


def _step_up(error: StepUpNeeded) -> Response:
    """Sign in afresh, and find the form as it was left (RFC 9470)."""
    from portal.web.guard import to_sign_in

    unsent.keep()
    audit.note(request.endpoint or "-", "step-up")
    return to_sign_in(fresh=True)


def _csrf_failed(error: CSRFError) -> Response:
    is_kept = unsent.keep()
    audit.note(request.endpoint or "-", "csrf-refused")
    return answer(_stale_page(is_kept=is_kept), href=_page_behind())


def _failed(error: CareError) -> Response:
    log.warning("care api: %s", type(error).__name__, extra={"reason": _reason(error)})
    if isinstance(error, NotAllowed | NotFound | Refused):
        audit.note_refusal(request.endpoint or "-", type(error).__name__)
    retry_after = error.retry_after if isinstance(error, Unavailable) else None
    if not g.get("tenant"):
        return _bare(503)
    return answer(explain(error), retry_after=retry_after)


def _reason(error: CareError) -> str:
    """Why, for the log: a rule's code comes from the API as it is, and must be a word to be written."""
    if isinstance(error, Refused) and not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", error.code):
        return "another rule"
    return str(error)


def _store_down(error: StoreDown) -> Response:
    """Say so without asking the store again: not for the language either."""
    log.error("store %s: %s", "full" if isinstance(error, StoreFull) else "down", error)
    g.is_store_down = True
    if not g.get("tenant"):
        response = _bare(503)
    else:
        what = _store_full() if isinstance(error, StoreFull) else _store_gone()
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
    match error.code:
        case 404:
            return answer(explain(NotFound()))
        case 403:
            return answer(explain(NotAllowed()))
        case 429:
            return _too_many()
        case 405:
            response = answer(
                Explanation(
                    405,
                    _("That doesn’t work this way"),
                    _("This address can’t be used like that."),
                    _start_again(),
                )
            )
            if valid := getattr(error, "valid_methods", None):
                response.headers["Allow"] = ", ".join(valid)
            return response
        case code:
            return answer(
                Explanation(
                    code or 500,
                    _("That didn’t work"),
                    _("The page couldn’t understand what was sent. Nothing was changed."),
                    _start_again(),
                )
            )


def _too_many() -> Response:
    from portal.web.extensions import seconds_to_wait

    audit.note(request.endpoint or "-", "too-many")
    seconds = seconds_to_wait()
    minutes = math.ceil(seconds / 60)
    when = (
        ngettext("You can go on in %(num)d second.", "You can go on in %(num)d seconds.", seconds)
        if seconds < 120
        else ngettext("You can go on in %(num)d minute.", "You can go on in %(num)d minutes.", minutes)
    )
    return answer(
        Explanation(
            429,
            _("Too many tries"),
            _("There were too many requests from here in a short time. Nothing was changed."),
            when,
            again=True,
        ),
        retry_after=seconds,
    )


def _too_many_downloads() -> Response:
    audit.note(request.endpoint or "-", "too-many")
    return answer(
        Explanation(
            503,
            _("Too many files at once"),
            _("Several files are still on their way from here."),
            _("Wait until one of them has arrived, then try again."),
            again=True,
        ),
        retry_after=30,
    )


def _unexpected(error: Exception) -> Response:
    log.exception("unexpected")
    if not g.get("tenant"):
        return _bare(500)
    return answer(_ours())


def _bare(status: int) -> Response:
    audit.nothing_shown()
    return make_response(_plain(correlation_id=g.get("request_id")), status)


def _plain(**context: object) -> str:
    """The page that needs nothing: no session, and so no store."""
    return current_app.jinja_env.get_template("errors/bare.html").render(**context)


def _ours() -> Explanation:
    return Explanation(
        500,
        _("Something went wrong on our side"),
        _("This page can’t be shown right now."),
        _("Please try again in a few minutes.")
        if _is_staff()
        else _("Please try again in a few minutes. If it is urgent, call your clinic."),
    )


def _in_a_minute() -> str:
    if _is_staff():
        return _("Please try again in a minute.")
    return _("Please try again in a minute. If it is urgent, call your clinic.")


def _is_staff() -> bool:
    """Whether who is told is of the clinic, and has nobody to call there."""
    person: Person | None = g.get("person")
    return person is not None and person.is_staff


def _store_gone() -> Explanation:
    return Explanation(
        503,
        _("The portal can’t be used right now"),
        _("It can’t look up who is signed in. You stay signed in, and your records are safe."),
        _in_a_minute(),
    )


def _store_full() -> Explanation:
    return Explanation(
        503,
        _("That can’t be done right now"),
        _(
            "The portal can’t take in anything new at the moment. Nothing was changed, and your records are safe."
        ),
        _in_a_minute(),
    )


def _client_refused() -> Explanation:
    return Explanation(
        503,
        _("Signing in isn’t possible right now"),
        _("The portal isn’t set up correctly at the sign-in service. You did nothing wrong."),
        _("Trying again won’t help: please call your clinic, so that they can have it put right."),
    )


def _identity_down() -> Explanation:
    return Explanation(
        503,
        _("Signing in isn’t possible right now"),
        _("The sign-in service isn’t answering."),
        _("Please try again in a minute. If it is urgent, call your clinic."),
        again=True,
    )


def _loop() -> Explanation:
    return Explanation(
        400,
        _("Signing in doesn’t work here"),
        _("You came back from signing in several times, and this browser still doesn’t keep you signed in."),
        _("Allow cookies for this address, close other tabs of the portal, then go to the home page."),
    )


def _stale_page(*, is_kept: bool) -> Explanation:
    return Explanation(
        400,
        _("This page was open for too long"),
        _("For your safety, a form can only be sent for a while. Nothing was changed."),
        _("Refresh this page: what you had typed is there, and you can send it again.")
        if is_kept
        else _("Refresh this page and send it again."),
        again=True,
    )


def _start_again() -> str:
    return _("Go back and try again, or start from the home page.")
