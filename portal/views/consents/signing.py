"""One person's signing of one form: what was shown and entered so far, stored in an operation.

The operation holds the whole signing, so that nothing is lost by signing in again. Each step reads the form again. If its
text has changed, the signing restarts with reading, and pages with the old text are rejected: each page carries a mark
that identifies the operation and the text. If only the stamp has changed, because someone else signed, it continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
from flask import g
from msgspec import UNSET
from msgspec.structs import replace

from portal.context import context, session
from portal.i18n.locale import language
from portal.request_values import is_seen_by_staff
from portal.services.consents.forms import ConsentForm, PasskeyProof, ReadingMode, SignerRole, Statement
from portal.services.consents.requests import NewSignature
from portal.services.demand import Demand
from portal.services.rules.consent_text import content_hash
from portal.services.rules.signing import expected_name, has_signed, open_role, same_name
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.declarations import Declaration, declaration_of
from portal.views.consents.languages import foreign_language, language_of_text
from portal.views.consents.snapshot import Change, Snapshot, changes
from portal.web import audit
from portal.web.act_once import Attempt, begin, is_lost


class Step(StrEnum):
    """The steps, by their name in the address."""

    READ = "read"
    STATEMENTS = "statements"
    NAME = "name"


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What the signer was shown and has entered so far.

    `language` is the text's; `screen_language` and `reading_mode` are set if the screen was in another when it was read.
    `declared` is the sentence declared by staff (`Declaration.shown_in`). `before` is an earlier text that was shown, kept
    until the new one has been read; `acknowledged` are the `boxes` that were ticked; `read_at` is when the text was (seconds since 1970); `acr` and `amr` tell how the signer had
    signed in, `passkey` what their passkey confirmed, for which the page was shown at `asked_at`; `is_unconfirmed` says that a
    signature was sent without a response.
    """

    content_hash: str
    api_hash: str
    stamp: str | None
    content: Snapshot
    language: str = ""
    screen_language: str = ""
    reading_mode: str = ""
    has_read: bool = False
    read_at: float = 0.0
    acknowledged: tuple[str, ...] = ()
    declared: str = ""
    typed: str = ""
    acr: str = ""
    amr: tuple[str, ...] = ()
    asked_at: float = 0.0
    passkey: PasskeyProof | None = None
    before: Snapshot | None = None
    is_unconfirmed: bool = False

    @classmethod
    def of(cls, form: ConsentForm, *, before: Snapshot | None = None) -> Progress:
        """A new signing with the form's current text."""
        return cls(
            content_hash=content_hash(form),
            api_hash=form.content_hash,
            stamp=form.concurrency_stamp,
            content=Snapshot.of(form),
            before=before,
        )

    @property
    def boxes(self) -> tuple[tuple[str, Statement], ...]:
        """The statements, each with the value of its own box: its id or, where ids repeat, its place."""
        statements = self.content.statements
        is_by_id = len({statement.id for statement in statements}) == len(statements)
        return tuple((s.id if is_by_id else str(place), s) for place, s in enumerate(statements, start=1))

    @property
    def acknowledged_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.id for box, s in self.boxes if box in self.acknowledged))

    def missing(self) -> tuple[str, ...]:
        return tuple(box for box, _statement in self.boxes if box not in self.acknowledged)

    def is_of(self, form: ConsentForm) -> bool:
        """Whether the form's text is still the one shown."""
        return self.content_hash == content_hash(form)

    def with_stamp_of(self, form: ConsentForm) -> Progress:
        """A copy for the form's new stamp, after someone else has signed the same text."""
        return msgspec.structs.replace(self, stamp=form.concurrency_stamp, api_hash=form.content_hash)


class Signing(Value, frozen=True):
    """One person signing one form in one role.

    `demand` is what that demands of their sign-in, which meets it if `is_fresh`.
    """

    form: ConsentForm
    person: Person
    role: SignerRole
    operation: Operation
    progress: Progress
    demand: Demand
    is_fresh: bool

    @property
    def mark(self) -> str:
        """The mark that its pages carry: the operation and the text shown."""
        return f"{self.operation.id}.{self.progress.content_hash[:16]}"

    @property
    def steps(self) -> list[Step]:
        """The steps for this form; without anything to acknowledge or declare, that step is omitted."""
        has_statements = bool(self.declaration or self.form.statements)
        return [step for step in Step if step is not Step.STATEMENTS or has_statements]

    @property
    def declaration(self) -> Declaration | None:
        """The sentence that this person declares instead of the patient's statements; None on the patient's side."""
        return declaration_of(self.role)

    @property
    def reading_modes(self) -> tuple[ReadingMode, ...]:
        """The answers to how a text in another language was read."""
        return tuple(ReadingMode)

    @property
    def asks_reading_mode(self) -> bool:
        """Whether the screen is in another language than the text, so that the person says how they read it."""
        return foreign_language(self.form) is not None

    @property
    def missing(self) -> tuple[str, ...]:
        """The boxes of the statements not acknowledged yet; empty if a sentence is declared instead."""
        return () if self.declaration else self.progress.missing()

    @property
    def is_agreed(self) -> bool:
        """Whether every statement is acknowledged or, by staff, the sentence declared."""
        return bool(self.progress.declared) if self.declaration else not self.missing

    @property
    def step(self) -> Step:
        if not self.progress.has_read:
            return Step.READ
        if not self.is_agreed:
            return Step.STATEMENTS
        return Step.NAME

    @property
    def text_read_at(self) -> datetime | None:
        progress = self.progress
        return (
            datetime.fromtimestamp(progress.read_at, UTC) if progress.has_read and progress.read_at else None
        )

    @property
    def embryos_before(self) -> tuple[str, ...]:
        """The ids of the embryos in the text shown before."""
        return self.progress.before.embryos if self.progress.before else ()

    def changes(self, codes: Mapping[str, str]) -> list[Change]:
        """The changes since the text shown before; empty if there was none or the new one has been read."""
        return changes(self.progress.before, self.progress.content, codes) if self.progress.before else []

    @property
    def expected_name(self) -> str:
        return expected_name(self.form, self.person, self.role)

    @property
    def is_name_right(self) -> bool:
        """Whether the typed name is the one on the form, or the person's own."""
        return any(same_name(self.progress.typed, name) for name in (self.expected_name, self.person.name))

    @property
    def attempt(self) -> Attempt:
        progress = self.progress
        sent = (
            progress.typed,
            progress.api_hash,
            progress.stamp,
            progress.screen_language,
            progress.reading_mode,
            progress.passkey and progress.passkey.signature,
        )
        return Attempt(self.person.sub, self.operation, sent)

    @property
    def signature(self) -> NewSignature:
        """What is sent; how the text was read only where the screen was in another language."""
        progress = self.progress
        is_foreign = bool(progress.screen_language and progress.reading_mode)
        return NewSignature(
            signer_role=self.role,
            signature=progress.typed,
            acknowledged_statement_ids=progress.acknowledged_ids,
            content_hash=progress.api_hash,
            language=progress.language,
            screen_language=progress.screen_language if is_foreign else UNSET,
            reading_mode=ReadingMode(progress.reading_mode) if is_foreign else UNSET,
            passkey=progress.passkey or UNSET,
            concurrency_stamp=progress.stamp,
        )

    def is_in(self, form: ConsentForm) -> bool:
        return has_signed(form, self.person, self.role)

    def enter(self, **values: object) -> Signing:
        """A copy with these values, saved in the operation."""
        return self._write(msgspec.structs.replace(self.progress, **values))

    def showing(self, **values: object) -> Signing:
        """A copy with these values for its page, not saved."""
        return replace(self, progress=msgspec.structs.replace(self.progress, **values))

    def read(self, mode: str = "") -> Signing:
        """A copy that has been read in its text's language; if the screen is in another, only with a known `mode`."""
        if self.asks_reading_mode and mode not in tuple(ReadingMode):
            return self.enter(has_read=False, reading_mode="")
        return self.enter(
            has_read=True,
            read_at=context().clock(),
            before=None,
            language=language_of_text(self.form),
            screen_language=language() if self.asks_reading_mode else "",
            reading_mode=mode if self.asks_reading_mode else "",
        )

    def restart(self) -> Signing:
        """Restart with the current text; the earlier one is kept until the new one has been read."""
        audit.note("consent.sign", "changed", id_=self.form.id)
        before = self.progress.before or self.progress.content
        return self._write(Progress.of(self.form, before=before))

    def rebase(self, form: ConsentForm) -> Signing | None:
        """A copy for a newer version; None unless its text is the same and it is still this person's turn."""
        if not self.progress.is_of(form) or open_role(form, self.person) != self.role:
            return None
        return replace(self, form=form, progress=self.progress.with_stamp_of(form))

    def _write(self, progress: Progress) -> Signing:
        if progress != self.progress:
            context().operations.keep(self.person.sub, self.operation.id, _data(progress))
        return replace(self, progress=progress)


def resume(form: ConsentForm, person: Person, role: SignerRole, demand: Demand, *, is_fresh: bool) -> Signing:
    """Start or resume this person's signing of the form, just read; its operation may already be sent or done."""
    purpose, beginning = purpose_of(form, role), _data(Progress.of(form))
    operation, was_lost = begin(person.sub, purpose, beginning, keeps_receipt=True)
    if operation.state is State.DONE and is_lost(operation):  # the record no longer shows it
        operation = context().operations.begin(person.sub, purpose, beginning)
    progress = msgspec.convert(operation.data, Progress)
    signing = Signing(form, person, role, operation, progress, demand, is_fresh)
    if operation.state is not State.OPEN:
        return signing
    if not signing.progress.is_of(form):
        return signing.restart()
    return signing.enter(
        stamp=form.concurrency_stamp,
        api_hash=form.content_hash,
        is_unconfirmed=was_lost or signing.progress.is_unconfirmed,
    )


def is_begun(form: ConsentForm, person: Person, role: SignerRole) -> bool:
    """Whether the person has read the form in this role, and stopped before signing it; read once for a page."""
    if is_seen_by_staff():  # staff see what the person sees, but not what is kept of them
        return False
    if "signings_begun" not in g:
        g.signings_begun = {
            operation.purpose
            for operation in context().operations.open_of(person.sub, session().records)
            if operation.data.get("has_read")
        }
    return purpose_of(form, role) in g.signings_begun


def purpose_of(form: ConsentForm, role: SignerRole) -> str:
    return f"sign:{form.id}:{role}"


def _data(progress: Progress) -> dict[str, Any]:
    return msgspec.to_builtins(progress)
