"""What a signer was shown and has given so far, and how it differs from the form as it is now."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from portal.services.consents import content_hash
from portal.services.records import Clause, ConsentForm, Statement
from portal.words import _


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a form that is signed: what its content hash covers."""

    title: str
    kind: str
    version: str
    body: tuple[Clause, ...]
    statements: tuple[Statement, ...]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One signing under way.

    `before` is an earlier content that was shown, until the new one has been read; `is_unconfirmed` says that a
    signature was sent once and no answer came.
    """

    content_hash: str
    api_hash: str
    stamp: str | None
    content: Content
    language: str = ""
    has_read: bool = False
    acknowledged: tuple[str, ...] = ()
    has_checked: bool = False
    typed: str = ""
    before: Content | None = None
    is_unconfirmed: bool = False

    @classmethod
    def of(cls, form: ConsentForm, *, before: Content | None = None) -> Shown:
        """A signing of the form as it is now, from its beginning."""
        return cls(
            content_hash=content_hash(form),
            api_hash=form.content_hash,
            stamp=form.concurrency_stamp,
            content=content_of(form),
            before=before,
        )

    def missing(self) -> tuple[Statement, ...]:
        """The statements that are not acknowledged yet."""
        return tuple(s for s in self.content.statements if s.id not in self.acknowledged)

    def is_of(self, form: ConsentForm) -> bool:
        """Whether the form still says what was shown."""
        return self.content_hash == content_hash(form)

    def with_stamp_of(self, form: ConsentForm) -> Shown:
        """The same signing of the same content, after someone else has signed."""
        return msgspec.structs.replace(self, stamp=form.concurrency_stamp, api_hash=form.content_hash)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of words that the two sides share, or that one side alone has."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One part that is not as it was shown: its name, its old words and its new ones (one of them may be empty)."""

    part: str
    old: tuple[Piece, ...]
    new: tuple[Piece, ...]


def content_of(form: ConsentForm) -> Content:
    """Return what is signed of a form."""
    return Content(
        title=form.title,
        kind=str(form.kind or ""),
        version=form.version,
        body=form.body,
        statements=form.statements,
    )


def changes(before: Content, after: Content) -> list[Change]:
    """Return what differs, part by part, in the order of the new form; removed parts come last."""
    named = [
        (_("Title"), before.title, after.title),
        (_("Kind"), before.kind, after.kind),
        (_("Version"), before.version, after.version),
    ]
    pairs = [*named, *_clauses(before.body, after.body), *_statements(before.statements, after.statements)]
    return [_change(part, old, new) for part, old, new in pairs if old != new]


def _clauses(before: Sequence[Clause], after: Sequence[Clause]) -> Iterable[tuple[str, str, str]]:
    old = {clause.id: _whole(clause) for clause in before}
    for number, clause in enumerate(after, start=1):
        yield _("Clause %(number)s", number=number), old.pop(clause.id, ""), _whole(clause)
    for number, clause in enumerate(before, start=1):
        if clause.id in old:
            yield _("Clause %(number)s of the earlier form", number=number), old[clause.id], ""


def _statements(before: Sequence[Statement], after: Sequence[Statement]) -> Iterable[tuple[str, str, str]]:
    old = {statement.id: statement.text for statement in before}
    for number, statement in enumerate(after, start=1):
        yield _("Statement %(number)s", number=number), old.pop(statement.id, ""), statement.text
    for number, statement in enumerate(before, start=1):
        if statement.id in old:
            yield _("Statement %(number)s of the earlier form", number=number), old[statement.id], ""


def _whole(clause: Clause) -> str:
    return "\n".join(part for part in (clause.heading, clause.text, clause.summary) if part)


def _change(part: str, old: str, new: str) -> Change:
    old_words, new_words = re.findall(r"\S+\s*", old), re.findall(r"\S+\s*", new)
    steps = difflib.SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    return Change(
        part,
        tuple(Piece("".join(old_words[a:b]), step != "equal") for step, a, b, _c, _d in steps if a < b),
        tuple(Piece("".join(new_words[c:d]), step != "equal") for step, _a, _b, c, d in steps if c < d),
    )
