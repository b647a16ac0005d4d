"""Reference data (the clinic's physicians), cached for minutes by requests-cache; nothing else is ever cached.

The key of a copy contains the person and session, so that it isn't used after signing out or in again (which is when
roles change), and a generation number. The store holds one for each person and each clinic, and every write renews it,
so that nobody sees an outdated calendar after their own act. If the store is down at a write, copies expire by age.

Copies are JSON instead of requests-cache's pickle, encrypted and bound to their key, and contain no token.
"""

# Parts of requests-cache's interface have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import OrderedDict
from copy import copy
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
from redis import Redis, RedisError
from requests import PreparedRequest, Request, Response, Session
from requests_cache import CacheMixin, RedisCache, SerializerPipeline
from requests_cache.backends.base import DictStorage
from requests_cache.backends.redis import RedisDict
from requests_cache.policy.directives import CacheDirectives
from requests_cache.serializers.pipeline import Stage
from requests_cache.serializers.preconf import json_preconf_stage

from portal import metrics
from portal.clock import Clock
from portal.http.requests_adapter import as_response
from portal.http.transfer import Answer
from portal.services import decoding, retry
from portal.services.api import AnyEndpoint, Endpoint, Query, Reference
from portal.services.client import Care
from portal.services.errors import BadResponse, Unavailable
from portal.services.responses import decoded
from portal.store import StoreDown, update
from portal.store.sealer import Sealer
from portal.store.vault import Vault

T = TypeVar("T")

log = logging.getLogger("portal.cache")

STALE = timedelta(hours=24)
"""How long a copy may be used if the API fails; the endpoint says for how long it is fresh (`Endpoint.kept`)."""
_LARGEST_COPY = 1024 * 1024
_MEMORY = 32 * 1024 * 1024


class ReferenceCache:
    """The cache of one process; if `url` is a Redis address, it is shared by all."""

    def __init__(
        self, vault: Vault, secret_keys: tuple[str, ...], clock: Clock, url: str = "memory:"
    ) -> None:
        self._vault, self._clock, self._sealer = vault, clock, Sealer(secret_keys, "cache")
        timeouts = {"socket_timeout": 1, "socket_connect_timeout": 1}
        self.copies = Memory() if url == "memory:" else _Redis.from_url(url, **timeouts)
        # Copied for each read: to make one anew would cost more than the rest of a read.
        self._backend = RedisCache("reference", connection=cast("Any", self.copies))
        self._backend.redirects = DictStorage()

    def get(self, care: Care, endpoint: Endpoint[T, Any], query: Query) -> Reference[T]:
        """Return the data, fresh from the cache or the API; if the API fails, an older copy with its time.

        Raises CareError. An older copy is used only after a server error (500, 502, 503, 504), no response, or an open
        circuit breaker, never after a refusal. A Redis that doesn't respond is an empty cache.
        """
        if endpoint.kept is None:
            raise ValueError(f"{endpoint.method} {endpoint.template} is not reference data")
        try:
            return self._session(care, endpoint, query, self.copies).read(endpoint)
        except RedisError as error:
            log.warning("cache doesn't answer: %s", type(error).__name__)
            return self._session(care, endpoint, query, Memory()).read(endpoint)

    def move_on(self, care: Care) -> None:
        """Invalidate the copies that this write may have changed: the person's, and for staff the whole clinic's."""
        until = self._clock() + STALE.total_seconds() + 3600  # until no copy is left: see _session
        try:
            for name in self._generations(care)[care.by_patient :]:
                update(self._vault.store, name, lambda _record: (os.urandom(9), until))
        except StoreDown:
            log.warning("copies end by their age: the store isn't told of a write")

    def _session(self, care: Care, endpoint: AnyEndpoint, query: Query, copies: Redis | Memory) -> _Session:
        """Return a session that finds only this reader's copy of this response."""
        names, url = self._generations(care), care.address(endpoint, query, {})
        fresh = endpoint.kept or timedelta()
        held = self._vault.store.get_many(names)
        # No generation is a valid part of a key too.
        generations = (held[name].value.hex() if name in held else "" for name in names)
        reader = "\0".join((*care.partition, *generations, care.language, url))
        key = hashlib.sha256(reader.encode()).hexdigest()

        def key_fn(**_: object) -> str:
            return key

        json = Stage(dumps=msgspec.json.encode, loads=msgspec.json.decode)
        sealed = Stage(
            dumps=partial(self._sealer.seal, bound_to=key.encode()),
            loads=partial(self._sealer.open, bound_to=key.encode()),
        )
        backend = copy(self._backend)
        backend.responses = responses = copy(cast("RedisDict", backend.responses))
        responses.connection = cast("Any", copies)
        responses.serializer = SerializerPipeline([json_preconf_stage, json, sealed], is_binary=True)
        responses.ttl_offset = int((STALE - fresh).total_seconds())
        may_be_kept = partial(_may_be_kept, fresh=fresh)
        session = _Session(backend=backend, expire_after=fresh, key_fn=key_fn, filter_fn=may_be_kept)
        session.care, session.endpoint, session.query, session.fresh = care, endpoint, query, fresh
        session.token = care.bearer.token()
        return session

    def _generations(self, care: Care) -> tuple[str, str]:
        """Return the names of the clinic's and the person's generations."""
        _issuer, tenant, sub, _epoch = care.partition
        return self._vault.name("generation", tenant), self._vault.name("generation", tenant, sub)


class _Api(Session):
    """Sends what isn't cached like any other read of this person; `failure` is why no response came."""

    care: Care
    endpoint: AnyEndpoint
    query: Query
    fresh: timedelta
    token: str
    failure: Unavailable | None = None

    def send(self, request: PreparedRequest, **_: object) -> Response:
        answer = self._answer(request)
        if answer.status == 401:
            self.token = self.care.bearer.renew(self.token)
            answer = self._answer(request)
        return as_response(request, answer)

    def _answer(self, request: PreparedRequest) -> Answer:
        conditions = [
            (name, str(request.headers[name]))
            for name in ("If-None-Match", "If-Modified-Since")
            if name in request.headers
        ]
        try:
            return self.care.send_read(self.endpoint, self.query, self.token, conditions)
        except Unavailable as error:
            self.failure = error
            return Answer(503, {}, b"")


class _Session(CacheMixin, _Api):  # pyright: ignore[reportIncompatibleMethodOverride]
    def read(self, endpoint: Endpoint[T, Any]) -> Reference[T]:
        url, as_of = self.care.address(endpoint, self.query, {}), None
        request = Request("GET", url, headers={"Accept-Language": self.care.language}).prepare()
        response = self.send(request)
        answer = Answer(response.status_code, cast("dict[str, str]", response.headers), response.content)
        if (empty := self.care.opened(endpoint, answer)) is not answer:
            return Reference(decoding.decode(empty.body, endpoint.answer))
        if response.status_code != 200:
            error = self.failure or self.care.error(answer, endpoint)
            if response.status_code not in retry.FAILURES:
                raise error
            self.settings.stale_if_error = STALE - self.fresh
            response = self.send(request, only_if_cached=True)
            if not response.expires:
                raise error
            as_of = response.expires - self.fresh
        metrics.reference("stale" if as_of else "hit" if response.from_cache else "miss")
        try:
            if not self.care.adapter.is_well(response.content):
                raise BadResponse("doesn't say that it was well")
            observer = None if response.from_cache else self.care.observer  # it has seen what is kept
            record = decoded(response.content, endpoint, self.care, query=self.query, observer=observer)
            return Reference(record, as_of if response.from_cache else None)
        except BadResponse:
            self.cache.delete(response.cache_key)
            raise


def _may_be_kept(response: Response, *, fresh: timedelta) -> bool:
    """Whether to keep a copy. True for statuses other than 200, which are never stored: False would delete the copy."""
    asked = CacheDirectives.from_headers(response.headers)
    is_short = asked.max_age in range(int(fresh.total_seconds()))
    is_forbidden = asked.no_store or asked.no_cache or is_short or "Set-Cookie" in response.headers
    return response.status_code != 200 or not (is_forbidden or len(response.content) > _LARGEST_COPY)


class _Redis(Redis):
    def setex(self, name: Any, time: Any, value: Any) -> Any:
        return self.set(name, value, ex=time)  # requests-cache calls `setex`, which is deprecated


class Memory:
    """The part of Redis that holds copies, in this process: bounded, dropping the least recently used."""

    def __init__(self) -> None:
        self.held: OrderedDict[bytes, bytes] = OrderedDict()
        self.size = 0
        self._lock = threading.Lock()

    def get(self, name: bytes) -> bytes | None:
        with self._lock:
            if name in self.held:
                self.held.move_to_end(name)
            return self.held.get(name)

    def setex(self, name: bytes, _seconds: int, value: bytes) -> None:
        with self._lock:
            self.size += len(value) - len(self.held.pop(name, b""))
            self.held[name] = value
            while self.size > _MEMORY:
                self.size -= len(self.held.popitem(last=False)[1])

    def delete(self, name: bytes) -> None:
        with self._lock:
            self.size -= len(self.held.pop(name, b""))
