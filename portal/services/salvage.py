"""Keeps what can be read of a record in which a value can't be.

An unreadable value becomes missing where the record knows missing values (`T | None`, text), and a record in a list is left
out of it where the list is `separable` (`portal.services.decoding.Record`). Where either would make the record say something
else, the record can't be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple, cast

import msgspec
from msgspec import inspect

from portal.services.members import Member, members_of

NO_DATE: tuple[str] = ("no date",)
"""Stands for a date that can't be one, such as 0001-01-01: some system's word for none."""


class Lost(NamedTuple):
    """An unreadable value: its member ("Episode.alerts"), and its path in the response ("$.alerts[0]").

    `is_none` says that it was probably meant as none.
    """

    member: str
    path: str
    is_none: bool = False


class Unreadable(Exception):
    """A value that the record can't be read without; the message is its path."""


@cache
def _droppable(record: type) -> frozenset[str]:
    """The members that may be left out: those of `separable`, and those that know a missing value and aren't `vital`."""
    vital: frozenset[str] = getattr(record, "vital", frozenset[str]())
    return _separable(record) | {
        member.attribute
        for member in members_of(record)
        if not member.is_required
        and member.attribute not in vital
        and (member.is_nullable or isinstance(member.type, inspect.StrType))
    }


def _separable(record: type) -> frozenset[str]:
    return getattr(record, "separable", frozenset[str]())


def salvage(value: object, record: type, lost: list[Lost], path: str = "$") -> object:
    """Return the JSON of a record without what can't be read, which is added to `lost`; raise Unreadable."""
    if not isinstance(value, dict):
        raise Unreadable(path)
    given = cast("Mapping[str, object]", value)
    kept: dict[str, object] = {}
    for member in members_of(record):
        here = f"{path}.{member.name}"
        if member.name not in given:
            if member.is_required:
                raise Unreadable(here)
            continue
        name = f"{record.__name__}.{member.name}"
        before = len(lost)
        try:
            kept[member.name] = _fitting(given[member.name], member, member.type, lost, name, here)
        except Unreadable as error:
            if member.attribute not in _droppable(record):
                raise
            del lost[before:]
            lost.append(Lost(name, str(error), given[member.name] == NO_DATE))
    return kept


def _fitting(
    value: object, member: Member, kind: inspect.Type, lost: list[Lost], name: str, path: str
) -> object:
    match kind:
        case inspect.UnionType(types) if value is not None:
            records = [
                type_ for type_ in types if isinstance(type_, inspect.StructType | inspect.VarTupleType)
            ]
            if records:
                return _fitting(value, member, records[0], lost, name, path)
        case inspect.StructType(cls=record):
            return salvage(value, record, lost, path)
        case inspect.VarTupleType(item_type=inspect.StructType(cls=record)) if isinstance(value, list):
            return _items(cast("list[object]", value), record, member, lost, name, path)
        case _:
            pass
    try:
        msgspec.convert(value, member.annotation, strict=False)
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError):
        raise Unreadable(path) from None
    return value


def _items(
    values: list[object], record: type, member: Member, lost: list[Lost], name: str, path: str
) -> list[object]:
    kept: list[object] = []
    for place, value in enumerate(values):
        before = len(lost)
        try:
            kept.append(salvage(value, record, lost, f"{path}[{place}]"))
        except Unreadable as error:
            if member.attribute not in _separable(member.owner):
                raise
            del lost[before:]
            lost.append(Lost(name, str(error)))
    return kept
