"""Small cached values for each person and clinic, kept encrypted in the store and shared by all tabs and workers.

A page reads all of a person's values in one round trip, with its session where a page of that has been opened before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast
from weakref import WeakSet

from portal.context import context, session
from portal.request_values import is_fetched_ahead, is_seen_by_staff, request_g
from portal.state.session_records import Person
from portal.store import StoreDown, StoredRecord
from portal.store.vault import Vault

T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class LastKnown(Generic[T]):
    """A cache of one value per person and clinic, under the record name `kind`; expires `seconds` after its last change.

    `default` is returned when there is no value. A page never fails because of this cache: while the store is down,
    reads return `default` and writes are dropped.
    """

    kind: str
    default: T
    seconds: float

    def __post_init__(self) -> None:
        _read_together.add(self)

    def get(self, person: Person) -> T:
        """Return the cached value, or `default`; throughout one request the same, but for its own changes."""
        if is_seen_by_staff():  # staff see what the person sees, but not what is kept of them
            return self.default
        name, values = self.record_name(person), self._values(person)
        held = values.get(name)
        if isinstance(held, StoredRecord):
            opened = context().vault.open(name, held, type(self.default))
            held = values[name] = opened.value if opened else None
        return self.default if held is None else cast("T", held)

    def update(self, person: Person, change: Callable[[T], T | None]) -> T | None:
        """Store and return what `change` makes of the value; return None if nothing was stored.

        `change` returns None to leave the value as it is (see `Vault.update`). A page that is fetched ahead hasn't been seen.
        """
        if is_seen_by_staff() or is_fetched_ahead() or change(self.get(person)) is None:
            return None
        name, expires_at = self.record_name(person), context().clock() + self.seconds
        try:
            written = context().vault.update(
                name,
                type(self.default),
                change,
                initial=self.default,
                expires_at=expires_at,
                held=session().take(name),
            )
        except StoreDown:
            return None
        if written is not None:
            self._values(person)[name] = written
        return written

    def _values(self, person: Person) -> dict[str, object]:
        """Return this request's values by record name, each encrypted until it is first used."""
        whose = (person.issuer, person.sub)
        held = request_g().get("last_known")
        if held is None or held[0] != whose:
            names = [known.record_name(person) for known in _read_together]
            try:
                records = session().records(*names)
            except StoreDown:
                records = {}
            held = request_g().last_known = (whose, records)
        return cast("dict[str, object]", held[1])

    def record_name(self, person: Person) -> str:
        return self.name_at(request_g().tenant.key, person, context().vault)

    def name_at(self, clinic: str, person: Person, vault: Vault) -> str:
        """Return the record name for this person at the clinic with this key, for where no request is under way."""
        return vault.name(self.kind, person.issuer, clinic, person.sub)


_read_together: WeakSet[LastKnown[Any]] = WeakSet()
