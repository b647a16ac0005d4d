"""The portal's environment variables: how each is read, its default, and what docs/configuration.md says of it.

It imports nothing of the project: gunicorn.conf.py runs this file, so that a reload finds a new version's defaults.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import parse_qsl, urlsplit

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: `hint` says what to set if it is required. `parse` raises ValueError that says what the text must be.

    A secret's text isn't repeated in faults. Without `about` the variable is the demo's, not operators'.
    """

    name: str
    default: object
    parse: Callable[[str], object]
    about: str
    hint: str = ""
    secret: bool = False


def _variable(
    name: str,
    default: _T | None,
    parse: Callable[[str], _T],
    about: str,
    hint: str = "",
    *,
    secret: bool = False,
) -> _T:
    """A field that is read from this variable."""
    variable = Variable(name, default, parse, about, hint, secret)
    return cast("_T", field(default=default, repr=not secret, metadata={"variable": variable}))


def _number(name: str, default: int, about: str, least: int = 1, most: int = 2**31) -> int:
    limits = f"{least} or more" if most == 2**31 else f"from {least} to {most}"
    parse = _checked(f"a whole number, {limits}", int, lambda number: least <= number <= most)
    return _variable(name, default, parse, about)


def _seconds(name: str, default: float, about: str) -> float:
    parse = _checked("a number of seconds over 0", float, lambda seconds: 0 < seconds < 3600)
    return _variable(name, default, parse, f"{about}, in seconds")


def _rate(name: str, default: str, about: str) -> str:
    pattern = re.compile(r"\d+ per (\d+ )?(second|minute|hour|day)")
    parse = _checked(f"a rate such as {default}", str, pattern.fullmatch)
    return _variable(name, default, parse, f"rate limit: {about}")


def _checked(
    must: str, convert: Callable[[str], _T], holds: Callable[[_T], object] = lambda value: True
) -> Callable[[str], _T]:
    """A parser that refuses what can't be converted, and a value that doesn't hold."""

    def parse(text: str) -> _T:
        try:
            value = convert(text)
        except (ValueError, KeyError, OSError):
            raise ValueError(f"must be {must}") from None
        if not holds(value):
            raise ValueError(f"must be {must}")
        return value

    return parse


def _secret_keys(text: str) -> tuple[str, ...]:
    keys = tuple(key.strip() for key in text.split(",") if key.strip())
    if not keys or any(len(key) < 32 for key in keys):
        raise ValueError("each key needs at least 32 characters")
    return keys


_SENTINEL = re.compile(r"rediss?\+sentinel://([^@/]*@)?[\w.-]+(:\d+)?(,[\w.-]+(:\d+)?)*/[^/?]+(/\d+)?(\?.*)?")


def _store_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        folder = Path(url.removeprefix("sqlite:///")).parent
        if not url.startswith("sqlite:///") or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ValueError(f"the folder {folder} must exist and be writable")
    elif parts.scheme in ("redis+sentinel", "rediss+sentinel"):
        if not _SENTINEL.fullmatch(url):
            raise ValueError(
                f"must be {parts.scheme}://user:password@sentinel-1:26379,sentinel-2:26379/name-of-the-primary/0"
            )
        _redis_parameters(
            parts.scheme.removesuffix("+sentinel"), re.sub("(^|&)sentinel_[^&]*", "", parts.query)
        )
    elif parts.scheme not in ("redis", "rediss"):
        raise ValueError(
            "must be sqlite:///path, redis://host:port/database or redis+sentinel://host:port,host:port/name/database "
            f"(found scheme {parts.scheme!r})"
        )
    else:
        _redis_address(url)
    return url


def _redis_address(url: str) -> None:
    """Raise ValueError for an address of Redis that can't be one; the words don't quote it, for it holds the password."""
    parts = urlsplit(url)
    try:
        is_one = parts.hostname and parts.port != 0 and re.fullmatch(r"(/\d*)?", parts.path)
    except ValueError:
        is_one = False
    if not is_one:
        raise ValueError(
            f"must be {parts.scheme}://user:password@host:port/database, with %2F and the like for signs in the password"
        )
    _redis_parameters(parts.scheme, parts.query)


def _redis_parameters(scheme: str, query: str) -> None:
    """Raise ValueError for parameters that redis-py doesn't take, or that name files which can't be read."""
    for name, value in parse_qsl(query):
        if name in ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile") and not os.access(value, os.R_OK):
            raise ValueError(f"{name}: {value} must be a file that the portal's user may read")
        if name == "ssl_ca_certs":
            _checked(f"an address whose {name} is a PEM file of certificate authorities", _authorities)(value)
    from redis import Redis, RedisError  # not for gunicorn's master, which reads other variables alone

    try:
        pool = Redis.from_url(f"{scheme}://host?{query}").connection_pool  # pyright: ignore[reportUnknownMemberType]
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, RedisError) as error:
        named = re.search(r"'(\w+)'", str(error))
        raise ValueError(
            f"{named[1] if named else 'a parameter'} isn't a parameter of Redis's address, or has no such value"
        ) from None


_ADDRESS = re.compile(r"(?:\[[\da-fA-F:]+\]|[\w.-]*):(\d{1,5})|(?:unix:|fd://).+")


def _is_address(text: str) -> bool:
    found = _ADDRESS.fullmatch(text)
    return bool(found and 0 < int(found[1] or 1) < 2**16)


_address = _checked("an address such as 127.0.0.1:8000", str, _is_address)
_own_address = _checked(
    "an address such as 10.0.0.11:8001, and no socket that was opened before",
    str,
    lambda text: _is_address(text) and not text.startswith("fd:"),
)


def _cache_url(url: str) -> str:
    if urlsplit(url).scheme in ("redis", "rediss"):
        _redis_address(url)
    elif url != "memory:":
        raise ValueError("must be memory: or redis://host:port/database")
    return url


def _audit(target: str) -> str:
    if target != "stderr" and Path(target).exists() and not Path(target).is_dir():
        raise ValueError("must be a folder or stderr")
    return target


def _traces_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be an address such as http://collector:4318/v1/traces")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise ValueError("needs OpenTelemetry: install requirements/tracing.txt (make production TRACING=1)")
    return url


def _authorities(file: str) -> str:
    ssl.create_default_context(cafile=file)  # raises OSError, also without a certificate (ssl.SSLError)
    return file


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time-outs of outbound calls, in seconds."""

    connect: float = _seconds("PORTAL_TIMEOUT_CONNECT", 2, "time-out of connecting")
    read: float = _seconds("PORTAL_TIMEOUT_READ", 8, "time-out of one whole call")
    page: float = _seconds("PORTAL_TIMEOUT_PAGE", 10, "time-out of all calls of a page")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variables:
    """The values of all variables but the time-outs'."""

    tenants_file: Path = _variable(
        "PORTAL_TENANTS",
        None,
        Path,
        "path of the tenants file, or of a folder of them",
        "set it to the path of the tenants file (docs/configuration.md)",
    )
    secrets_folder: Path | None = _variable(
        "PORTAL_SECRETS",
        None,
        _checked(
            "a folder that the portal's user may read", Path, lambda path: os.access(path, os.R_OK | os.X_OK)
        ),
        "a folder of the clinics' secrets, each in a file with the name that the tenants file gives it; read at each reload",
    )
    secret_keys: tuple[str, ...] = _variable(
        "PORTAL_SECRET_KEYS",
        None,
        _secret_keys,
        "comma-separated keys of 32 characters or more; the first encrypts, all decrypt, so that keys can be rotated",
        "make one with python -c 'import secrets; print(secrets.token_urlsafe(48))'",
        secret=True,
    )
    store_url: str = _variable(
        "PORTAL_STORE_URL",
        None,
        _store_url,
        "`sqlite:////path/store.db` for one machine; `redis://host:6379/0`, `rediss://…` or "
        "`redis+sentinel://host:26379,host:26379/name/0` for several (Redis 6 or newer, no cluster, `maxmemory-policy noeviction`)",
        "set it to sqlite:////var/lib/portal/store.db or redis://host:6379/0",
        secret=True,
    )
    cache_url: str = _variable(
        "PORTAL_CACHE_URL",
        "memory:",
        _cache_url,
        "where the clinics' physicians are cached for some minutes: `memory:` in each process, or "
        "`redis://host:6379/1` shared and encrypted",
        secret=True,
    )
    proxy_hops: int = _number(
        "PORTAL_PROXY_HOPS", 0, "how many proxies in front are trusted for host, scheme and client address", 0
    )
    bind: str = _variable("PORTAL_BIND", "127.0.0.1:8000", _address, "gunicorn's address")
    health_bind: str | None = _variable(
        "PORTAL_HEALTH_BIND",
        None,
        _own_address,
        "an address of their own, such as `10.0.0.11:8001`, for `/healthz`, `/readyz` and `/metrics`, which are then answered there alone",
    )
    workers: int = _number("PORTAL_WORKERS", 2, "gunicorn's workers")
    threads: int = _number("PORTAL_THREADS", 8, "threads of each worker")
    max_requests: int = _number(
        "PORTAL_MAX_REQUESTS",
        20000,
        "after how many requests (plus up to 10 %) a worker is restarted; `0` for never",
        0,
    )
    worker_timeout: int = _number(
        "PORTAL_WORKER_TIMEOUT", 60, "after how many seconds without a heartbeat a worker is replaced"
    )
    log: str = _variable(
        "PORTAL_LOG", "json", _checked("json or text", str, {"json", "text"}.__contains__), "`json` or `text`"
    )
    audit: str = _variable("PORTAL_AUDIT", "stderr", _audit, "a folder for audit files, or `stderr`")
    audit_days: int = _number(
        "PORTAL_AUDIT_DAYS",
        400,
        "how many days the store keeps an audit file's checkpoints after its last line",
    )
    ca_file: str | None = _variable(
        "PORTAL_CA_FILE",
        None,
        _checked("a PEM file of certificate authorities", _authorities),
        "a PEM file with the authorities of a private network, trusted instead of the public ones",
    )
    limit_sign_in: str = _rate("PORTAL_LIMIT_SIGN_IN", "300 per minute", "sign-ins")
    limit_signing: str = _rate("PORTAL_LIMIT_SIGNING", "30 per minute", "signing and withdrawing")
    limit_booking: str = _rate("PORTAL_LIMIT_BOOKING", "10 per minute", "the public booking pages")
    limit_printing: str = _rate("PORTAL_LIMIT_PRINTING", "10 per minute", "PDFs")
    limit_files: str = _rate("PORTAL_LIMIT_FILES", "300 per minute", "files and calendars")
    limit_find: str = _rate("PORTAL_LIMIT_FIND", "120 per minute", "finding people")
    breaker: int = _number(
        "PORTAL_BREAKER",
        5,
        "after how many failures in a row the portal stops calling a part of the care API for 1 to 10 seconds, so that "
        "its pages respond at once; `0` for never",
        0,
        100,
    )
    metrics_token: str | None = _variable(
        "PORTAL_METRICS_TOKEN",
        None,
        _checked("at least 16 ASCII characters", str, lambda token: len(token) >= 16 and token.isascii()),
        "the bearer token for `/metrics`, 16 characters or more; without one, `/metrics` doesn't exist",
        secret=True,
    )
    version: str | None = _variable(
        "PORTAL_VERSION", None, str, "the version in `/metrics` (`portal_build_info`), if not the release's"
    )
    traces_url: str | None = _variable(
        "PORTAL_TRACES_URL",
        None,
        _traces_url,
        "where spans for OpenTelemetry are sent (OTLP/HTTP), such as `http://collector:4318/v1/traces`; without it there are none",
    )
    idle_patient: int = _number(
        "PORTAL_SESSION_IDLE_PATIENT", 1800, "longest inactivity of a patient's session, in seconds"
    )
    idle_staff: int = _number("PORTAL_SESSION_IDLE_STAFF", 900, "the same of a staff session")
    absolute_patient: int = _number(
        "PORTAL_SESSION_ABSOLUTE_PATIENT", 43200, "longest duration of a patient's session, in seconds"
    )
    absolute_staff: int = _number("PORTAL_SESSION_ABSOLUTE_STAFF", 28800, "the same of a staff session")
    demo: bool = _variable("PORTAL_DEMO", False, _checked("1 or 0", {"1": True, "0": False}.__getitem__), "")


def variables_of(of: type[Variables | Timeouts]) -> dict[str, Variable]:
    """The variables that this class's fields are read from, by field."""
    return {member.name: member.metadata["variable"] for member in fields(of)}


DECLARED = {**variables_of(Variables), **variables_of(Timeouts)}
