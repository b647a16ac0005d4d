"""Flask's extensions, made here and bound to the application in `portal.app`."""

from __future__ import annotations

import ipaddress
import math
from typing import Any, cast

from flask import g, request
from flask_babel import Babel
from flask_limiter import Limiter
from limits.storage import Storage

from portal.clock import lasts
from portal.context import context, session
from portal.store import Record, StoreDown, StoreFull, update
from portal.web.csrf import Csrf


class CountsInStore(Storage):
    """Counters of requests in the portal's own store, so that a limit holds for all workers together.

    A window begins with its first request (fixed window). Address and person are not told by the name.
    """

    STORAGE_SCHEME = ["portal"]  # noqa: RUF012 (declared so by the base class)

    @property
    def base_exceptions(self) -> type[Exception]:
        return StoreDown

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        now = context().clock()

        def add(counter: Record | None) -> tuple[bytes, float]:
            if counter is None or not lasts(counter.expires_at, expiry, now):
                return str(amount).encode(), now + expiry
            return str(int(counter.value) + amount).encode(), counter.expires_at

        try:
            return int(update(context().vault.store, _counter(key), add) or 0)
        except StoreFull:  # people can still read; anyone over the limit stays over it
            return self.get(key) + amount

    def get(self, key: str) -> int:
        held = context().vault.store.get(_counter(key))
        return int(held.value) if held else 0

    def get_expiry(self, key: str) -> float:
        held = context().vault.store.get(_counter(key))
        return held.expires_at if held else context().clock()

    def check(self) -> bool:
        context().vault.store.ping()
        return True

    def reset(self) -> None:
        """Counters end by themselves with their windows."""

    def clear(self, key: str) -> None:
        context().vault.store.delete(_counter(key))


def address() -> str:
    """Return whom a limit by address counts: the IPv4 address, or the /64 network that one IPv6 customer has."""
    try:
        given = ipaddress.ip_address(request.remote_addr or "")
    except ValueError:
        return ""
    return str(ipaddress.ip_network((given, 64), strict=False)) if given.version == 6 else str(given)


def person_or_address() -> str:
    """Return whom a limit by person counts: who is signed in here, else the address."""
    person = session().person
    return f"{g.tenant.key}:{person.sub}" if person else address()


def limit_files() -> str:
    """Return how often one person may open or save files (`PORTAL_LIMIT_FILES`)."""
    return context().settings.limit_files


def limit_find() -> str:
    """Return how often one member of staff may look people up, each pause while typing included (`PORTAL_LIMIT_FIND`)."""
    return context().settings.limit_find


def seconds_to_wait() -> int:
    """Return in how many seconds the limit that refused this request lets the next one through, 1 at least."""
    limit = limiter.current_limit
    return max(1, math.ceil(limit.window.reset_time - context().clock())) if limit else 60


def _counter(key: str) -> str:
    return context().vault.name("limit", key)


babel = cast("Any", Babel())
csrf = Csrf()
limiter = Limiter(key_func=address, headers_enabled=False, storage_uri="portal://")
