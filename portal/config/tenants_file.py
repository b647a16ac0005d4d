"""Reads the tenants file, or a folder of them: TOML tables into clinics, and every fault in them with its key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from portal.config.table import Source, read_table, settings_of
from portal.config.tenants import Tenant, Tenants, TenantsError

DIALECT = ".dialect.toml"
"""How the names of dialect files end, which may stand in a folder of tenants files."""


def load_tenants(path: Path, environ: Mapping[str, str]) -> Tenants:
    """Read the tenants file, or those of a folder, without its dialects; raise TenantsError with every fault."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.glob("*.toml") if not file.name.endswith(DIALECT))
    if not files:
        raise TenantsError([f"{path}: contains no .toml file"])
    tenants: dict[str, Tenant] = {}
    by_host: dict[str, Tenant] = {}
    faults: list[str] = []
    for file in files:
        try:
            document = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            faults.append(f"{file}: cannot be read ({error.strerror})")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            faults.append(f"{file}: is not TOML ({error})")
        else:
            _read(document, Source(environ, file.parent, {}, {}), tenants, by_host, faults)
    if not tenants and not faults:
        faults.append(f"{path}: contains no [tenants.<key>]")
    if faults:
        raise TenantsError(faults)
    return Tenants(tenants, by_host)


def _read(
    document: dict[str, Any],
    source: Source,
    tenants: dict[str, Tenant],
    by_host: dict[str, Tenant],
    faults: list[str],
) -> None:
    """Add what one file holds to the clinics and their faults."""
    unknown = sorted(document.keys() - {"care", "tenants"})
    faults += [f"{name}: isn't a setting of the tenants file" for name in unknown]
    care, clinics = (_table(document, name, faults) for name in ("care", "tenants"))
    shared = {name: care[name] for name, one in settings_of(Tenant).items() if one.shared and name in care}
    faults += [f"care.{name}: isn't a setting of [care]" for name in sorted(care.keys() - shared.keys())]
    for key, table in clinics.items():
        where = f"tenants.{key}"
        if not isinstance(table, dict):
            faults.append(f"{where}: must be a table ([{where}])")
            continue
        if key in tenants:
            faults.append(f"{where}: is defined twice")
            continue
        clinic = shared | cast("dict[str, Any]", table)
        try:
            tenants[key] = read_table(Tenant, clinic, replace(source, clinic=clinic), "a tenant", key=key)
        except ValueError as error:
            faults += [f"{where}{fault}" for fault in error.args]
            continue
        for host in tenants[key].hosts:
            if (other := by_host.setdefault(host, tenants[key])).key != key:
                faults.append(f"{where}.hosts: {host!r} already belongs to {other.key}")


def _table(document: dict[str, Any], name: str, faults: list[str]) -> dict[str, Any]:
    value = document.get(name, {})
    if not isinstance(value, dict):
        faults.append(f"{name}: must be a table")
        return {}
    return cast("dict[str, Any]", value)
