"""Compares a response with the record that it is decoded into: which members were sent, unknown members and values.

Decoded records don't show this, because a missing member and an empty one give the same record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias, cast, get_args, get_origin

from msgspec import inspect

from portal.services.decoding import Choice, PagedResult
from portal.services.members import members_of

UNREAD = "? "
"""Prefix of members that an API's dialect leaves unread."""


@dataclass(slots=True)
class Comparison:
    """The contents of some responses.

    `records` holds, for each record, its kind ("Episode", the class name) and the members it contained, including null and
    empty ones. Members are named like "Episode.stage": `unknown` counts those that the portal doesn't use, `values` those
    whose value isn't in its enumeration.
    """

    records: list[tuple[str, frozenset[str]]] = field(default_factory=list[tuple[str, frozenset[str]]])
    unknown: Counter[str] = field(default_factory=Counter[str])
    values: Counter[str] = field(default_factory=Counter[str])


_Walk: TypeAlias = Callable[[object, Comparison], None]


def compare(answer: object, into: type[object], found: Comparison | None = None) -> Comparison:
    """Compare JSON with the record, or `PagedResult` of records, that it is for; adds to `found`."""
    found = Comparison() if found is None else found
    is_page = get_origin(into) is PagedResult
    if is_page and isinstance(answer, list):
        answer = {"items": cast("list[object]", answer)}
    _walk(into)(answer, found)
    return found


def kind_of(record: type[object]) -> str:
    """The name of a kind of record: its class name, or "PagedResult" for a list of any kind."""
    return (get_origin(record) or record).__name__


def kinds_within(record: type[object]) -> dict[str, type[object]]:
    """The kinds of record in a response, outermost first; for a `PagedResult`, those of its items."""
    found: dict[str, type[object]] = {}
    _collect(get_args(record)[0] if get_origin(record) is PagedResult else record, found)
    return found


def _collect(record: type[object], found: dict[str, type[object]]) -> None:
    if kind_of(record) not in found:
        found[kind_of(record)] = record
        for member in members_of(record):
            if member.nested:
                _collect(member.nested, found)


@cache
def _walk(into: type[object]) -> _Walk:
    """A function that examines values of this type."""
    shape = inspect.type_info(into)
    if not isinstance(shape, inspect.StructType):
        return lambda _value, _found: None
    kind, is_listed = kind_of(into), (get_origin(into) or into) is PagedResult
    members = members_of(into)
    names = frozenset(field.encode_name for field in shape.fields)
    within = [(member.name, _walk(member.nested)) for member in members if member.nested]
    choices = [(member.name, member.choice) for member in members if member.choice]

    def walk(value: object, found: Comparison) -> None:
        if not isinstance(value, dict):
            return
        given = cast("dict[str, object]", value)
        if not is_listed:
            found.records.append((kind, names & given.keys()))
        for name in given.keys() - names:
            found.unknown[f"{kind}.{name.removeprefix(UNREAD)}"] += 1
        for name, choice in choices:
            if (chosen := given.get(name)) is not None and not _is_known(chosen, choice):
                found.values[f"{kind}.{name}"] += 1
        for name, walk_member in within:
            there = given.get(name)
            for record in cast("list[object]", there) if isinstance(there, list) else (there,):
                walk_member(record, found)

    return walk


def _is_known(value: object, choice: type[Choice]) -> bool:
    try:
        return choice(cast("str", value)).known
    except ValueError:
        return False
