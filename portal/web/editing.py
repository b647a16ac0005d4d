"""The one way to change a record that others change too.

An edit form is declared as a list of fields (`portal.web.fields`). It carries what the record was when it was opened.
When it is sent, three things are compared, field by field: what was, what was typed, and what is now
(`portal.web.three_way_merge`). Whatever someone else changed meanwhile is shown beside what was typed, and chosen per
field; nothing that anybody typed is lost. What the portal doesn't see in time the API's stamp refuses, and then the
record is read and compared once more. It is written once (`portal.web.act_once`).

A page gives an `Editing` and shows what `save_edit` returns: `Saved`, or a `Filled` form, or a `Comparison`. What was
typed before a session ended is compared in the same way when the page is opened again (`portal.web.unsent`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

import msgspec
from flask import request

from portal.i18n.gettext import _
from portal.services.errors import CareError, Conflict, Invalid, NotOffered, Refused
from portal.web import audit, unsent
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin_edit
from portal.web.fields import EditForm, Fields, changed, is_shown, values_of
from portal.web.forms import Values
from portal.web.refusals import refusal_message
from portal.web.three_way_merge import Comparison, Sent, Stamped, hidden_fields, settle, version_mark

R = TypeVar("R", bound=Stamped)

EDIT_FORM = ("opened", "seen", "keep-*")
"""What every edit form carries besides its own fields."""


def _nothing_more(record: object, form: EditForm) -> None:
    """No check over several fields."""


@dataclass(frozen=True, slots=True)
class Editing(Generic[R]):
    """How one record is changed by `owner` (`Person.sub`); `event` and `kind` name act and record in the audit.

    - `fields`: the form for the record as it is now: its legal moves, its own value among the choices.
    - `read`: the record as it is now.
    - `write`: sends a record made of the one that was read, which it gets too; returns the record as answered, or None
      for an empty answer.
    - `check`: adds errors over several fields.
    """

    owner: str
    event: str
    kind: str
    fields: Callable[[R], Fields[R]]
    read: Callable[[], R]
    write: Callable[[R, R], R | None]
    check: Callable[[R, EditForm], None] = _nothing_more


@dataclass(frozen=True, slots=True)
class Saved(Generic[R]):
    """Saved: `record` is the newest version; `is_changed` is False when there was nothing to change."""

    record: R
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """The form to show: first as the record is, later with what was typed; `note` says why it wasn't saved.

    `error` is what the API answered to it, for a page that has words of its own for that.
    """

    form: EditForm
    carried: tuple[tuple[str, str], ...]
    status: int = 200
    note: str = ""
    error: CareError | None = None
    is_comparison: bool = False


Edit: TypeAlias = Filled | Comparison
"""What a page of an edit form shows."""


def open_form(editing: Editing[R], record: R) -> Edit:
    """Return the form as the record is or, where it is given back, with what was typed into it."""
    fields, given = editing.fields(record), unsent.restored_form(request.path)
    if given is None:
        return _filled(record, fields, EditForm(fields, values_of(fields, record)))
    wanted = settle(Sent.of_form(fields, given), fields, record)
    if isinstance(wanted, Comparison):
        return replace(wanted, status=200)
    return _filled(record, fields, EditForm(fields, wanted))


def check_edit(editing: Editing[R], record: R) -> Values | Saved[R] | Edit:
    """Return what this request's form makes of `record`, or what to show instead; nothing is sent."""
    fields = editing.fields(record)
    return _checked(editing, record, fields, Sent.of_form(fields, request.form))


def save_edit(editing: Editing[R], record: R) -> Saved[R] | Edit:
    """Save what this request's form holds over `record`, read just now, or return what to show instead.

    The same form sent twice has one effect: the second finds the record as wanted. An answer that got lost is looked
    for in the record. Raises CareError for what concerns the whole page.
    """
    posted = Sent.of_form(editing.fields(record), request.form)
    try:
        return _save(editing, record, posted)
    except Conflict:
        return _save(editing, editing.read(), posted)


def kept_elsewhere() -> str:
    """Explain that this one record is kept in the clinic's own system (501)."""
    return _(
        "The clinic keeps this record in another system, so it can’t be changed here. Please ask the clinic to change it."
    )


def _checked(editing: Editing[R], record: R, fields: Fields[R], posted: Sent) -> Values | Saved[R] | Edit:
    wanted = settle(posted, fields, record)
    if isinstance(wanted, Comparison):
        return wanted
    form = EditForm(fields, wanted)
    form.validate()
    editing.check(record, form)
    if form.errors:
        return _filled(record, fields, form, status=422)
    if changed(fields, record, wanted) != record:
        return wanted
    return Saved(record, is_changed=posted.opened not in ({}, values_of(fields, record)))


def _save(editing: Editing[R], record: R, posted: Sent) -> Saved[R] | Edit:
    fields = editing.fields(record)
    wanted = _checked(editing, record, fields, posted)
    if not isinstance(wanted, dict):
        audit.note(editing.event, _outcome(wanted), kind=editing.kind, id_=record.id)
        return wanted
    try:
        return Saved(_write_once(editing, record, fields, wanted), is_changed=True)
    except (Invalid, Refused, NotOffered, Unconfirmed) as error:
        return replace(_refused(record, fields, EditForm(fields, wanted), error), error=error)


def _write_once(editing: Editing[R], record: R, fields: Fields[R], wanted: Values) -> R:
    """Send it, unless an earlier post of the same form did; return the record as it is then."""
    now, is_answered = values_of(fields, record), False

    def send(_key: str) -> R | None:
        nonlocal is_answered
        written = editing.write(record, changed(fields, record, wanted))
        is_answered = True
        return written

    def shows(written: R | None) -> bool:
        if written is None:
            return False
        is_written = is_answered and values_of(fields, written) != now  # an API may write it in its own way
        return is_written or is_shown(fields, written, wanted)

    def look() -> R | None:
        newest = editing.read()
        return newest if shows(newest) else None

    mark, typed = version_mark(now, record.concurrency_stamp), msgspec.json.encode(wanted).decode()
    operation = begin_edit(editing.owner, f"{editing.event}:{record.id}", mark, typed)
    done = act_once(
        Attempt(editing.owner, operation),
        send,
        look=look,
        shows=shows,
        event=editing.event,
        kind=editing.kind,
        id_=record.id,
        is_repeatable=True,
    )
    if done.result is not None:
        return done.result
    newest = editing.read()
    if values_of(fields, newest) == now:
        raise Unconfirmed(is_readable=True, status=503)
    return newest


def _outcome(result: Saved[R] | Edit) -> str:
    """The word for the audit of what ended before it was sent."""
    if isinstance(result, Saved):
        return "unchanged"
    return "conflict" if result.status == 409 else "invalid"


def _refused(
    record: R, fields: Fields[R], form: EditForm, error: Invalid | Refused | NotOffered | Unconfirmed
) -> Filled:
    """The form again, saying why it wasn't saved; raises what concerns the whole page."""
    match error:
        case NotOffered():
            return _filled(record, fields, form, status=501, note=kept_elsewhere())
        case Refused(code=code):
            return _filled(record, fields, form, status=403, note=refusal_message(code))
        case Unconfirmed(is_readable=True):
            note = _(
                "The clinic’s system didn’t confirm this, and its record, read just now, doesn’t show it. You can send it again."
            )
            return _filled(record, fields, form, status=503, note=note)
        case Invalid():
            for name in (name.replace(".", "_") for name in error.fields):
                if name in form:
                    form.add_error(name, _("The clinic’s system doesn’t accept this."))
            if not form.errors:
                form.add_error(
                    None, _("The clinic’s system doesn’t accept something of this. Nothing was changed.")
                )
            return _filled(record, fields, form, status=422)
        case _:
            raise error


def _filled(record: R, fields: Fields[R], form: EditForm, *, status: int = 200, note: str = "") -> Filled:
    """The form over this version of the record."""
    now = values_of(fields, record)
    return Filled(form, hidden_fields(now, version_mark(now, record.concurrency_stamp)), status, note)
