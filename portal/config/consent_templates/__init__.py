"""Consent form templates: TOML files, bundled here or added by a clinic in `consent-templates` next to its tenants
file (`Settings.consent_templates`).

A country's pack, in the folder of its code, adds to the bundled ones or replaces those of the same name, and a clinic's
file replaces either. The files hold the form's text; the people who sign are chosen when a form is made from it.
`{patient}` and `{partner}` in a text become their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import msgspec

from portal.config.consent_templates.law import Law, Matter, folder_of, law_of

_BUNDLED = Path(__file__).parent

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Short = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class Check(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question by which a reader finds out whether a clause is clear; `right` is the number of the right answer, from 1.

    `because` is said with whichever answer is chosen.
    """

    question: Short
    answers: Annotated[tuple[Short, ...], msgspec.Meta(min_length=2, max_length=5)]
    right: Annotated[int, msgspec.Meta(ge=1)]
    because: Text

    def __post_init__(self) -> None:
        if self.right > len(self.answers):
            raise ValueError("right must be the number of an answer")


class TemplateClause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One clause of the text, with its summary in plain language; `covers` are the matters that it settles."""

    heading: Short
    text: Text
    summary: Text | None = None
    covers: tuple[Matter, ...] = ()
    check: Check | None = None


class Template(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form not yet addressed to anyone. `signers` are roles in order; `expires_after_days` counts from sending.

    `language` is the text's (BCP 47), by default the clinic's first.
    """

    title: Short
    kind: Short
    version: Annotated[str, msgspec.Meta(min_length=1, max_length=32)]
    about: str = ""
    language: (
        Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", max_length=35)] | None
    ) = None
    order: str = "Any"
    expires_after_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] | None = None
    signers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=20)]
    statements: Annotated[tuple[Text, ...], msgspec.Meta(max_length=100)] = ()
    clauses: Annotated[tuple[TemplateClause, ...], msgspec.Meta(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates by name, the names of the files that couldn't be used, and the law of the clinic's country."""

    by_name: Mapping[str, Template]
    broken: tuple[str, ...]
    law: Law

    def check_of(self, text: str) -> Check | None:
        """The question about a clause that says exactly this, spaces aside; None if no template asks one."""
        clauses = (clause for template in self.by_name.values() for clause in template.clauses)
        words = text.split()
        return next(
            (clause.check for clause in clauses if clause.check and clause.text.split() == words), None
        )


def load(folder: Path | None, country: str | None = None) -> Templates:
    """Read the bundled templates, those of the country's pack, and those in a clinic's `folder`, which may not exist.

    Each is read once until it is written anew; one that couldn't be read, each time.
    """
    found: dict[str, Template] = {}
    broken: list[str] = []
    for file in _files(folder, country):
        try:
            found[file.stem] = _read(file, file.stat().st_mtime_ns)
        except (OSError, ValueError):
            broken.append(file.name)
    return Templates(found, tuple(broken), law_of(country))


def _files(folder: Path | None, country: str | None) -> Iterator[Path]:
    for place in (_BUNDLED, folder_of(country) if country else None, folder):
        for file in sorted(place.glob("*.toml")) if place else ():
            if file.name != "law.toml":
                yield file


@lru_cache(maxsize=1024)
def _read(file: Path, _written: int) -> Template:
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Template)
