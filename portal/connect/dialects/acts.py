"""What each act would send to an API with a dialect, from made-up values: nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import inspect

from portal.connect.dialects.dialect import Dialect
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of

_OF_TYPES: tuple[tuple[type[inspect.Type], object], ...] = (
    (inspect.DateTimeType, "2026-11-25T08:30:00Z"),
    (inspect.DateType, "2026-11-25"),
    (inspect.BoolType, True),
    (inspect.IntType, 5),
    (inspect.FloatType, 0.25),
    (inspect.DictType, {}),
)
_OF_NAMES = {
    "time": "20:30",
    "times": "20:30",
    "start": "09:00",
    "end": "17:00",
    "firstName": "Lena",
    "lastName": "Keller",
    "language": "en",
    "screenLanguage": "en",
    "timeZone": "Europe/London",
}


def acts(dialect: Dialect) -> Iterator[str]:
    """Each act as text: its call, additional headers, and body.

    The values of the dialect's own headers are left out: they may be secrets.
    """
    for endpoint in ALL:
        if endpoint.is_safe:
            continue
        body, headers = b"", []
        if endpoint.body is not None:
            members = {
                name: sample
                for name, sample in _sample(endpoint.body).items()
                if name not in endpoint.without
            }
            body, headers = dialect.sent(endpoint, members)
        lines = [f"{dialect.method(endpoint)} {dialect.template(endpoint)}"]
        lines += [f"{name}: (of the dialect file)" for name in dialect.headers]
        lines += [f"{name}: {value}" for name, value in headers]
        yield "\n".join([*lines, *([body.decode("utf-8-sig")] if body else [])])


def _sample(shape: type) -> dict[str, object]:
    return {member.name: _value(member) for member in members_of(shape)}


def _value(member: Member) -> object:
    item = (
        member.value_type.item_type
        if isinstance(member.value_type, inspect.VarTupleType)
        else member.value_type
    )
    value: object = _OF_NAMES.get(member.name, f"({member.name})")
    if member.is_id or member.name == "concurrencyStamp":
        value = "1001"
    elif member.choice is not None:
        value = next(iter(member.choice)).value
    elif isinstance(item, inspect.StructType):
        value = _sample(item.cls)
    else:
        value = next((sample for kind, sample in _OF_TYPES if isinstance(item, kind)), value)
    return [value] if member.is_list else value
