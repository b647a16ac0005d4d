"""Instances of Flask extensions, bound to the application in `portal.app`."""

from __future__ import annotations

import ipaddress
import math

from flask import g, request
from limits.storage import Storage

from portal.clock import lasts
from portal.context import context, session
from portal.store import StoreDown, StoredRecord, StoreFull, update
from portal.web.csrf import Csrf
from portal.web.framework_internals import LimitsOfViews


class CountsInStore(Storage):
    """Flask-Limiter storage in the portal's store, so that limits apply to all workers together.

    A window starts with its first request (fixed window). Record names are keyed hashes, so they don't reveal addresses and
    persons.
    """

    STORAGE_SCHEME = ["portal"]  # noqa: RUF012 (declared so by the base class)

    @property
    def base_exceptions(self) -> type[Exception]:
        return StoreDown

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        now = context().clock()

        def add(counter: StoredRecord | None) -> tuple[bytes, float]:
            if counter is None or not lasts(counter.expires_at, expiry, now):
                return str(amount).encode(), now + expiry
            return str(int(counter.value) + amount).encode(), counter.expires_at

        try:
            name = _counter(key)
            if session().is_loaded:  # each download and search counts; who needs no session has none read
                session().records(name)
            return int(update(context().vault.store, name, add, held=session().take(name)) or 0)
        except StoreFull:  # reading remains possible; whoever is over the limit stays over it
            return self.get(key) + amount

    def get(self, key: str) -> int:
        counter = context().vault.store.get(_counter(key))
        return int(counter.value) if counter else 0

    def get_expiry(self, key: str) -> float:
        counter = context().vault.store.get(_counter(key))
        return counter.expires_at if counter else context().clock()

    def check(self) -> bool:
        context().vault.store.ping()
        return True

    def reset(self) -> None:
        """Does nothing: counters expire with their windows."""

    def clear(self, key: str) -> None:
        context().vault.store.delete(_counter(key))


def address() -> str:
    """Return the key of limits by address: the IPv4 address, or the IPv6 /64 network, usually one customer's."""
    try:
        client = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return ""
    client = getattr(client, "ipv4_mapped", None) or client
    return str(ipaddress.ip_network((client, 64), strict=False)) if client.version == 6 else str(client)


def person_or_address() -> str:
    """Return the key of limits by person: the signed-in person at this clinic, else the address."""
    person = session().person
    return f"{g.tenant.key}:{person.sub}" if person else address()


def limit_files() -> str:
    """Return the rate limit for opening and saving files, per person (`PORTAL_LIMIT_FILES`)."""
    return context().settings.limit_files


def limit_find() -> str:
    """Return the rate limit for staff's searches, per person, including those sent while typing (`PORTAL_LIMIT_FIND`)."""
    return context().settings.limit_find


def seconds_to_wait() -> int:
    """Return the seconds until the limit that rejected this request allows another, at least 1."""
    limit = limiter.current_limit
    return max(1, math.ceil(limit.window.reset_time - context().clock())) if limit else 60


def _counter(key: str) -> str:
    return context().vault.name("limit", key)


csrf = Csrf()
limiter = LimitsOfViews(key_func=address, headers_enabled=False, storage_uri="portal://")
