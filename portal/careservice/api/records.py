"""The base of all records that the API returns."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from sqlalchemy.orm import Mapped

from portal.careservice.database import RETURNED, Base

T = TypeVar("T")


class Record(msgspec.Struct, rename="camel", kw_only=True):
    """A returned record: members in camelCase, null where there is no value."""


class AuditedRecord(Record, kw_only=True):
    """A record that can be changed: who created and changed it when, and the stamp to send with an update."""

    creation_time: datetime
    creator_id: str | None
    last_modification_time: datetime | None
    last_modifier_id: str | None
    concurrency_stamp: str


def columns(table: type[Base]) -> dict[str, Any]:
    """The columns of a table that are `Returned`, as the members of a record."""
    kinds = get_type_hints(table, include_extras=True)
    mapped = {name: get_args(kind)[0] for name, kind in kinds.items() if get_origin(kind) is Mapped}
    return {name: get_args(kind)[0] for name, kind in mapped.items() if RETURNED in get_args(kind)}


def as_record(record: object, shape: type[T]) -> T:
    """A stored record as the `shape` that the API returns, member by member."""
    return msgspec.convert(record, shape, from_attributes=True)
