"""Reference data (the clinic's physicians), kept for some minutes by requests-cache.

Nothing else is ever cached: a person's own records are read anew for every page, and what saves calls there is
fewer calls. requests-cache's own defaults would serve one person's answer to another, so the key is made here,
from everything that an answer may depend on; without a partition there is no key, and so no answer.
"""

from __future__ import annotations

import hashlib
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

import requests
from requests_cache import CachedSession

from portal import adapter
from portal.services import wire
from portal.services.client import Care, query_text
from portal.services.endpoints import Endpoint, Query, Reference
from portal.services.errors import BadResponse, Unavailable, from_answer
from portal.settings import Timeouts

T = TypeVar("T")

_FRESH = timedelta(minutes=5)
_STALE = timedelta(hours=24)
_LARGEST = 256 * 1024
_MOST_ENTRIES = 2000

_partition: ContextVar[tuple[str, ...]] = ContextVar("partition")


class ReferenceData:
    """The cache of one process."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._session = CachedSession(
            backend="memory",
            serializer=None,
            expire_after=_FRESH,
            allowable_codes=(200,),
            allowable_methods=("GET",),
            cache_control=False,
            stale_if_error=False,
            filter_fn=_may_be_kept,
            key_fn=_key,
        )
        adapter.mount(self._session, timeouts)

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, fresh from the cache or the API; an older copy, dated, when the API fails."""
        token = _partition.set(care.partition)
        try:
            return self._get(care, endpoint, into, query)
        finally:
            _partition.reset(token)

    def _get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        url = f"{care.base_url}{endpoint.template}{query_text(query)}"
        bearer = care.bearer.token()
        try:
            response = self._send(care, url, bearer)
            if response.status_code == 401:
                response = self._send(care, url, care.bearer.renew(bearer))
        except requests.RequestException as error:
            return self._older(care, url, into, Unavailable(type(error).__name__))
        if response.status_code == 200:
            return Reference(wire.decode(response.content, into))
        error = from_answer(
            response.status_code,
            response.content,
            response.headers.get("Content-Type", ""),
            endpoint=endpoint,
            retry_after=response.headers.get("Retry-After"),
        )
        if response.status_code in (500, 502, 503, 504):
            return self._older(care, url, into, error)
        raise error

    def _send(self, care: Care, url: str, bearer: str) -> requests.Response:
        self._session.cookies.clear()
        if len(cast("Any", self._session.cache.responses)) > _MOST_ENTRIES:
            self._session.cache.clear()
        return self._session.get(url, headers=_headers(care, bearer), allow_redirects=False)

    def _older(self, care: Care, url: str, into: type[T], error: Exception) -> Reference[T]:
        request = requests.Request("GET", url, headers=_headers(care, "")).prepare()
        kept = cast("Any", self._session.cache).get_response(_key(request))
        if kept is None or kept.created_at < datetime.now(UTC) - _STALE:
            raise error
        try:
            return Reference(wire.decode(kept.content, into), as_of=kept.created_at)
        except BadResponse:
            raise error from None


def _headers(care: Care, bearer: str) -> dict[str, str]:
    return {
        "Authorization": f"Bearer {bearer}",
        "Accept": "application/json",
        "Accept-Language": care.language,
        "X-Correlation-Id": care.correlation_id,
    }


def _key(request: Any, **_: object) -> str:
    parts: list[str] = [
        *_partition.get(),
        request.method or "",
        request.url or "",
        request.headers.get("Accept", ""),
        request.headers.get("Accept-Language", ""),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _may_be_kept(response: Any) -> bool:
    control = response.headers.get("Cache-Control", "").lower()
    return (
        "no-store" not in control
        and "Set-Cookie" not in response.headers
        and len(response.content) <= _LARGEST
    )
