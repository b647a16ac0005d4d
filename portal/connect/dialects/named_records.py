"""The records that dialects refer to by name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from portal.services.consents.forms import ConsentForm
from portal.services.decoding import Choice, PagedResult
from portal.services.endpoints import ALL
from portal.services.episodes import ConsentBrief
from portal.services.members import Member, members_of
from portal.services.pgt_results import PgtBrief, PgtResult
from portal.services.uses import Mark, Use, marked


def record_of(answer: Any) -> type | None:
    """The record that a response holds, alone or as a page; None for files and ignored responses."""
    shape = answer.__args__[0] if getattr(answer, "__origin__", None) is PagedResult else answer
    return None if shape in (bytes, object) else shape


@cache
def listed_records() -> tuple[str, ...]:
    pages = (
        endpoint.answer for endpoint in ALL if getattr(endpoint.answer, "__origin__", None) is PagedResult
    )
    return tuple(sorted(shape.__name__ for page in pages if (shape := record_of(page))))


@cache
def records() -> dict[str, type]:
    found: dict[str, type] = {}
    for endpoint in ALL:
        for shape in (record_of(endpoint.answer), endpoint.body):
            if shape is not None:
                found |= {part.__name__: part for part in _within(shape, frozenset())}
    return dict(sorted(found.items()))


@cache
def member_names() -> frozenset[str]:
    return frozenset(member.name for shape in records().values() for member in members_of(shape))


def _within(shape: type, passed: frozenset[type]) -> Iterator[type]:
    if shape in passed:
        return
    yield shape
    for member in members_of(shape):
        if member.nested is not None:
            yield from _within(member.nested, passed | {shape})


def use_of_member(name: str) -> Use | None:
    """What the portal uses a member for, by its name ("Episode.alerts"); None if it ignores it."""
    record, _, member = name.partition(".")
    return next((field.use for field in members_of(records()[record]) if field.name == member), None)


@cache
def all_marked(mark: Mark) -> frozenset[str]:
    """The members that have a mark, by name ("Case.notes")."""
    return frozenset(
        f"{name}.{member}" for name, shape in records().items() for member in marked(shape, mark)
    )


@cache
def choices() -> dict[str, type[Choice]]:
    shapes = [*records().values(), *(endpoint.query for endpoint in ALL if endpoint.query)]
    found = {member.choice for shape in shapes for member in members_of(shape) if member.choice}
    return {choice.__name__: choice for choice in sorted(found, key=lambda choice: choice.__name__)}


@cache
def query_names() -> dict[str, Member]:
    shapes = [endpoint.query for endpoint in ALL if endpoint.query]
    return {member.name: member for shape in shapes for member in members_of(shape)}


def family(shape: type) -> tuple[str, ...]:
    """The names under which a record's members may be configured: its own, then the record that it is part of."""
    whole = _wholes().get(shape)
    return (shape.__name__, *((whole.__name__,) if whole else ()))


@cache
def _wholes() -> dict[type, type]:
    """The record that each body changes, and each brief is an extract of."""
    changed = {endpoint.body: record_of(endpoint.answer) for endpoint in ALL if endpoint.body}
    briefs: dict[type, type] = {ConsentBrief: ConsentForm, PgtBrief: PgtResult}
    return briefs | {body: record for body, record in changed.items() if record and record is not body}
