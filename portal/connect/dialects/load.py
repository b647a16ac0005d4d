"""Loads the dialects of all clinics, once at startup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from portal.config.tenants import Tenants
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import DialectError, read_dialect


def load_dialects(tenants: Tenants, environ: Mapping[str, str]) -> Mapping[str, Dialect]:
    """Return the dialect of each clinic that has one, by its key; raise DialectError with every fault in every file.

    Clinics that name the same file share one dialect.
    """
    made: dict[Path, Dialect] = {}
    faults: list[str] = []
    named = {key: tenant.dialect for key, tenant in tenants.by_key.items() if tenant.dialect}
    for path in sorted(set(named.values())):
        try:
            made[path] = Dialect(read_dialect(path, environ))
        except DialectError as error:
            faults += error.faults
    if faults:
        raise DialectError(faults)
    return {key: made[path] for key, path in named.items()}


def leave_out_unusable(tenants: Tenants, environ: Mapping[str, str]) -> Tenants:
    """Return the clinics without those files of the folder that name a dialect which can't be used.

    Raises DialectError if they aren't in a folder, or none would be left.
    """
    faults: dict[Path, list[str]] = {}
    for path in {tenant.dialect for tenant in tenants.by_key.values() if tenant.dialect}:
        try:
            Dialect(read_dialect(path, environ))
        except DialectError as error:
            faults[path] = error.faults
    left = tenants
    for key, tenant in tenants.by_key.items():
        if tenant.dialect in faults and key in left.by_key:
            if key not in tenants.file_of:
                raise DialectError([fault for path in sorted(faults) for fault in faults[path]])
            left = left.without(tenants.file_of[key], faults[tenant.dialect])
    if not left.by_key:
        raise DialectError([fault for path in sorted(faults) for fault in faults[path]])
    return left
