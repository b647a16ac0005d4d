"""Decoding and encoding the care API's JSON: fast if a response is as expected, lenient if it isn't.

A response is first decoded strictly in one pass. Only if that fails is it read again, and each value converted to the
expected form if its meaning is unambiguous: an id sent as a number, an enumeration as its index, null for an empty list,
a date without a zone. A value that still can't be read is left out where its record knows missing values, and noted in
`noticed.lost` (`portal.services.salvage`). Otherwise a `BadResponse` names the field; in a list, the record is left out and
counted. See docs/assumptions.md.

Dates that mean "none" in many systems (year 1, 1900, 1970, 9999) are never read as dates.
"""

from __future__ import annotations

import codecs
import json
import re
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, time, tzinfo
from enum import StrEnum
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar, cast, get_args, get_origin

import msgspec
from msgspec import inspect, structs

from portal import struct_types
from portal.dates import day_meant, in_zone, is_bare_day
from portal.request_values import clinic
from portal.services.errors import BadResponse
from portal.services.listed import Count, Listed
from portal.services.salvage import NO_DATE, Lost, Unreadable, salvage

T = TypeVar("T")


class _Noticed(threading.local):
    """What this thread noticed while decoding a response."""

    unknown_value = False
    no_date = False
    lost: tuple[Lost, ...] = ()


noticed = _Noticed()
"""`unknown_value` becomes True if a value is in no enumeration, which callers reset before they decode a response. `lost` are
the values that couldn't be read in the latest one."""


_UNKNOWN = "unknown:"
"""What the name of a value that isn't listed begins with."""

Id: TypeAlias = str
"""An opaque id: 1 to 128 characters without "/", never parsed."""


class Choice(StrEnum):
    """A value of an enumeration, listed in the API's integer order; values not listed are kept as received.

    `Choice("in_lab")`, `Choice("InLab")`, `Choice("1")` and `Choice(1)` are the same member. A value that isn't listed
    becomes an unregistered member with `known` False, so that pages can show it as text.
    """

    @property
    def known(self) -> bool:
        """Whether the portal knows this value."""
        return not self._name_.startswith(_UNKNOWN)

    @classmethod
    def _missing_(cls, value: object) -> Choice | None:
        if not isinstance(value, int | str):
            return None
        name = str(value)
        if re.fullmatch(r"[0-9]{1,3}", name) and int(name) < len(cls):
            return list(cls)[int(name)]
        return _members_by_folded_name(cls).get(_folded(name)) or cls._unknown(name)

    @classmethod
    def _unknown(cls, value: str) -> Choice:
        noticed.unknown_value = True
        stranger = str.__new__(cls, value)
        stranger._name_ = f"{_UNKNOWN}{value}"
        stranger._value_ = value
        return stranger


def _folded(name: str) -> str:
    return name.strip().replace("_", "").replace("-", "").replace(" ", "").casefold()


@cache
def _members_by_folded_name(choice: type[Choice]) -> dict[str, Choice]:
    return {_folded(member.value): member for member in choice}


Whole = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A count or a size: none below zero, within the range that JSON numbers represent exactly (RFC 8259 §6)."""

Day = Annotated[int, msgspec.Meta(ge=-10_000, le=10_000)]
"""A day of a treatment or plan, relative to a date in the same record."""

Measure = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
"""A measurement or a dose; the bounds are beyond any laboratory value."""


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A value of the care API: camelCase outside, snake_case inside, unknown members ignored.

    Frozen values contain no cycles, so the garbage collector needn't track them. `vital` are the optional members without
    which a record would say something else: an unreadable one makes it unreadable. `separable` are the lists that are
    still true without the records that can't be read.
    """

    vital: ClassVar[frozenset[str]] = frozenset()
    separable: ClassVar[frozenset[str]] = frozenset()


class Timed(Record, frozen=True, kw_only=True):
    """A record with instants, which are converted to aware datetimes in UTC, or with dates."""

    def __post_init__(self) -> None:
        instants, dates = _times(type(self))
        for name in instants:
            at: datetime | None = getattr(self, name)
            if at is None:
                continue
            if at.tzinfo is not UTC:
                try:
                    structs.force_setattr(self, name, in_utc(at))
                except OverflowError:
                    noticed.no_date = True
            if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
                noticed.no_date = True
        for name, first in dates:
            day: date | None = getattr(self, name)
            if day is not None and not first <= day.year <= _LAST_YEAR:
                noticed.no_date = True


@cache
def _times(record: type[Timed]) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """The names of a record's instants, and of its dates with the first year in which they can be."""
    fields = cast("inspect.StructType", inspect.type_info(record)).fields
    instants = tuple(f.name for f in fields if isinstance(_given(f.type), inspect.DateTimeType))
    dates = (f for f in fields if isinstance(_given(f.type), inspect.DateType))
    return instants, tuple((f.name, _first_year(f.encode_name)) for f in dates)


_FIRST_YEAR, _FIRST_BIRTH, _LAST_YEAR = 1971, 1901, 2199
"""Years outside of these are some system's word for "no date"; 1970-01-01 may be a date of birth."""


def _first_year(member: str) -> int:
    return _FIRST_BIRTH if member == "dateOfBirth" else _FIRST_YEAR


def in_utc(at: datetime) -> datetime:
    """The same instant in UTC; one without a zone is UTC already (docs/assumptions.md)."""
    return in_zone(at, UTC) if at.tzinfo else at.replace(tzinfo=UTC)


class PagedResult(Record, Generic[T], frozen=True, kw_only=True):
    """One page of a list, with the API's counts; only notifications have an `unread_count`.

    If `is_counted` is False, the API's count is missing or too low: the total is the number seen so far, plus one if the list
    may continue. `unreadable` names
    the first invalid field of each record left out of `items`; `deleted` counts those that the API marks as deleted; `next` is
    the cursor of the next page, empty if the API names it in a way that can't be followed. All four are set by the portal,
    never by the API.
    """

    items: tuple[T, ...]
    total_count: int | None = None
    unread_count: int | None = None
    is_counted: bool = msgspec.field(default=True, name="(portal) isCounted")
    unreadable: tuple[str, ...] = msgspec.field(default=(), name="(portal) unreadable")
    deleted: int = msgspec.field(default=0, name="(portal) deleted")
    next: str | None = msgspec.field(default=None, name="(portal) next")

    @property
    def received(self) -> int:
        """The number of records received, decodable or not."""
        return len(self.items) + len(self.unreadable) + self.deleted

    @property
    def total(self) -> int:
        """The length of the whole list; if the API doesn't say, of this page."""
        return self.received if self.total_count is None else self.total_count

    @property
    def listed(self) -> Listed[T]:
        """The records, which are all of the list only if the API's count says so and every one could be read."""
        return Listed(self.items, self.is_counted and not self.unreadable and self.received >= self.total)

    @property
    def count(self) -> Count:
        """The length of the whole list, as far as the API says."""
        if self.deleted:
            return Count(len(self.items), self.listed.is_whole)
        if self.is_counted:
            return Count(self.total)
        return Count(max(self.total - 1, self.received), is_whole=False)

    @property
    def unread(self) -> int | None:
        """The number of unread records in the whole list, or None if the API doesn't say."""
        return self.unread_count


Translation: TypeAlias = Callable[[object], object]
"""What makes the portal's names and formats of the JSON of an API with others."""


def decode(body: bytes, into: type[T], translate: Translation | None = None) -> T:
    """Decode `body` as a record, a `PagedResult` of records (also from a bare array), or, with `object`, any JSON.

    `translate` makes the portal's names and formats of it. An invalid record is left out of a `PagedResult`, unless all are
    invalid. Raises `BadResponse` naming the field ("$.items[3].id", or "$" for broken JSON), never its value.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    if translate is not None:
        return _decode_translated(body, into, translate)
    if get_origin(into) is PagedResult and body.lstrip()[:1] == b"[":
        body = b'{"items":' + body + b"}"
    noticed.no_date, noticed.lost = False, ()
    try:
        record: T = _decoder(into).decode(body)
        if not noticed.no_date:
            return record
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # not as expected: read it the forgiving way, below
    return _decode_forgivingly(body, into)


def is_empty(body: bytes, unwrap: Translation | None = None) -> bool:
    """Whether a response, or its envelope, holds no record."""
    if not body.strip():
        return True
    try:
        return unwrap is not None and decode(body, object, unwrap) is None
    except BadResponse:
        return False


def read_json(answer: object, into: type[T]) -> T:
    """The same from JSON values, read the forgiving way."""
    return _forgiven(answer, into)


def plain(body: bytes) -> object:
    """The JSON of a response; None if it is none."""
    try:
        return _json(body.removeprefix(codecs.BOM_UTF8))
    except (ValueError, OverflowError, RecursionError):
        return None


def encode(value: object) -> bytes:
    """Encode `value` as JSON in UTF-8: records with camelCase members, instants as ISO 8601 ("Z" for UTC)."""
    return msgspec.json.encode(value)


def fields_of(record: Record, *, without: frozenset[str] = frozenset()) -> dict[str, object]:
    """The members of `record` as JSON values, except those named in `without` (in camelCase)."""
    members = cast("dict[str, object]", msgspec.to_builtins(record))
    return {name: value for name, value in members.items() if name not in without}


def _decode_translated(body: bytes, into: type[T], translate: Translation) -> T:
    try:
        answer = translate(_json(body))
    except (ValueError, OverflowError, RecursionError):
        raise BadResponse("$") from None
    if into is object:
        return cast("T", answer)
    _decoder(into)  # resolves a generic type, one thread at a time
    noticed.no_date, noticed.lost = False, ()
    try:
        record = msgspec.convert(answer, into)
        if not noticed.no_date:
            return record
    except (msgspec.ValidationError, ValueError, OverflowError, RecursionError):
        pass  # not as expected: read it the forgiving way, below
    return _forgiven(answer, into)


@cache
def _decoder(into: type[T]) -> msgspec.json.Decoder[T]:
    with struct_types.creation_lock:
        return msgspec.json.Decoder(cast("type[T]", Any) if into is object else into)


def _decode_forgivingly(body: bytes, into: type[T]) -> T:
    try:
        answer = _json(body)
    except (ValueError, OverflowError, RecursionError):
        raise BadResponse("$") from None
    return _forgiven(answer, into)


def _forgiven(answer: object, into: type[T]) -> T:
    try:
        if get_origin(into) is PagedResult and isinstance(answer, dict):
            return _page(cast("dict[str, object]", answer), into)
        return _salvaged(_mender(into)(answer), into)
    except Unreadable as error:
        field = str(error)
    except msgspec.ValidationError as fault:
        field = _field_named_by(fault)
    except (ValueError, OverflowError, RecursionError):
        field = "$"
    raise BadResponse(field)


def _salvaged(mended: object, into: type[T], path: str = "$") -> T:
    """The record, if need be without the values that can't be read; raise Unreadable or what msgspec raises."""
    try:
        return msgspec.convert(mended, into, strict=False)
    except (msgspec.ValidationError, ValueError, OverflowError):
        if not issubclass(get_origin(into) or into, Record) or not isinstance(mended, dict):
            raise
    lost: list[Lost] = []
    record = msgspec.convert(salvage(cast("object", mended), into, lost, path), into, strict=False)
    noticed.lost = (*noticed.lost, *lost)
    return record


def _json(body: bytes) -> object:
    """Decode any JSON, with numbers of any size; those beyond Python's limits stay strings."""
    try:
        return cast("object", msgspec.json.decode(body))
    except msgspec.ValidationError:  # a number out of range
        return cast("object", json.loads(body, parse_int=_integer, parse_constant=_no_number))


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


def _no_number(name: str) -> object:
    raise ValueError(f"{name} isn't JSON")


_MOST_DIGITS = 100


def _page(answer: dict[str, object], into: type[T]) -> T:
    """The list without invalid records; if all are invalid, the list itself is."""
    (item,) = get_args(into)
    mend, given = _mender(item), answer.get("items")
    if "items" not in answer:
        return msgspec.convert(_mender(into)(answer), into, strict=False)
    records: list[object] = []
    unreadable: list[str] = []
    for place, value in enumerate(cast("list[object]", given) if isinstance(given, list) else []):
        if value is None:
            continue
        try:
            records.append(_salvaged(mend(value), item, f"$.items[{place}]"))
        except Unreadable as error:
            unreadable.append(str(error))
        except (msgspec.ValidationError, ValueError, OverflowError, RecursionError) as error:
            field = _field_named_by(error) if isinstance(error, msgspec.ValidationError) else "$"
            unreadable.append(field.replace("$", f"$.items[{place}]", 1))
    if unreadable and not records:
        raise BadResponse(unreadable[0])
    empty: list[object] = []
    rest = {**answer, "items": empty if isinstance(given, list) else given}
    page: Any = msgspec.convert(_mender(into)(rest), into, strict=False)
    return structs.replace(page, items=tuple(records), unreadable=tuple(unreadable))


def _field_named_by(fault: msgspec.ValidationError) -> str:
    """The path in msgspec's message; the rest may quote the value."""
    message = str(fault)
    at = re.search(r" - at `(\$[^`]*)`$", message)
    path = at[1] if at else "$"
    missing = re.match(r"Object missing required field `(\w+)`", message)
    return f"{path}.{missing[1]}" if missing else path


Mender: TypeAlias = Callable[[object], object]
"""Converts a JSON value to the expected form if its meaning is unambiguous; otherwise returns it unchanged."""


@cache
def _mender(into: type[object]) -> Mender:
    return _mender_for(inspect.type_info(into))


def _given(shape: inspect.Type) -> inspect.Type:
    """The type of a value that isn't null."""
    kinds = shape.types if isinstance(shape, inspect.UnionType) else (shape,)
    return next(kind for kind in kinds if not isinstance(kind, inspect.NoneType))


def _mender_for(shape: inspect.Type) -> Mender:
    match shape:
        case inspect.UnionType():
            mend = _mender_for(_given(shape))
            return lambda value: None if value is None else mend(value)
        case inspect.StructType(fields=fields):
            return _members_mender([(f.encode_name, f.required, _member_mender(f)) for f in fields])
        case inspect.VarTupleType(item_type=item):
            return _items_mender(_mender_for(item))
        case inspect.EnumType(cls=choice):
            return _choice_mender(cast("type[Choice]", choice))
        case _:
            return _MENDERS.get(type(shape), _as_it_came)


def _member_mender(field: inspect.Field) -> Mender:
    is_time = isinstance(_given(field.type), inspect.DateTimeType | inspect.DateType)
    return (is_time and _MENDERS_BY_NAME.get(field.encode_name)) or _mender_for(field.type)


def _members_mender(members: list[tuple[str, bool, Mender]]) -> Mender:
    def mend_members(value: object) -> object:
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, object]", value)
        mended = ((name, required, mend(given[name])) for name, required, mend in members if name in given)
        return {name: value for name, required, value in mended if required or value is not None}

    return mend_members


def _items_mender(mend: Mender) -> Mender:
    def mend_items(value: object) -> object:
        if value is None:
            return []
        if not isinstance(value, list):
            return value
        return [mend(item) for item in cast("list[object]", value) if item is not None]

    return mend_items


def _choice_mender(choice: type[Choice]) -> Mender:
    def mend_choice(value: object) -> object:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return choice(value).value if is_number else value

    return mend_choice


def _as_it_came(value: object) -> object:
    return value


def _text(value: object) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _instant(value: object, hour: time = time()) -> object:
    """Any ISO 8601 notation, with 0 to 7 fractional digits; a bare date is that `hour` of it at the clinic."""
    if not isinstance(value, str):
        return value
    at, zone = _iso(value), _clinic_zone()
    if is_bare_day(value) and zone:
        at = datetime.combine(at, hour, zone)
    return in_utc(at)


def _day(value: object) -> object:
    """A date, also if sent as an instant that stands for one by the clinic's calendar."""
    if not isinstance(value, str):
        return value
    day = day_meant(_iso(value), _clinic_zone())
    if day is None:
        raise ValueError(value)
    return day


def _clinic_zone() -> tzinfo | None:
    tenant = clinic()
    return tenant.time_zone if tenant else None


def _iso(text: str) -> datetime:
    return datetime.fromisoformat(text.strip())


def _date_mender(mend: Mender, first: int = _FIRST_YEAR) -> Mender:
    """An empty string counts as not given; an invalid one is kept, so that validation names its field.

    Numbers, also as strings, become invalid: validation would take them for seconds since 1970, but they may as well be
    milliseconds or a year, which only a dialect tells (docs/assumptions.md). So do years in which nothing can have been.
    """

    def mend_date(value: object) -> object:
        if value == "":
            return None
        if isinstance(value, int | float):
            return _NO_DATE
        try:
            day = mend(value)
        except (ValueError, OverflowError):
            return _NO_DATE
        return NO_DATE if isinstance(day, date) and not first <= day.year <= _LAST_YEAR else day

    return mend_date


_NO_DATE: tuple[()] = ()


_END_OF_DAY = time(23, 59, 59)
_MENDERS_BY_NAME: dict[str, Mender] = {
    "dateOfBirth": _date_mender(_day, _FIRST_BIRTH),
    "until": _date_mender(partial(_instant, hour=_END_OF_DAY)),
    "expiresAt": _date_mender(partial(_instant, hour=_END_OF_DAY)),
    "storageExpiresAt": _date_mender(partial(_instant, hour=time(12))),
}
"""What a bare day means by its member: an end holds through its day; one that is sent back keeps its date in every zone."""


_MENDERS: dict[type[inspect.Type], Mender] = {
    inspect.StrType: _text,
    inspect.IntType: _whole,
    inspect.DateTimeType: _date_mender(_instant),
    inspect.DateType: _date_mender(_day),
}
