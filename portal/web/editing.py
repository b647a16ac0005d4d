"""The one way to change a record that others change too.

An edit form is declared as a list of fields (`portal.web.fields`). It carries what the record was when it was opened.
When it is sent, three things are compared, field by field: what was, what was typed, and what is now
(`portal.web.edit_form`). Whatever someone else changed meanwhile is shown beside what was typed, and chosen per field;
nothing that anybody typed is lost. What the portal doesn't see in time the API's stamp refuses, and then the record is
read and compared once more; refused again, the form stays as it was typed. It is written once (`portal.web.act_once`).

A page gives an `Editing` and shows what `save_edit` returns: `Saved`, or a `Filled` form, or a `Comparison`. What was
typed before a session ended is compared in the same way when the page is opened again (`portal.web.unsent`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from flask import request

from portal.i18n.gettext import _
from portal.services.errors import Conflict, Invalid, NotOffered, Refused
from portal.services.gather import attempt, known
from portal.values import Value
from portal.web import audit, unsent
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin_edit
from portal.web.edit_form import Change, Edit, EditForm, Saved, Sent, Stamped, change_of, opened_form, unlike
from portal.web.fields import Fields
from portal.web.filters import in_a_row
from portal.web.htmx import toast

R = TypeVar("R", bound=Stamped)

EDIT_FORM = ("opened", "seen", "keep-*")
"""What every edit form carries besides its own fields."""


def _nothing_more(record: object, form: EditForm) -> None:
    """No check over several fields."""


class Editing(Value, Generic[R], frozen=True):
    """How one record is changed by `owner` (`Person.sub`); `event` names the act in the audit, after the kind of record.

    - `fields`: the form for the record as it is now: its legal moves, its own value among the choices.
    - `read`: the record as it is now.
    - `write`: sends a record; gets the one that was read too, of which it is made; returns the record as answered, or None
      for an empty answer.
    - `check`: adds errors over several fields.
    """

    owner: str
    event: str
    fields: Callable[[R], Fields[R]]
    read: Callable[[], R]
    write: Callable[[R, R], R | None]
    check: Callable[[R, EditForm], None] = _nothing_more


def open_form(editing: Editing[R], record: R) -> Edit:
    """Return the form as the record is or, where it is given back, with what was typed into it."""
    return opened_form(editing.fields(record), record, unsent.restored_form(request.path))


def check_edit(editing: Editing[R], record: R) -> Change[R] | Saved[R] | Edit:
    """Return what this request's form makes of `record`, or what to show instead; nothing is sent."""
    fields = editing.fields(record)
    return change_of(Sent.of_form(fields, request.form), fields, record, editing.check)


def save_edit(editing: Editing[R], record: R, *, is_again: bool = False) -> Saved[R] | Edit:
    """Save what this request's form holds over `record`, read just now, or return what to show instead.

    The same form sent twice has one effect: the second finds the record as wanted. An answer that got lost is looked
    for in the record. Raises CareError for what concerns the whole page.
    """
    change = check_edit(editing, record)
    if not isinstance(change, Change):
        audit.note(editing.event, change.outcome, id_=record.id)
        return change
    try:
        written = _write_once(editing, change)
        return compared(change.form.fields, change.record, written, editing.read)
    except Conflict as error:
        if is_again:
            return change.refused(error)
        return save_edit(editing, editing.read(), is_again=True)
    except (Invalid, Refused, NotOffered, Unconfirmed) as error:
        return change.refused(error)


def tell_saved(saved: Saved[Any], words: str) -> None:
    """Say that it is saved in these `words`, that nothing was changed, or what the API made something else of."""
    if saved.unlike:
        tell_unlike(saved.unlike)
    else:
        toast(words if saved.is_changed else _("Nothing was changed."))


def tell_unlike(labels: Sequence[str]) -> None:
    """Say of which fields the API keeps something else than was sent."""
    toast(
        _(
            "It is saved, but the clinic’s system changed or left out: %(fields)s. Please check it.",
            fields=in_a_row(labels, "; "),
        ),
        tone="attention",
    )


def compared(fields: Fields[Any], sent: object, written: R, read: Callable[[], R]) -> Saved[R]:
    """Return what is kept of what was sent: the answer or, as that may hold less, the record where they differ."""
    if unlike(fields, sent, written):
        written = known(attempt(read)) or written
    return Saved(written, is_changed=True, unlike=unlike(fields, sent, written))


def _write_once(editing: Editing[R], change: Change[R]) -> R:
    """Send it, unless an earlier post of the same form did; return the record as it is then."""
    is_answered = False

    def send(_key: str) -> R | None:
        nonlocal is_answered
        written = editing.write(change.record, change.read)
        is_answered = True
        return written

    def shows(written: R | None) -> bool:
        if written is None:
            return False
        is_written = is_answered and change.is_outdated_by(written)  # an API may write it in its own way
        return is_written or change.is_shown_by(written)

    def look() -> R | None:
        newest = editing.read()
        return newest if shows(newest) else None

    typed = msgspec.json.encode(change.form.values).decode()
    operation = begin_edit(editing.owner, f"{editing.event}:{change.read.id}", change.mark, typed)
    done = act_once(
        Attempt(editing.owner, operation),
        send,
        look=look,
        shows=shows,
        event=editing.event,
        id_=change.read.id,
        is_repeatable=True,
    )
    if done.result is not None:
        return done.result
    newest = editing.read()
    if not change.is_outdated_by(newest):
        raise Unconfirmed(is_readable=True, status=503)
    return newest
