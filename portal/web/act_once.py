"""The only way to change something at the care API: exactly once, with every outcome settled.

A form that changes something carries an operation id made by the server (`portal.state.operations`). `act_once` claims
the operation, sends, settles it and writes the audit line. It returns `Done`: it happened, now or by an earlier post of
the same form. Everything else is raised, and has a page of its own (`portal.web.errors`); a view catches what it words
itself:

    try:
        act_once(attempt, lambda key: sign_consent(…), look=…, event="consent.sign", id_=form.id)
    except Reopened: …      an earlier post of the same form didn't succeed: the form is open again
    except Unconfirmed: …   no answer, and the record doesn't show it (yet)
    except Unavailable: …   it surely didn't happen; the form is open again
    except Conflict: …      the API said no, for this or another reason; the form is open again

Of many posts one alone sends; the others wait some seconds for its end. A lost answer is never followed by a second
try: the record is read, and what it shows is said. Somebody who isn't signed in any more, has to sign in anew for this
act, or has used up a rate limit, finds the form open again, with all that was typed.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Generic, TypeVar

from flask import g, request
from flask_limiter.errors import RateLimitExceeded

from portal import metrics
from portal.clock import age
from portal.context import context
from portal.services.errors import (
    BadResponse,
    CareError,
    NotSignedIn,
    ReadOnlyMode,
    StepUpNeeded,
    Unavailable,
)
from portal.state.operations import Operation, State
from portal.store import StoreDown
from portal.values import Value
from portal.web import audit, section_counts
from portal.web.extensions import limiter, person_or_address

T = TypeVar("T")

log = logging.getLogger("portal")

_WAIT_SECONDS = 4.0
_POLL_SECONDS = 0.05
_LOST_SECONDS = 20.0
"""Longer than any page may take: what was sent before that has happened, or never will."""
_EDIT_SECONDS = 60.0
"""How long an edit is known again: longer than `_LOST_SECONDS`, after which the record tells whether it happened."""


class Attempt(Value, frozen=True):
    """An operation of `owner`; `sent` is what is sent, so that the idempotency key changes with it.

    `data` is kept with the operation for pages that tell of it, in place of what it held.
    """

    owner: str
    operation: Operation
    sent: Sequence[str | None] = ()
    data: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """The idempotency key: the same when the same is sent again, another for anything else."""
        return _digest(self.operation.id, *self.sent)


class Done(Value, Generic[T], frozen=True):
    """It happened. `result` is None for a repeat of what an earlier post did; `receipt` is what was kept of it."""

    result: T | None
    receipt: str
    is_first: bool


class Unconfirmed(Unavailable):
    """Nobody knows. `is_readable`: the record was read and doesn't show it; else it can't be read either.

    `status` is 503 when the answer was lost just now, 202 when another post still waits for its own.
    """

    def __init__(self, *, is_readable: bool, status: int) -> None:
        super().__init__("not confirmed", outcome_known=False)
        self.is_readable = is_readable
        self.status = status


class Reopened(Unavailable):
    """An earlier post of the same form didn't succeed, so the form can be sent again."""

    def __init__(self) -> None:
        super().__init__("an earlier post of the same form didn't succeed")


def _always(_result: object) -> bool:
    return True


def _nothing(_result: object) -> str:
    return ""


def act_once(
    attempt: Attempt,
    send: Callable[[str], T],
    *,
    event: str,
    kind: str | None = None,
    id_: str | None = None,
    look: Callable[[], T | None] | None = None,
    shows: Callable[[T], bool] = _always,
    receipt: Callable[[T], str] = _nothing,
    limit: str | None = None,
    is_repeatable: bool = False,
    also: Mapping[str, str] | None = None,
) -> Done[T]:
    """Do the act of this attempt, unless an earlier post did it. Raises CareError, `Unconfirmed` and `Reopened`.

    `send` gets the idempotency key. `look` reads the record after a lost answer: None where it isn't there; leave it out
    where nobody can tell. `shows` says of the answer, and of the record, whether it shows that the act happened. `receipt` is kept for repeats; where the act makes a record, it is the record's id, and `id_`
    is left out. `kind` is the record's, if it isn't what the event begins with. `limit` is a rate, counted only for what is really sent.
    `is_repeatable` says that sending again does no harm (RFC 9110 §9.2.2): after a lost answer the form is open at once,
    and after an earlier post was refused this one is sent, so that it gets an answer of its own. `also` goes into the audit
    line.
    """
    act = _Act(
        attempt, event, kind or event.partition(".")[0], id_, look, receipt, shows, is_repeatable, also
    )
    while not context().operations.claim(attempt.owner, attempt.operation.id, attempt.data):
        try:
            return act.ended_elsewhere()
        except Reopened:
            if not is_repeatable:
                raise
    try:
        with limiter.limit(limit, key_func=person_or_address) if limit else nullcontext():
            _note_sending(True)
            result = send(attempt.key)
    except (NotSignedIn, StepUpNeeded, RateLimitExceeded):
        act.reopen()
        raise
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.is_undone:
            act.reopen("read-only" if isinstance(error, ReadOnlyMode) else "not-sent")
            raise
        return act.look_after_loss()
    except CareError:
        act.reopen("refused")
        raise
    except BaseException:
        act.lose()
        metrics.act_unknown()
        raise
    return act.done(result) if shows(result) else act.look_after_loss()


def _note_sending(is_sending: bool) -> None:
    if g:  # else there is no page that could tell
        g.may_have_sent = is_sending


def may_have_sent(error: CareError | None = None) -> bool:
    """Whether this request or an earlier post of its form may have changed something; `error` is how it failed."""
    is_unknown = isinstance(error, Unavailable) and not error.outcome_known
    return g.get("may_have_sent", False) or is_unknown or _was_sent_before()


def _was_sent_before() -> bool:
    person, id_ = g.get("person"), request.form.get("operation")
    if person is None or not id_:
        return False
    try:
        operation = context().operations.find(person.sub, id_)
    except StoreDown:
        return True
    return operation is not None and operation.state is not State.OPEN


def look_again(
    attempt: Attempt,
    look: Callable[[], T | None],
    *,
    event: str,
    kind: str | None = None,
    id_: str | None = None,
    receipt: Callable[[T], str] = _nothing,
) -> Done[T]:
    """Return what an act did whose answer was lost, without sending anything; the arguments are those of `act_once`.

    What was sent long ago and isn't in the record is open again (`Reopened`). Raises CareError where the record can't be
    read.
    """
    act = _Act(attempt, event, kind or event.partition(".")[0], id_, look, receipt)
    operation = act.newest()
    if (told := _told_by(operation)) is not None:
        return told
    if (found := look()) is not None:
        return act.done(found)
    if not is_lost(operation):
        raise Unconfirmed(is_readable=True, status=200)
    act.reopen()
    raise Reopened


def begin(
    owner: str,
    purpose: str,
    data: dict[str, Any] | None = None,
    *,
    keeps_receipt: bool = False,
    reopens: bool = True,
) -> tuple[Operation, bool]:
    """Return the owner's operation for this purpose as a page needs it, and whether an answer to it was lost.

    It is the newest one, or a new one when there is none or the newest is done (unless `keeps_receipt`: then its receipt
    is wanted). One that is being sent is waited for some seconds; one whose answer was lost long ago is open again, but
    for acts that no record shows (`reopens` False).
    """
    operations = context().operations
    newest = operations.newest(owner, purpose)
    if newest is None or (newest.state is State.DONE and not keeps_receipt):
        return operations.begin(owner, purpose, data), False
    if newest.state is State.PENDING:
        newest = settled(owner, newest)
    if not reopens or not is_lost(newest) or newest.state is State.DONE:
        return newest, False
    operations.reopen(owner, newest.id)
    return operations.find(owner, newest.id, purpose) or newest, True


def begin_edit(owner: str, purpose: str, *sent: str | None) -> Operation:
    """Return the operation of an edit: for a minute the same whenever the same is sent for the same purpose.

    Ask after the record was read and didn't hold what is sent: an edit that was done before this request began has been
    changed back since, so that it is open again, and so is one whose answer was lost long ago.
    """
    operations, now = context().operations, context().clock()
    id_ = _digest(purpose, *sent)
    operation = operations.begin(owner, purpose, id_=id_, expires_at=now + _EDIT_SECONDS)
    began_at = now - (time.monotonic() - g.started)
    if operation.state is State.DONE and operation.changed_at < began_at:
        operations.restart(owner, id_)
    elif is_lost(operation):
        operations.reopen(owner, id_)
    return operations.find(owner, id_, purpose) or operation


def sent_operation(owner: str, purpose: str) -> Operation | None:
    """Return the owner's operation for this purpose that the request names (`operation`), whatever became of it."""
    return context().operations.find(owner, request.values.get("operation", ""), purpose)


def settled(owner: str, operation: Operation) -> Operation:
    """Return the operation as it ended; still pending when that takes longer than some seconds."""
    until = time.monotonic() + _WAIT_SECONDS
    while True:
        newest = context().operations.find(owner, operation.id, operation.purpose) or operation
        if newest.state is not State.PENDING or is_lost(newest) or time.monotonic() > until:
            return newest
        time.sleep(_POLL_SECONDS)


def is_lost(operation: Operation) -> bool:
    """Whether it was sent so long ago that the record, if it doesn't show it now, never will."""
    return operation.state is not State.OPEN and age(operation.changed_at, context().clock()) > _LOST_SECONDS


def is_unconfirmed(operation: Operation) -> bool:
    """Whether it was sent and no answer will come any more: somebody has to look elsewhere how it ended."""
    return operation.state is State.UNKNOWN or (operation.state is State.PENDING and is_lost(operation))


def give_up(owner: str, operation: Operation) -> bool:
    """Drop an unconfirmed operation, so that `begin` makes a new one; False when it may still end."""
    if not is_unconfirmed(operation):
        return False
    context().operations.drop(owner, operation.id)
    return True


def earlier(attempt: Attempt) -> Done[Any]:
    """Return what an earlier post of the same form did, where this one has nothing to send. Raises as `act_once` does."""
    if (told := _told_by(settled(attempt.owner, attempt.operation))) is not None:
        return told
    raise Unconfirmed(is_readable=False, status=202)


def _told_by(operation: Operation) -> Done[Any] | None:
    """What an operation did; None while that is unknown. Raises `Reopened` if it did nothing."""
    match operation.state:
        case State.DONE:
            return Done(None, operation.outcome, is_first=False)
        case State.OPEN:
            raise Reopened
        case State.PENDING | State.UNKNOWN:
            return None


def _digest(*parts: str | None) -> str:
    return hashlib.sha256("\0".join(part or "" for part in parts).encode()).hexdigest()[:40]


class _Act(Value, Generic[T], frozen=True):
    """An act with the ways in which it is settled."""

    attempt: Attempt
    event: str
    kind: str
    id_: str | None
    look: Callable[[], T | None] | None
    receipt: Callable[[T], str]
    shows: Callable[[T], bool] = _always
    is_repeatable: bool = False
    also: Mapping[str, str] | None = None

    def newest(self) -> Operation:
        operation = self.attempt.operation
        return context().operations.find(self.attempt.owner, operation.id, operation.purpose) or operation

    def done(self, result: T) -> Done[T]:
        receipt = self.receipt(result)
        self._settle(context().operations.finish, outcome=receipt)
        self._note("done", self.id_ or receipt or None)
        section_counts.forget(self.kind)
        return Done(result, receipt, is_first=True)

    def reopen(self, outcome: str | None = None) -> None:
        _note_sending(False)
        self._settle(context().operations.reopen)
        if outcome:
            self._note(outcome, self.id_)

    def lose(self) -> None:
        self._settle(context().operations.lose)
        self._note("unknown", self.id_)

    def look_after_loss(self) -> Done[T]:
        """Find out from the record how an act ended whose answer was lost."""
        self.lose()
        try:
            return self._look(503, is_over=True)
        except Unconfirmed:
            metrics.act_unknown()
            raise

    def ended_elsewhere(self) -> Done[T]:
        """Another post of the same form came first: wait for its end."""
        ended = settled(self.attempt.owner, self.attempt.operation)
        return _told_by(ended) or self._look(202, is_over=is_unconfirmed(ended))

    def _look(self, status: int, *, is_over: bool) -> Done[T]:
        found, is_readable = None, self.look is not None
        try:
            found = self.look() if self.look else None
        except CareError:  # refused or not: it says nothing of the act
            is_readable = False
        if found is not None and self.shows(found):
            return self.done(found)
        if self.is_repeatable and is_over:
            self.reopen()
        raise Unconfirmed(is_readable=is_readable, status=status)

    def _settle(self, settle: Callable[..., bool], **how: str) -> None:
        """Report what happened even when the store can't keep it: the record shows it from then on."""
        try:
            settle(self.attempt.owner, self.attempt.operation.id, **how)
        except StoreDown as error:
            log.error("%s not settled: %s", self.event, error)

    def _note(self, outcome: str, id_: str | None) -> None:
        audit.note(self.event, outcome, kind=self.kind if id_ else None, id_=id_, also=self.also)
