"""The one way to change a record that others change too.

An edit form carries what the record was when it was opened. When it is sent, three things are compared, field by
field: what was, what was typed, and what is now. Whatever someone else changed meanwhile is shown beside what was
typed, and chosen per field; nothing that anybody typed is lost. What the portal doesn't see in time the API's stamp
refuses, and then the record is read and compared again. It is written once (`portal.web.act_once`).

A page gives an `Editing` and shows what `save_edit` returns: `Saved`, or a `Filled` form, or a `Comparison`. What was
typed before a session ended is compared in the same way when the page is opened again (`portal.web.unsent`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec
from flask import request

from portal.i18n.gettext import _
from portal.services.errors import Conflict, Invalid, NotOffered, Refused
from portal.web import audit, unsent
from portal.web.act_once import Attempt, Done, Unconfirmed, act_once, begin_edit
from portal.web.forms import Fields, Form, Values
from portal.web.refusals import refusal_message
from portal.web.three_way_merge import Comparison, Sent, Stamped, hidden_fields, settle, version_mark

R = TypeVar("R", bound=Stamped)


def _as_typed(values: Values) -> Values:
    return values


def _nothing_more(record: object, form: Form) -> None:
    """No check over several fields."""


@dataclass(frozen=True, slots=True)
class Editing(Generic[R]):
    """How one kind of record is read, shown as text by field, checked and written.

    `owner` is who edits (`Person.sub`), `event` and `kind` name the act and the record in the audit. `fields` makes the
    form for the record as it is now (its legal moves, its own value among the choices); `check` adds errors over several
    fields; `tidy` writes what was typed as `values` would; `write` gets the record as it is now and what to make of it, and returns the record as answered, or None for
    an empty answer.
    """

    owner: str
    event: str
    kind: str
    read: Callable[[], R]
    values: Callable[[R], Values]
    fields: Callable[[R], Fields]
    write: Callable[[R, Values], R | None]
    check: Callable[[R, Form], None] = _nothing_more
    tidy: Callable[[Values], Values] = _as_typed

    def form(self, record: R, values: Values) -> Form:
        """The form of the record, holding these values."""
        return Form(self.fields(record), values)


@dataclass(frozen=True, slots=True)
class Saved(Generic[R]):
    """Saved: `record` is the newest version; `is_changed` is False when there was nothing to change."""

    record: R
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Filled:
    """The form to show: first as the record is, later with what was typed; `note` says why it wasn't saved."""

    form: Form
    carried: tuple[tuple[str, str], ...]
    status: int = 200
    note: str = ""
    is_comparison: bool = False


EDIT_FORM = ("opened", "seen", "keep-*")
"""What every edit form carries besides its own fields."""


def open_form(editing: Editing[R], record: R) -> Filled | Comparison:
    """Return the form as the record is or, where it is given back, with what was typed into it."""
    now = editing.values(record)
    given = unsent.restored_form(request.path)
    if given is not None:
        sent_form = Sent.of_form(tuple(editing.fields(record)), given)
        wanted = settle(sent_form, now, record, editing.form(record, now))
        if isinstance(wanted, Comparison):
            return replace(wanted, status=200)
        return _again(editing, record, editing.form(record, wanted), status=200)
    return Filled(editing.form(record, now), hidden_fields(now, version_mark(now, record.concurrency_stamp)))


def save_edit(editing: Editing[R], record: R) -> Saved[R] | Filled | Comparison:
    """Save what this request's form holds over `record`, read just now, or return what to show instead.

    The same form sent twice has one effect: the second finds the record as wanted. An answer that got lost is looked
    for in the record. Raises CareError for what concerns the whole page.
    """
    sent_form = _sent_form(editing, record)
    for is_last in (False, True):
        wanted = _wanted(editing, record, sent_form)
        if not isinstance(wanted, dict):
            audit.note(editing.event, _outcome(wanted), kind=editing.kind, id_=record.id)
            return wanted
        write = _Write(editing, record, wanted, newest=record)
        try:
            done = write.once()
        except Conflict:
            if is_last:
                raise
            record = editing.read()
        except (Invalid, Refused, NotOffered) as error:
            return _refused(editing, record, wanted, error)
        except Unconfirmed as error:
            if not error.is_readable:
                raise
            return write.unconfirmed()
        else:
            if done.result is not None:
                return Saved(done.result, is_changed=True)
            return write.found()  # by an earlier post of the same form
    raise AssertionError("unreachable")


def check_edit(editing: Editing[R], record: R) -> Values | Saved[R] | Filled | Comparison:
    """Return what this request's form makes of `record`, or what to show instead; nothing is sent."""
    return _wanted(editing, record, _sent_form(editing, record))


def kept_elsewhere() -> str:
    """Explain that this one record is kept in the clinic's own system (501)."""
    return _(
        "The clinic keeps this record in another system, so it can’t be changed here. Please ask the clinic to change it."
    )


def _sent_form(editing: Editing[R], record: R) -> Sent:
    sent_form = Sent.of_form(tuple(editing.fields(record)))
    return replace(sent_form, typed=editing.tidy(sent_form.typed))


def _wanted(editing: Editing[R], record: R, sent_form: Sent) -> Values | Saved[R] | Filled | Comparison:
    """The values to write; or the page to show when nothing changed, a field is wrong or a choice is open."""
    now = editing.values(record)
    wanted = settle(sent_form, now, record, editing.form(record, now))
    if isinstance(wanted, Comparison):
        return wanted
    form = editing.form(record, wanted)
    form.validate()
    editing.check(record, form)
    if form.errors:
        return _again(editing, record, form, status=422)
    if wanted == now:
        return Saved(record, is_changed=bool(sent_form.opened and sent_form.opened != now))
    return wanted


def _outcome(result: Saved[R] | Filled | Comparison) -> str:
    """The word for the audit of what ended before it was sent."""
    if isinstance(result, Saved):
        return "unchanged"
    return "conflict" if result.status == 409 else "invalid"


@dataclass
class _Write(Generic[R]):
    """One write over the record as it was read: sent once, and looked for where the answer is empty or lost."""

    editing: Editing[R]
    record: R
    wanted: Values
    newest: R
    is_answered: bool = False

    def once(self) -> Done[R | None]:
        """Send it, unless an earlier post of the same form did."""
        editing, id_ = self.editing, self.record.id
        seen = version_mark(editing.values(self.record), self.record.concurrency_stamp)
        typed = msgspec.json.encode(self.wanted).decode()
        operation = begin_edit(editing.owner, f"{editing.event}:{id_}", seen, typed)
        return act_once(
            Attempt(editing.owner, operation),
            self._send,
            look=self._look,
            shows=lambda written: written is not None,
            event=editing.event,
            kind=editing.kind,
            id_=id_,
            is_repeatable=True,
        )

    def found(self) -> Saved[R] | Filled:
        """An earlier post of the same form wrote it: return the record as it is now."""
        self.newest = self.editing.read()
        return Saved(self.newest, is_changed=True) if self._is_changed() else self.unconfirmed()

    def unconfirmed(self) -> Filled:
        """Nobody confirmed it, and the record, as it was read last, doesn't show it: return the form again."""
        note = _(
            "The clinic’s system didn’t confirm this, and its record, read just now, doesn’t show it. You can send it again."
        )
        form = self.editing.form(self.newest, self.wanted)
        return _again(self.editing, self.newest, form, status=503, note=note)

    def _send(self, _key: str) -> R | None:
        written = self.editing.write(self.record, self.wanted)
        self.is_answered = True
        return written

    def _look(self) -> R | None:
        self.newest = self.editing.read()
        is_wanted = self.editing.values(self.newest) == self.wanted
        return self.newest if is_wanted or (self.is_answered and self._is_changed()) else None

    def _is_changed(self) -> bool:
        """Whether it isn't as it was before: an API may write what it got in its own way."""
        return self.editing.values(self.newest) != self.editing.values(self.record)


def _refused(editing: Editing[R], record: R, wanted: Values, error: Invalid | Refused | NotOffered) -> Filled:
    form = editing.form(record, wanted)
    if isinstance(error, NotOffered):
        return _again(editing, record, form, status=501, note=kept_elsewhere())
    if isinstance(error, Refused):
        return _again(editing, record, form, status=403, note=refusal_message(error.code))
    names = [name.replace(".", "_") for name in error.fields]
    for name in (name for name in names if name in form):
        form.add_error(name, _("The clinic’s system doesn’t accept this."))
    if not form.errors:
        form.add_error(None, _("The clinic’s system doesn’t accept something of this. Nothing was changed."))
    return _again(editing, record, form, status=422)


def _again(editing: Editing[R], record: R, form: Form, *, status: int, note: str = "") -> Filled:
    now = editing.values(record)
    return Filled(form, hidden_fields(now, version_mark(now, record.concurrency_stamp)), status, note)
