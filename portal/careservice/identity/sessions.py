"""Who is signed in at the identity server, browser by browser."""

from __future__ import annotations

import secrets

from flask import request
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity import back_channel
from portal.careservice.identity.tables import (
    AuthorizationCode,
    AuthorizationRequest,
    FailedSignIn,
    Grant,
    KnownBrowser,
    Person,
    RefreshToken,
    RevokedToken,
    SignIn,
    digest,
)
from portal.careservice.ids import new_id
from portal.careservice.settings import current_settings

COOKIE = "idsrv"


def of_browser(session: Session) -> SignIn | None:
    """The live sign-in of the browser that asks."""
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    found = session.scalar(
        select(SignIn).where(SignIn.cookie_hash == digest(cookie), SignIn.expires_at > now())
    )
    return found if found is not None and found.person.is_active else None


def begin(session: Session, person: Person) -> tuple[SignIn, str]:
    """Sign the person in to this browser; returns the sign-in and the new value of its cookie.

    Giving the password again renews time and cookie and keeps the `sid`; another person's sign-in in the
    same browser ends first.
    """
    cookie = secrets.token_urlsafe(32)
    here = of_browser(session)
    if here is not None and here.person_id != person.id:
        end(session, here)
        here = None
    if here is None:
        here = SignIn(sid=new_id(), person=person)
        session.add(here)
    here.cookie_hash = digest(cookie)
    here.auth_time = now()
    here.expires_at = now() + current_settings().lifetimes.sign_in
    session.flush()
    return here, cookie


def end(session: Session, here: SignIn) -> None:
    """End a sign-in with every token that came of it, and tell its clients (commits)."""
    grants = select(Grant.client_id).where(Grant.sid == here.sid).distinct()
    notices = back_channel.notices(session, here, session.scalars(grants).all())
    session.execute(
        update(Grant).where(Grant.sid == here.sid, Grant.revoked_at.is_(None)).values(revoked_at=now())
    )
    session.delete(here)
    session.commit()
    back_channel.send(notices)


def forget_expired(session: Session) -> None:
    """Remove what time has ended; each by its index, at each sign-in, so that nothing grows for ever.

    A code stays as long as its grant, so that its second use is seen.
    """
    moment = now()
    for table in (AuthorizationRequest, SignIn, RefreshToken, RevokedToken, KnownBrowser):
        session.execute(delete(table).where(table.expires_at < moment))
    kept = current_settings().lifetimes.refresh_token
    session.execute(delete(AuthorizationCode).where(AuthorizationCode.expires_at < moment - kept))
    session.execute(
        delete(FailedSignIn).where(FailedSignIn.at < moment - current_settings().lifetimes.sign_in)
    )
    session.execute(delete(Grant).where(Grant.ends_at < moment))
