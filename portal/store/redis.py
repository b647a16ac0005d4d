"""The store in Redis (or Valkey), for portal processes on any number of machines.

A record is one string: version (8 bytes), expiry (8), its tags with their length (4 + n), then the value; so two
records are read by one MGET. Each write is one Lua script, which Redis runs as a whole. A tag is a sorted set of
names by expiry. The portal's own clock decides what is expired; Redis's time to live only cleans up behind it.

One primary, with or without replicas and Sentinels (`portal.store.redis_client`); no Redis Cluster, because a script reaches the tags of a record by
itself, and one command reads records of several slots.
Redis must not evict (`maxmemory-policy noeviction`): a session that vanishes signs someone out.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, cast

from redis import RedisError
from redis.backoff import NoBackoff
from redis.exceptions import (
    AskError,
    ClusterCrossSlotError,
    ClusterError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
)
from redis.retry import Retry

from portal.clock import LEEWAY, Clock
from portal.store import StoreDown, StoredRecord, StoreFull, StoreUnsuitable, measured
from portal.store.redis_client import redis_client

_RECORD = "portal:record:"
_TAG = "portal:tag:"
_HEAD = struct.Struct(">QdI")
_TIMEOUT = 2.0
_PING_MILLISECONDS = 60_000
_NO_WRITES = ("OOM", "MISCONF", "READONLY", "NOREPLICAS")
"""How Redis begins the refusal of a write: out of memory, can't save, a replica, too few replicas."""

# `at`: the time at which a packed record is gone. `untag` and `tag` keep the sets of its tags in step with it.
_COMMON = (
    f"""
local function at(held) return (struct.unpack('>d', held, 9)) end
local function tags(held) return string.sub(held, 21, 20 + struct.unpack('>I4', held, 17)) end
local function each_tag(joined) return string.gmatch(joined, '[^%z]+') end
local function untag(held, name)
  for one in each_tag(tags(held)) do redis.call('ZREM', '{_TAG}' .. one, name) end
end
local function tag(joined, name, expires_at, now, life)
  for one in each_tag(joined) do
    local key = '{_TAG}' .. one
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    redis.call('ZADD', key, expires_at, name)
    if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
  end
end
local function live(key, now)
  local held = redis.call('GET', key)
  if held and at(held) > tonumber(now) then return held end
end
"""
    """
local key, name, now = KEYS[1], ARGV[1], ARGV[2]
"""
)
_INSERT = (
    _COMMON
    + """
local held = live(key, now)
if held and not (ARGV[6] and at(held) > tonumber(ARGV[6])) then return 0 end
redis.call('SET', key, ARGV[3], 'PX', ARGV[5])
tag(tags(ARGV[3]), name, ARGV[4], now, ARGV[5])
return 1
"""
)
_REPLACE = (
    _COMMON
    + """
local held = live(key, now)
if not held or string.sub(held, 1, 8) ~= ARGV[6] then return 0 end
local joined = tags(held)
local head = ARGV[7] .. struct.pack('>I4', #joined) .. joined
redis.call('SET', key, head .. ARGV[3], 'PX', ARGV[5])
tag(joined, name, ARGV[4], now, ARGV[5])
return 1
"""
)
_TAKE = (
    _COMMON
    + """
local held = live(key, now)
if not held then return false end
redis.call('DEL', key)
untag(held, name)
return held
"""
)
_DELETE = (
    _COMMON
    + """
local held = redis.call('GET', key)
if not held or (ARGV[3] and string.sub(held, 21 + #tags(held)) ~= ARGV[3]) then return 0 end
redis.call('DEL', key)
untag(held, name)
return 1
"""
)


class RedisStore:
    """`Store` over Redis 6 or newer."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._clock = clock
        # No automatic retries: a write whose response was lost may have happened.
        self._redis = cast(
            "Any",
            redis_client(
                url,
                decode_responses=False,
                socket_connect_timeout=_TIMEOUT,
                socket_timeout=_TIMEOUT,
                retry=Retry(NoBackoff(), 0),
            ),
        )
        self._insert = self._redis.register_script(_INSERT)
        self._replace = self._redis.register_script(_REPLACE)
        self._take = self._redis.register_script(_TAKE)
        self._delete = self._redis.register_script(_DELETE)

    def get(self, name: str) -> StoredRecord | None:
        return self.get_many((name,)).get(name)

    def get_many(self, names: Iterable[str]) -> dict[str, StoredRecord]:
        wanted = tuple(names)
        with _answering("read"):
            packed: list[bytes | None] = self._redis.mget([_RECORD + name for name in wanted])
        now = self._clock()
        read = {name: _unpacked(held) for name, held in zip(wanted, packed, strict=True) if held}
        return {name: record for name, record in read.items() if record.expires_at > now}

    def insert(self, name: str, value: bytes, *, expires_at: float, tags: Iterable[str] = ()) -> bool:
        joined = "\0".join(tags).encode()
        packed = _HEAD.pack(1, expires_at, len(joined)) + joined + value
        return bool(self._run(self._insert, name, packed, *self._until(expires_at)))

    def replace(self, name: str, value: bytes, *, version: int, expires_at: float) -> bool:
        head = struct.pack(">Qd", version + 1, expires_at)
        before = struct.pack(">Q", version)
        return bool(self._run(self._replace, name, value, *self._until(expires_at), before, head))

    def delete(self, *names: str) -> int:
        # One after another, each atomically: a session's records are deleted in this order.
        return sum(int(self._run(self._delete, name)) for name in names)

    def take(self, name: str) -> StoredRecord | None:
        packed = self._run(self._take, name)
        return _unpacked(packed) if packed else None

    def tagged(self, tag: str) -> list[str]:
        with _answering("read"):
            names: list[bytes] = self._redis.zrangebyscore(_TAG + tag, f"({self._clock()!r}", "+inf")
        return sorted(name.decode() for name in names)

    def lock(self, name: str, owner: str, *, seconds: float) -> bool:
        end = self._clock() + seconds
        packed = _HEAD.pack(1, end, 0) + owner.encode()
        return bool(self._run(self._insert, f"lock:{name}", packed, *self._until(end), repr(end + LEEWAY)))

    def unlock(self, name: str, owner: str) -> None:
        self._run(self._delete, f"lock:{name}", owner.encode())

    def ping(self) -> None:
        with _answering("write"):
            self._on_primary(lambda: self._redis.set("portal:ping", b"", px=_PING_MILLISECONDS))

    def free_bytes(self) -> int | None:
        with _answering("read"):
            try:
                about: dict[str, Any] = self._redis.info("memory")
            except NoPermissionError:  # this user may not ask
                return None
        most = int(about.get("maxmemory") or 0)
        return max(0, most - int(about.get("used_memory") or 0)) if most else None

    def _run(self, script: Any, name: str, *arguments: bytes | str) -> Any:
        with _answering("write"):
            return self._on_primary(
                lambda: script(keys=[_RECORD + name], args=[name, repr(self._clock()), *arguments])
            )

    def _on_primary(self, write: Callable[[], Any]) -> Any:
        """Write; after a failover once more, on new connections: the old primary refused it, and lives on as a replica."""
        try:
            return write()
        except RedisError as error:
            if not _is_by_replica(error):
                raise
        self._redis.connection_pool.disconnect(inuse_connections=False)
        return write()

    def _until(self, expires_at: float) -> tuple[str, str]:
        """When the record expires, and in how many milliseconds."""
        return repr(expires_at), str(max(1, math.ceil((expires_at - self._clock()) * 1000)))


def _is_by_replica(error: RedisError) -> bool:
    """Whether a replica refused a write; redis-py's Sentinel connections say so in words of their own."""
    return isinstance(error, ReadOnlyError) or "READONLY" in str(error) or "is now a slave" in str(error)


def _unpacked(packed: bytes) -> StoredRecord:
    version, expires_at, tags = _HEAD.unpack_from(packed)
    return StoredRecord(packed[_HEAD.size + tags :], version, expires_at)


@contextmanager
def _answering(operation: str) -> Generator[None]:
    with measured(operation):
        try:
            yield
        except (OutOfMemoryError, ReadOnlyError) as error:
            raise StoreFull(type(error).__name__) from error
        except ResponseError as error:
            if any(word in str(error) for word in _NO_WRITES):  # a script's error has a prefix
                raise StoreFull("write refused") from error
            raise _down(error) from error
        except RedisError as error:
            raise _down(error) from error


def _down(error: RedisError) -> StoreDown:
    """Why Redis can't be used, without its address."""
    of_clusters = (AskError, ClusterCrossSlotError, ClusterError)
    is_said = isinstance(error, ResponseError) and "cluster" in str(error).lower()  # a host may be called so
    if is_said or isinstance(error, of_clusters):
        return StoreUnsuitable(
            "it is a Redis Cluster: PORTAL_STORE_URL must name a single primary, or its Sentinels"
        )
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return StoreUnsuitable("its TLS certificate isn't trusted: see ssl_ca_certs")
    return StoreDown(type(error).__name__)
