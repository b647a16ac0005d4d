"""Throttles password guessing: only failures count, and no account is ever locked.

A browser in which somebody has signed in before has its own budget of failures for that name, which nobody else can
use up. All other browsers share one per name and one per address. Once a budget is spent, each attempt has to wait
after the last failure, longer with each one, up to 30 seconds. A flood of failures takes away the budgets per name
and is logged.
"""

from __future__ import annotations

import ipaddress
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
from portal.careservice.clock import now, recent
from portal.careservice.identity.pages import set_cookie
from portal.careservice.identity.tables import FailedSignIn, KnownBrowser, Person, digest
from portal.careservice.ids import new_id

COOKIE = "idsrv_known"
"""Identifies a browser in which somebody has signed in before; it doesn't sign anybody in."""

WITHIN = timedelta(minutes=15)
FREE_PER_NAME, FREE_PER_ADDRESS, FREE_OVERALL = 10, 100, 1000
"""How many failures within `WITHIN` are free of a wait; from `FREE_OVERALL` on, every failure of a name leads to one."""

LONGEST_WAIT = timedelta(seconds=30)
KNOWN_FOR = timedelta(days=180)

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Wait:
    """No attempt is allowed for so many seconds."""

    seconds: int


@dataclass(frozen=True)
class Attempt:
    """A password being checked, counted as a failure until it proves correct."""

    failure: FailedSignIn

    def succeeded(self, session: Session) -> None:
        """Stop counting this attempt and earlier failures of this name from the same browser or address."""
        mistakes = [
            FailedSignIn.tenant_id == self.failure.tenant_id,
            FailedSignIn.username == self.failure.username,
        ]
        if self.failure.browser is None:
            mistakes += [FailedSignIn.address == self.failure.address, FailedSignIn.browser.is_(None)]
        else:
            mistakes.append(FailedSignIn.browser == self.failure.browser)
        session.execute(delete(FailedSignIn).where(*mistakes))


def begin_attempt(session: Session, tenant_id: str, username: str) -> Attempt | Wait:
    """Count an attempt for this name in this browser, or return how long to wait (commits).

    Attempts are counted one at a time, before the password is checked, so that parallel ones can't evade the limit.
    """
    database.lock_table(session, FailedSignIn)
    forget_failures(session)
    address, moment = network(), now()
    browser = _browser_known_for(session, tenant_id, username)
    of_name = [FailedSignIn.tenant_id == tenant_id, FailedSignIn.username == username]
    if browser is not None:
        wait = _wait(session, moment, (FREE_PER_NAME, [*of_name, FailedSignIn.browser == browser]))
    else:
        total = _alarm(session)
        unknown = FailedSignIn.browser.is_(None)
        wait = max(
            _wait(session, moment, (FREE_PER_NAME if total < FREE_OVERALL else 0, [*of_name, unknown])),
            _wait(session, moment, (FREE_PER_ADDRESS, [FailedSignIn.address == address, unknown])),
        )
    if wait > timedelta():
        session.commit()
        return Wait(math.ceil(wait.total_seconds()))
    failure = FailedSignIn(
        id=new_id(), tenant_id=tenant_id, username=username, address=address, browser=browser, at=moment
    )
    session.add(failure)
    session.commit()
    return Attempt(failure)


def network() -> str:
    """The requesting browser's IPv4 address, or its /64, which one IPv6 customer has to choose addresses from."""
    try:
        given = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return ""
    given = getattr(given, "ipv4_mapped", None) or given
    return str(ipaddress.ip_network((given, 64), strict=False)) if given.version == 6 else str(given)


def place(session: Session) -> str:
    """This browser, by its cookie's digest, if somebody has signed in with it before, else its network."""
    cookie_hash = digest(request.cookies.get(COOKIE, ""))
    known = select(KnownBrowser.cookie_hash).where(KnownBrowser.cookie_hash == cookie_hash).limit(1)
    return session.scalar(known) or network()


def _wait(session: Session, moment: datetime, budget: tuple[int, list[ColumnElement[bool]]]) -> timedelta:
    """How long until the next attempt, by the failures that a budget counts: 1, 2, 4 … seconds after the last."""
    free, counted = budget
    number, last = session.execute(
        select(func.count(), func.max(FailedSignIn.at)).where(recent(FailedSignIn.at, WITHIN), *counted)
    ).one()
    if number == 0 or number < free:
        return timedelta()
    pause = min(LONGEST_WAIT, timedelta(seconds=2 ** min(number - free, 10)))
    return last + pause - moment


def forget_failures(session: Session) -> None:
    """Delete the failures that count no more, by the index on their time."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.at < now() - WITHIN))


def failures(session: Session) -> int:
    """How many sign-ins have failed within `WITHIN`, for all names and addresses."""
    counted = select(func.count()).select_from(FailedSignIn).where(recent(FailedSignIn.at, WITHIN))
    return session.scalar(counted) or 0


def _alarm(session: Session) -> int:
    """Log every thousandth failure; return how many there are (`failures`)."""
    total = failures(session)
    if total and total % FREE_OVERALL == 0:
        _log.warning("%d sign-ins failed within %d minutes", total, WITHIN.total_seconds() // 60)
    return total


def _browser_known_for(session: Session, tenant_id: str, username: str) -> str | None:
    """The digest of this browser's cookie if the person of that name has signed in with it before, else None."""
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
    """Give this browser its own budget for the person who has just signed in."""
    cookie = request.cookies.get(COOKIE) or secrets.token_urlsafe(32)
    known = session.get(KnownBrowser, (digest(cookie), person.id))
    if known is None:
        known = KnownBrowser(cookie_hash=digest(cookie), person_id=person.id)
        session.add(known)
    known.expires_at = now() + KNOWN_FOR
    set_cookie(response, COOKIE, cookie, lasts=KNOWN_FOR)
