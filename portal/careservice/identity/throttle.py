"""How often passwords may be guessed: failures alone count, and nobody is ever locked out.

A browser in which somebody has signed in keeps a budget of its own for that name, which no one else can use up. All
others share one for each name and one for each address. Where a budget is spent a wait stands between two tries; it
grows with each failure, to half a minute at most. All failures together make the waits longer and are logged.
"""

from __future__ import annotations

import logging
import math
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask import Response, request
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session
from sqlalchemy.sql import ColumnElement

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.identity.pages import set_cookie
from portal.careservice.identity.tables import FailedSignIn, KnownBrowser, Person, digest
from portal.careservice.ids import new_id

COOKIE = "idsrv_known"
"""Names the browser to this server, so that it is known again; it lets nobody in."""

WITHIN = timedelta(minutes=15)
OF_A_NAME, OF_AN_ADDRESS, OF_ALL = 10, 100, 1000
"""How many failures within `WITHIN` cost no wait; from `OF_ALL` on every failure of a name costs one."""

LONGEST_WAIT = timedelta(seconds=30)
KNOWN_FOR = timedelta(days=180)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wait:
    """No try now, but after so many seconds."""

    seconds: int


@dataclass(frozen=True)
class Try:
    """A password that is being looked at, counted as a failure until it proves right."""

    failure: FailedSignIn

    def succeeded(self, session: Session) -> None:
        """Count neither this one nor the same person's mistakes before it."""
        mistakes = [
            FailedSignIn.tenant_id == self.failure.tenant_id,
            FailedSignIn.username == self.failure.username,
        ]
        if self.failure.browser is None:
            mistakes += [FailedSignIn.address == self.failure.address, FailedSignIn.browser.is_(None)]
        else:
            mistakes.append(FailedSignIn.browser == self.failure.browser)
        session.execute(delete(FailedSignIn).where(*mistakes))


def begin_try(session: Session, tenant_id: str, username: str) -> Try | Wait:
    """Count a try with this name from this browser, or say how long to wait (commits).

    Tries are counted one after the other, before the password is looked at, so that many at once are no way around.
    """
    database.lock_table(session, FailedSignIn)
    address, moment = (request.remote_addr or "")[:64], now()
    browser = _browser_known_for(session, tenant_id, username)
    of_name = [FailedSignIn.tenant_id == tenant_id, FailedSignIn.username == username]
    if browser is not None:
        wait = _wait(session, moment, (OF_A_NAME, [*of_name, FailedSignIn.browser == browser]))
    else:
        total = _alarm(session, moment)
        unknown = FailedSignIn.browser.is_(None)
        wait = max(
            _wait(session, moment, (OF_A_NAME if total < OF_ALL else 0, [*of_name, unknown])),
            _wait(session, moment, (OF_AN_ADDRESS, [FailedSignIn.address == address, unknown])),
        )
    if wait > timedelta():
        session.commit()
        return Wait(math.ceil(wait.total_seconds()))
    failure = FailedSignIn(
        id=new_id(), tenant_id=tenant_id, username=username, address=address, browser=browser, at=moment
    )
    session.add(failure)
    session.commit()
    return Try(failure)


def _wait(session: Session, moment: datetime, budget: tuple[int, list[ColumnElement[bool]]]) -> timedelta:
    """How long until the next try, by the failures that a budget counts: 1, 2, 4 … seconds after the last."""
    most, counted = budget
    number, last = session.execute(
        select(func.count(), func.max(FailedSignIn.at)).where(FailedSignIn.at > moment - WITHIN, *counted)
    ).one()
    if number == 0 or number < most:
        return timedelta()
    pause = min(LONGEST_WAIT, timedelta(seconds=2 ** min(number - most, 10)))
    return last + pause - moment


def failures(session: Session, moment: datetime) -> int:
    """How many have failed in all within `WITHIN`."""
    counted = select(func.count()).select_from(FailedSignIn).where(FailedSignIn.at > moment - WITHIN)
    return session.scalar(counted) or 0


def _alarm(session: Session, moment: datetime) -> int:
    """How many have failed in all; each thousand of them is logged."""
    total = failures(session, moment)
    if total and total % OF_ALL == 0:
        _log.warning("%d sign-ins failed within %d minutes", total, WITHIN.total_seconds() // 60)
    return total


def _browser_known_for(session: Session, tenant_id: str, username: str) -> str | None:
    """The digest of this browser's cookie, if a person of that name has signed in with it."""
    cookie = request.cookies.get(COOKIE)
    if not cookie:
        return None
    return session.scalar(
        select(KnownBrowser.cookie_hash)
        .join(Person, Person.id == KnownBrowser.person_id)
        .where(
            KnownBrowser.cookie_hash == digest(cookie),
            KnownBrowser.expires_at > now(),
            Person.tenant_id == tenant_id,
            Person.username == username,
        )
    )


def remember_browser(session: Session, response: Response, person: Person) -> None:
    """Let this browser keep a budget of its own for the person who has just signed in."""
    cookie = request.cookies.get(COOKIE) or secrets.token_urlsafe(32)
    known = session.get(KnownBrowser, (digest(cookie), person.id))
    if known is None:
        known = KnownBrowser(cookie_hash=digest(cookie), person_id=person.id)
        session.add(known)
    known.expires_at = now() + KNOWN_FOR
    set_cookie(response, COOKIE, cookie, lasts=KNOWN_FOR)
