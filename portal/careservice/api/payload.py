"""What a request says: its JSON body as typed structs, its query by name, its ids.

Names of enumerations count in any case, integers as their place; whatever can't be used is `Invalid`, by member.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any, TypeVar, cast

import msgspec
from flask import request
from msgspec import inspect
from werkzeug.exceptions import RequestEntityTooLarge

from portal.careservice.domain.enumerations import canonical
from portal.careservice.domain.rules import Invalid

MAX_BODY = 1024 * 1024
"""The most that a body may weigh, in bytes."""

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_WHERE = re.compile(r"^(?P<message>.*?)(?: - at `\$\.?(?P<path>.*)`)?$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(?P<name>[^`]+)`")
_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_MEDIA_TYPE = re.compile(r"^application/(?:[\w.+-]+\+)?json$")


GivenId = Annotated[
    str,
    msgspec.Meta(
        extra_json_schema={
            "format": "uuid",
            "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
        }
    ),
]
"""An id in a body; `identifier` makes it as it is kept."""


class Stamped(msgspec.Struct, rename="camel", kw_only=True):
    """The part of an update that says which state of the record it changes."""

    concurrency_stamp: str


def body(shape: type[T]) -> T:
    """The request's JSON body as a `shape`."""
    return convert(_json(), shape)


def optional_body(shape: type[T]) -> T:
    """As `body`; no body at all counts as an empty object."""
    return body(shape) if request.content_length or request.mimetype else convert({}, shape)


def stamped(shape: type[T]) -> tuple[T, str]:
    """The body as a `shape`, and the stamp that came with it."""
    data = _json()
    return convert(data, shape), convert(data, Stamped).concurrency_stamp


def raw_body() -> bytes:
    """The bytes of the request, at most `MAX_BODY`."""
    data = bytes_up_to(MAX_BODY)
    if data is None:
        raise Invalid("The body is larger than 1 MiB.", "$")
    return data


def bytes_up_to(most: int) -> bytes | None:
    """The bytes of the request, None where they are more than `most`.

    One more is let through, because Werkzeug cuts a body sent in chunks at its limit without saying so.
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
        return msgspec.convert(_settled(data, _type_of(shape), ""), shape)
    except msgspec.ValidationError as error:
        raise _as_invalid(str(error)) from None


@lru_cache(maxsize=128)
def _type_of(shape: Any) -> inspect.Type:
    return inspect.type_info(shape)


def _settled(data: Any, kind: inspect.Type, path: str) -> Any:
    """`data` with its enumerations named as they are kept and its instants in UTC."""
    if isinstance(data, str) and "\0" in data:
        raise Invalid("A text can't hold the character NUL.", path or "$")
    if isinstance(kind, inspect.UnionType):
        return _settled_union(data, kind, path)
    if isinstance(kind, inspect.EnumType):
        return canonical(cast("type[StrEnum]", kind.cls), data)
    if isinstance(kind, inspect.DateTimeType) and isinstance(data, str):
        return _instant(data, path)
    if isinstance(kind, inspect.StructType) and isinstance(data, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        members = cast("dict[str, Any]", data)
        return {
            name: _settled(value, fields[name], f"{path}.{name}".lstrip("."))
            for name, value in members.items()
            if name in fields
        }
    if isinstance(kind, inspect.ListType) and isinstance(data, list):
        items = cast("list[Any]", data)
        return [_settled(item, kind.item_type, f"{path}[{index}]") for index, item in enumerate(items)]
    if isinstance(kind, inspect.DictType) and isinstance(data, dict):
        members = cast("dict[str, Any]", data)
        return {
            _settled(name, inspect.StrType(), path): _settled(value, kind.value_type, f"{path}.{name}")
            for name, value in members.items()
        }
    return data


def _settled_union(data: Any, kind: inspect.UnionType, path: str) -> Any:
    for part in kind.types:
        settled = _settled(data, part, path) if not isinstance(part, inspect.NoneType) else data
        if settled is not data:
            return settled
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
        raise Invalid("This time can't be reckoned with.", member) from None


def utc(moment: datetime | None) -> datetime | None:
    """An instant in UTC; one that came without an offset is in UTC already."""
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _as_invalid(text: str) -> Invalid:
    found = _WHERE.match(text)
    message, path = (found["message"], found["path"] or "") if found else (text, "")
    missing = _MISSING.search(message)
    if missing:
        return Invalid("This is missing.", f"{path}.{missing['name']}".lstrip("."))
    return Invalid(f"{message}.", path or "$")


def identifier(given: str, member: str) -> str:
    """An id as it is kept, lower-case with hyphens; what isn't a UUID is invalid."""
    try:
        parsed = uuid.UUID(given)
    except ValueError:
        raise Invalid("An id is a UUID.", member) from None
    if len(given) != len(str(parsed)):
        raise Invalid("An id is a UUID.", member)
    return str(parsed)


class Query:
    """The parameters of a request's query; their names count in any case, the first of a name alone."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._given: dict[str, str] = {}
        for name, value in given.items():
            self._given.setdefault(name.casefold(), value)

    def text(self, name: str) -> str | None:
        """A text, None where absent or empty."""
        value = self._given.get(name.casefold())
        if value is not None and "\0" in value:
            raise Invalid("A text can't hold the character NUL.", name)
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
            raise Invalid(f"This is a whole number from {low} to {high}.", name)
        return int(value)

    def flag(self, name: str) -> bool | None:
        """Yes or no."""
        value = self.text(name)
        if value is None:
            return None
        if value.casefold() not in ("true", "false"):
            raise Invalid("This is true or false.", name)
        return value.casefold() == "true"

    def choice(self, name: str, kind: type[E]) -> E | None:
        """One word of an enumeration, by name or integer."""
        value = self.text(name)
        if value is None:
            return None
        known = canonical(kind, int(value) if re.fullmatch(r"[0-9]{1,4}", value) else value)
        if not isinstance(known, str) or known not in list(kind):
            raise Invalid(f"This is one of {', '.join(kind)}.", name)
        return kind(known)

    def instant(self, name: str) -> datetime | None:
        """An instant (ISO 8601; without an offset in UTC) or the beginning of a day in UTC."""
        value = self.text(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value.replace(" ", "+"))
        except ValueError:
            raise Invalid("This is a time in ISO 8601.", name) from None
        return _utc(moment, name)


def query() -> Query:
    """The query of this request."""
    return Query(request.args)
