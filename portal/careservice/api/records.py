"""What all records that the API shows have in common."""

from __future__ import annotations

from datetime import datetime
from typing import TypeVar

import msgspec

T = TypeVar("T")


class Record(msgspec.Struct, rename="camel", kw_only=True):
    """Something shown, its members in camelCase and those without a value null."""


class AuditedRecord(Record, kw_only=True):
    """A record that can be changed: who made and changed it, and the stamp to send back."""

    creation_time: datetime
    creator_id: str | None
    last_modification_time: datetime | None
    last_modifier_id: str | None
    concurrency_stamp: str


def shown(record: object, shape: type[T]) -> T:
    """A kept record as the `shape` that the API shows, member by member."""
    return msgspec.convert(record, shape, from_attributes=True)
