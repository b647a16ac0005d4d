"""Connects to Redis: at an address, or at the primary that Sentinels name.

`redis+sentinel://user:password@sentinel-1:26379,sentinel-2:26379,sentinel-3:26379/name-of-the-primary/0`, with TLS
`rediss+sentinel://…`, also to the Sentinels. Their own user and password are the parameters `sentinel_username` and
`sentinel_password`; all others are redis-py's, such as `ssl_ca_certs`.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from redis import Redis
from redis.sentinel import Sentinel

_SENTINEL_PORT = 26379
_SENTINEL_TIMEOUT = 0.5
"""Sentinels are near and answer at once; the next one is asked when one is gone."""

_OF_SENTINELS = "sentinel_"


def redis_client(url: str, **options: Any) -> Redis:
    """Return a client for a `redis://`, `rediss://`, `redis+sentinel://` or `rediss+sentinel://` URL; connects when it is used."""
    parts = urlsplit(url)
    if not parts.scheme.endswith("+sentinel"):
        return Redis.from_url(url, **options)  # pyright: ignore[reportUnknownMemberType]
    login, _, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    service, _, database = parts.path.strip("/").partition("/")
    parameters = dict(parse_qsl(parts.query))
    given: dict[str, Any] = {
        name: value for name, value in parameters.items() if not name.startswith(_OF_SENTINELS)
    }
    given |= {"ssl": True} if parts.scheme == "rediss+sentinel" else {}
    own = {name.removeprefix(_OF_SENTINELS): value for name, value in parameters.items() if name not in given}
    timeouts = {"socket_timeout": _SENTINEL_TIMEOUT, "socket_connect_timeout": _SENTINEL_TIMEOUT}
    sentinel = Sentinel(
        [_address(host) for host in hosts.split(",")], sentinel_kwargs={**given, **own, **timeouts}, **given
    )
    credentials = {"username": unquote(user) or None, "password": unquote(password) or None}
    return sentinel.master_for(service, db=int(database or 0), **credentials, **options)  # pyright: ignore[reportUnknownMemberType]


def _address(host: str) -> tuple[str, int]:
    parts = urlsplit(f"//{host}")
    return parts.hostname or "", parts.port or _SENTINEL_PORT
