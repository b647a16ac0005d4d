"""The members of a record as an API sends them: names, types, and what the portal uses them for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from msgspec import inspect, structs

from portal.services.uses import Use, use_of
from portal.values import Value

if TYPE_CHECKING:
    from portal.services.decoding import Choice

_OWN = "(portal) "
"""Prefix of members that only the portal sets (`portal.services.decoding.PagedResult`)."""


class Member(Value, frozen=True):
    """A member of a record: its name in JSON and in Python, its type and annotation, and whether the API must send it."""

    owner: type
    name: str
    attribute: str
    type: inspect.Type
    annotation: Any
    is_required: bool

    @property
    def record(self) -> str:
        return self.owner.__name__

    @property
    def value_type(self) -> inspect.Type:
        """The type of its value where it has one; the first of several."""
        return self._given[0]

    @property
    def is_nullable(self) -> bool:
        return isinstance(self.type, inspect.UnionType) and len(self._given) < len(self.type.types)

    @property
    def may_be_text(self) -> bool:
        """Whether it may hold text instead of its value."""
        return len(self._given) > 1 and isinstance(self._given[1], inspect.StrType)

    @property
    def nested(self) -> type | None:
        """The record that it holds, directly or in a list."""
        value = self.value_type
        shape = value.item_type if isinstance(value, inspect.VarTupleType) else value
        return shape.cls if isinstance(shape, inspect.StructType) else None

    @property
    def choice(self) -> type[Choice] | None:
        """The enumeration that it holds."""
        value = self.value_type
        return cast("type[Choice]", value.cls) if isinstance(value, inspect.EnumType) else None

    @property
    def is_text(self) -> bool:
        """Whether it holds free text."""
        return isinstance(self.value_type, inspect.StrType)

    @property
    def is_truth(self) -> bool:
        return isinstance(self.value_type, inspect.BoolType)

    @property
    def is_number(self) -> bool:
        """Whether it holds a number."""
        return isinstance(self.value_type, inspect.IntType | inspect.FloatType)

    @property
    def is_time(self) -> bool:
        """Whether it holds an instant or a day."""
        return isinstance(self.value_type, inspect.DateTimeType | inspect.DateType)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value_type, inspect.VarTupleType)

    @property
    def is_id(self) -> bool:
        """Whether it holds an id, or a list of them."""
        return names_id(self.name)

    @property
    def use(self) -> Use | None:
        """What the portal uses it for; None if it ignores it."""
        return use_of(self.owner, self.name)

    @property
    def _given(self) -> tuple[inspect.Type, ...]:
        types = self.type.types if isinstance(self.type, inspect.UnionType) else (self.type,)
        return tuple(kind for kind in types if not isinstance(kind, inspect.NoneType))


def names_id(name: str) -> bool:
    """Whether a member of this name holds an id, or a list of them."""
    return name in ("id", "ids", "onBehalfOf") or name.endswith(("Id", "Ids"))


@cache
def members_of(record: type) -> tuple[Member, ...]:
    """The members of a record that an API may send, in the order of their declaration."""
    shape = inspect.type_info(record)
    if not isinstance(shape, inspect.StructType):
        raise TypeError(f"{record} isn't a record")
    annotations = {field.name: field.type for field in structs.fields(shape.cls)}
    return tuple(
        Member(shape.cls, field.encode_name, field.name, field.type, annotations[field.name], field.required)
        for field in shape.fields
        if not field.encode_name.startswith(_OWN)
    )
