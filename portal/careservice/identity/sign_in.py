"""The sign-in page: user name and password or a passkey for a waiting authorization request, and a second step if it asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Response, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity import passkeys, passwords, sessions, throttle
from portal.careservice.identity.assurance import (
    PASSWORD,
    PASSWORD_AND_CODE,
    PASSWORD_AND_RECOVERY,
    can_do_more,
    code_at,
    has_second_step,
    methods_of,
    take_code,
    take_recovery_code,
)
from portal.careservice.identity.authorization_request import RefusedRequest, ValidatedRequest
from portal.careservice.identity.authorize import (
    CHECKED,
    asked_again_elsewhere,
    checked,
    grant,
    refuse,
    waiting_request,
)
from portal.careservice.identity.pages import bp, origin, page, see_other, set_cookie
from portal.careservice.identity.tables import AuthorizationRequest, Client, Person, Tenant, digest
from portal.careservice.settings import current_settings


@dataclass(eq=False)
class TooLate(Exception):
    """The waiting request is used, expired or another browser's, or None: there is none."""

    waiting: AuthorizationRequest | None


bp.register_error_handler(TooLate, lambda error: _too_late(error.waiting))


@bp.get("/sign-in")
def show_sign_in() -> Response:
    """The form, filled in with the client's `login_hint` or else the user name already signed in, if it's the same person's.

    It is empty for `another` than the person whose code was asked for.
    """
    session = database.session()
    handle = request.args.get("request", "")
    _, asked = _waiting(session, handle)
    if "another" in request.args:
        return _page(session, asked, handle, "")
    current = None if "select_account" in asked.prompts else sessions.current(session)
    known = current.person if current is not None and current.person.tenant_id == asked.tenant.id else None
    username = asked.parameters.get("login_hint") or (known.username if known else "")
    return _page(session, asked, handle, username, again=known is not None)


@bp.post("/sign-in")
def sign_in() -> Response:
    """Check the password and redirect back to the client with a code.

    Only the browser with the cookie of the waiting request can post the form, which prevents login CSRF.
    """
    session = database.session()
    handle = request.form.get("request", "")
    waiting, asked = _waiting(session, handle)
    username = typed_username()
    person = account(session, asked.tenant.id, username)
    attempt = throttle.begin_attempt(session, asked.tenant.id, username)
    if isinstance(attempt, throttle.Wait):
        response = _page(session, asked, handle, username, status=429, error="wait", seconds=attempt.seconds)
        response.headers["Retry-After"] = str(attempt.seconds)
        return response
    kept = person.password_hash if person else None
    # No transaction is open while hashing: on SQLite it would block all other writers.
    if not passwords.matches(request.form.get("password", ""), kept) or person is None:
        return _page(session, asked, handle, username, status=401, error="wrong")
    if can_do_more(person, asked.acr_values, PASSWORD):  # the attempt counts until the code is right too
        waiting.parameters = {**waiting.parameters, CHECKED: person.id}
        session.commit()
        return see_other(url_for(".show_code", request=handle))
    return _finish(session, asked, waiting, person, PASSWORD, attempt)


@bp.get("/sign-in/passkey")
def show_passkey() -> Response:
    """To the same sign-in at the name that passkeys are made for, where this page has another."""
    session = database.session_for_writing()
    waiting, asked = _waiting(session, request.args.get("request", ""))
    if passkeys.name() is None:
        return _too_late(waiting)
    return see_other(asked_again_elsewhere(session, asked))


@bp.post("/sign-in/passkey")
def sign_in_with_passkey() -> Response:
    """Check what the browser's passkey signed and redirect back to the client with a code."""
    session = database.session()
    handle = request.form.get("request", "")
    waiting, asked = _waiting(session, handle)
    try:
        person, passkey = passkeys.owner(
            session, request.form.get("credential", ""), _challenge(handle), asked.tenant.id
        )
    except passkeys.PasskeyRefused:
        return _page(session, asked, handle, "", status=401, error="passkey")
    return _finish(session, asked, waiting, person, methods_of(passkey))


@bp.get("/sign-in/code")
def show_code() -> Response:
    """The form for the second step of the person whose password has been checked."""
    session = database.session()
    handle = request.args.get("request", "")
    waiting, _ = _waiting(session, handle)
    person = _checked_person(session, waiting)
    if person is None:
        return _too_late(waiting)
    return _code_page(session, waiting, handle, person)


@bp.post("/sign-in/code")
def sign_in_with_code() -> Response:
    """Check the one-time or recovery code and redirect back to the client with an authorization code."""
    session = database.session()
    handle = request.form.get("request", "")
    waiting, asked = _waiting(session, handle)
    person = _checked_person(session, waiting)
    if person is None:
        return _too_late(waiting)
    attempt = throttle.begin_attempt(session, person.tenant_id, person.username)
    if isinstance(attempt, throttle.Wait):
        response = _code_page(session, waiting, handle, person, 429, error="wait", seconds=attempt.seconds)
        response.headers["Retry-After"] = str(attempt.seconds)
        return response
    session.refresh(person, with_for_update=True)
    amr = take_any_code(session, person, request.form.get("code", ""))
    if amr is None:
        session.commit()
        return _code_page(session, waiting, handle, person, 401, error="wrong")
    return _finish(session, asked, waiting, person, amr, attempt)


def take_any_code(session: Session, person: Person, typed: str) -> Sequence[str] | None:
    """The methods of a sign-in with the person's password and this one-time or recovery code; None if it is neither.

    Keyboards may type the digits of Arabic.
    """
    code = "".join(str(int(character)) for character in typed[:40] if character.isdecimal())
    if take_code(person, code, now()):
        return PASSWORD_AND_CODE
    return PASSWORD_AND_RECOVERY if take_recovery_code(session, person, code) else None


def _finish(
    session: Session,
    asked: ValidatedRequest,
    waiting: AuthorizationRequest,
    person: Person,
    amr: Sequence[str],
    attempt: throttle.Attempt | None = None,
) -> Response:
    """Sign the person in by these methods and redirect back to the client."""
    if attempt:
        attempt.succeeded(session)
    session.refresh(waiting, with_for_update=True)
    if not _is_open(waiting):  # the same form, sent twice at once
        return _too_late(waiting)
    waiting.used_at = now()
    if asked.sub not in (None, person.id):  # OpenID Connect Core §3.1.2.1, id_token_hint
        session.commit()
        return refuse(RefusedRequest("login_required", "Somebody else has signed in.", asked.parameters))
    current, cookie = sessions.begin(session, person, amr)
    response = grant(asked, current)
    set_cookie(response, sessions.COOKIE, cookie)
    throttle.remember_browser(session, response, person)
    sessions.forget_expired(session)
    return response


def typed_username() -> str:
    """The user name in the form, as accounts have it."""
    return _printable(request.form.get("username", "")).strip()[:64].casefold()


def account(session: Session, tenant_id: str, username: str) -> Person | None:
    """The active person of the clinic with this name."""
    return session.scalar(
        select(Person).where(
            Person.username == username, Person.tenant_id == tenant_id, Person.is_active.is_(True)
        )
    )


def _challenge(handle: str) -> bytes:
    """What a passkey signs for a waiting request, which is answered once."""
    return passkeys.challenge("sign-in", handle)


def _passkey_choice(handle: str) -> dict[str, object]:
    """How a page offers passkeys: with the browser's own dialog, by a link to where they work, or not at all."""
    is_here = passkeys.name() is not None and passkeys.is_here()
    return {
        "has_passkeys": passkeys.name() is not None,
        "passkey_options": passkeys.asked_to_sign_in(_challenge(handle)) if is_here else None,
        "account_origin": "" if is_here or passkeys.name() is None else passkeys.origin(),
    }


def _waiting(session: Session, handle: str) -> tuple[AuthorizationRequest, ValidatedRequest]:
    """The open request of this browser, as it came and validated; raises TooLate and RefusedRequest."""
    waiting = waiting_request(session, handle)
    if waiting is None or not _is_open(waiting):
        raise TooLate(session.get(AuthorizationRequest, digest(handle)))
    return waiting, checked(session, _parameters(waiting))


def _checked_person(session: Session, waiting: AuthorizationRequest) -> Person | None:
    """The active person whose password has been checked for this request, and who has a second step."""
    person = session.get(Person, str(waiting.parameters.get(CHECKED, "")))
    return person if person and person.is_active and has_second_step(person) else None


def _is_open(waiting: AuthorizationRequest) -> bool:
    return waiting.used_at is None and waiting.expires_at > now()


def _parameters(waiting: AuthorizationRequest) -> dict[str, str]:
    return {name: str(value) for name, value in waiting.parameters.items()}


def _page(
    session: Session,
    asked: ValidatedRequest,
    handle: str,
    username: str,
    *,
    status: int = 200,
    error: str | None = None,
    seconds: int = 0,
    again: bool = False,
) -> Response:
    return page(
        "sign_in.html",
        status=status,
        tenant=asked.tenant,
        leads_to=asked.redirect_uri,
        locales=asked.parameters.get("ui_locales", ""),
        handle=handle,
        username=username,
        error=error,
        seconds=seconds,
        again=again,
        people=_sample_people(session, asked),
        **_passkey_choice(handle),
    )


def _code_page(
    session: Session,
    waiting: AuthorizationRequest,
    handle: str,
    person: Person,
    status: int = 200,
    *,
    error: str | None = None,
    seconds: int = 0,
) -> Response:
    return page(
        "code.html",
        status=status,
        tenant=person.tenant,
        leads_to=str(waiting.parameters["redirect_uri"]),
        locales=str(waiting.parameters.get("ui_locales", "")),
        handle=handle,
        may_be_another="id_token_hint" not in waiting.parameters,
        error=error,
        seconds=seconds,
        code=code_at(person, now()) if current_settings().demo and person.totp_secret else None,
        **(_passkey_choice(handle) if person.passkeys else {"has_passkeys": False}),
    )


def _sample_people(session: Session, asked: ValidatedRequest) -> list[Person]:
    """The people that the page lists: none, unless this is a demo."""
    if not current_settings().demo:
        return []
    people = select(Person).where(Person.tenant_id == asked.tenant.id).order_by(Person.username).limit(20)
    return list(session.scalars(people))


def _too_late(waiting: AuthorizationRequest | None) -> Response:
    """The page for a form that is used, expired or another browser's; it leads back to the clinic that the form was for."""
    if waiting is None:
        return page("too_late.html", status=400)
    asked, session = _parameters(waiting), database.session()
    client = session.get_one(Client, waiting.client_id)
    return page(
        "too_late.html",
        status=400,
        tenant=session.get_one(Tenant, client.tenant_id),
        home=origin(asked["redirect_uri"]) + "/",
        locales=asked.get("ui_locales", ""),
    )


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
