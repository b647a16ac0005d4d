"""Differences of single members (`convert` in a dialect file): each kind once, with what it fits and how it is read and sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast
from zoneinfo import ZoneInfo

import msgspec
from msgspec import inspect

from portal.connect.dialects import formats
from portal.connect.dialects.formats import EPOCH, Convert, Pattern
from portal.services.members import Member
from portal.values import Value


class Conversion(Value, frozen=True):
    """One member's difference: a kind of `KINDS`, and what the file says of it."""

    kind: str
    given: Any


class Kind(Value, frozen=True):
    """A kind of difference.

    `fits` are the members that it is for, described by `of`; `takes` says whether a value of the file is one of `words`.
    `read` and `write` make the functions for a member's value from the file's; None if the record as a whole is read.
    `replaces`: in place of the usual function for the member's type, not after it.
    """

    of: str
    fits: Callable[[Member], bool]
    words: str
    takes: Callable[[Any, Member], bool]
    read: Callable[[Any, Member, ZoneInfo], Convert | None]
    write: Callable[[Any, Member, ZoneInfo], Convert | None]
    replaces: bool = False


def _item(member: Member) -> inspect.Type:
    return (
        member.value_type.item_type
        if isinstance(member.value_type, inspect.VarTupleType)
        else member.value_type
    )


def _is_whole(member: Member) -> bool:
    return isinstance(_item(member), inspect.IntType)


def _is_number(member: Member) -> bool:
    return isinstance(_item(member), inspect.IntType | inspect.FloatType)


def _is_time(member: Member) -> bool:
    return isinstance(_item(member), inspect.DateTimeType | inspect.DateType)


def _is_text(member: Member) -> bool:
    return isinstance(_item(member), inspect.StrType)


def _counted(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _arithmetic(change: Callable[[float], float], member: Member) -> Convert:
    """The function for a number; noise of binary fractions is rounded off, and a count stays whole."""
    is_whole = _is_whole(member)

    def converted(value: object) -> object:
        value = _number(value)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return value
        number = round(change(value), 9)
        return round(number) if is_whole or (isinstance(value, int) and number == round(number)) else number

    return converted


def _number(value: object) -> object:
    """A number in any notation that decoding takes for one: left as it is, it would be taken for one that needs no change."""
    number = formats.number_from_text(value)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _is_form(form: object, member: Member) -> bool:
    if form == "iso" or form in EPOCH:
        return True
    try:
        Pattern(str(form), has_time=isinstance(_item(member), inspect.DateTimeType))
    except ValueError:
        return False
    return True


def _read_form(form: str, member: Member, zone: ZoneInfo) -> Convert | None:
    is_instant = isinstance(_item(member), inspect.DateTimeType)
    return formats.instants_read((form,), zone) if is_instant else formats.read_day(form, zone)


def _write_form(form: str, member: Member, zone: ZoneInfo) -> Convert | None:
    is_instant = isinstance(_item(member), inspect.DateTimeType)
    return formats.write_instant(form, zone) if is_instant else formats.write_day(form, zone)


_CLOCK = re.compile(r"(0?[1-9]|1[0-2]):([0-5][0-9])(?::[0-5][0-9])?\s*([AaPp])\.?\s?[Mm]\.?")


def _from_half_days(value: object) -> object:
    found = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None:
        return value
    return f"{int(found[1]) % 12 + 12 * (found[3] in 'Pp'):02d}:{found[2]}"


def _to_half_days(value: object) -> object:
    found = re.fullmatch(r"([01][0-9]|2[0-3]):([0-5][0-9])", value) if isinstance(value, str) else None
    if found is None:
        return value
    hour = int(found[1])
    return f"{hour % 12 or 12}:{found[2]} {'PM' if hour >= 12 else 'AM'}"


def _from_reference(before: str) -> Convert:
    """The function that takes an id out of a reference or an address; one to a record of another kind stays as it is."""

    def read(value: object) -> object:
        if not isinstance(value, str):
            return value
        address, is_there, id_ = value.rpartition(before or "/")
        is_its = is_there and (not address or not before or address.endswith("/"))
        return id_ if is_its else value

    return read


KINDS: Mapping[str, Kind] = {
    "times": Kind(
        "a number",
        _is_number,
        "a number other than 0",
        lambda factor, _member: _counted(factor) and factor != 0,
        lambda factor, member, _zone: _arithmetic(lambda value: value * factor, member),
        lambda factor, member, _zone: _arithmetic(lambda value: value / factor, member),
    ),
    "plus": Kind(
        "a number",
        _is_number,
        "a number",
        lambda addend, _member: _counted(addend),
        lambda addend, member, _zone: _arithmetic(lambda value: value + addend, member),
        lambda addend, member, _zone: _arithmetic(lambda value: value - addend, member),
    ),
    "length_from": Kind(
        "a day",
        _is_whole,
        "the member of the same record that holds its first day",
        lambda first, member: isinstance(first, str) and first != member.name,
        lambda _first, _member, _zone: None,
        lambda _first, _member, _zone: None,
    ),
    "form": Kind(
        "an instant or a day",
        _is_time,
        f"iso, {', '.join(EPOCH)} or a pattern that fits it, such as dd.MM.yyyy HH:mm",
        _is_form,
        _read_form,
        _write_form,
        replaces=True,
    ),
    "reference": Kind(
        "an id",
        lambda member: member.is_id,
        'the text before it, such as "Patient/"',
        lambda before, _member: isinstance(before, str),
        lambda before, _member, _zone: _from_reference(before),
        lambda before, _member, _zone: lambda id_: f"{before}{id_}" if isinstance(id_, str | int) else id_,
    ),
    "clock": Kind(
        "text",
        _is_text,
        "12",
        lambda hours, _member: hours == 12,
        lambda _hours, _member, _zone: _from_half_days,
        lambda _hours, _member, _zone: _to_half_days,
    ),
}
"""The kinds of difference, by their key."""


def with_conversion(
    usual: Convert | None, conversion: Conversion, member: Member, zone: ZoneInfo
) -> Convert | None:
    """The function that reads a member: as its type is read, then by its difference."""
    kind = KINDS[conversion.kind]
    own = _each(kind.read(conversion.given, member, zone), member)
    return own if kind.replaces else both(usual, own)


def before_writing(
    usual: Convert | None, conversion: Conversion, member: Member, zone: ZoneInfo
) -> Convert | None:
    """The function that writes a member: by its difference, then as its type is sent."""
    kind = KINDS[conversion.kind]
    own = _each(kind.write(conversion.given, member, zone), member)
    return own if kind.replaces else both(own, usual)


def opposite(value: object) -> object:
    """The opposite of true or false in any notation that decoding takes for one of them."""
    try:
        return not msgspec.convert(value, bool, strict=False)
    except msgspec.ValidationError:
        return value


def both(first: Convert | None, second: Convert | None) -> Convert | None:
    if first is None or second is None:
        return first or second
    return lambda value: second(first(value))


def _each(convert: Convert | None, member: Member) -> Convert | None:
    if convert is None or not member.is_list:
        return convert

    def each(value: object) -> object:
        if not isinstance(value, list):
            return convert(value)
        return [convert(item) for item in cast("list[object]", value)]

    return each


def length_read(days: object, first: object) -> object:
    """The last day of so many days from the first; what can't be read as a day if either isn't a number."""
    days, first = _number(days), _number(first)
    if isinstance(days, int) and isinstance(first, int) and days > 0:
        return first + days - 1
    return "no first day"


def length_written(last: object, first: object) -> object:
    """How many days it is from the first to the last."""
    return last - first + 1 if isinstance(last, int) and isinstance(first, int) else last
