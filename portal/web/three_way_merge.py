"""Merging three versions of a record field by field: as it was opened, as it was typed, and as it is now."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

import msgspec
from flask import request

from portal.i18n.gettext import _
from portal.web.forms import Form, Values, cleaned, sent


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
    def of_form(cls, names: tuple[str, ...], given: Mapping[str, str] | None = None) -> Sent:
        """Read this request's form, or the one that is given."""
        form = request.form if given is None else given
        chosen = {name: form.get(f"keep-{name}", "") for name in names}
        typed, opened = sent(names, form), _decoded(form.get("opened", ""))
        return cls(
            typed={name: _as_opened(text, opened.get(name)) for name, text in typed.items()},
            opened=opened,
            seen=form.get("seen", ""),
            keep={name: kept for name, kept in chosen.items() if kept in ("mine", "now")},
        )


def settle(sent_form: Sent, now: Values, record: Stamped, form: Form) -> Values | Comparison:
    """Return what to make of the record, or the comparison when someone else's changes wait for a choice."""
    has_seen = sent_form.seen == version_mark(now, record.concurrency_stamp)
    chosen = sent_form if has_seen else replace(sent_form, keep={})
    differences = compare(chosen, now, form)
    if differences and not has_seen:
        return _comparison(sent_form, now, record, form, differences, status=409)
    if any(not one.keep for one in differences):
        asked = tuple(_asking(one) for one in differences)
        return _comparison(sent_form, now, record, form, asked, status=422)
    kept = {one.name: now[one.name] for one in differences if one.keep == "now"}
    return {**sent_form.typed, **kept}


def compare(sent_form: Sent, now: Values, form: Form) -> tuple[Difference, ...]:
    """Return the fields that someone else made something else of than was typed.

    One that the person left alone is kept as it is now unless they choose otherwise; where both changed it, neither is.
    """
    found: list[Difference] = []
    for name, yours in sent_form.typed.items():
        was = sent_form.opened.get(name)
        if now[name] in (was, yours):
            continue
        found.append(
            Difference(
                name=name,
                label=form.label(name),
                was=None if was is None else form.words(name, was),
                yours=form.words(name, yours),
                now=form.words(name, now[name]),
                keep=sent_form.keep.get(name) or ("now" if yours == was else ""),
            )
        )
    return tuple(found)


def _comparison(
    sent_form: Sent,
    now: Values,
    record: Stamped,
    form: Form,
    differences: tuple[Difference, ...],
    *,
    status: int,
) -> Comparison:
    """Carries what was typed and what was opened along, marked with the version that is shown now."""
    mine_alone = tuple(
        (form.label(name), form.words(name, now[name]), form.words(name, yours))
        for name, yours in sent_form.typed.items()
        if yours != now[name] and now[name] == sent_form.opened.get(name)
    )
    carried = (
        *hidden_fields(sent_form.opened, version_mark(now, record.concurrency_stamp)),
        *sent_form.typed.items(),
    )
    return Comparison(differences, mine_alone, carried, record.last_modification_time, status)


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
