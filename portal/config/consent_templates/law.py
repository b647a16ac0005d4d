"""What a country's law asks of consent forms and storage, and which tests it doesn't allow, from `law.toml` in the country's folder.

Each rule names its paragraph, and what the clinic's counsel has to confirm before relying on it.
"""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


class Matter(StrEnum):
    """What a clause may settle, so that the form says it itself."""

    USE = "use"
    PERIOD = "period"
    DEATH = "death"
    INCAPACITY = "incapacity"
    PARTNER_AS_PARENT = "partner as parent"
    SELF_AS_PARENT = "self as parent"


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A form of this `kind`, if signed in the role `signer`, has to settle the matters that it `covers`.

    If a kind's rules name signers, nobody else of the patient's side signs it. `only_with_donor`: with donated sperm or
    embryos alone. `law` is the paragraph; `confirm` is for the clinic's counsel.
    """

    kind: Text
    law: Text
    covers: tuple[Matter, ...]
    signer: str | None = None
    only_with_donor: bool = False
    confirm: Text | None = None


class StorageLaw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How consent to storage is renewed: from how many days before it ends."""

    law: Text
    renewal_window_days: Annotated[int, msgspec.Meta(ge=1, le=3650)]
    confirm: Text | None = None


class TestingLaw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Genetic tests of embryos that the country doesn't allow, by their names in the API: they aren't described."""

    law: Text
    not_allowed: tuple[Text, ...]
    confirm: Text | None = None


class Law(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules of one country; without any, nothing is asked and nothing is said to be law."""

    rules: tuple[Rule, ...] = ()
    storage: StorageLaw | None = None
    testing: TestingLaw | None = None

    def allows_test(self, name: str) -> bool:
        """Whether embryos may be tested in this way there."""
        return self.testing is None or name not in self.testing.not_allowed


@cache
def law_of(country: str | None) -> Law:
    """The rules of a country (ISO 3166-1); empty for one that has no pack here."""
    file = folder_of(country) / "law.toml" if country else None
    if file is None or not file.is_file():
        return Law()
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Law)


def folder_of(country: str) -> Path:
    """Where a country's rules and templates are."""
    return Path(__file__).parent / country.lower()
