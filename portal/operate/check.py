"""`python -m portal check`: whether everything the portal needs is in place, and what to do if not.

Checks the settings first; then, over the network, what they refer to: the store, and each identity server and care API
once. Prints one line per check; every fault says what to do.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from redis import Redis, RedisError
from redis.exceptions import NoPermissionError, ResponseError

from portal import parse, printing
from portal.audit import output
from portal.config.modules import WHAT_ELSE
from portal.config.settings import Settings
from portal.config.tenants import Tenant, contrast
from portal.config.variables import Timeouts
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.load import load_dialects
from portal.operate.findings import Finding, clock_of, get
from portal.operate.identity_check import check_identity
from portal.printing.credentials import CannotSeal, read_credentials
from portal.services.consents import LIST_CONSENTS
from portal.signin.discovery import Provider
from portal.store import Store, StoreDown, StoreUnsuitable, WrongKey, open_store
from portal.store.names import Names
from portal.store.redis_client import redis_client
from portal.store.sealer import fingerprint

_TRIED_FOR = 60.0
_LEAST_FREE = 200
"""Megabytes."""
_ENDS_SOON = timedelta(days=30)


def run(settings: Settings) -> int:
    """Print the findings; return 0, or 2 if there is a fault."""
    has_fault = False
    for finding in findings(settings):
        print(finding, file=sys.stderr if finding.is_fault else sys.stdout, flush=True)
        has_fault = has_fault or finding.is_fault
    return 2 if has_fault else 0


def findings(settings: Settings) -> Iterator[Finding]:
    """Run all checks; an upstream that several clinics share is checked once."""
    tenants = list(settings.tenants.by_key.values())
    yield _settings(settings)
    yield from _left_out(settings)
    yield from _unknown(settings)
    yield from _colours(tenants)
    yield from _contacts(tenants)
    yield from _modules(tenants)
    yield from _store(settings)
    yield from _cache(settings)
    yield _audit(settings)
    if settings.audit != "stderr":
        yield from _folder("audit folder", Path(settings.audit))
    yield _printing()
    yield from _document_seals(tenants)
    yield from _dialects(settings)
    for auth_url, origins in sorted({(tenant.auth_url, tenant.identity_origins) for tenant in tenants}):
        there = [
            tenant for tenant in tenants if (tenant.auth_url, tenant.identity_origins) == (auth_url, origins)
        ]
        provider = Provider(auth_url, origins, settings.timeouts, time.time, 0)
        yield from check_identity(there, provider, settings.timeouts)
    dialects = load_dialects(settings.tenants, os.environ)
    for base_url, path in sorted(
        {(tenant.base_url, _list_path(dialects.get(tenant.key))) for tenant in tenants}
    ):
        yield from _care_api(base_url, path, settings.timeouts)


def _settings(settings: Settings) -> Finding:
    clinics, hosts = len(settings.tenants.by_key), len(settings.tenants.by_host)
    return Finding("settings", f"{clinics} clinics at {hosts} hosts")


def _left_out(settings: Settings) -> Iterator[Finding]:
    for file, faults in settings.tenants.left_out.items():
        for fault in faults:
            yield Finding(file, fault, "Correct it: until then its clinics are left out", is_fault=True)


def _unknown(settings: Settings) -> Iterator[Finding]:
    """Unknown variables that begin like the portal's; others may set them (Kubernetes does for a service called portal)."""
    for name, near in settings.unknown.items():
        advice = f"Is {near} meant?" if near else "Remove it, unless something else reads it"
        yield Finding(name, "isn't a setting of the portal", advice, is_fault=near is not None)


def _colours(tenants: list[Tenant]) -> Iterator[Finding]:
    """Accents too faint for text; ones too faint even for buttons are refused at startup."""
    faint = [tenant for tenant in tenants if contrast(tenant.accent, "#ffffff") < 4.5]
    for tenant in faint:
        ratio = f"contrast of {tenant.accent} with white is {contrast(tenant.accent, '#ffffff'):.1f}"
        yield Finding(f"tenants.{tenant.key}.accent", ratio, "Choose a darker one: text needs at least 4.5")
    if not faint:
        yield Finding("accents", "all have a contrast of 4.5 or more with white")


def _contacts(tenants: list[Tenant]) -> Iterator[Finding]:
    """Optional for the portal, but its pages tell patients to call the clinic."""
    for tenant in tenants:
        what = f"tenants.{tenant.key}.contact"
        if tenant.contact is None:
            advice = "Add its telephone number: pages tell patients to call the clinic"
            yield Finding(what, "isn't configured", advice)
        elif tenant.contact.hours and tenant.contact.out_of_hours is None:
            advice = "Add one: patients inject at night and may need help then"
            yield Finding(what, "has no out_of_hours line", advice)
        if tenant.contact and tenant.contact.hours and not tenant.contact.is_sure(datetime.now(UTC).date()):
            advice = "List the holidays to come: pages can't know then which number answers"
            yield Finding(what, "has no closed days from today on", advice)
        given = set(tenant.contact.call_now if tenant.contact else ())
        missing = set(tenant.languages) - given
        if given and missing:
            advice = "Have the clinic write on which signs patients call at once; until then they read a general list"
            yield Finding(what, f"has no call_now for {', '.join(sorted(missing))}", advice)
    if all(tenant.contact for tenant in tenants):
        yield Finding("contacts", "every clinic has its telephone numbers")


def _modules(tenants: list[Tenant]) -> Iterator[Finding]:
    for tenant in tenants:
        for module in sorted(tenant.modules_off):
            yield Finding(
                f"tenants.{tenant.key}.modules_off", f"{module} is off", f"With it, {WHAT_ELSE[module]}"
            )


def _printing() -> Finding:
    """Optional: without it, people who ask for a PDF get the page to print."""
    why = printing.fault()
    if why is None:
        return Finding("PDF documents", "can be made")
    packages = f"Install WeasyPrint's libraries (apt-get install {' '.join(printing.PACKAGES)})"
    return Finding(
        "PDF documents", f"can't be made: {why}", f"{packages}, or do nothing: people can print the pages"
    )


def _document_seals(tenants: list[Tenant]) -> Iterator[Finding]:
    """Optional: without a valid certificate, copies of consent forms are unsealed and say so."""
    now = datetime.now(UTC)
    for tenant in tenants:
        seal = tenant.document_seal
        if seal is None:
            continue
        what = f"tenants.{tenant.key}.document_seal"
        try:
            credentials = read_credentials(seal.certificate, seal.key_file)
            credentials.check_time(now)
        except CannotSeal as error:
            advice = "Until that is fixed, copies of consent forms are unsealed"
            yield Finding(what, str(error), advice, is_fault=True)
            continue
        is_near = credentials.ends_at - now < _ENDS_SOON
        advice = "Renew it: after that date, copies of consent forms are unsealed" if is_near else ""
        yield Finding(what, f"the certificate is valid until {credentials.ends_at:%Y-%m-%d}", advice)
    if not any(tenant.document_seal for tenant in tenants):
        yield Finding("document seals", "none is configured: copies of consent forms are unsealed")


def _dialects(settings: Settings) -> Iterator[Finding]:
    """The dialects in use; faults in them are reported with the settings' before this runs."""
    for tenant in settings.tenants.by_key.values():
        if tenant.dialect:
            yield Finding(f"tenants.{tenant.key}.dialect", f"{tenant.dialect} can be used")


def _list_path(dialect: Dialect | None) -> str:
    return dialect.template(LIST_CONSENTS) if dialect else LIST_CONSENTS.template


def _store(settings: Settings) -> Iterator[Finding]:
    url = settings.store_url
    is_file = url.startswith("sqlite:")
    try:
        store = open_store(url, time.time)
        _try_out(store)
        yield Finding("store", "reads, writes and deletes")
        yield _secret_keys(store, settings)
        yield from () if is_file else _redis(url)
    except StoreUnsuitable as error:
        yield Finding("store", "can't be used", str(error), is_fault=True)
        return
    except (StoreDown, RedisError) as error:
        advice = (
            "Check that the disk isn't full, and that the file is an intact SQLite database that this user may write to"
            if is_file
            else "Check that Redis runs there, and that address, password and TLS in PORTAL_STORE_URL are right"
        )
        yield Finding("store", f"doesn't work ({error or type(error).__name__})", advice, is_fault=True)
        return
    if is_file:
        yield from _file(Path(url.removeprefix("sqlite:///")))


def _secret_keys(store: Store, settings: Settings) -> Finding:
    has = ", ".join(map(fingerprint, settings.secret_keys))
    try:
        Names(store, settings.secret_keys, time.time).check()
    except WrongKey as error:
        advice = (
            "Set the same PORTAL_SECRET_KEYS everywhere; if those keys are lost for good, empty the store"
        )
        return Finding("secret keys", str(error), advice, is_fault=True)
    return Finding("secret keys", f"{has} can open the store")


def _try_out(store: Store) -> None:
    name, expires_at = f"check:{secrets.token_hex(8)}", time.time() + _TRIED_FOR
    if not store.insert(name, b"check", expires_at=expires_at):
        raise StoreDown("a new record can't be created")
    read = store.take(name)
    if read is None or read.value != b"check":
        raise StoreDown("a record isn't read back as it was written")


def _file(path: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(path.parent).free // 1024**2
    advice = "" if free >= _LEAST_FREE else "Free some space: without it nobody can sign in"
    yield Finding("store's disk", f"{free} MB free", advice, is_fault=bool(advice))
    yield from _folder("store's folder", path.parent)


def _folder(what: str, folder: Path) -> Iterator[Finding]:
    """Report a data folder that others can access; a missing one will be created with the right mode (0700)."""
    if folder.is_dir() and (mode := folder.stat().st_mode & 0o777) & 0o077:
        yield Finding(what, f"{folder} has mode {mode:o}", f"chmod 700 {folder}", is_fault=True)


def _redis(url: str) -> Iterator[Finding]:
    redis = cast("Any", redis_client(url, decode_responses=True, socket_timeout=5.0))
    try:
        about = cast("dict[str, Any]", redis.info())
    except NoPermissionError:
        advice = "Let its user ask (ACL SETUSER … +info): version, eviction and free memory are unknown"
        yield Finding("Redis", "doesn't tell about itself", advice)
        return
    version = str(about.get("redis_version", "0"))
    advice = "" if (parse.whole_number(version.partition(".")[0]) or 0) >= 6 else "Redis 6 or newer is needed"
    yield Finding("Redis", f"version {version}", advice, is_fault=bool(advice))
    advice = (
        "Use a single primary: scripts access keys in several slots" if about.get("cluster_enabled") else ""
    )
    yield Finding("Redis", "a cluster" if advice else "a single primary", advice, is_fault=bool(advice))
    policy = str(about.get("maxmemory_policy", "unknown"))
    advice = (
        ""
        if policy == "noeviction"
        else "Set maxmemory-policy noeviction: evicting a session signs someone out"
    )
    yield Finding("Redis", f"maxmemory-policy {policy}", advice, is_fault=bool(advice))
    if not about.get("aof_enabled") and not _saves(redis):
        yield Finding("Redis", "in memory only", "Set appendonly yes, or a restart signs everyone out")


def _cache(settings: Settings) -> Iterator[Finding]:
    """Optional: without it, reference data are fetched every time."""
    if settings.cache_url == "memory:":
        return
    try:
        made: object = Redis.from_url(settings.cache_url, socket_timeout=5.0)  # pyright: ignore[reportUnknownMemberType]
        redis = cast("Any", made)
        redis.set("portal:check", b"", px=1000)
        yield Finding("cache", "accepts writes")
    except (RedisError, ValueError) as error:
        advice = (
            "Check that Redis runs there, and that address, password and TLS in PORTAL_CACHE_URL are right"
        )
        yield Finding("cache", f"doesn't work ({type(error).__name__})", advice, is_fault=True)


def _saves(redis: Any) -> bool:
    """Whether Redis writes snapshots; if it doesn't allow the question, assume that its operator sees to it."""
    try:
        return bool(redis.config_get("save").get("save"))
    except ResponseError:
        return True


def _audit(settings: Settings) -> Finding:
    if settings.audit == "stderr":
        return Finding("audit", "goes to stderr, with the logs")
    folder = Path(settings.audit)
    nearest = next(above for above in (folder, *folder.absolute().parents) if above.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        advice = "Set PORTAL_AUDIT to a folder that this user may write to"
        return Finding("audit", f"{nearest} isn't writable", advice, is_fault=True)
    try:
        output.check_writable(str(nearest))
    except OSError as error:
        advice = "Free some space: without it, everything but reading is refused"
        return Finding("audit", f"{nearest} can't be written ({error.strerror})", advice, is_fault=True)
    return Finding("audit", f"goes to {folder}")


def _care_api(base_url: str, path: str, timeouts: Timeouts) -> Iterator[Finding]:
    """Make a call that needs a token, without one: a 401 shows that the API is there and protected."""
    what = f"care API {base_url}"
    answer = get(base_url + path, timeouts)
    if isinstance(answer, str):
        yield Finding(
            what, answer, "Check base_url and the connection to it (DNS, firewall, TLS)", is_fault=True
        )
        return
    if answer.status == 401:
        yield Finding(what, "answers, and asks for a token")
    else:
        advice = _CARE_ADVICE.get(answer.status // 100, "Check base_url")
        yield Finding(what, f"answers {answer.status} to a call without a token", advice, is_fault=True)
    yield from clock_of(what, answer)


_CARE_ADVICE = {
    2: "It must refuse such a call: this isn't the care API, or the API isn't protected",
    3: "Set base_url to the redirect's target: the portal doesn't follow redirects",
    4: "base_url must be the address that /api/… is below",
    5: "See the API's log",
}
