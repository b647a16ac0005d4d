"""Writes down what a release stores and reads, which every later one keeps: `make released`, once for each release.

`tests/state/released/VERSION.json` has the shape of each stored record (JSON Schema), the environment variables and the keys of the
tenants file. A test compares each of these files with the code as it is.
"""

from __future__ import annotations

import json
import pkgutil
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

import msgspec

from portal.careservice.migrations.__main__ import write_first
from portal.config.table import settings_of
from portal.config.tenants import Tenant
from portal.config.variables import DECLARED
from tools.definitions import ROOT

FOLDER = ROOT / "tests" / "state" / "released"
_PLACES = (
    *("portal.state", "portal.web", "portal.views", "portal.signin.flow", "portal.store.names"),
    *("portal.audit.checkpoints", "portal.connect.answers.members", "portal.services.capabilities"),
)
"""Where the records are declared that the store holds, drafts of forms among them."""


def now() -> dict[str, Any]:
    """Return what this version stores and reads."""
    return {
        "records": {f"{one.__module__}.{one.__qualname__}": shape(one) for one in records()},
        "variables": sorted(variable.name for variable in DECLARED.values()),
        "tenants": {
            key: sorted(settings_of(one.of)) if one.of else [] for key, one in settings_of(Tenant).items()
        },
    }


def records() -> list[type[msgspec.Struct]]:
    """Return the classes of all stored records."""
    for place in _PLACES:
        module = import_module(place)
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{place}."):
            import_module(found.name)
    known = {one for one in _subclasses(msgspec.Struct) if one.__module__.startswith(_PLACES)}
    return sorted(known, key=lambda one: (one.__module__, one.__qualname__))


def _subclasses(of: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for one in of.__subclasses__():
        yield one
        yield from _subclasses(one)


def shape(record: type[msgspec.Struct]) -> dict[str, Any]:
    """Return a record's JSON Schema with the shapes that it contains, without words."""
    return cast("dict[str, Any]", _bare(msgspec.json.schema(record)))


def _bare(schema: object) -> object:
    if isinstance(schema, dict):
        told = cast("dict[str, object]", schema)
        return {
            key: _bare(value) for key, value in told.items() if key not in ("title", "description", "default")
        }
    return [_bare(one) for one in cast("list[object]", schema)] if isinstance(schema, list) else schema


def main() -> int:
    """Write the file of the version in pyproject.toml, and the care service's first tables unless they are."""
    write_first()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [
        f"{json.dumps(part)}: {{\n{_lines(told)}\n}}"
        if isinstance(told, dict)
        else f"{json.dumps(part)}: {json.dumps(told)}"
        for part, told in now().items()
    ]
    text = ",\n".join(parts)
    (FOLDER / f"{project['version']}.json").write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    return 0


def _lines(told: dict[str, Any]) -> str:
    return ",\n".join(
        f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in told.items()
    )


if __name__ == "__main__":
    sys.exit(main())
