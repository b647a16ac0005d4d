"""Edit forms, declared as a list of fields: the input of each, and which part of the record it is, as text and back.

The rows of a record are fields of its form too, as many as there are: each is one text, kept or changed as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from portal.values import Value
from portal.web.forms import Values, cleaned

R = TypeVar("R")


class Field(Value, Generic[R], frozen=True):
    """One field: `input` is the WTForms field (`portal.web.forms`), `text` what it holds for a record.

    `onto` returns the record with what was typed, and is asked only for what was changed: everything else goes back to
    the API as it came. `tidy` writes what was typed as `text` would, so that another way of writing it is no change.
    A field of several inputs reads them with `sent`, and says in `words` what they hold.
    """

    name: str
    input: Any
    text: Callable[[R], str]
    onto: Callable[[R, str], R]
    tidy: Callable[[str], str] = str
    sent: Callable[[Mapping[str, str]], str] | None = None
    words: Callable[[str], str] | None = None

    def values(self, record: R) -> Values:
        return {self.name: self.text(record)}

    def typed(self, form: Mapping[str, str], opened: Values) -> Values:
        """What was typed; what it was opened with, where a browser and `cleaned` alone made something else of it."""
        typed, was = cleaned(self.sent(form) if self.sent else form.get(self.name, "")), opened.get(self.name)
        return {self.name: self.tidy(typed if was is None or cleaned(was) != typed else was)}

    def put(self, record: R, read: R, values: Values) -> R:
        """The record with its value, if that differs from the record as it was read."""
        typed = values[self.name]
        return record if typed == self.text(read) else self.onto(record, typed)

    def shows(self, record: R, values: Values) -> bool:
        return self.text(record) == values[self.name]

    def unlike(self, sent: R, kept: R) -> list[str]:
        """Its name, if a record is kept with another value than was sent."""
        return [] if self.text(sent) == self.text(kept) else [self.name]


class Rows(Value, Generic[R], frozen=True):
    """The rows of a record, whose names begin with `prefix`; an empty text stands for a removed one.

    `texts` are a record's rows by name, `onto` returns the record with these in this order. `label` and `words` say which
    row a text is and what it holds; `content` leaves out of it what the API adds, such as its id.
    """

    prefix: str
    texts: Callable[[R], Values]
    onto: Callable[[R, Values], R]
    label: Callable[[str], str]
    words: Callable[[str], str]
    content: Callable[[str], str] = str

    def values(self, record: R) -> Values:
        """A record's rows by name."""
        return self.texts(record)

    def typed(self, form: Mapping[str, str], opened: Values) -> Values:
        return {
            name: text.replace("\r\n", "\n") for name, text in form.items() if name.startswith(self.prefix)
        }

    def put(self, record: R, read: R, values: Values) -> R:
        """The record with these rows, if they or their order differ from the record as it was read."""
        rows = self.among(values)
        return record if list(rows.items()) == list(self.texts(read).items()) else self.onto(record, rows)

    def shows(self, record: R, values: Values) -> bool:
        held, wanted = self.texts(record), self.among(values)
        return [self.content(text) for text in held.values()] == [
            self.content(text) for text in wanted.values()
        ]

    def unlike(self, sent: R, kept: R) -> list[str]:
        """The names of the rows that only one of both has, in whatever order."""
        left = Counter(self.content(text) for text in self.texts(kept).values())
        left.subtract(self.content(text) for text in self.texts(sent).values())
        return [
            name
            for name, text in {**self.texts(kept), **self.texts(sent)}.items()
            if left[self.content(text)]
        ]

    def among(self, values: Values) -> Values:
        return {name: text for name, text in values.items() if name.startswith(self.prefix) and text}


Fields: TypeAlias = Sequence[Field[R] | Rows[R]]
"""The fields of a form, in the order in which they are shown."""


def written(value: object) -> str:
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
    empty: msgspec.Struct,
    name: str,
    input: Any,
    *,
    text: Callable[[Any], str] = written,
    value: Callable[[str], object] = str,
    tidy: Callable[[str], str] = str,
) -> Field[Any]:
    """A member of a record within the record, such as the city of its address: `address_city`.

    The record `of` that name is made of the `empty` one where there is none, and becomes None when nothing is left in it.
    """

    def onto(record: Any, typed: str) -> Any:
        changed = replace(getattr(record, of) or empty, **{name: value(typed)})
        return replace(record, **{of: changed if any(astuple(changed)) else None})

    return Field(
        f"{of}_{name}", input, lambda record: text(getattr(getattr(record, of), name, None)), onto, tidy
    )
