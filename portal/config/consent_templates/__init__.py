"""Consent form templates: TOML files, bundled here or added by a clinic in `consent-templates` next to its tenants
file (`Settings.consent_templates`).

A clinic's file replaces a bundled one of the same name. The files hold the form's text; the people who sign are chosen
when a form is made from it.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

_BUNDLED = Path(__file__).parent

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Short = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


class TemplateClause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One clause of the text, with its summary in plain language."""

    heading: Short
    text: Text
    summary: Text | None = None


class Template(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form not yet addressed to anyone. `signers` are roles in order; `expires_after_days` counts from sending."""

    title: Short
    kind: Short
    version: Annotated[str, msgspec.Meta(min_length=1, max_length=32)]
    about: str = ""
    order: str = "Any"
    expires_after_days: Annotated[int, msgspec.Meta(ge=1, le=3650)] | None = None
    signers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=20)]
    statements: Annotated[tuple[Text, ...], msgspec.Meta(max_length=100)] = ()
    clauses: Annotated[tuple[TemplateClause, ...], msgspec.Meta(min_length=1, max_length=100)]


@dataclass(frozen=True, slots=True)
class Templates:
    """The templates by name, and the names of the files that couldn't be used."""

    by_name: dict[str, Template]
    broken: tuple[str, ...]


def load(folder: Path | None) -> Templates:
    """Read the bundled templates and those in a clinic's `folder`, which may not exist."""
    found: dict[str, Template] = {}
    broken: list[str] = []
    for place in (_BUNDLED, folder):
        for file in sorted(place.glob("*.toml")) if place else ():
            try:
                found[file.stem] = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Template)
            except (OSError, ValueError):
                broken.append(file.name)
    return Templates(found, tuple(broken))
