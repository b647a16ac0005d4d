"""Writes down what a release stores and reads, which every later one keeps: `make released`, once for each release.

`tests/state/released/VERSION.json` has the shape of each stored record (JSON Schema), the environment variables, the keys of the
tenants file, and the care service's migrations with their digests. A test compares each of these files with the code as it is.
"""

from __future__ import annotations

import hashlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

from portal import VERSION
from portal.careservice import migrations
from portal.config.table import settings_of
from portal.config.tenants import Tenant
from portal.config.variables import DECLARED
from portal.values import Value
from tools.definitions import ROOT

FOLDER = ROOT / "tests" / "state" / "released"
FILE = FOLDER / f"{VERSION}.json"
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
        "migrations": {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in _migrations()},
    }


def _migrations() -> list[Path]:
    return sorted((migrations.FOLDER / "versions").glob("v*.py"))


def records() -> list[type[msgspec.Struct]]:
    """Return the classes of all stored records."""
    for place in _PLACES:
        module = import_module(place)
        for found in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{place}."):
            import_module(found.name)
    values = set(_subclasses(Value))
    known = {
        one for one in _subclasses(msgspec.Struct) if one.__module__.startswith(_PLACES) and one not in values
    }
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
    """Write this version's file; with `--check`, say whether it is right."""
    if sys.argv[1:] == ["--check"]:
        if not FILE.is_file() or json.loads(FILE.read_text(encoding="utf-8")) != now():
            print(
                f"{FILE.relative_to(ROOT)} isn't what the code says: run `make released` and commit it.",
                file=sys.stderr,
            )
            return 1
        return 0
    if subprocess.run(
        ["git", "tag", "--list", f"v{VERSION}"], cwd=ROOT, capture_output=True, check=False
    ).stdout:
        print(
            f"v{VERSION} is out, and what it stores stays written down: give pyproject.toml and portal/__init__.py the next version.",
            file=sys.stderr,
        )
        return 2
    parts = [
        f"{json.dumps(part)}: {{\n{_lines(told)}\n}}"
        if isinstance(told, dict)
        else f"{json.dumps(part)}: {json.dumps(told)}"
        for part, told in now().items()
    ]
    text = ",\n".join(parts)
    FILE.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")
    return 0


def _lines(told: dict[str, Any]) -> str:
    return ",\n".join(
        f" {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in told.items()
    )


if __name__ == "__main__":
    sys.exit(main())
