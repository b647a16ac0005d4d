"""Small cached values for each person and clinic, kept encrypted in the store and shared by all tabs and workers."""

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
    """A cache of one value per person and clinic, under the record name `kind`; expires `seconds` after its last change.

    `default` is returned when there is no value. A page never fails because of this cache: while the store is down,
    reads return `default` and writes are dropped.
    """

    kind: str
    default: T
    seconds: float

    def get(self, person: Person) -> T:
        """Return the cached value, or `default`."""
        try:
            record = context().vault.get(self.record_name(person), type(self.default))
        except StoreDown:
            return self.default
        return record.value if record else self.default

    def update(self, person: Person, change: Callable[[T], T | None]) -> T | None:
        """Store and return what `change` makes of the value; return None if nothing was stored.

        `change` returns None to leave the value as it is (see `Vault.update`).
        """
        name, expires_at = self.record_name(person), context().clock() + self.seconds
        try:
            return context().vault.update(
                name, type(self.default), change, initial=self.default, expires_at=expires_at
            )
        except StoreDown:
            return None

    def record_name(self, person: Person) -> str:
        """Return the name of the store's record."""
        return context().vault.name(self.kind, person.issuer, g.tenant.key, person.sub)
