"""Column types and mixins that several tables share."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import JSON, Enum, String
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import Mapped, declared_attr, mapped_column
from sqlalchemy.types import TypeDecorator, TypeEngine

from portal.careservice.clock import now
from portal.careservice.ids import new_id


def one_of(kind: type[StrEnum]) -> Enum:
    """The column type for a member of `kind`, stored as its value in plain text."""
    return Enum(kind, native_enum=False, length=32, values_callable=_names)


def _names(kind: type[StrEnum]) -> list[str]:
    return [member.value for member in kind]


class Structs(TypeDecorator[Any]):
    """A JSON column of msgspec structs of one shape, converted when written and read."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def __init__(self, shape: Any) -> None:
        super().__init__()
        self.shape = shape

    def coerce_compared_value(self, op: Any, value: Any) -> TypeEngine[Any]:
        """Compare as JSON does."""
        return self.impl_instance

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> Any | None:
        return None if value is None else msgspec.to_builtins(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any | None:
        return None if value is None else msgspec.convert(value, self.shape)


class Audited:
    """Who created and last changed a record, and the stamp that an update has to send back.

    The stamp is SQLAlchemy's version column: of two updates to the same version only one can succeed, on any database.
    """

    creation_time: Mapped[datetime] = mapped_column(default=now)
    creator_id: Mapped[str | None] = mapped_column(String(36))
    last_modification_time: Mapped[datetime | None]
    last_modifier_id: Mapped[str | None] = mapped_column(String(36))
    concurrency_stamp: Mapped[str] = mapped_column(String(36))

    @declared_attr.directive
    def __mapper_args__(cls) -> dict[str, Any]:  # noqa: N805 - called with the class that mixes it in
        return {
            "version_id_col": cls.__table__.c.concurrency_stamp,  # type: ignore[attr-defined]
            "version_id_generator": _next_stamp,
        }

    def touch(self, person_id: str | None) -> None:
        """Record who changed this, and when."""
        self.last_modification_time = now()
        self.last_modifier_id = person_id


def _next_stamp(_before: str | None) -> str:
    return new_id()
