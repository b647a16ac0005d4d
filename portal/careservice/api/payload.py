"""Parses requests: the JSON body as typed structs, query parameters, ids.

Enumerations are accepted by name in any case or by position; what can't be used raises Invalid, naming the member.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, cast

import msgspec
from flask import request
from msgspec import inspect
from werkzeug.exceptions import RequestEntityTooLarge

from portal.careservice.domain.enumerations import canonical
from portal.careservice.domain.rules import Invalid
from portal.careservice.domain.texts import has_hidden_characters

MAX_BODY = 1024 * 1024
"""The largest body that is accepted, in bytes."""

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_WHERE = re.compile(r"^(?P<message>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(?P<name>[^`]+)`")
_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_MEDIA_TYPE = re.compile(r"^application/(?:[\w.+-]+\+)?json$")


class Stamped(msgspec.Struct, rename="camel", kw_only=True):
    """The part of an update that says which version of the record it changes."""

    concurrency_stamp: str


def body(shape: type[T]) -> T:
    """The request's JSON body as a `shape`."""
    return convert(_json(), shape)


def optional_body(shape: type[T]) -> T:
    """Like `body`, but a missing body counts as an empty object."""
    return body(shape) if request.content_length or request.mimetype else convert({}, shape)


def stamped(shape: type[T]) -> tuple[T, str]:
    """The body as a `shape`, and its concurrency stamp."""
    data = _json()
    return convert(data, shape), convert(data, Stamped).concurrency_stamp


def raw_body() -> bytes:
    """The request's body; raises Invalid if it is larger than `MAX_BODY`."""
    data = bytes_up_to(MAX_BODY)
    if data is None:
        raise Invalid("The body is larger than 1 MiB.", "$")
    return data


def bytes_up_to(most: int) -> bytes | None:
    """The request's body, None if it is longer than `most` bytes.

    Werkzeug's limit is set one byte higher, because it silently truncates a chunked body at that limit.
    """
    if (request.content_length or 0) > most:
        return None
    request.max_content_length = most + 1
    try:
        data = request.get_data()
    except RequestEntityTooLarge:
        return None
    return data if len(data) <= most else None


def _json() -> Any:
    if not _MEDIA_TYPE.match(request.mimetype):
        raise Invalid("The body has to be application/json.", "Content-Type")
    try:
        return msgspec.json.decode(raw_body())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid("The body is not JSON.", "$") from None


def convert(data: Any, shape: type[T]) -> T:
    """Decoded JSON as a `shape`."""
    try:
        return msgspec.convert(_normalized(data, _type_of(shape), ""), shape)
    except msgspec.ValidationError as error:
        raise _as_invalid(str(error)) from None


@lru_cache(maxsize=128)
def _type_of(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)


def _normalized(data: Any, kind: inspect.Type, path: str) -> Any:
    """`data` with enumerations by their canonical names, ids as they are stored, and instants in UTC."""
    if isinstance(data, str) and "\0" in data:
        raise Invalid("A text can't contain NUL characters.", path or "$")
    if isinstance(kind, inspect.Metadata):
        if isinstance(data, str) and has_hidden_characters(
            data, cast("Mapping[str, str] | None", kind.extra)
        ):
            raise Invalid("This contains invisible characters.", path or "$")
        schema = cast("Mapping[str, object] | None", kind.extra_json_schema) or {}
        if isinstance(data, str) and schema.get("format") == "uuid":
            return identifier(data, path)
        return _normalized(data, kind.type, path)
    if isinstance(kind, inspect.UnionType):
        return _normalized_union(data, kind, path)
    if isinstance(kind, inspect.EnumType):
        return canonical(cast("type[StrEnum]", kind.cls), data)
    if isinstance(kind, inspect.DateTimeType) and isinstance(data, str):
        return _instant(data, path)
    if isinstance(kind, inspect.StructType) and isinstance(data, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        members = cast("dict[str, Any]", data)
        return {
            name: _normalized(value, fields[name], f"{path}.{name}".lstrip("."))
            for name, value in members.items()
            if name in fields
        }
    if isinstance(kind, inspect.ListType) and isinstance(data, list):
        items = cast("list[Any]", data)
        return [_normalized(item, kind.item_type, f"{path}[{index}]") for index, item in enumerate(items)]
    if isinstance(kind, inspect.DictType) and isinstance(data, dict):
        members = cast("dict[str, Any]", data)
        return {
            _normalized(name, inspect.StrType(), path): _normalized(value, kind.value_type, f"{path}.{name}")
            for name, value in members.items()
        }
    return data


def _normalized_union(data: Any, kind: inspect.UnionType, path: str) -> Any:
    for part in kind.types:
        normalized = _normalized(data, part, path) if not isinstance(part, inspect.NoneType) else data
        if normalized is not data:
            return normalized
    return data


def _instant(text: str, member: str) -> Any:
    if _DAY.match(text):
        text = f"{text}T00:00:00Z"
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError:
        return text
    return _utc(moment, member) if moment.tzinfo else moment


def _utc(moment: datetime, member: str) -> datetime:
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise Invalid("This time is out of range.", member) from None


def utc(moment: datetime | None) -> datetime | None:
    """The instant, which is taken as UTC if it has no offset."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _as_invalid(text: str) -> Invalid:
    found = _WHERE.match(text)
    message, path = (found["message"], found["path"] or "") if found else (text, "")
    missing = _MISSING.search(message)
    if missing:
        return Invalid("This is missing.", f"{path}.{missing['name']}".lstrip("."))
    return Invalid(f"{message}.", path or "$")


def identifier(given: str, member: str) -> str:
    """The id as it is stored, lower-case with hyphens; raises Invalid if it isn't a UUID."""
    try:
        parsed = uuid.UUID(given)
    except ValueError:
        raise Invalid("An id has to be a UUID.", member) from None
    if len(given) != len(str(parsed)):
        raise Invalid("An id has to be a UUID.", member)
    return str(parsed)


class Query:
    """A request's query parameters; names are case-insensitive, and only the first value of a name counts."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given: dict[str, str] = {}
        for name, value in given.items():
            self._given.setdefault(name.casefold(), value)

    def text(self, name: str) -> str | None:
        """A text, None if it is absent or empty."""
        value = self._given.get(name.casefold())
        if value is not None and "\0" in value:
            raise Invalid("A text can't contain NUL characters.", name)
        return value or None

    def identifier(self, name: str) -> str | None:
        """An id."""
        value = self.text(name)
        return None if value is None else identifier(value, name)

    def number(self, name: str, *, default: int, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        value = self.text(name)
        if value is None:
            return default
        if not re.fullmatch(r"[0-9]{1,10}", value) or not low <= int(value) <= high:
            raise Invalid(f"This has to be a whole number from {low} to {high}.", name)
        return int(value)

    def flag(self, name: str) -> bool | None:
        """A boolean, None if it is absent."""
        value = self.text(name)
        if value is None:
            return None
        if value.casefold() not in ("true", "false"):
            raise Invalid("This has to be true or false.", name)
        return value.casefold() == "true"

    def choice(self, name: str, kind: type[E]) -> E | None:
        """A member of an enumeration, by name or position; None if it is absent."""
        value = self.text(name)
        if value is None:
            return None
        known = canonical(kind, int(value) if re.fullmatch(r"[0-9]{1,4}", value) else value)
        if not isinstance(known, str) or known not in list(kind):
            raise Invalid(f"This has to be one of {', '.join(kind)}.", name)
        return kind(known)

    def day(self, name: str) -> date | None:
        """A day (ISO 8601)."""
        value = self.text(name)
        if value is None:
            return None
        try:
            return date.fromisoformat(value) if _DAY.match(value) else _not_a_day(name)
        except ValueError:
            return _not_a_day(name)

    def instant(self, name: str) -> datetime | None:
        """An instant (ISO 8601; UTC if it has no offset) or the beginning of a day in UTC."""
        value = self.text(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value.replace(" ", "+"))
        except ValueError:
            raise Invalid("This has to be a time in ISO 8601.", name) from None
        return _utc(moment, name)


def _not_a_day(name: str) -> NoReturn:
    raise Invalid("This has to be a day in ISO 8601, YYYY-MM-DD.", name) from None


def query() -> Query:
    """The query parameters of this request."""
    return Query(request.args)
