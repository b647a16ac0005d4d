"""Matches the members of an API's records with the portal's: by naming style, similar names, and shape of the values.

Ambiguous matches are never chosen: they are left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import cast

from msgspec import inspect

from portal import parse
from portal.operate.conform.judge import choice_of
from portal.services.answers.shape import UNREAD, Member, members_of, records_in
from portal.services.dialects.naming import folded, words
from portal.services.uses import use_of

_ALIKE = 0.75
"""The similarity from which two names count as the same, unless another is nearly as similar."""
_MARGIN = 0.12
_PERHAPS = 0.5
_MOST_CANDIDATES = 4
_WORDS_OF_DATES = {"at", "date", "day", "on", "time", "until"}
_SMALL_WORDS = {"for", "of", "the"}
NUMBER = re.compile(r"-?\d+(\.\d+)?")
_SLASHED = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})(?:[ T]\d{2}:\d{2}(?::\d{2})?)?")


@dataclass(slots=True)
class Matches:
    """The matches for one kind of record: the API's name of each member and why, ambiguous ones, and missing ones.

    `unread` lists, for each missing member, unused members of a fitting type.
    """

    names: dict[str, str] = field(default_factory=dict[str, str])
    why: dict[str, str] = field(default_factory=dict[str, str])
    undecided: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unread: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    absent: list[str] = field(default_factory=list[str])


def match(record: type[object], given: Iterable[Mapping[str, object]]) -> Matches:
    """Match the members of a kind of record with those in the given records."""
    values = _values_of(given)
    found = Matches()
    open_, left = _same_names(members_of(record), values, found)
    _alike_names(open_, left, values, found)
    open_ = [member for member in open_ if member.name not in found.names]
    left = [name for name in left if name not in found.names.values()]
    _same_shape(open_, left, values, found)
    open_ = [member for member in open_ if member.name not in found.names]
    left = [name for name in left if name not in found.names.values()]
    for member in open_:
        candidates = _candidates(member, left, values) if _is_used(record, member) else []
        if candidates:
            found.undecided[member.name] = candidates
        else:
            found.absent.append(member.name)
            found.unread[member.name] = [u for u in left if _may_be(member, u, values[u])]
    return found


def _is_used(record: type[object], member: Member) -> bool:
    return member.is_required or use_of(record.__name__, member.name) is not None


def _values_of(given: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    values: dict[str, list[object]] = {}
    for one in given:
        for given_name, value in one.items():
            name = given_name.removeprefix(UNREAD)
            values.setdefault(name, [])
            if value is not None:
                values[name].append(value)
    return values


def _same_names(
    members: Iterable[Member], values: Mapping[str, list[object]], found: Matches
) -> tuple[list[Member], list[str]]:
    by_folded: dict[str, list[str]] = {}
    for name in values:
        by_folded.setdefault(folded(name), []).append(name)
    open_: list[Member] = []
    for member in members:
        same = by_folded.get(folded(member.name), [])
        theirs = member.name if member.name in same else same[0] if len(same) == 1 else None
        if theirs is None:
            open_.append(member)
        else:
            found.names[member.name] = theirs
    taken = set(found.names.values())
    return open_, [name for name in values if name not in taken]


def _alike_names(
    open_: list[Member], left: list[str], values: Mapping[str, list[object]], found: Matches
) -> None:
    """Match names that are similar to each other and to nothing else, and whose values fit."""
    like = {(m.name, u): likeness(m.name, u) for m in open_ for u in left if fits(m, values[u]) is not False}
    for (ours, theirs), score in sorted(like.items(), key=lambda one: -one[1]):
        rivals = [
            other
            for (m, u), other in like.items()
            if (m == ours) is not (u == theirs) and m not in found.names and u not in found.names.values()
        ]
        is_free = ours not in found.names and theirs not in found.names.values()
        if is_free and score >= _ALIKE and score - max(rivals, default=0.0) >= _MARGIN:
            found.names[ours], found.why[ours] = theirs, "by its name"


def _same_shape(
    open_: list[Member], left: list[str], values: Mapping[str, list[object]], found: Matches
) -> None:
    """Match records, lists of records and enumerations by their values, if only one fits."""
    telling = [member for member in open_ if _is_telling(member)]
    fitting = {
        m.name: [u for u in left if fits(m, values[u]) and not any(map(_is_whole, values[u]))]
        for m in telling
    }
    for ours, there in fitting.items():
        is_alone = len(there) == 1 and sum(there[0] in others for others in fitting.values()) == 1
        if is_alone:
            found.names[ours], found.why[ours] = there[0], "by what it holds"


def _candidates(member: Member, left: list[str], values: Mapping[str, list[object]]) -> list[str]:
    """Possible matches: of a fitting type, and with a similar name or a rare type."""
    fitting = [u for u in left if fits(member, values[u])]
    is_rare = is_date(member) or 1 <= len(fitting) <= 2
    known = [u for u in fitting if is_rare or likeness(member.name, u) >= _PERHAPS]
    empty = [u for u in left if not values[u] and likeness(member.name, u) >= _PERHAPS]
    if is_date(member):
        empty += [u for u in left if not values[u] and words(u)[-1:] and words(u)[-1] in _WORDS_OF_DATES]
    by_name = sorted({*known, *empty}, key=lambda u: (-likeness(member.name, u), left.index(u)))
    if not by_name and member.is_required:
        return fitting
    if not by_name and next(records_in(member.type), None):
        return [u for u in left if any(map(_is_record, values[u]))][:_MOST_CANDIDATES]
    return by_name[:_MOST_CANDIDATES]


def _may_be(member: Member, theirs: str, values: list[object]) -> bool:
    is_like_a_date = (words(theirs) or [""])[-1] in _WORDS_OF_DATES
    is_text = _holds(member.type, inspect.StrType) and not is_like_a_date
    return bool(fits(member, values)) or (is_text and not values)


def _is_record(value: object) -> bool:
    """Whether it is a record, or a list of records."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(one, dict) for one in items)


def likeness(ours: str, theirs: str) -> float:
    """The similarity of two names, from 0 to 1: by letters, or by shared words."""
    letters = SequenceMatcher(None, folded(ours), folded(theirs)).ratio()
    mine, other = set(words(ours)) - _SMALL_WORDS, set(words(theirs)) - _SMALL_WORDS
    return max(letters, len(mine & other) / max(1, len(mine | other)))


def is_date(member: Member) -> bool:
    """Whether it holds a date or an instant."""
    return _holds(member.type, inspect.DateTimeType, inspect.DateType)


def fits(member: Member, values: list[object]) -> bool | None:
    """Whether all values are valid for this member; None if there are none."""
    told = [one for one in values if one not in ("", [], {})]
    if not told:
        wants_list = _holds(member.type, inspect.VarTupleType)
        if any(isinstance(one, list) is not wants_list for one in values):
            return False
        return None
    return all(_fits(member, one) for one in told)


def _fits(member: Member, value: object) -> bool:
    record = next(records_in(member.type), None)
    if record is not None:
        is_list = _holds(member.type, inspect.VarTupleType)
        if is_list is not isinstance(value, list):
            return False
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        return all(_is_like(one, record) for one in items)
    choice = choice_of(member.type)
    if choice is not None:
        return _is_whole(value) or (isinstance(value, str) and choice(value).known)
    if is_date(member):
        return date_form(value) is not None
    if _holds(member.type, inspect.BoolType):
        return isinstance(value, bool) or str(value).casefold() in ("true", "false", "y", "n")
    if _holds(member.type, inspect.IntType, inspect.FloatType):
        is_written = isinstance(value, str) and NUMBER.fullmatch(value)
        return bool(is_written) or (isinstance(value, int | float) and not isinstance(value, bool))
    if _holds(member.type, inspect.VarTupleType):
        return isinstance(value, list)
    if _holds(member.type, inspect.DictType):
        return isinstance(value, dict)
    return isinstance(value, str) and date_form(value) is None


def _is_like(value: object, record: type[object]) -> bool:
    """Whether a value resembles a record of this kind: it has at least half of its members by name."""
    if not isinstance(value, dict):
        return False
    there = {folded(name.removeprefix(UNREAD)) for name in cast("dict[str, object]", value)}
    return sum(name in there for name in (folded(m.name) for m in members_of(record))) * 2 > len(there)


def _is_whole(value: object) -> bool:
    """Whether it may be the number of an enumeration's value."""
    return not isinstance(value, bool) and str(value).isdecimal() and len(str(value)) < 5


def _is_telling(member: Member) -> bool:
    return next(records_in(member.type), None) is not None or choice_of(member.type) is not None


def _holds(shape: inspect.Type, *kinds: type[inspect.Type]) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(_holds(one, *kinds) for one in shape.types)
    return isinstance(shape, kinds)


def date_form(value: object) -> str | None:
    """The format of a date or instant: iso, epoch_s, epoch_ms, "dd MM", "MM dd", or "either" if that is ambiguous."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "epoch_ms" if 1e11 <= value < 1e13 else "epoch_s" if 1e8 <= value < 1e11 else None
    if not isinstance(value, str):
        return None
    slashed = _SLASHED.fullmatch(value.strip())
    if slashed:
        first, second = int(slashed[1]), int(slashed[2])
        return "dd MM" if first > 12 else "MM dd" if second > 12 else "either"
    return "iso" if len(value.strip()) >= 10 and parse.instant(value) else None
