"""The base of all records that the API returns."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from portal.careservice.database import Base

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


def columns(table: type[Base], *without: str) -> dict[str, Any]:
    """The columns of a table as the members of a record, but for the clinic's id and those named."""
    kinds = get_type_hints(table)
    names = (name for name in vars(table)["__annotations__"] if name in table.__table__.columns)
    return {name: get_args(kinds[name])[0] for name in names if name not in ("tenant_id", *without)}


def as_record(record: object, shape: type[T]) -> T:
    """A stored record as the `shape` that the API returns, member by member."""
    return msgspec.convert(record, shape, from_attributes=True)
