"""requests-cache with a separate cache for each reader (used only by `portal.services.reference_cache`).

By default it would serve one person's response to another, store tokens, and use pickle. So each read has its own
session, whose keys start with the reader; copies are JSON, and outside this process they are sealed and bound to their
key.
"""

# Parts of requests-cache's interface have no types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.cookiejar import DefaultCookiePolicy
from typing import Any, cast

import msgspec
import requests
from redis import Redis, RedisError
from requests.adapters import BaseAdapter
from requests_cache import BaseCache, BaseStorage, CachedResponse, CachedSession, SerializerPipeline
from requests_cache.serializers.pipeline import Stage
from requests_cache.serializers.preconf import json_preconf_stage

from portal.store.sealer import Sealer

_LARGEST_COPY = 1024 * 1024
_MEMORY = 32 * 1024 * 1024


def open_session(
    copies: Copies, partition: tuple[str, ...], fresh: timedelta, adapter: BaseAdapter
) -> CachedSession:
    """Return a session that only finds this reader's copies, and sends other requests through `adapter`."""

    def key(request: Any, **_: object) -> str:
        """Everything that the response may depend on; requests-cache also calls this with older requests (Vary)."""
        accepted = (request.headers.get("Accept", ""), request.headers.get("Accept-Language", ""))
        named = "\0".join((*partition, request.method or "", request.url or "", *accepted))
        return hashlib.sha256(named.encode()).hexdigest()

    backend = BaseCache("reference")
    backend.responses = cast("Any", copies)
    session = CachedSession(
        backend=backend,
        expire_after=fresh,
        ignored_parameters=(),
        filter_fn=_may_be_kept,
        key_fn=key,
    )
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("https://", "http://"):
        session.mount(scheme, adapter)
    return session


def _may_be_kept(response: requests.Response) -> bool:
    """Whether to keep a copy. True for statuses other than 200, which are never stored: False would delete the copy."""
    control = response.headers.get("Cache-Control", "").lower()
    is_forbidden = "no-store" in control or "no-cache" in control or "Set-Cookie" in response.headers
    return response.status_code != 200 or not (is_forbidden or len(response.content) > _LARGEST_COPY)


class Copies(BaseStorage[str, CachedResponse]):
    """Copies as bytes, so that readers share no objects: in this process (`memory:`), or sealed in Redis."""

    def __init__(self, url: str, secret_keys: tuple[str, ...], stale: timedelta) -> None:
        json = Stage(dumps=msgspec.json.encode, loads=msgspec.json.decode)
        super().__init__(serializer=SerializerPipeline([json_preconf_stage, json], is_binary=True))
        is_local = url == "memory:"
        self._sealer = None if is_local else Sealer(secret_keys, "cache")
        self.kept = Memory() if is_local else Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1)
        self._seconds = int(stale.total_seconds())

    def __getitem__(self, key: str) -> CachedResponse:
        copy = _answer(lambda: self.kept.get(f"reference:{key}"))
        if copy and self._sealer:
            copy = self._sealer.open(copy, key.encode())
        if copy is None:
            raise KeyError(key)
        return cast("CachedResponse", self.deserialize(key, cast("Any", copy)))

    def __setitem__(self, key: str, value: CachedResponse) -> None:
        plain = cast("bytes", self.serialize(value))
        copy = self._sealer.seal(plain, key.encode()) if self._sealer else plain
        _answer(lambda: self.kept.set(f"reference:{key}", copy, ex=self._seconds))

    def __delitem__(self, key: str) -> None:
        _answer(lambda: self.kept.delete(f"reference:{key}"))

    def __iter__(self) -> Iterator[str]:
        return iter(())  # keys are never listed

    def __len__(self) -> int:
        return 0


def _answer(ask: Callable[[], Any]) -> Any:
    """Treat a Redis that doesn't respond as an empty cache."""
    try:
        return ask()
    except RedisError as error:
        logging.getLogger("portal.cache").warning("cache doesn't answer: %s", type(error).__name__)
        return None


class Memory:
    """An in-memory stand-in for Redis: bytes by key, with LRU eviction."""

    def __init__(self) -> None:
        self.held: OrderedDict[str, bytes] = OrderedDict()
        self.size = 0
        self._lock = threading.Lock()

    def get(self, name: str) -> bytes | None:
        with self._lock:
            if name in self.held:
                self.held.move_to_end(name)
            return self.held.get(name)

    def set(self, name: str, value: bytes, ex: int) -> None:
        with self._lock:
            self.size += len(value) - len(self.held.pop(name, b""))
            self.held[name] = value
            while self.size > _MEMORY:
                self.size -= len(self.held.popitem(last=False)[1])

    def delete(self, name: str) -> None:
        with self._lock:
            self.size -= len(self.held.pop(name, b""))
