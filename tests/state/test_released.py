"""What a release stores and reads, every later one does too, and what a later one stores, it can go on with.

So a portal may be upgraded and rolled back on the same store, with the same settings. `make released` writes the file of a
release that isn't out yet anew.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portal import VERSION
from tests.support.stack import ROOT
from tools import released

RELEASES = sorted(released.FOLDER.glob("*.json"))


def broken(old: Any, new: Any, olds: Any, news: Any, where: str) -> Iterator[str]:
    """What of an old shape a new one doesn't hold; `olds` and `news` define what `$ref` names."""
    while "$ref" in old:
        old = olds[old["$ref"].rpartition("/")[2]]
    while "$ref" in new:
        new = news[new["$ref"].rpartition("/")[2]]
    if "anyOf" in old or "anyOf" in new:
        choices = new.get("anyOf", [new])
        for one in old.get("anyOf", [old]):
            if all([*broken(one, choice, olds, news, where)] for choice in choices):
                yield f"{where}: {one} isn't taken any more"
        return
    if old.get("type") != new.get("type"):
        yield f"{where}: was {old.get('type')}, is {new.get('type')}"
    if gone := {*old.get("enum", ())} - {*new.get("enum", old.get("enum", ()))}:
        yield f"{where}: has no value {gone}"
    if added := {*new.get("required", ())} - {*old.get("required", ())}:
        yield f"{where}: {added} need a default: older records don't have them"
    if left_out := {*old.get("required", ())} - {*new.get("required", ())}:
        yield f"{where}: {left_out} must stay required: the release before can't do without"
    for name, of in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            yield f"{where}.{name}: is gone"
        else:
            yield from broken(of, new["properties"][name], olds, news, f"{where}.{name}")
    places, new_places = old.get("prefixItems", []), new.get("prefixItems", [])
    if len(new_places) < len(places) or new.get("minItems", 0) > len(places):
        yield f"{where}: has {new.get('minItems', 0)} to {len(new_places)} places instead of {len(places)}"
    for place, (one, other) in enumerate(zip(places, new_places, strict=False)):
        yield from broken(one, other, olds, news, f"{where}[{place}]")
    for name in ("items", "additionalProperties"):
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            yield from broken(old[name], new[name], olds, news, f"{where}[]")


def moved(name: str, records: dict[str, Any]) -> Any:
    """The record of that name in another module, if there is one alone: what is stored doesn't name modules."""
    found = [shape for other, shape in records.items() if other.rpartition(".")[2] == name.rpartition(".")[2]]
    return found[0] if len(found) == 1 else None


def test_this_version_is_written_down() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == VERSION
    assert released.FILE in RELEASES, "make released"


@pytest.mark.parametrize("file", RELEASES, ids=lambda file: file.stem)
def test_records_and_settings_of_a_release_are_kept(file: Path) -> None:
    was, is_now = json.loads(file.read_text(encoding="utf-8")), released.now()
    faults: list[str] = []
    for name, shape in was["records"].items():
        new = is_now["records"].get(name) or moved(name, is_now["records"])
        faults += (
            [f"{name}: is gone"]
            if new is None
            else [*broken(shape, new, shape.get("$defs", {}), new.get("$defs", {}), name.rpartition(".")[2])]
        )
    faults += [f"{name}: no setting any more" for name in {*was["variables"]} - {*is_now["variables"]}]
    for key, within in was["tenants"].items():
        if key not in is_now["tenants"]:
            faults.append(f"tenants.*.{key}: no setting any more")
        faults += [f"tenants.*.{key}.{one}: is gone" for one in {*within} - {*is_now["tenants"].get(key, ())}]
    migrations = was["migrations"]
    faults += [
        f"{name}: a released database was made by another"
        for name in migrations
        if is_now["migrations"].get(name) != migrations[name]
    ]
    assert not faults, "\n".join(faults)


class _Was(msgspec.Struct):
    at: float
    state: str | None = None


class _Added(msgspec.Struct):
    at: float
    state: str | None = None
    more: list[str] = []


class _Needs(msgspec.Struct):
    at: float
    more: int
    state: str | None = None


class _Renamed(msgspec.Struct):
    at: float
    status: str | None = None


class _Narrower(msgspec.Struct):
    at: float
    state: str = ""


class _Row(msgspec.Struct, array_like=True):
    at: float
    state: str


class _LongerRow(msgspec.Struct, array_like=True):
    at: float
    state: str
    more: int = 0


class _NeedsPlace(msgspec.Struct, array_like=True):
    at: float
    state: str
    more: int


class _MovedPlaces(msgspec.Struct, array_like=True):
    state: str
    at: float


@pytest.mark.parametrize(
    ("was", "later", "said"),
    [
        *(
            (_Was, later, said)
            for later, said in (
                (_Added, ""),
                (_Needs, "need a default"),
                (_Renamed, "_Was.state: is gone"),
                (_Narrower, "isn't taken"),
            )
        ),
        (_Row, _LongerRow, ""),
        (_Row, _NeedsPlace, "3 to 3 places"),
        (_Row, _MovedPlaces, "_Row[0]: was number"),
    ],
)
def test_what_would_break_a_rollback_is_named(
    was: type[msgspec.Struct], later: type[msgspec.Struct], said: str
) -> None:
    old, new = released.shape(was), released.shape(later)
    found = [*broken(old, new, old["$defs"], new["$defs"], was.__name__)]
    assert bool(found) == bool(said)
    assert said in " ".join(found)
