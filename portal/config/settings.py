"""Settings, read from the environment and validated once.

All faults are reported together, so that a deployment can be fixed in one go (`python -m portal check`).
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from portal.config.tenants import Side, Tenants, TenantsError, read_secret
from portal.config.tenants_file import load_tenants

_T = TypeVar("_T")
_RATE = re.compile(r"\d+ per (\d+ )?(second|minute|hour|day)")


class SettingsError(Exception):
    """The portal can't start with these settings; `faults` holds one line for each error."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session lasts, in seconds: without use, and at most."""

    idle: int
    absolute: int


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts of outbound calls, in seconds: to connect, for one whole call, for all calls of a page."""

    connect: float = 2.0
    read: float = 8.0
    page: float = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything an operator can configure."""

    tenants: Tenants
    secret_keys: tuple[str, ...] = field(repr=False)
    store_url: str
    cache_url: str
    proxy_hops: int
    log: str
    limit_sign_in: str
    limit_signing: str
    limit_booking: str
    limit_printing: str
    limit_files: str
    limit_find: str
    audit: str
    breaker: int
    threads: int
    metrics_token: str | None = field(repr=False)
    audit_days: int
    ca_file: str | None
    consent_templates: Path
    timeouts: Timeouts
    sessions: Mapping[Side, SessionLimits]
    demo: bool
    unknown: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Unknown variables that look like the portal's, each with the setting that may be meant."""

    @property
    def shortest_idle(self) -> int:
        """After how many seconds without use a session may end, whoever's it is."""
        return min(limits.idle for limits in self.sessions.values())

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read `PORTAL_…` (docs/configuration.md); raise SettingsError naming every fault."""
        return _read(_RecordingEnvironment(os.environ if environ is None else environ))


def _read(environ: _RecordingEnvironment) -> Settings:
    faults: list[str] = []

    def checked(name: str, default: _T, convert: Callable[[str], _T], what: str) -> _T:
        text = read_secret(name, environ)
        if text is None or text == "":
            return default
        try:
            return convert(text)
        except ValueError:
            faults.append(f"{name}: must be {what} (found {text!r})")
            return default

    def one_of(*words: str) -> Callable[[str], str]:
        def convert(text: str) -> str:
            if text not in words:
                raise ValueError
            return text

        return convert

    keys = _secret_keys(environ, faults)
    store_url = _store_url(environ, faults)
    tenants = _tenants(environ, faults)

    def limits(side: str, idle: int, absolute: int) -> SessionLimits:
        return SessionLimits(
            idle=checked(f"PORTAL_SESSION_IDLE_{side}", idle, _seconds, "a number of seconds"),
            absolute=checked(f"PORTAL_SESSION_ABSOLUTE_{side}", absolute, _seconds, "a number of seconds"),
        )

    settings = Settings(
        tenants=tenants,
        secret_keys=keys,
        store_url=store_url,
        cache_url=checked("PORTAL_CACHE_URL", "memory:", _cache_url, "memory: or redis://host:port/database"),
        proxy_hops=checked("PORTAL_PROXY_HOPS", 0, _count, "a number of proxies, 0 or more"),
        log=checked("PORTAL_LOG", "json", one_of("json", "text"), "json or text"),
        limit_sign_in=checked(
            "PORTAL_LIMIT_SIGN_IN", "300 per minute", _rate, "a rate such as 30 per minute"
        ),
        limit_signing=checked("PORTAL_LIMIT_SIGNING", "30 per minute", _rate, "a rate such as 30 per minute"),
        limit_booking=checked("PORTAL_LIMIT_BOOKING", "10 per minute", _rate, "a rate such as 10 per minute"),
        limit_printing=checked(
            "PORTAL_LIMIT_PRINTING", "10 per minute", _rate, "a rate such as 10 per minute"
        ),
        limit_files=checked("PORTAL_LIMIT_FILES", "300 per minute", _rate, "a rate such as 300 per minute"),
        limit_find=checked("PORTAL_LIMIT_FIND", "120 per minute", _rate, "a rate such as 120 per minute"),
        audit=environ.get("PORTAL_AUDIT") or "stderr",
        threads=checked("PORTAL_THREADS", 8, _seconds, "a number of threads, 1 or more"),
        breaker=checked("PORTAL_BREAKER", 5, _failures, "a number of failures from 0 to 100"),
        metrics_token=_metrics_token(environ, faults),
        audit_days=checked("PORTAL_AUDIT_DAYS", 400, _seconds, "a number of days"),
        ca_file=checked("PORTAL_CA_FILE", None, _authorities, "a PEM file of certificate authorities"),
        consent_templates=_beside(Path(environ.get("PORTAL_TENANTS", ""))),
        timeouts=Timeouts(
            connect=checked("PORTAL_TIMEOUT_CONNECT", 2.0, _duration, "a number of seconds over 0"),
            read=checked("PORTAL_TIMEOUT_READ", 8.0, _duration, "a number of seconds over 0"),
            page=checked("PORTAL_TIMEOUT_PAGE", 10.0, _duration, "a number of seconds over 0"),
        ),
        sessions={
            Side.PATIENT: limits("PATIENT", 30 * 60, 12 * 3600),
            Side.STAFF: limits("STAFF", 15 * 60, 8 * 3600),
        },
        demo=checked(
            "PORTAL_DEMO", False, lambda text: {"1": True, "0": False}[one_of("1", "0")(text)], "1 or 0"
        ),
    )
    # Read by gunicorn.conf.py; validated here.
    checked("PORTAL_WORKERS", 2, _seconds, "a number of processes, 1 or more")
    checked("PORTAL_WORKER_TIMEOUT", 60, _seconds, "a number of seconds")
    checked("PORTAL_MAX_REQUESTS", 20000, _count, "a number of requests; 0 renews no worker")
    if faults:
        raise SettingsError(faults)
    return replace(settings, unknown=environ.unknown())


class _RecordingEnvironment(Mapping[str, str]):
    """An environment that records which variables were read."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._names = {"PORTAL_BIND", "PORTAL_VERSION", "PORTAL_WORKER_SLOT", "PORTAL_DEMO_PASSWORD"}

    def __getitem__(self, name: str) -> str:
        self._names.add(name.removesuffix("_FILE"))
        return self._environ[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._environ)

    def __len__(self) -> int:
        return len(self._environ)

    def unknown(self) -> dict[str, str | None]:
        """Return the variables that look like the portal's but were never read, each with what may be meant."""
        named = ((name, name.removesuffix("_FILE")) for name in self._environ if name.startswith("PORTAL_"))
        return {
            name: next(iter(get_close_matches(word, self._names, 1, 0.85)), None)
            for name, word in named
            if word not in self._names
        }


def _secret_keys(environ: Mapping[str, str], faults: list[str]) -> tuple[str, ...]:
    keys = tuple(
        key.strip() for key in (read_secret("PORTAL_SECRET_KEYS", environ) or "").split(",") if key.strip()
    )
    if not keys:
        faults.append(
            "PORTAL_SECRET_KEYS: is missing; make one with "
            "python -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )
    if any(len(key) < 32 for key in keys):
        faults.append("PORTAL_SECRET_KEYS: each key needs at least 32 characters")
    return keys


def _metrics_token(environ: Mapping[str, str], faults: list[str]) -> str | None:
    token = read_secret("PORTAL_METRICS_TOKEN", environ)
    if token is not None and (len(token) < 16 or not token.isascii()):
        faults.append("PORTAL_METRICS_TOKEN: must be at least 16 ASCII characters")
    return token


def _store_url(environ: Mapping[str, str], faults: list[str]) -> str:
    url = read_secret("PORTAL_STORE_URL", environ) or ""
    parts = urlsplit(url)
    if not url:
        faults.append(
            "PORTAL_STORE_URL: is missing; set it to sqlite:////var/lib/portal/store.db or redis://host:6379/0"
        )
    elif parts.scheme == "sqlite":
        folder = Path(url.removeprefix("sqlite:///")).parent
        if not url.startswith("sqlite:///") or not folder.is_dir() or not os.access(folder, os.W_OK):
            faults.append(f"PORTAL_STORE_URL: the folder {folder} must exist and be writable")
    elif parts.scheme not in ("redis", "rediss") or not parts.hostname:
        faults.append(
            f"PORTAL_STORE_URL: must be sqlite:///path or redis://host:port/database (found scheme {parts.scheme!r})"
        )
    return url


def _tenants(environ: Mapping[str, str], faults: list[str]) -> Tenants:
    path = environ.get("PORTAL_TENANTS", "")
    if not path:
        faults.append(
            "PORTAL_TENANTS: is missing; set it to the path of the tenants file (docs/configuration.md)"
        )
        return Tenants({}, {})
    try:
        return load_tenants(Path(path), environ)
    except TenantsError as error:
        faults += error.faults
        return Tenants({}, {})


def _beside(tenants: Path) -> Path:
    """The folder of the clinics' consent templates: next to the tenants file, or in the folder of tenants files."""
    return (tenants if tenants.is_dir() else tenants.parent) / "consent-templates"


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _failures(text: str) -> int:
    number = _count(text)
    if number > 100:
        raise ValueError
    return number


def _seconds(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError
    return number


def _authorities(text: str) -> str:
    try:
        ssl.create_default_context(cafile=text)
    except OSError as error:  # missing, unreadable, or without a certificate (ssl.SSLError)
        raise ValueError from error
    return text


def _duration(text: str) -> float:
    number = float(text)
    if not 0 < number < 3600:
        raise ValueError
    return number


def _rate(text: str) -> str:
    if not _RATE.fullmatch(text):
        raise ValueError
    return text


def _cache_url(text: str) -> str:
    if text != "memory:" and urlsplit(text).scheme not in ("redis", "rediss"):
        raise ValueError
    return text
