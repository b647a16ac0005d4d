"""How strongly people must have signed in to come in, by role, and for acts (OpenID Connect Core §2, RFC 8176, RFC 9470)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import msgspec

from portal.config.identity import PATIENT, STAFF
from portal.config.table import Source, read_table, setting, texts, words


class Act(StrEnum):
    """What a clinic may let people do only after a strong sign-in."""

    SIGNING = "signing"
    EMBRYOS = "embryos"
    MERGING = "merging"
    ADMINISTRATION = "administration"


class Strength(msgspec.Struct, frozen=True):
    """A sign-in of one of these classes (`acr`), or by one of these methods (`amr`)."""

    acr: tuple[str, ...] = ()
    amr: tuple[str, ...] = ()

    def is_met(self, acr: str, amr: Iterable[str]) -> bool:
        """Whether a sign-in of this class and by these methods is strong enough."""
        return acr in self.acr or not set(self.amr).isdisjoint(amr)


def _values(value: Any, source: Source) -> tuple[str, ...]:
    values = texts(value, source)
    if wrong := [value for value in values if not value.isprintable() or set(value) & set(' "\\')]:
        raise ValueError(*(f"{value!r} can't be a value of acr or amr" for value in wrong))
    return values


def _roles(value: Any, source: Source) -> frozenset[str]:
    given = source.clinic.get("roles", {})
    roles = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    known = [*roles.get("patient", PATIENT), *roles.get("staff", STAFF)]
    if wrong := [text for text in texts(value, source) if text not in known]:
        raise ValueError(*(f"{value!r} is none of the clinic's roles: {', '.join(known)}" for value in wrong))
    return frozenset(texts(value, source))


def _acts(value: Any, source: Source) -> frozenset[Act]:
    if wrong := [text for text in texts(value, source) if text not in list(Act)]:
        raise ValueError(*(f"{value!r} is none of {', '.join(Act)}" for value in wrong))
    return frozenset(map(Act, texts(value, source)))


@dataclass(frozen=True, slots=True)
class StrongSignIn:
    """What a strong sign-in is at this clinic, and who needs it for what."""

    acr: tuple[str, ...] = setting(
        _values,
        ["https://refeds.org/profile/mfa"],
        "classes that count as strong; the server is asked for them",
        [],
    )
    amr: tuple[str, ...] = setting(_values, ["mfa", "hwk"], "or methods that do", [])
    roles: frozenset[str] = setting(_roles, ["physician", "admin"], "who needs it to come in", [])
    acts: frozenset[Act] = setting(
        _acts, ["embryos"], "who does this needs it: signing, embryos, merging, administration", []
    )
    kinds: frozenset[str] = setting(words, ["LegalParenthood"], "or only signing forms of these kinds", [])

    @property
    def strength(self) -> Strength:
        """The strength that counts."""
        return Strength(self.acr, self.amr)

    def to_come_in(self, roles: frozenset[str]) -> Strength | None:
        """What people with these roles need to come in."""
        return self.strength if roles & self.roles else None

    def to_do(self, act: Act, kind: str | None = None) -> Strength | None:
        """What the act needs; a signature's `kind` is that of its form, and unless that is known it may be any."""
        kinds = {_folded(kind) for kind in self.kinds} if act is Act.SIGNING else set[str]()
        of_kind = bool(kinds) and (not kind or _folded(kind) in kinds)
        return self.strength if of_kind or act in self.acts else None


def strong_sign_in(value: Any, source: Source) -> StrongSignIn:
    """The table, in which something has to count as strong and something to need it."""
    read = read_table(StrongSignIn, value, source, "strong sign-in")
    if not (read.acr or read.amr):
        raise ValueError("acr or amr must say what counts as strong")
    if not (read.roles or read.acts or read.kinds):
        raise ValueError("roles, acts or kinds must say what needs a strong sign-in")
    return read


def _folded(kind: str) -> str:
    """A kind of form as it is compared: APIs spell them in several ways."""
    return kind.replace("_", "").replace("-", "").replace(" ", "").casefold()
