"""Reference data (the clinic's physicians), cached for minutes by requests-cache (`portal.services.cached_session`).

Nothing else is ever cached. The key of a copy contains the person and session, so that it isn't used after signing out or
in again (which is when roles change), and a generation number. The store holds one for each person and each clinic, and
every write renews it, so that nobody sees an outdated calendar after their own act. If the store is down at a write,
copies expire by age; the API itself allows five minutes.
"""

# Parts of requests-cache's interface have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import requests

from portal import metrics
from portal.clock import Clock
from portal.http.requests_adapter import CurlAdapter
from portal.http.transfer import Answer, Call
from portal.services import retry
from portal.services.client import Care
from portal.services.endpoints import LIST_PHYSICIANS, Endpoint, Query, Reference
from portal.services.errors import BadResponse, CareError, CircuitOpen, Unavailable
from portal.services.interfaces import with_fixed
from portal.store import StoreDown, update
from portal.store.vault import Vault

if TYPE_CHECKING:
    from requests_cache import CachedResponse, CachedSession

    from portal.services.cached_session import Copies

T = TypeVar("T")

KEPT = frozenset({LIST_PHYSICIANS})
FRESH, STALE = timedelta(minutes=5), timedelta(hours=24)
"""How long a copy is fresh, and how long it may be used if the API fails."""
_GENERATION = (STALE + timedelta(hours=1)).total_seconds()
"""How long a generation is kept: until older copies have expired, because "no generation" is a valid key too."""
_LARGEST_ANSWER = 4 * 1024 * 1024


@dataclass
class ReferenceCache:
    """The cache of one process; if `url` is a Redis address, it is shared by all, sealed with the secret keys."""

    vault: Vault
    secret_keys: tuple[str, ...] = field(repr=False)
    clock: Clock
    url: str = "memory:"

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, fresh from the cache or the API; if the API fails, an older copy with its time.

        Raises CareError. An older copy is used only after a server error (500, 502, 503, 504), no response, or an open
        circuit breaker, never after a refusal.
        """
        if endpoint not in KEPT:
            raise ValueError(f"{endpoint.method} {endpoint.template} is not reference data")
        asked = requests.Request("GET", care.address(endpoint, query, {}))
        asked.headers = {"Accept": "application/json", "Accept-Language": care.language}
        asked.headers["X-Correlation-Id"] = care.correlation_id
        if care.dialect:
            asked.headers = dict(with_fixed(list(asked.headers.items()), care.dialect.headers))
        token = care.bearer.token()
        session = self._session(care, endpoint, token)
        try:
            response = session.send(asked.prepare(), allow_redirects=False)
            if response.status_code == 401:
                session = self._session(care, endpoint, care.bearer.renew(token))
                response = session.send(asked.prepare(), allow_redirects=False)
            if response.status_code == 200:
                return _reference(care, endpoint, response, into, session)
            headers = cast("Mapping[str, str]", response.headers)
            answer = Answer(response.status_code, headers, response.content)
            error = care.error(answer, endpoint)
            if answer.status not in retry.FAILURES:
                raise error
        except CircuitOpen as held_back:
            error: CareError = held_back
        except requests.RequestException as failure:
            retry.log_failure(endpoint.group, str(failure))
            if str(failure) == "too large":
                raise BadResponse("body too large") from failure
            error = Unavailable(str(failure))
        older = _older(care, session.cache.get_response(session.cache.create_key(asked.prepare())), into)
        if older is None:
            raise error
        metrics.reference("stale")
        return older

    def move_on(self, care: Care) -> None:
        """Invalidate the copies that this write may have changed: the person's, and for staff the whole clinic's."""
        until = self.clock() + _GENERATION
        try:
            for name in self._generations(care)[care.by_patient :]:
                update(self.vault.store, name, lambda _record: (os.urandom(9), until))
        except StoreDown:
            logging.getLogger("portal.cache").warning(
                "copies end by their age: the store isn't told of a write"
            )

    @cached_property
    def copies(self) -> Copies:
        """The storage of copies. Created on first use, because requests-cache takes a third of the startup time and 25 MB."""
        from portal.services.cached_session import Copies

        return Copies(self.url, self.secret_keys, STALE)

    def _session(self, care: Care, endpoint: Endpoint, token: str) -> CachedSession:
        """Return a session for this reader; the token is added below the cache, so that no copy contains it."""
        from portal.services.cached_session import open_session

        def send(call: Call) -> Answer:
            authorized = [*call.headers, ("Authorization", f"Bearer {token}")]
            return care.send_read(endpoint, replace(call, headers=authorized))

        names = self._generations(care)
        held = self.vault.store.get_many(names)
        generations = (held[name].value.hex() if name in held else "" for name in names)
        adapter = CurlAdapter(care.limits(), max_bytes=_LARGEST_ANSWER, send_call=send)
        return open_session(self.copies, (*care.partition, *generations), FRESH, adapter)

    def _generations(self, care: Care) -> tuple[str, str]:
        """Return the names of the clinic's and the person's generations."""
        _issuer, tenant, sub, _epoch = care.partition
        return self.vault.name("generation", tenant), self.vault.name("generation", tenant, sub)


def _reference(
    care: Care, endpoint: Endpoint, response: requests.Response, into: type[T], session: CachedSession
) -> Reference[T]:
    """Decode the response; drop the copy if it can't be decoded."""
    is_copy = getattr(response, "from_cache", False)
    metrics.reference("hit" if is_copy else "miss")
    try:
        if is_copy:
            return Reference(care.decode(response.content, into))
        return Reference(care.decode_observed(endpoint, response.content, into))
    except BadResponse:
        session.cache.delete(getattr(response, "cache_key", ""))
        raise


def _older(care: Care, copy: CachedResponse | None, into: type[T]) -> Reference[T] | None:
    """Return the copy's content and when it was read or revalidated; None if that is too long ago."""
    as_of = copy.expires - FRESH if copy and copy.expires else None
    if copy is None or as_of is None or as_of < datetime.now(UTC) - STALE:
        return None
    try:
        return Reference(care.decode(copy.content, into), as_of=as_of)
    except BadResponse:
        return None
