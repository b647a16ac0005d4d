"""Reading and writing the care API's JSON: quick when an answer is as expected, forgiving when it isn't.

An answer is first decoded strictly and in one go. Only when that fails is it read once more and each value
brought into the expected form where its meaning is beyond doubt: an id given as a number, an enumeration as
its place in the list, a null for an empty list, a date without a zone. What then still doesn't fit is a
`BadResponse` that names the field. See docs in README: assumptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, time
from enum import StrEnum
from functools import cache
from typing import Any, Generic, TypeAlias, TypeGuard, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import inspect, structs

from portal.services.errors import BadResponse

T = TypeVar("T")

Id: TypeAlias = str
"""An opaque id: 1 to 128 characters without "/", never parsed."""


class Choice(StrEnum):
    """One name of an enumeration, listed in the API's integer order; a name not listed stays as it came.

    `Choice("in_lab")`, `Choice("InLab")` and `Choice(1)` are the same member. A value that isn't listed
    becomes a passing member with `known` False, so that pages can show it as text.
    """

    @property
    def known(self) -> bool:
        """Whether the portal knows this value."""
        return self._name_ in type(self).__members__

    @classmethod
    def _missing_(cls, value: object) -> Choice | None:
        if isinstance(value, int):
            members = list(cls)
            return members[value] if 0 <= value < len(members) else cls._unknown(str(value))
        if not isinstance(value, str):
            return None
        return _members_by_folded_name(cls).get(_folded(value)) or cls._unknown(value)

    @classmethod
    def _unknown(cls, value: str) -> Choice:
        stranger = str.__new__(cls, value)
        stranger._name_ = f"unknown:{value}"
        stranger._value_ = value
        return stranger


def _folded(name: str) -> str:
    return name.strip().replace("_", "").replace("-", "").replace(" ", "").casefold()


@cache
def _members_by_folded_name(choice: type[Choice]) -> dict[str, Choice]:
    return {_folded(member.value): member for member in choice}


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A value of the care API: camelCase outside, snake_case inside, unknown members ignored."""


class Timed(Record, frozen=True, kw_only=True):
    """A record with instants: whatever zone they came in, they are aware and in UTC here."""

    def __post_init__(self) -> None:
        for name in _instants(type(self)):
            at: datetime | None = getattr(self, name)
            if at is not None and at.tzinfo is not UTC:
                structs.force_setattr(self, name, in_utc(at))


@cache
def _instants(record: type[Timed]) -> tuple[str, ...]:
    return tuple(f.name for f in structs.fields(record) if datetime in (f.type, *get_args(f.type)))


def in_utc(at: datetime) -> datetime:
    """The same instant in UTC; one without a zone is UTC already (docs in README: assumptions)."""
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:  # within hours of the years 1 or 9999, which some services send for "never"
        return at.replace(tzinfo=UTC)


class Page(Record, Generic[T], frozen=True, kw_only=True):
    """One page of a list, with the counts that the API gave; `unread_count` comes with notifications alone."""

    items: tuple[T, ...]
    total_count: int | None = None
    unread_count: int | None = None

    @property
    def total(self) -> int:
        """How long the whole list is; what is here, when the API doesn't say."""
        return len(self.items) if self.total_count is None else self.total_count

    @property
    def unread(self) -> int | None:
        """How many in the whole list are unread, or None when the API doesn't say."""
        return self.unread_count


def decode(body: bytes, into: type[T]) -> T:
    """`body` as a record, a `Page` of them (also from a bare array), or `object` for whatever it holds.

    Raises `BadResponse` naming the field ("$.items[3].id", or "$" for broken JSON), never its value.
    """
    if get_origin(into) is Page and body[:64].lstrip()[:1] == b"[":
        body = b'{"items":' + body + b"}"
    try:
        return _decoder(into).decode(body)
    except msgspec.ValidationError:
        pass  # not as expected: read it the forgiving way, below
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadResponse("$") from None
    return _decode_forgivingly(body, into)


def encode(value: object) -> bytes:
    """`value` as JSON in UTF-8: records with camelCase members, instants in UTC with "Z"."""
    return msgspec.json.encode(value)


def fields_of(record: Record, *, without: frozenset[str] = frozenset()) -> dict[str, object]:
    """The members of `record` as JSON would have them, but for those named in `without` (in camelCase)."""
    members = cast("dict[str, object]", msgspec.to_builtins(record))
    return {name: value for name, value in members.items() if name not in without}


@cache
def _decoder(into: type[T]) -> msgspec.json.Decoder[T]:
    return msgspec.json.Decoder(cast("type[T]", Any) if into is object else into)


@cache
def _shape(into: type[object]) -> inspect.Type:
    return inspect.type_info(into)


def _decode_forgivingly(body: bytes, into: type[T]) -> T:
    try:
        answer = _mended(msgspec.json.decode(body), _shape(into))
        return msgspec.convert(answer, into, strict=False)
    except msgspec.ValidationError as fault:
        field = _field_named_by(fault)
    except (ValueError, OverflowError, RecursionError):
        field = "$"
    raise BadResponse(field)


def _field_named_by(fault: msgspec.ValidationError) -> str:
    """The path in msgspec's message; the rest may quote what stood there."""
    message = str(fault)
    at = re.search(r" - at `(\$[^`]*)`$", message)
    path = at[1] if at else "$"
    missing = re.match(r"Object missing required field `(\w+)`", message)
    return f"{path}.{missing[1]}" if missing else path


def _mended(value: object, shape: inspect.Type) -> object:
    """`value` in the form that `shape` expects, where what it means is beyond doubt; else as it came."""
    match shape:
        case inspect.UnionType(types):
            if value is None:
                return None
            return _mended(value, next(t for t in types if not isinstance(t, inspect.NoneType)))
        case inspect.StructType(fields=fields) if isinstance(value, dict):
            return _mended_members(cast("dict[str, object]", value), fields)
        case inspect.VarTupleType(item_type=item):
            return _mended_items(value, item)
        case inspect.EnumType(cls=choice) if isinstance(value, int | str) and not isinstance(value, bool):
            number = isinstance(value, str) and re.fullmatch(r"[0-9]{1,3}", value)
            return choice(int(value) if number else value).value
        case _ if mend := _MENDERS.get(type(shape)):
            return mend(value)
        case _:
            return value


def _mended_items(value: object, item: inspect.Type) -> object:
    if value is None:
        return []
    if not isinstance(value, list):
        return value
    return [_mended(one, item) for one in cast("list[object]", value) if one is not None]


def _mended_members(members: dict[str, object], fields: tuple[inspect.Field, ...]) -> dict[str, object]:
    mended: dict[str, object] = {}
    for field in fields:
        if field.encode_name not in members:
            continue
        value = _mended(members[field.encode_name], field.type)
        if value is None and not field.required:
            continue  # a null is "not given"
        mended[field.encode_name] = value
    return mended


def _text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _instant(value: object) -> object:
    """ISO 8601 in any of its spellings, with 0 to 7 digits of a second; a bare day is its midnight."""
    return in_utc(datetime.fromisoformat(value.strip())) if _written(value) else value or None


def _day(value: object) -> object:
    """A day, also when it is given as an instant: the day that is written there."""
    return datetime.fromisoformat(value.strip()).date() if _written(value) else value or None


def _clock_time(value: object) -> object:
    return time.fromisoformat(value.strip()) if _written(value) else value or None


def _written(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _or_as_it_came(mend: Callable[[object], object]) -> Callable[[object], object]:
    """Leaves alone what can't be mended, so that the field is named by the check that follows."""

    def careful(value: object) -> object:
        try:
            return mend(value)
        except (ValueError, OverflowError):
            return value

    return careful


_MENDERS: dict[type[inspect.Type], Callable[[object], object]] = {
    inspect.StrType: _text,
    inspect.IntType: _whole,
    inspect.DateTimeType: _or_as_it_came(_instant),
    inspect.DateType: _or_as_it_came(_day),
    inspect.TimeType: _or_as_it_came(_clock_time),
}
