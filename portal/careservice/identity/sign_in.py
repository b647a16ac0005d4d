"""The sign-in page: user name and password, for an authorization request that waits for it."""

from __future__ import annotations

from datetime import timedelta

from flask import Response, request
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity import passwords, sessions
from portal.careservice.identity.authorization_request import RefusedRequest, ValidatedRequest
from portal.careservice.identity.authorize import checked, grant, refuse, waiting_request
from portal.careservice.identity.pages import bp, origin, page, set_cookie
from portal.careservice.identity.tables import AuthorizationRequest, FailedSignIn, Person
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

_TRIES = 10
_TRIES_WITHIN = timedelta(minutes=15)


@bp.get("/sign-in")
def show_sign_in() -> Response:
    """The page; the client's `login_hint`, or else whoever is signed in already, stands in it."""
    session = database.session()
    handle = request.args.get("request", "")
    waiting = waiting_request(session, handle)
    if waiting is None or not _is_open(waiting):
        return _too_late(waiting)
    try:
        asked = checked(session, _parameters(waiting))
    except RefusedRequest as refused:
        return refuse(refused)
    here = sessions.of_browser(session)
    known = here.person if here is not None and here.person.tenant_id == asked.tenant.id else None
    username = asked.parameters.get("login_hint") or (known.username if known else "")
    return _page(session, asked, handle, username, again=known is not None)


@bp.post("/sign-in")
def sign_in() -> Response:
    """Check the password and go back to the client with a code.

    The form belongs to the browser that holds the cookie of its waiting request, which is what keeps
    others from posting it (and from signing somebody in to an account of theirs).
    """
    session = database.session()
    handle = request.form.get("request", "")
    waiting = waiting_request(session, handle)
    if waiting is None or not _is_open(waiting):
        return _too_late(waiting)
    try:
        asked = checked(session, _parameters(waiting))
    except RefusedRequest as refused:
        return refuse(refused)
    username = _printable(request.form.get("username", "")).strip()[:64].casefold()
    address = (request.remote_addr or "")[:64]
    if _is_locked(session, username, address):
        response = _page(session, asked, handle, username, status=429, error="locked")
        response.headers["Retry-After"] = str(int(_TRIES_WITHIN.total_seconds()))
        return response
    person = _person(session, asked, username, request.form.get("password", ""))
    if person is None:
        session.add(FailedSignIn(id=new_id(), username=username, address=address, at=now()))
        session.commit()
        return _page(session, asked, handle, username, status=401, error="wrong")
    session.execute(
        delete(FailedSignIn).where(FailedSignIn.username == username, FailedSignIn.address == address)
    )
    waiting.used_at = now()
    here, cookie = sessions.begin(session, person)
    response = grant(asked, here)
    set_cookie(response, sessions.COOKIE, cookie)
    sessions.forget_expired(session)
    return response


def _person(session: Session, asked: ValidatedRequest, username: str, password: str) -> Person | None:
    """The active person of the client's clinic with this name and password."""
    found = session.scalar(
        select(Person).where(
            Person.username == username, Person.tenant_id == asked.tenant.id, Person.is_active.is_(True)
        )
    )
    return found if passwords.is_right(password, found.password_hash if found else None) else None


def _is_locked(session: Session, username: str, address: str) -> bool:
    tries = session.scalar(
        select(func.count())
        .select_from(FailedSignIn)
        .where(
            FailedSignIn.username == username,
            FailedSignIn.address == address,
            FailedSignIn.at > now() - _TRIES_WITHIN,
        )
    )
    return (tries or 0) >= _TRIES


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
        again=again,
        people=_sample_people(session, asked),
    )


def _sample_people(session: Session, asked: ValidatedRequest) -> list[Person]:
    """Whom the page may name: nobody, unless this is a demo."""
    if not current_settings().demo:
        return []
    people = select(Person).where(Person.tenant_id == asked.tenant.id).order_by(Person.username).limit(20)
    return list(session.scalars(people))


def _too_late(waiting: AuthorizationRequest | None) -> Response:
    """The form is over: used, too old, or another browser's. Its own browser is shown the way back."""
    asked = _parameters(waiting) if waiting is not None else {}
    home = origin(asked["redirect_uri"]) + "/" if asked else None
    return page("too_late.html", status=400, home=home, locales=asked.get("ui_locales", ""))


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
