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
