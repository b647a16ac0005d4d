"""Merging three versions of a record field by field: as it was opened, as it was typed, and as it is now."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import msgspec

from portal.i18n.gettext import _
from portal.web.fields import Field
from portal.web.forms import Form, Values, cleaned


class Stamped(Protocol):
    """A record that others may change."""

    @property
    def id(self) -> str:
        """Its id."""
        ...

    @property
    def concurrency_stamp(self) -> str | None:
        """What an update must send back."""
        ...

    @property
    def last_modification_time(self) -> datetime | None:
        """When it was last changed, if the API gives that."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that someone else changed meanwhile, in words; `keep` is "mine", "now", or "" while undecided.

    `was` is None when it isn't known.
    """

    name: str
    label: str
    was: str | None
    yours: str
    now: str
    keep: str
    error: str | None = None

    @property
    def id(self) -> str:
        """The id and name of its choice."""
        return f"keep-{self.name}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both versions side by side; `mine_alone` are fields that only the person changed: label, before, after."""

    differences: tuple[Difference, ...]
    mine_alone: tuple[tuple[str, str, str], ...]
    carried: tuple[tuple[str, str], ...]
    changed_at: datetime | None
    status: int = 409
    is_comparison: bool = True

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Choices that are missing, as (id, sentence)."""
        return [(f"{one.id}-mine", one.error) for one in self.differences if one.error]


@dataclass(frozen=True, slots=True)
class Sent:
    """What an edit form brought: what was typed, what was there when it was opened, and what was chosen."""

    typed: Values
    opened: Values
    seen: str
    keep: Values

    @classmethod
    def of_form(cls, fields: Iterable[Field[Any]], form: Mapping[str, str]) -> Sent:
        """Read these fields of a form that was sent."""
        opened = _decoded(form.get("opened", ""))
        typed = {field.name: cleaned(form.get(field.name, "")) for field in fields}
        keep = {name: form.get(f"keep-{name}", "") for name in typed}
        return cls(
            typed={
                field.name: field.tidy(_as_opened(typed[field.name], opened.get(field.name)))
                for field in fields
            },
            opened=opened,
            seen=form.get("seen", ""),
            keep={name: kept for name, kept in keep.items() if kept in ("mine", "now")},
        )


def settle(posted: Sent, now: Values, record: Stamped, form: Form) -> Values | Comparison:
    """Return what to make of the record, or the comparison when someone else's changes wait for a choice."""
    mark = version_mark(now, record.concurrency_stamp)
    has_seen = posted.seen == mark
    differences = compare(posted if has_seen else replace(posted, keep={}), now, form)
    if all(one.keep for one in differences) and (has_seen or not differences):
        return {**posted.typed, **{one.name: now[one.name] for one in differences if one.keep == "now"}}
    mine_alone = tuple(
        (form.label(name), form.words(name, now[name]), form.words(name, yours))
        for name, yours in posted.typed.items()
        if yours != now[name] and now[name] == posted.opened.get(name)
    )
    return Comparison(
        tuple(_asking(one) for one in differences) if has_seen else differences,
        mine_alone,
        carried=(*hidden_fields(posted.opened, mark), *posted.typed.items()),
        changed_at=record.last_modification_time,
        status=422 if has_seen else 409,
    )


def compare(posted: Sent, now: Values, form: Form) -> tuple[Difference, ...]:
    """Return the fields that someone else made something else of than was typed.

    One that the person left alone is kept as it is now unless they choose otherwise; where both changed it, neither is.
    """
    return tuple(
        Difference(
            name=name,
            label=form.label(name),
            was=None if was is None else form.words(name, was),
            yours=form.words(name, yours),
            now=form.words(name, now[name]),
            keep=posted.keep.get(name) or ("now" if yours == was else ""),
        )
        for name, yours in posted.typed.items()
        if now[name] not in (was := posted.opened.get(name), yours)
    )


def _asking(one: Difference) -> Difference:
    if one.keep:
        return one
    return replace(one, error=_("Choose what to keep for “%(field)s”.", field=one.label))


def hidden_fields(opened: Values, seen: str) -> tuple[tuple[str, str], ...]:
    """Return the hidden fields of an edit form."""
    return (("opened", msgspec.json.encode(opened).decode()), ("seen", seen))


def version_mark(now: Values, stamp: str | None) -> str:
    """Return a mark of the version that a page shows; the stamp alone won't do for an API that gives none."""
    return hashlib.sha256(msgspec.json.encode([now, stamp])).hexdigest()[:32]


def _as_opened(typed: str, opened: str | None) -> str:
    """What a field was opened with, where a browser and `cleaned` alone made something else of it."""
    return opened if opened is not None and cleaned(opened) == typed else typed


def _decoded(text: str) -> Values:
    try:
        return msgspec.json.decode(text, type=Values)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
