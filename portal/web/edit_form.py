"""The form of a record that others change too: as it was opened, as it was typed, and as the record is now.

The three are merged field by field. Nothing here reads or sends anything: `portal.web.editing` does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.services.errors import CareError, Conflict, Invalid, NotOffered, Refused
from portal.values import Value
from portal.web.act_once import Unconfirmed
from portal.web.fields import Field, Fields, Rows
from portal.web.forms import Form, Values
from portal.web.refusals import kept_elsewhere, refusal_message


class Stamped(Protocol):
    """A record that others may change."""

    @property
    def id(self) -> str: ...

    @property
    def concurrency_stamp(self) -> str | None:
        """What an update must send back."""
        ...

    @property
    def last_modification_time(self) -> datetime | None:
        """When it was last changed, if the API gives that."""
        ...


R = TypeVar("R", bound=Stamped)


class EditForm(Form):
    """The form of these fields; `faults` are errors by the id of what isn't one of its inputs, as a column of a row.

    `theirs` are the fields that hold what somebody else made of them, not what was typed.
    """

    def __init__(self, fields: Fields[Any], values: Values, theirs: Collection[str] = ()) -> None:
        super().__init__({field.name: field.input for field in fields if isinstance(field, Field)}, values)
        self.fields = fields
        self.values = values
        self.theirs = theirs
        self.faults: dict[str, str] = {}
        self._rows = [field for field in fields if isinstance(field, Rows)]
        self._words = {f.name: f.words for f in fields if isinstance(f, Field) and f.words}

    @property
    def errors(self) -> list[str]:
        return [*super().errors, *self.faults.values()]

    def accept_as_before(self, before: EditForm) -> None:
        """Drop the errors that a field had `before`, too, where nothing has changed that they are about."""
        touched = {name for name, text in self.values.items() if text != before.values.get(name)}
        for field in self:
            field.errors = [
                error
                for error in field.errors
                if error not in before[field.name].errors
                or not touched.isdisjoint((field.name, *self.about.get((field.name, error), ())))
            ]

    def label(self, name: str) -> str:
        """A field's label, or which row it is."""
        rows = self.rows_of(name)
        return rows.label(self.values.get(name, "")) if rows else super().label(name)

    def words(self, name: str, value: str) -> str:
        rows = self.rows_of(name)
        words = rows.words if rows else self._words.get(name)
        return words(value) if words else super().words(name, value)

    def rows_of(self, name: str) -> Rows[Any] | None:
        return next((rows for rows in self._rows if name.startswith(rows.prefix)), None)


class Difference(Value, frozen=True):
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
        return f"keep-{self.name}"


class Comparison(Value, frozen=True):
    """Both versions side by side; `mine_alone` are fields that only the person changed: label, before, after."""

    differences: tuple[Difference, ...]
    mine_alone: tuple[tuple[str, str, str], ...]
    carried: tuple[tuple[str, str], ...]
    changed_at: datetime | None
    status: int = 409
    is_comparison: bool = True

    @property
    def outcome(self) -> str:
        """The word for the audit."""
        return "conflict" if self.status == 409 else "invalid"

    @property
    def errors(self) -> list[tuple[str, str]]:
        """Choices that are missing, as (id, sentence)."""
        return [
            (f"{difference.id}-mine", difference.error) for difference in self.differences if difference.error
        ]


class Filled(Value, frozen=True):
    """The form to show: first as the record is, later with what was typed; `note` says why it wasn't saved.

    `error` is what the API answered to it, for a page that has words of its own for that.
    """

    form: EditForm
    carried: tuple[tuple[str, str], ...]
    status: int = 200
    note: str = ""
    error: CareError | None = None
    is_comparison: bool = False
    outcome: ClassVar = "invalid"
    """The word for the audit."""


Edit: TypeAlias = Filled | Comparison
"""What a page of an edit form shows."""


class Saved(Value, Generic[R], frozen=True):
    """Saved: `record` is the newest version; `is_changed` is False when there was nothing to change.

    `unlike` are the labels of the fields of which the API keeps something else than was sent.
    """

    record: R
    is_changed: bool
    unlike: tuple[str, ...] = ()
    outcome: ClassVar = "unchanged"
    """The word for the audit where nothing was sent."""


class Change(Value, Generic[R], frozen=True):
    """What a form makes of the record `read`: `record`, to be sent."""

    form: EditForm
    read: R
    record: R
    mark: str

    def is_outdated_by(self, newest: R) -> bool:
        """Whether the record holds something else by now than when it was read."""
        return values_of(self.form.fields, newest) != values_of(self.form.fields, self.read)

    def is_shown_by(self, newest: R) -> bool:
        """Whether the record holds by now what was typed."""
        return is_shown(self.form.fields, newest, self.form.values)

    def refused(self, error: CareError) -> Filled:
        """The form once more, saying why it wasn't saved; raises what concerns the whole page."""
        match error:
            case NotOffered():
                return self._filled(status=501, note=kept_elsewhere(), error=error)
            case Refused(code=code):
                return self._filled(status=403, note=refusal_message(code), error=error)
            case Unconfirmed(is_readable=True):
                note = _(
                    "The clinic’s system didn’t confirm this, and its record, read just now, doesn’t show it. You can send it again."
                )
                return self._filled(status=503, note=note, error=error)
            case Conflict():
                note = _(
                    "The clinic’s system says that someone changed this meanwhile, so it isn’t saved. What you entered is still here, and you can send it again."
                )
                return self._filled(status=409, note=note, error=error)
            case Invalid():
                self._mark(error.fields)
                return self._filled(status=422, error=error)
            case _:
                raise error

    def _mark(self, fields: Iterable[str]) -> None:
        """Add errors for these members of the record."""
        form = self.form
        for field in fields:
            for name in (field.replace(".", "_"), field.partition(".")[0]):
                if name in form:
                    form.add_error(name, _("The clinic’s system doesn’t accept this."))
                    break
        if not form.errors:
            form.add_error(
                None, _("The clinic’s system doesn’t accept something of this. Nothing was changed.")
            )

    def _filled(self, *, status: int, note: str = "", error: CareError | None = None) -> Filled:
        """The form once more, because it wasn't saved."""
        return Filled(
            self.form, hidden_fields(values_of(self.form.fields, self.read), self.mark), status, note, error
        )


class Sent(Value, frozen=True):
    """What an edit form brought: what was typed, what was there when it was opened, and what was chosen."""

    typed: Values
    opened: Values
    seen: str
    keep: Values

    @classmethod
    def of_form(cls, fields: Fields[Any], form: Mapping[str, str]) -> Sent:
        opened = opened_in(form)
        typed = [field.typed(form, opened) for field in fields]
        return cls(
            typed={name: text for texts in typed for name, text in texts.items()},
            opened=opened,
            seen=form.get("seen", ""),
            keep={
                name.removeprefix("keep-"): kept
                for name, kept in form.items()
                if name.startswith("keep-") and kept in ("mine", "now")
            },
        )


def opened_in(form: Mapping[str, str]) -> Values:
    """Return what a form that was sent held when it was opened; nothing if that can't be read."""
    try:
        return msgspec.json.decode(form.get("opened", ""), type=Values)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def opened_form(fields: Fields[R], record: R, restored: Mapping[str, str] | None) -> Edit:
    """Return the form as the record is or, where it is given back, with what was typed into it."""
    if restored is None:
        return _filled(record, EditForm(fields, values_of(fields, record)))
    wanted = settle(Sent.of_form(fields, restored), fields, record)
    if isinstance(wanted, Comparison):
        return replace(wanted, status=200)
    return _filled(record, EditForm(fields, wanted))


def change_of(
    posted: Sent, fields: Fields[R], record: R, check: Callable[[R, EditForm], None]
) -> Change[R] | Saved[R] | Edit:
    """Return what a form makes of the record as it is now, or what to show instead; `check` adds errors over several fields.

    What the record holds already, and nobody touched, keeps nobody from changing something else.
    """
    wanted = settle(posted, fields, record)
    if isinstance(wanted, Comparison):
        return wanted
    theirs = {name for name, text in wanted.items() if text != posted.typed.get(name, text)}
    now = values_of(fields, record)
    form, before = EditForm(fields, wanted, theirs), EditForm(fields, now)
    for checked in (form, before):
        checked.validate()
        check(record, checked)
    form.accept_as_before(before)
    if form.errors:
        return _filled(record, form, status=422)
    to_send = changed(fields, record, wanted)
    if to_send == record:
        return Saved(record, is_changed=posted.opened not in ({}, now))
    return Change(form, record, to_send, version_mark(now, record.concurrency_stamp))


def settle(posted: Sent, fields: Fields[R], record: R) -> Values | Comparison:
    """Return what to make of the record, or the comparison when someone else's changes wait for a choice."""
    now = values_of(fields, record)
    mark = version_mark(now, record.concurrency_stamp)
    form = EditForm(fields, {**now, **_given(posted.opened), **_given(posted.typed)})
    posted, now = _with_all_rows(posted, now, form)
    has_seen = posted.seen == mark
    differences = compare(posted if has_seen else replace(posted, keep={}), now, form)
    if all(difference.keep for difference in differences) and (has_seen or not differences):
        return {
            **posted.typed,
            **{
                difference.name: now[difference.name]
                for difference in differences
                if difference.keep == "now"
            },
        }
    mine_alone = tuple(
        (form.label(name), form.words(name, now[name]), form.words(name, yours))
        for name, yours in posted.typed.items()
        if yours != now[name] and now[name] == posted.opened.get(name)
    )
    return Comparison(
        tuple(_asking(difference) for difference in differences) if has_seen else differences,
        mine_alone,
        carried=(*hidden_fields(posted.opened, mark), *posted.typed.items()),
        changed_at=record.last_modification_time,
        status=422 if has_seen else 409,
    )


def _given(values: Values) -> Values:
    return {name: text for name, text in values.items() if text}


def _with_all_rows(posted: Sent, now: Values, form: EditForm) -> tuple[Sent, Values]:
    """The versions, each with the rows of all: empty where it has none."""
    rows = {
        name: "" for version in (posted.typed, now, posted.opened) for name in version if form.rows_of(name)
    }
    missing = {name: "" for name in rows if name not in posted.typed}
    typed, opened = {**posted.typed, **missing}, {**rows, **posted.opened}
    return replace(posted, typed=typed, opened=opened), {**rows, **now}


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


def _asking(difference: Difference) -> Difference:
    if difference.keep:
        return difference
    return replace(difference, error=_("Choose what to keep for “%(field)s”.", field=difference.label))


def hidden_fields(opened: Values, seen: str) -> tuple[tuple[str, str], ...]:
    return (("opened", msgspec.json.encode(opened).decode()), ("seen", seen))


def version_mark(now: Values, stamp: str | None) -> str:
    """Return a mark of the version that a page shows; the stamp alone won't do for an API that gives none."""
    return hashlib.sha256(msgspec.json.encode([now, stamp])).hexdigest()[:32]


def _filled(record: Stamped, form: EditForm, *, status: int = 200) -> Filled:
    """The form over this version of the record."""
    now = values_of(form.fields, record)
    return Filled(form, hidden_fields(now, version_mark(now, record.concurrency_stamp)), status)


def values_of(fields: Fields[R], record: R) -> Values:
    return {name: text for field in fields for name, text in field.values(record).items()}


def changed(fields: Fields[R], record: R, values: Values) -> R:
    """Return the record with these values; of a field that holds what it held nothing is touched."""
    made = record
    for field in fields:
        made = field.put(made, record, values)
    return made


def is_shown(fields: Fields[R], record: R, values: Values) -> bool:
    return all(field.shows(record, values) for field in fields)


def unlike(fields: Fields[Any], sent: object, kept: object) -> tuple[str, ...]:
    """Return the labels of the fields of which the record that is kept holds something else than was sent."""
    form = EditForm(fields, {**values_of(fields, kept), **values_of(fields, sent)})
    return tuple(dict.fromkeys(form.label(name) for field in fields for name in field.unlike(sent, kept)))
