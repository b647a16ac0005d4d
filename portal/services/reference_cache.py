"""Reference data (the clinic's physicians), kept for some minutes by requests-cache (`portal.services.cached_session`).

Nothing else is ever cached. Each copy belongs to one person in one session, so signing out or in again (which is how a
role changes) leaves it behind; and to a generation, which the store has for each person and each clinic and every
write renews, so that nobody sees the calendar as it was before their own act. If the store can't be told of a write,
copies end by their age; five minutes is what the API itself allows.
"""

# requests-cache leaves parts of its interface without types.
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

from portal.clock import Clock
from portal.http.requests_adapter import CurlAdapter
from portal.http.transport import Answer, Call
from portal.operate import metrics
from portal.services import retry
from portal.services.client import Care, with_fixed
from portal.services.endpoints import LIST_PHYSICIANS, Endpoint, Query, Reference
from portal.services.errors import BadResponse, CareError, CircuitOpen, Unavailable
from portal.store import StoreDown, update
from portal.store.vault import Vault

if TYPE_CHECKING:
    from requests_cache import CachedResponse, CachedSession

    from portal.services.cached_session import Copies

T = TypeVar("T")

KEPT = frozenset({LIST_PHYSICIANS})
FRESH, STALE = timedelta(minutes=5), timedelta(hours=24)
"""How long a copy is served as it is, and how long at most in place of an API that fails."""
_GENERATION = (STALE + timedelta(hours=1)).total_seconds()
"""How long one is kept: until the copies made before it are gone, since none is a generation too."""
_LARGEST_ANSWER = 4 * 1024 * 1024


@dataclass
class ReferenceCache:
    """The cache of one process; with a Redis address as `url` it is shared by all, sealed with the secret keys."""

    vault: Vault
    secret_keys: tuple[str, ...] = field(repr=False)
    clock: Clock
    url: str = "memory:"

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, fresh from the cache or the API; an older copy, dated, when the API fails.

        Raises CareError. Only a server's failure (500, 502, 503, 504), no answer at all, or a call that is held back
        after such (CircuitOpen) lets an older copy be shown; a refusal never does.
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
        """Leave all copies behind that this write may have changed: the person's, and for staff the whole clinic's."""
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
        """All copies. requests-cache takes a third of a portal's start and 25 MB, so it waits for a page that needs it."""
        from portal.services.cached_session import Copies

        return Copies(self.url, self.secret_keys, STALE)

    def _session(self, care: Care, endpoint: Endpoint, token: str) -> CachedSession:
        """Return a session for this reader; the token is put on below the cache, where no copy can hold it."""
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
        """Return the names of the clinic's and the person's generation."""
        _issuer, tenant, sub, _epoch = care.partition
        return self.vault.name("generation", tenant), self.vault.name("generation", tenant, sub)


def _reference(
    care: Care, endpoint: Endpoint, response: requests.Response, into: type[T], session: CachedSession
) -> Reference[T]:
    """Decode the answer; one that can't be read isn't kept for the next reader."""
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
    """Return what the copy holds, with when it was read or last found unchanged; None if that is too long ago."""
    as_of = copy.expires - FRESH if copy and copy.expires else None
    if copy is None or as_of is None or as_of < datetime.now(UTC) - STALE:
        return None
    try:
        return Reference(care.decode(copy.content, into), as_of=as_of)
    except BadResponse:
        return None
