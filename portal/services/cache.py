"""Reference data (the clinic's physicians), kept for some minutes by requests-cache.

Nothing else is ever cached: a person's own records are read anew for every page, and what saves calls there is
fewer calls. requests-cache's defaults would serve one person's answer to another, keep tokens and pickle, so:

- The key is made here, from everything that an answer may depend on. Who asks comes from a context variable
  without a default: without it there is no key, and so no answer.
- The key holds a generation, which the store keeps for each person and each clinic. It moves on with every write,
  so that nobody sees the calendar as it was before their own act. A new session has a new epoch, so signing out
  or in again (which is how a role changes) leaves all copies behind without any work.
- The token is put on below the cache: no copy can hold it.
- A copy lives outside of this process only sealed, and opens only for those for whom it was sealed.

Reading the generation is one query, on pages that show physicians alone. If the store can't be told of a write,
copies end by their age; five minutes is what the API itself allows.
"""

# requests-cache and redis leave parts of their interface without types.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from http.cookiejar import DefaultCookiePolicy
from typing import Any, TypeVar, cast

import msgspec
import requests
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from redis import Redis, RedisError
from requests.adapters import BaseAdapter
from requests_cache import BaseCache, BaseStorage, CachedResponse, CachedSession, SerializerPipeline
from requests_cache.backends.redis import RedisDict
from requests_cache.serializers.pipeline import Stage
from requests_cache.serializers.preconf import json_preconf_stage

from portal import metrics
from portal.adapter import CurlAdapter
from portal.clock import Clock
from portal.outbound import Answer, Call
from portal.services import attempts, wire
from portal.services.client import Care, query_text
from portal.services.endpoints import LIST_PHYSICIANS, Endpoint, Query, Reference
from portal.services.errors import BadResponse, HeldBack, Unavailable, from_answer
from portal.services.generations import LONGEST_KEPT, Generations
from portal.settings import Timeouts
from portal.store import Store

T = TypeVar("T")

KEPT = frozenset({LIST_PHYSICIANS})
"""The endpoints whose answers may be kept."""

FRESH = timedelta(minutes=5)
STALE = LONGEST_KEPT
"""How long a copy is served as it is, and how long at most in place of an API that fails."""

_LARGEST_ANSWER = 4 * 1024 * 1024
_LARGEST_COPY = 1024 * 1024
_MEMORY = 32 * 1024 * 1024
_FAILING = (500, 502, 503, 504)

log = logging.getLogger("portal.cache")


@dataclass(frozen=True, slots=True)
class _Asking:
    """Who asks: the partition with its generations, the token, the limits of the call, and how it is sent."""

    partition: tuple[str, ...]
    token: str
    timeouts: Timeouts
    send: Callable[[Call], Answer]


_asking: ContextVar[_Asking] = ContextVar("asking")


class ReferenceData:
    """The cache of one process; with a Redis address it is shared by all, sealed with the portal's keys."""

    def __init__(
        self,
        store: Store,
        *,
        url: str = "memory:",
        secret_keys: tuple[str, ...] = (),
        clock: Clock = time.time,
    ) -> None:
        self._generations = Generations(store, clock)
        storage = BoundedMemory(_MEMORY) if url == "memory:" else SharedCopies(url, secret_keys)
        backend = BaseCache("reference")
        backend.responses = cast("Any", storage)
        self._session = CachedSession(
            backend=backend,
            expire_after=FRESH,
            allowable_codes=(200,),
            allowable_methods=("GET",),
            ignored_parameters=(),
            cache_control=False,
            stale_if_error=False,
            filter_fn=_may_be_kept,
            key_fn=_key,
        )
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.adapters.clear()
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, _BelowTheCache())

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, fresh from the cache or the API; an older copy, dated, when the API fails.

        Raises CareError. Only a server's failure (500, 502, 503, 504), no answer at all, or an API that is left in
        peace after such (HeldBack) lets an older copy be shown; a refusal never does.
        """
        if endpoint not in KEPT:
            raise ValueError(f"{endpoint.method} {endpoint.template} is not reference data")
        partition = (*care.partition, *self._generations.of(care))
        token = care.bearer.token()
        url = f"{care.base_url}{endpoint.template}{query_text(query)}"
        try:
            response = self._send(care, endpoint, partition, token, url)
            if response.status_code == 401:
                response = self._send(care, endpoint, partition, care.bearer.renew(token), url)
        except HeldBack as error:
            return self._older(care, partition, url, into, error)
        except requests.RequestException as error:
            attempts.log_failure(endpoint.group, str(error))
            if str(error) == "too large":
                raise BadResponse("body too large") from error
            return self._older(care, partition, url, into, Unavailable(str(error)))
        if response.status_code == 200:
            metrics.reference("hit" if getattr(response, "from_cache", False) else "miss")
            return Reference(self._read(response, into))
        attempts.log_failure(
            endpoint.group, f"status {response.status_code}", response.headers, ours=care.correlation_id
        )
        error = from_answer(
            response.status_code,
            response.content,
            response.headers.get("Content-Type", ""),
            endpoint=endpoint,
            retry_after=response.headers.get("Retry-After"),
        )
        if response.status_code in _FAILING:
            return self._older(care, partition, url, into, error)
        raise error

    def move_on(self, care: Care) -> None:
        """Leave all copies behind that this write may have changed: the person's, or the whole clinic's."""
        self._generations.move_on(care)

    def _send(
        self, care: Care, endpoint: Endpoint, partition: tuple[str, ...], token: str, url: str
    ) -> requests.Response:
        left = care.deadline - time.monotonic()
        if left <= 0.01:
            raise Unavailable("page deadline")
        limits = Timeouts(connect=min(care.timeouts.connect, left), read=min(care.timeouts.read, left))
        with _asked_by(_Asking(partition, token, limits, partial(care.send_read, endpoint))):
            return self._session.get(url, headers=_headers(care), allow_redirects=False)

    def _read(self, response: requests.Response, into: type[T]) -> T:
        """Decode the answer; one that can't be read isn't kept for the next reader."""
        try:
            return wire.decode(response.content, into)
        except BadResponse:
            if key := getattr(response, "cache_key", None):
                self._session.cache.delete(cast("str", key))
            raise

    def _older(
        self, care: Care, partition: tuple[str, ...], url: str, into: type[T], error: Exception
    ) -> Reference[T]:
        request = requests.Request("GET", url, headers=_headers(care)).prepare()
        with _asked_by(_Asking(partition, "", care.timeouts, _send_nothing)):
            copy = self._session.cache.get_response(_key(request))
        if copy is None or copy.expires is None:
            raise error
        as_of = copy.expires - FRESH  # when it was read, or last found unchanged
        if as_of < datetime.now(UTC) - STALE:
            raise error
        try:
            older = Reference(wire.decode(copy.content, into), as_of=as_of)
        except BadResponse:
            raise error from None
        metrics.reference("stale")
        return older


class _BelowTheCache(BaseAdapter):
    """Sends through the portal's one client, with the token, which the request that is kept never has."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        asking = _asking.get()
        sent = request.copy()
        sent.headers["Authorization"] = f"Bearer {asking.token}"
        adapter = CurlAdapter(asking.timeouts, max_bytes=_LARGEST_ANSWER, send_call=asking.send)
        response = adapter.send(sent)
        response.request = request
        return response

    def close(self) -> None:
        """Nothing to close: connections belong to the thread, not to the session."""


class BoundedMemory(BaseStorage[str, CachedResponse]):
    """Copies in this process, as bytes, so that no two readers share one; those not used for longest go first."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__(serializer=_json())
        self._most = most_bytes
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def __getitem__(self, key: str) -> CachedResponse:
        with self._lock:
            value = self._held[key]
            self._held.move_to_end(key)
        return cast("CachedResponse", self.deserialize(key, cast("Any", value)))

    def __setitem__(self, key: str, value: CachedResponse) -> None:
        written = cast("bytes", self.serialize(value))
        with self._lock:
            self._size += len(written) - len(self._held.pop(key, b""))
            self._held[key] = written
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])

    def __delitem__(self, key: str) -> None:
        with self._lock:
            self._size -= len(self._held.pop(key))

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(list(self._held))

    def __len__(self) -> int:
        return len(self._held)


class SharedCopies(RedisDict):
    """Copies in Redis, sealed; a Redis that doesn't answer is a cache that holds nothing."""

    def __init__(self, url: str, secret_keys: tuple[str, ...]) -> None:
        connection = Redis.from_url(url, socket_timeout=1.0, socket_connect_timeout=1.0)
        kept_on = int((STALE - FRESH).total_seconds())
        super().__init__(
            "reference", connection=connection, serializer=_json(Seal(secret_keys)), ttl_offset=kept_on
        )

    def __getitem__(self, key: str) -> CachedResponse:
        with _silence_as_absence(key):
            return cast("CachedResponse", super().__getitem__(key))

    def __setitem__(self, key: str, item: CachedResponse) -> None:
        seconds = max(1, (item.expires_delta or 0) + self.ttl_offset)
        try:
            self.connection.set(self._bkey(key), cast("bytes", self.serialize(item)), ex=seconds)
        except RedisError as error:
            log.warning("cache not written: %s", type(error).__name__)

    def __delitem__(self, key: str) -> None:
        with _silence_as_absence(key):
            super().__delitem__(key)


class Seal:
    """AES-256-GCM (NIST SP 800-38D) with who asks as associated data: for anyone else a copy doesn't open.

    The first four bytes name the key: the first configured key seals, every configured key opens.
    """

    def __init__(self, secret_keys: tuple[str, ...]) -> None:
        self._ciphers = {_key_id(key): AESGCM(_derive(key)) for key in secret_keys}
        self._first = _key_id(secret_keys[0])

    def dumps(self, plain: bytes) -> bytes:
        """Seal for those who ask now."""
        nonce = os.urandom(12)
        return self._first + nonce + self._ciphers[self._first].encrypt(nonce, plain, _partition_bytes())

    def loads(self, sealed: bytes) -> bytes:
        """Open what was sealed for those who ask now; ValueError otherwise, which counts as no copy."""
        cipher = self._ciphers.get(sealed[:4])
        if cipher is None:
            raise ValueError("sealed with a key that is gone")
        try:
            return cipher.decrypt(sealed[4:16], sealed[16:], _partition_bytes())
        except InvalidTag:
            raise ValueError("sealed for someone else") from None


def _json(*after: Seal) -> SerializerPipeline:
    return SerializerPipeline(
        [
            json_preconf_stage,
            Stage(dumps=msgspec.json.encode, loads=msgspec.json.decode),
            *(Stage(seal) for seal in after),
        ],
        is_binary=True,
    )


def _send_nothing(call: Call) -> Answer:
    raise Unavailable("only what is kept was asked for")


@contextmanager
def _asked_by(asking: _Asking) -> Generator[None]:
    token = _asking.set(asking)
    try:
        yield
    finally:
        _asking.reset(token)


@contextmanager
def _silence_as_absence(key: str) -> Generator[None]:
    try:
        yield
    except RedisError as error:
        log.warning("cache not read: %s", type(error).__name__)
        raise KeyError(key) from None


def _headers(care: Care) -> dict[str, str]:
    return {
        "Accept": "application/json",
        "Accept-Language": care.language,
        "X-Correlation-Id": care.correlation_id,
    }


def _key(request: Any, **_: object) -> str:
    """Everything that the answer may depend on; requests-cache asks for it also with older requests (Vary)."""
    headers = cast("Mapping[str, str]", request.headers)
    return _digest(
        *_asking.get().partition,
        cast("str", request.method or ""),
        cast("str", request.url or ""),
        headers.get("Accept", ""),
        headers.get("Accept-Language", ""),
    )


def _partition_bytes() -> bytes:
    return _digest(*_asking.get().partition).encode()


def _may_be_kept(response: requests.Response) -> bool:
    """Whether a copy may stay. Other statuses than 200 are never kept, and mustn't remove the copy that is."""
    if response.status_code != 200:
        return True
    control = response.headers.get("Cache-Control", "").lower()
    return (
        "no-store" not in control
        and "no-cache" not in control
        and "Set-Cookie" not in response.headers
        and len(response.content) <= _LARGEST_COPY
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _key_id(key: str) -> bytes:
    return hashlib.sha256(b"cache key id" + key.encode()).digest()[:4]


def _derive(key: str) -> bytes:
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=b"portal cache").derive(key.encode())
