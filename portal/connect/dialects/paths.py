"""Paths of members, read and written: in a list, a number is a place, and `system=phone` the record with that member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, cast

MISSING = object()
"""What is found at a path where nothing came, not even null."""


def at_path(value: Any, path: Sequence[str], otherwise: object = None) -> object:
    """The value at a path of members; `otherwise` if there is none."""
    for name in path:
        if value.__class__ is dict:
            value = value.get(name, otherwise)
        elif value.__class__ is list:
            place = _place(value, name)
            value = otherwise if place is None else value[place]
        else:
            return otherwise
    return value


def getter(path: Sequence[str], otherwise: object = None) -> Callable[[Any], object]:
    """The function for the value at a path, prepared for many calls."""
    steps = tuple((name, int(name) if name.isdecimal() else None) for name in path)
    if len(steps) == 1 and steps[0][1] is None and "=" not in path[0]:
        (only,) = path
        return lambda value: value.get(only, otherwise) if value.__class__ is dict else otherwise

    def get(value: Any) -> object:
        for name, place in steps:
            if value.__class__ is dict:
                value = value.get(name, otherwise)
            elif value.__class__ is not list:
                return otherwise
            else:
                found = _place(value, name) if place is None else place
                value = otherwise if found is None or found >= len(value) else value[found]
        return value

    return get


def put(record: dict[str, object], path: Sequence[str], value: object) -> None:
    """Set the value at a path, making the objects and lists on its way."""
    here: Any = record
    for name, below in zip(path, [*path[1:], None], strict=True):
        new: object = value if below is None else [] if _is_of_list(below) else {}
        if isinstance(here, list):
            here = _put_in(cast("list[object]", here), name, new, is_last=below is None)
        elif below is None:
            here[name] = value
        else:
            if not isinstance(here.get(name), dict | list):
                here[name] = new
            here = here[name]


def put_over(record: dict[str, object], path: Sequence[str], value: object, came: object) -> None:
    """The same, with the list that the path leads through as it came: a list that is sent replaces the whole."""
    outer = next((place for place, name in enumerate(path) if _is_of_list(name)), None)
    if outer is not None and at_path(record, path[:outer], MISSING) is MISSING:
        whole = at_path(came, path[:outer])
        if isinstance(whole, list):
            put(record, path[:outer], deepcopy(cast("list[object]", whole)))
    put(record, path, value)


def _is_of_list(name: str) -> bool:
    return name.isdecimal() or "=" in name


def _place(items: list[object], name: str) -> int | None:
    """The place of the item that a name means, if there is one."""
    if name.isdecimal():
        return int(name) if int(name) < len(items) else None
    member, is_named, wanted = name.partition("=")
    if not is_named:
        return None
    return next((place for place, item in enumerate(items) if _has(item, member, wanted)), None)


def _has(item: object, member: str, wanted: str) -> bool:
    return isinstance(item, dict) and str(cast("dict[str, object]", item).get(member)) == wanted


def _put_in(items: list[object], name: str, new: object, *, is_last: bool) -> object:
    """Set an item of a list, or find it if the path goes on; a new one of `system=phone` has that member."""
    place = _place(items, name)
    if place is None:
        member, is_named, wanted = name.partition("=")
        items.append({member: wanted} if is_named else new)
        return items[-1]
    if is_last or not isinstance(items[place], dict | list):
        items[place] = new
    return items[place]
