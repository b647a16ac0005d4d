"""The text of a form as shown to a signer, and its differences from the current form."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from portal.i18n.gettext import _
from portal.services.consents.forms import Clause, ConsentForm, ConsentKind, Statement
from portal.services.storage import Disposition
from portal.values import Value
from portal.views.consents.embryos import named
from portal.web.choice_names import choice_name
from portal.web.labels import disposition_name

PartT = TypeVar("PartT", Clause, Statement)

_MOST_WORDS = 1000
"""How many words of a part are compared one by one: it takes the product of both sides."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The signed part of a form, which its content hash covers."""

    title: str
    kind: str
    version: str
    body: tuple[Clause, ...]
    statements: tuple[Statement, ...]
    embryos: tuple[str, ...] = ()
    disposition: str = ""

    @classmethod
    def of(cls, form: ConsentForm) -> Snapshot:
        return cls(
            title=form.title,
            kind=str(form.kind or ""),
            version=form.version,
            body=form.body or (),
            statements=form.statements or (),
            embryos=form.embryo_storage_ids or (),
            disposition=str(form.disposition or ""),
        )


class Run(Value, frozen=True):
    """A run of words that is on both sides, or only on one."""

    text: str
    differs: bool


class Change(Value, frozen=True):
    """One changed part: its name, its old and new words (one of them may be empty)."""

    part: str
    old: tuple[Run, ...]
    new: tuple[Run, ...]


def changes(before: Snapshot, after: Snapshot, codes: Mapping[str, str]) -> list[Change]:
    """Return the differences by part, in the order of the new form; removed parts come last.

    Embryos are told by their `codes`, by id; one without a code by its id.
    """
    pairs = [
        (_("Title"), before.title, after.title),
        (_("Kind"), _kind(before), _kind(after)),
        (_("Version"), before.version, after.version),
        (_("Embryos"), _lines(named(before.embryos, codes)), _lines(named(after.embryos, codes))),
        (_("Decision about the embryos"), _decision(before), _decision(after)),
        *_clauses(before.body, after.body),
        *_statements(before.statements, after.statements),
    ]
    return [_change(part, old, new) for part, old, new in pairs if old != new]


def _clauses(before: Sequence[Clause], after: Sequence[Clause]) -> Iterable[tuple[str, str, str]]:
    old = {clause.id: _whole(clause) for clause in before}
    yield _("Order of the clauses"), *_order(before, after, lambda clause: clause.heading or clause.text)
    for number, clause in enumerate(after, start=1):
        yield _("Clause %(number)s", number=number), old.pop(clause.id, ""), _whole(clause)
    for number, clause in enumerate(before, start=1):
        if clause.id in old:
            yield _("Clause %(number)s of the earlier form", number=number), old[clause.id], ""


def _statements(before: Sequence[Statement], after: Sequence[Statement]) -> Iterable[tuple[str, str, str]]:
    old = {statement.id: statement.text for statement in before}
    yield _("Order of the statements"), *_order(before, after, lambda statement: statement.text)
    for number, statement in enumerate(after, start=1):
        yield _("Statement %(number)s", number=number), old.pop(statement.id, ""), statement.text
    for number, statement in enumerate(before, start=1):
        if statement.id in old:
            yield _("Statement %(number)s of the earlier form", number=number), old[statement.id], ""


def _order(before: Sequence[PartT], after: Sequence[PartT], words: Callable[[PartT], str]) -> tuple[str, str]:
    """The parts of both forms in their two orders, in the words of the new one; equal if none has moved."""
    now = {part.id: words(part) for part in after}
    was = [part.id for part in before if part.id in now]
    stays = set(was)
    return _lines(now[id_] for id_ in was), _lines(now[part.id] for part in after if part.id in stays)


def _lines(words: Iterable[str]) -> str:
    return "\n".join(words)


def _kind(of: Snapshot) -> str:
    return choice_name(ConsentKind(of.kind)) if of.kind else ""


def _decision(of: Snapshot) -> str:
    return disposition_name(Disposition(of.disposition)) if of.disposition else ""


def _whole(clause: Clause) -> str:
    return _lines(part for part in (clause.heading, clause.text, clause.summary) if part)


def _change(part: str, old: str, new: str) -> Change:
    old_words, new_words = re.findall(r"\S+\s*", old), re.findall(r"\S+\s*", new)
    if max(len(old_words), len(new_words)) > _MOST_WORDS:
        return Change(part, (Run(old, old != new),), (Run(new, old != new),))
    steps = difflib.SequenceMatcher(None, old_words, new_words, autojunk=False).get_opcodes()
    return Change(
        part,
        tuple(Run("".join(old_words[a:b]), step != "equal") for step, a, b, _c, _d in steps if a < b),
        tuple(Run("".join(new_words[c:d]), step != "equal") for step, _a, _b, c, d in steps if c < d),
    )
