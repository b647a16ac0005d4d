"""Reads the tenants file, or a folder of them: TOML tables into clinics, and every fault in them with its key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from portal.config.profile import applied
from portal.config.table import Source, read_table, settings_of
from portal.config.tenants import Tenant, Tenants, TenantsError

_NONE = Tenants({}, {})
_HOSTS = re.compile(r"^[^#\n]*\bhosts\s*=\s*\[([^\]]*)", re.MULTILINE)
_QUOTED = re.compile(r"""["']([^"'\s]+)["']""")

DIALECT = ".dialect.toml"
"""How the names of dialect files end, which may stand in a folder of tenants files."""


KEPT = "PORTAL_KEPT_FILES"
"""Names the files in the folder that a reload left as they were, because of faults in the new ones: set by the supervisor."""


def load_tenants(path: Path, environ: Mapping[str, str]) -> Tenants:
    """Read the tenants file, or those of a folder, without its dialects; raise TenantsError with every fault.

    A file of a folder that has a fault is left out with its clinics; the others go on without it, and none gets its hosts. So is
    one whose clinic can't tell its own people from those of another file's clinic.
    """
    if not path.is_dir():
        return _of_file(path, environ)
    files = sorted(file for file in path.glob("*.toml") if not file.name.endswith(DIALECT))
    if not files:
        raise TenantsError([f"{path}: contains no .toml file"])
    by_key: dict[str, Tenant] = {}
    by_host: dict[str, Tenant] = {}
    file_of: dict[str, str] = {}
    left_out: dict[str, tuple[str, ...]] = {}
    closed: set[str] = set()
    for file in files:
        try:
            read = _of_file(file, environ, Tenants(by_key, by_host, closed_hosts=frozenset(closed)))
        except TenantsError as error:
            left_out[file.name] = tuple(error.faults)
            closed.update(_hosts_named_in(file))
            continue
        by_key |= read.by_key
        by_host |= read.by_host
        file_of |= dict.fromkeys(read.by_key, file.name)
    if not by_key:
        raise TenantsError([fault for faults in left_out.values() for fault in faults])
    kept = tuple(name for name in environ.get(KEPT, "").split("/") if name)
    tenants = Tenants(by_key, by_host, file_of, left_out, kept, frozenset(closed))
    for key, fault in _indistinct(by_key).items():
        tenants = tenants.without(file_of[key], [fault])
    if not tenants.by_key:
        raise TenantsError([fault for faults in tenants.left_out.values() for fault in faults])
    return tenants


def _indistinct(tenants: Mapping[str, Tenant]) -> dict[str, str]:
    """The faults of clinics that take whoever has a role of another clinic at the identity server of both."""
    at_server: dict[str, list[Tenant]] = {}
    for tenant in tenants.values():
        at_server.setdefault(tenant.auth_url, []).append(tenant)
    return {
        tenant.key: f"tenants.{tenant.key}.tenant_claim: is missing, and {other.key} has the same auth_url: "
        "its people could sign in here"
        for there in at_server.values()
        for tenant in there
        for other in reversed(there)
        if other is not tenant and not tenant.tenant_claim and tenant.roles.shared_with(other.roles)
    }


def _hosts_named_in(file: Path) -> Iterator[str]:
    """The hosts that a faulty file gives its clinics, which may not even be TOML."""
    with suppress(OSError):
        for named in _HOSTS.findall(file.read_text(encoding="utf-8", errors="replace")):
            yield from (host.lower() for host in _QUOTED.findall(named))


def _of_file(file: Path, environ: Mapping[str, str], others: Tenants = _NONE) -> Tenants:
    """Read one file; raise TenantsError with every fault in it, also where its clinics collide with others'."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise TenantsError([f"{file}: cannot be read ({error.strerror})"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TenantsError([f"{file}: is not TOML ({error})"]) from None
    faults: list[str] = []
    tenants = _read(document, Source(environ, file.parent, {}, {}), others, faults)
    faults += _indistinct(tenants.by_key).values()
    if not tenants.by_key and not faults:
        faults.append(f"{file}: contains no [tenants.<key>]")
    if faults:
        raise TenantsError(faults)
    return tenants


def _read(document: dict[str, Any], source: Source, others: Tenants, faults: list[str]) -> Tenants:
    """Return the clinics of one file, and add what is wrong with them to the faults."""
    tenants: dict[str, Tenant] = {}
    by_host: dict[str, Tenant] = {}
    unknown = sorted(document.keys() - {"care", "tenants"})
    faults += [f"{name}: isn't a setting of the tenants file" for name in unknown]
    care, clinics = (_table(document, name, faults) for name in ("care", "tenants"))
    shared = {
        name: care[name] for name, setting in settings_of(Tenant).items() if setting.shared and name in care
    }
    faults += [f"care.{name}: isn't a setting of [care]" for name in sorted(care.keys() - shared.keys())]
    for key, table in clinics.items():
        where = f"tenants.{key}"
        if not isinstance(table, dict):
            faults.append(f"{where}: must be a table ([{where}])")
            continue
        if key in others.by_key:
            faults.append(f"{where}: is defined twice")
            continue
        clinic = shared | cast("dict[str, Any]", table)
        try:
            read = read_table(Tenant, clinic, replace(source, clinic=clinic), "a tenant", key=key)
            tenants[key] = applied(read)
        except ValueError as error:
            faults += [f"{where}{fault}" for fault in error.args]
            continue
        for host in tenants[key].hosts:
            other = others.by_host.get(host) or by_host.setdefault(host, tenants[key])
            if other.key != key:
                faults.append(f"{where}.hosts: {host!r} already belongs to {other.key}")
            elif host in others.closed_hosts:
                faults.append(f"{where}.hosts: {host!r} already belongs to a clinic whose file can't be used")
    return Tenants(tenants, by_host)


def _table(document: dict[str, Any], name: str, faults: list[str]) -> dict[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        faults.append(f"{name}: must be a table")
        return {}
    return cast("dict[str, Any]", value)
