"""Edit forms, declared as a list of fields: the input of each, and which part of the record it is, as text and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import astuple, replace

from portal.web.forms import Form, Values

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Field(Generic[R]):
    """One field: `input` is the WTForms field (`portal.web.forms`), `text` what it holds for a record.

    `onto` returns the record with what was typed, and is asked only for what was changed: everything else goes back to
    the API as it came. `tidy` writes what was typed as `text` would, so that another way of writing it is no change.
    """

    name: str
    input: Any
    text: Callable[[R], str]
    onto: Callable[[R, str], R]
    tidy: Callable[[str], str] = str


Fields = Sequence[Field[R]]
"""The fields of a form, in the order in which they are shown."""


def written(value: object) -> str:
    """Return a member's value as text; "" for None."""
    return "" if value is None else str(value)


def given(typed: str) -> str | None:
    """Return what was typed, or None for an empty field."""
    return typed or None


def member(
    name: str,
    input: Any,
    *,
    text: Callable[[Any], str] = written,
    value: Callable[[str], object] = given,
    tidy: Callable[[str], str] = str,
) -> Field[Any]:
    """A member of the record: `text` writes its value, `value` reads what was typed."""
    return Field(
        name,
        input,
        lambda record: text(getattr(record, name)),
        lambda record, typed: replace(record, **{name: value(typed)}),
        tidy,
    )


def part(
    of: str,
    kind: type[Struct],
    name: str,
    input: Any,
    *,
    text: Callable[[Any], str] = written,
    value: Callable[[str], object] = str,
    tidy: Callable[[str], str] = str,
) -> Field[Any]:
    """A member of a record within the record, such as the city of its address: `address_city`.

    The record `of` that name is made where there is none, and becomes None when nothing is left in it.
    """

    def onto(record: Any, typed: str) -> Any:
        changed = replace(getattr(record, of) or kind(), **{name: value(typed)})
        return replace(record, **{of: changed if any(astuple(changed)) else None})

    return Field(
        f"{of}_{name}", input, lambda record: text(getattr(getattr(record, of), name, None)), onto, tidy
    )


def values_of(fields: Fields[R], record: R) -> Values:
    """Return what the form holds for a record."""
    return {field.name: field.text(record) for field in fields}


def form_of(fields: Fields[R], values: Values) -> Form:
    """Return the form, holding these values."""
    return Form({field.name: field.input for field in fields}, values)


def changed(fields: Fields[R], record: R, values: Values) -> R:
    """Return the record with these values; of a field that holds what it held nothing is touched."""
    for field, before in zip(fields, values_of(fields, record).values(), strict=True):
        if values[field.name] != before:
            record = field.onto(record, values[field.name])
    return record
