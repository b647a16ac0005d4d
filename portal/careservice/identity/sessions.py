"""The sign-ins at the identity server, one per browser."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from flask import request
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity import back_channel
from portal.careservice.identity.assurance import is_by_passkey
from portal.careservice.identity.tables import (
    AuthorizationCode,
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


def current(session: Session) -> SignIn | None:
    """The current sign-in of the requesting browser, if any."""
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    found = session.scalar(
        select(SignIn).where(SignIn.cookie_hash == digest(cookie), SignIn.expires_at > now())
    )
    return found if found is not None and found.person.is_active else None


def begin(session: Session, person: Person, amr: Sequence[str]) -> tuple[SignIn, str]:
    """Sign the person in in this browser by these methods; return the sign-in and the new value of its cookie.

    Signing in again renews the times and the cookie and keeps the `sid`. Another person's sign-in in the
    same browser is ended first.
    """
    cookie = secrets.token_urlsafe(32)
    sign_in = current(session)
    if sign_in is not None and sign_in.person_id != person.id:
        end(session, sign_in)
        sign_in = None
    if sign_in is None:
        sign_in = SignIn(sid=new_id(), person=person)
        session.add(sign_in)
    sign_in.cookie_hash = digest(cookie)
    sign_in.auth_time = now()
    sign_in.amr = list(amr)
    sign_in.expires_at = now() + current_settings().lifetimes.sign_in
    session.flush()
    return sign_in, cookie


def end(session: Session, sign_in: SignIn | Grant) -> None:
    """End a sign-in, which a grant that it gave may be left of, revoke all its tokens and notify its clients (commits)."""
    grants = select(Grant.client_id).where(Grant.sid == sign_in.sid).distinct()
    notices = back_channel.notices(session, sign_in, session.scalars(grants).all())
    session.execute(
        update(Grant).where(Grant.sid == sign_in.sid, Grant.revoked_at.is_(None)).values(revoked_at=now())
    )
    session.execute(delete(SignIn).where(SignIn.sid == sign_in.sid))
    session.commit()
    back_channel.send(notices)


def end_by_passkey(session: Session, person: Person, *, but: SignIn) -> None:
    """End a person's sign-ins by passkeys, other than `but`, also those that have run out but for their tokens (commits)."""
    sign_ins = session.scalars(select(SignIn).where(SignIn.person_id == person.id))
    grants = session.scalars(select(Grant).where(Grant.person_id == person.id, Grant.revoked_at.is_(None)))
    others = {
        each.sid: each for each in (*sign_ins, *grants) if each.sid != but.sid and is_by_passkey(each.amr)
    }
    for sign_in in others.values():
        end(session, sign_in)


def revoke_all(session: Session, person: Person) -> None:
    """End a person's sign-ins and revoke all their tokens, also those that a code could still be exchanged for."""
    session.execute(
        update(Grant).where(Grant.person_id == person.id, Grant.revoked_at.is_(None)).values(revoked_at=now())
    )
    for table in (SignIn, AuthorizationCode):
        session.execute(delete(table).where(table.person_id == person.id))


def forget_expired(session: Session) -> None:
    """Delete what has expired; run at each sign-in, by indexes, so that no table grows without bound.

    A code is kept as long as its grant, so that a second use is noticed.
    """
    moment = now()
    for table in (SignIn, RefreshToken, RevokedToken, KnownBrowser):
        session.execute(delete(table).where(table.expires_at < moment))
    kept = current_settings().lifetimes.refresh_token
    session.execute(delete(AuthorizationCode).where(AuthorizationCode.expires_at < moment - kept))
    session.execute(delete(Grant).where(Grant.ends_at < moment))
