"""What the portal last knew of a person at a clinic: small values, sealed in the store, shared by all tabs and workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from flask import g

from portal.context import context
from portal.state.session_records import Person
from portal.store import StoreDown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LastKnown(Generic[T]):
    """One value of this `kind` for each person and clinic, kept for `seconds` after its last change.

    `nothing` is what is known without one. No page fails for it: while the store is down nothing is known or kept.
    """

    kind: str
    nothing: T
    seconds: float

    def of(self, person: Person) -> T:
        """Return what is known."""
        try:
            held = context().vault.get(self.name(person), type(self.nothing))
        except StoreDown:
            return self.nothing
        return held.value if held else self.nothing

    def update(self, person: Person, change: Callable[[T], T | None]) -> T | None:
        """Keep what `change` makes of it, and return that; None when nothing was kept (`Vault.update`)."""
        name, until = self.name(person), context().clock() + self.seconds
        try:
            return context().vault.update(
                name, type(self.nothing), change, initial=self.nothing, expires_at=until
            )
        except StoreDown:
            return None

    def name(self, person: Person) -> str:
        """Return the name of the record."""
        return context().vault.name(self.kind, person.issuer, g.tenant.key, person.sub)
