"""Compares a response with the record that it is decoded into: which members were sent, unknown members and values.

Decoded records don't show this, because a missing member and an empty one give the same record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias, cast, get_args, get_origin

from msgspec import inspect

from portal.services.decoding import Choice, Page
from portal.services.members import members_of

UNREAD = "? "
"""Prefix of members that an API's dialect leaves unread (`portal.connect.dialects.Dialect.look`)."""


@dataclass(slots=True)
class Look:
    """The contents of some responses.

    `records` holds, for each record, its kind ("Episode", the class name) and the members it contained, including null and
    empty ones. Members are named like "Episode.stage": `unknown` counts those that the portal doesn't use, `values` those
    whose value isn't in its enumeration.
    """

    records: list[tuple[str, frozenset[str]]] = field(default_factory=list[tuple[str, frozenset[str]]])
    unknown: Counter[str] = field(default_factory=Counter[str])
    values: Counter[str] = field(default_factory=Counter[str])


_Walk: TypeAlias = Callable[[object, Look], None]


def look(answer: object, into: type[object], found: Look | None = None) -> Look:
    """Compare JSON with the record, or `Page` of records, that it is for; adds to `found`."""
    found = Look() if found is None else found
    is_page = get_origin(into) is Page
    if is_page and isinstance(answer, list):
        answer = {"items": cast("list[object]", answer)}
    _walk(into)(answer, found)
    return found


def kind_of(record: type[object]) -> str:
    """The name of a kind of record: its class name, or "Page" for a list of any kind."""
    return (get_origin(record) or record).__name__


def kinds_within(record: type[object]) -> dict[str, type[object]]:
    """The kinds of record in a response, outermost first; for a `Page`, those of its items."""
    found: dict[str, type[object]] = {}
    _collect(get_args(record)[0] if get_origin(record) is Page else record, found)
    return found


def _collect(record: type[object], found: dict[str, type[object]]) -> None:
    if kind_of(record) in found:
        return
    found[kind_of(record)] = record
    for member in members_of(record):
        for within in records_in(member.type):
            _collect(within, found)


def records_in(shape: inspect.Type) -> Iterator[type[object]]:
    """The record type that a member holds, possibly optional or in a list."""
    match shape:
        case inspect.StructType(cls=record):
            yield record
        case inspect.UnionType(types):
            for one in types:
                yield from records_in(one)
        case inspect.VarTupleType(item_type=item):
            yield from records_in(item)
        case _:
            return


@cache
def _walk(into: type[object]) -> _Walk:
    return _walk_of(inspect.type_info(into)) or _nothing


def _walk_of(shape: inspect.Type) -> _Walk | None:
    """A function that examines values of this type; None if there is nothing to examine."""
    match shape:
        case inspect.StructType():
            return _record_walk(shape)
        case inspect.UnionType(types):
            return next((walk for one in types if (walk := _walk_of(one))), None)
        case inspect.VarTupleType(item_type=item):
            walk = _walk_of(item)
            return None if walk is None else _list_walk(walk)
        case _:
            return None


def _record_walk(shape: inspect.StructType) -> _Walk:
    kind, is_listed = kind_of(shape.cls), (get_origin(shape.cls) or shape.cls) is Page
    names = frozenset(one.encode_name for one in shape.fields)
    within = [(one.encode_name, inner) for one in shape.fields if (inner := _walk_of(one.type))]
    choices = [(one.encode_name, choice) for one in shape.fields if (choice := _choice_in(one.type))]

    def walk(value: object, found: Look) -> None:
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
            if (there := given.get(name)) is not None:
                walk_member(there, found)

    return walk


def _list_walk(walk: _Walk) -> _Walk:
    def walk_each(value: object, found: Look) -> None:
        for one in cast("list[object]", value) if isinstance(value, list) else ():
            walk(one, found)

    return walk_each


def _choice_in(shape: inspect.Type) -> type[Choice] | None:
    match shape:
        case inspect.EnumType(cls=choice) if issubclass(choice, Choice):
            return choice
        case inspect.UnionType(types):
            return next((choice for one in types if (choice := _choice_in(one))), None)
        case _:
            return None


def _is_known(value: object, choice: type[Choice]) -> bool:
    try:
        return choice(cast("str", value)).known
    except ValueError:
        return False


def _nothing(_value: object, _found: Look) -> None:
    return
