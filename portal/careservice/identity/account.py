"""The page on which people keep their passkeys and recovery codes, after a sign-in of their own that is as strong as they have."""

from __future__ import annotations

from datetime import timedelta

from flask import Response, request, url_for
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import is_recent, now
from portal.careservice.domain import notifications
from portal.careservice.identity import passkeys, passwords, sessions, throttle
from portal.careservice.identity.assurance import (
    PASSWORD,
    code_at,
    has_second_step,
    new_recovery_codes,
    recovery_codes_left,
)
from portal.careservice.identity.pages import bp, page, portal_of, see_other, set_cookie
from portal.careservice.identity.sign_in import account, take_any_code, typed_username
from portal.careservice.identity.tables import Passkey, Person, SignIn, Tenant
from portal.careservice.settings import current_settings

_WITHIN = timedelta(minutes=10)


@bp.get("/account/<tenant>")
def show_account(tenant: str) -> Response:
    """The person's passkeys and how many recovery codes are left; before that, a sign-in."""
    session = database.session_for_writing()
    clinic = _clinic(session, tenant)
    if clinic is None or passkeys.name() is None:
        return page("too_late.html", status=404)
    if not passkeys.is_here():
        return see_other(f"{passkeys.origin()}{_address(clinic)}")
    sign_in = _sufficient(session, clinic)
    return _page(session, clinic, sign_in) if sign_in else _sign_in_page(session, clinic)


@bp.post("/account/<tenant>/sign-in")
def sign_in_to_account(tenant: str) -> Response:
    """Check password and, of who has a second step, the one-time or recovery code."""
    session = database.session()
    clinic = _clinic(session, tenant)
    if clinic is None or not _is_from_here():
        return page("too_late.html", status=400)
    username = typed_username()
    person = account(session, clinic.id, username)
    attempt = throttle.begin_attempt(session, clinic.id, username)
    if isinstance(attempt, throttle.Wait):
        response = _sign_in_page(session, clinic, 429, error="wait", seconds=attempt.seconds)
        response.headers["Retry-After"] = str(attempt.seconds)
        return response
    kept = person.password_hash if person else None
    # No transaction is open while hashing: on SQLite it would block all other writers.
    if not passwords.matches(request.form.get("password", ""), kept) or person is None:
        return _sign_in_page(session, clinic, 401, error="wrong")
    session.refresh(person, with_for_update=True)
    needs_code = has_second_step(person)
    amr = take_any_code(session, person, request.form.get("code", "")) if needs_code else PASSWORD
    if amr is None:
        session.commit()
        return _sign_in_page(session, clinic, 401, error="wrong")
    attempt.succeeded(session)
    _, cookie = sessions.begin(session, person, amr)
    response = see_other(_address(clinic))
    set_cookie(response, sessions.COOKIE, cookie)
    throttle.remember_browser(session, response, person)
    return response


@bp.post("/account/<tenant>")
def change_account(tenant: str) -> Response:
    """Add or remove a passkey, or make new recovery codes, which are shown once; a notification tells the account's owner.

    Who had signed in elsewhere with a passkey is signed out when one is removed: it may be a lost device's, or a thief's.
    """
    session = database.session_for_writing()
    clinic = _clinic(session, tenant)
    if clinic is None or not _is_from_here():
        return page("too_late.html", status=400)
    sign_in = _sufficient(session, clinic)
    if sign_in is None:
        return _sign_in_page(session, clinic, 401)
    person = sign_in.person
    act = request.form.get("act")
    codes: list[str] = []
    if act == "add":
        try:
            passkeys.register(session, person, request.form.get("credential", ""), _challenge())
        except passkeys.PasskeyRefused:
            return _page(session, clinic, sign_in, 400, error="passkey")
        session.flush()
        session.refresh(person)
        if not recovery_codes_left(session, person):
            codes = new_recovery_codes(session, person)
        _tell(session, person, "PasskeyAdded")
    elif act == "remove":
        named = request.form.get("passkey", "")
        own = session.scalar(
            select(Passkey).where(Passkey.person_id == person.id, Passkey.credential_id == named)
        )
        if own is not None:
            session.delete(own)
            session.flush()
            session.refresh(person)
            _tell(session, person, "PasskeyRemoved")
            sessions.end_by_passkey(session, person, but=sign_in)
    elif act == "codes" and has_second_step(person):
        codes = new_recovery_codes(session, person)
        _tell(session, person, "RecoveryCodesMade")
    return _page(session, clinic, sign_in, codes=codes)


def _tell(session: Session, person: Person, notice: str) -> None:
    notifications.announce(
        session,
        tenant_id=person.tenant_id,
        who=[person.id],
        kind="AccountSecurity",
        notice=notice,
        entity=("Account", person.id),
    )


def _clinic(session: Session, name: str) -> Tenant | None:
    return session.scalar(select(Tenant).where(Tenant.name == name)) if name.isprintable() else None


def _address(clinic: Tenant) -> str:
    """The page's address, in the language that was asked for."""
    return url_for(".show_account", tenant=clinic.name, ui_locales=request.values.get("ui_locales"))


def _is_from_here() -> bool:
    """Whether the form was sent by a page of this server (W3C Fetch Metadata), as every browser that has passkeys tells."""
    return request.headers.get("Sec-Fetch-Site") == "same-origin"


def _sufficient(session: Session, clinic: Tenant) -> SignIn | None:
    """This browser's sign-in, if it is of the clinic, of just now, and as strong as the person has."""
    found = sessions.current(session)
    if found is None or found.person.tenant_id != clinic.id or not is_recent(found.auth_time, _WITHIN):
        return None
    return found if "mfa" in found.amr or not has_second_step(found.person) else None


def _challenge() -> bytes:
    """What a new passkey signs: it belongs to the browser's sign-in, whose cookie is another after each."""
    return passkeys.challenge("registration", request.cookies.get(sessions.COOKIE, ""))


def _page(
    session: Session,
    clinic: Tenant,
    sign_in: SignIn,
    status: int = 200,
    *,
    error: str | None = None,
    codes: list[str] | None = None,
) -> Response:
    person = sign_in.person
    has_room = len(person.passkeys) < passkeys.MOST
    return page(
        "account.html",
        status=status,
        tenant=clinic,
        home=portal_of(session, clinic),
        person=person,
        error=error,
        codes=codes,
        left=recovery_codes_left(session, person),
        has_second_step=has_second_step(person),
        options=passkeys.asked_to_register(person, _challenge()) if has_room else None,
    )


def _sign_in_page(
    session: Session, clinic: Tenant, status: int = 200, *, error: str | None = None, seconds: int = 0
) -> Response:
    return page(
        "account_sign_in.html",
        status=status,
        tenant=clinic,
        home=portal_of(session, clinic),
        error=error,
        seconds=seconds,
        people=_sample_codes(session, clinic),
    )


def _sample_codes(session: Session, clinic: Tenant) -> list[tuple[str, str]]:
    """User names and one-time codes of sample people, for the demo."""
    if not current_settings().demo:
        return []
    people = select(Person).where(Person.tenant_id == clinic.id).order_by(Person.username).limit(20)
    return [
        (person.username, code_at(person, now())) for person in session.scalars(people) if person.totp_secret
    ]
