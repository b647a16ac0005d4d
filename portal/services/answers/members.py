"""Which members of its records a clinic's API gives: an empty one is said to be none, one that never came isn't.

Counted over the last records of each endpoint that were looked at, and kept in the store, so that all of a portal's
processes say the same. Names of members alone are kept, never what stood there. A read that teaches nothing new writes
nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from portal.clock import Clock
from portal.services.answers.shape import Look
from portal.store import StoreDown
from portal.store.vault import Vault

RECORDS = 200
"""How many records of a kind count, the newest."""

_FIRST = 50
"""So many records of an endpoint are looked at one after the other; then one answer now and then."""
_SECONDS_BETWEEN = 10
_READ_AGAIN = 60
"""After how many seconds a process looks again what others learned."""
_LIFETIME = 400 * 24 * 3600
_ALL = (1 << RECORDS) - 1

log = logging.getLogger("portal")


class Kept(msgspec.Struct, frozen=True):
    """The members of a kind of record that came at least once, and those that never did."""

    came: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()

    def with_other(self, other: Kept, gone: frozenset[str] = frozenset()) -> Kept:
        """What both know together, less the members of this one that are known to come no more."""
        came = (self.came - gone) | other.came
        return Kept(came, (self.missing | other.missing | gone) - came)


class KeptClinic(msgspec.Struct, frozen=True):
    """What is known of a clinic's API: kinds of record ("Episode") by endpoint ("GET /api/…")."""

    endpoints: dict[str, dict[str, Kept]]


@dataclass(slots=True)
class _Kind:
    """The last records of a kind that this process looked at: for each member one bit a record, 1 where it came."""

    members: frozenset[str]
    records: int = 0
    bits: dict[str, int] = field(default_factory=dict[str, int])
    told: set[str] = field(default_factory=set[str])
    """Members of which this process said already that they come no more: others may know better."""

    def add(self, came: frozenset[str]) -> None:
        self.records = min(self.records + 1, RECORDS)
        self.told -= came
        for name in self.members:
            self.bits[name] = ((self.bits.get(name, 0) << 1) | (name in came)) & _ALL

    def kept(self) -> Kept:
        came = frozenset(name for name, bits in self.bits.items() if bits)
        return Kept(came, self.members - came)

    def gone(self) -> frozenset[str]:
        """Members that came in none of so many records that it can't be by chance."""
        return self.kept().missing - self.told if self.records >= RECORDS else frozenset()


@dataclass(slots=True)
class _Window:
    """What this process looked at of an endpoint's answers."""

    kinds: dict[str, _Kind] = field(default_factory=dict[str, _Kind])
    records: int = 0
    looked_at: float = float("-inf")


@dataclass(slots=True)
class _Clinic:
    """What this process knows of a clinic: by itself, and from the store."""

    windows: dict[str, _Window] = field(default_factory=dict[str, _Window])
    stored: dict[str, dict[str, Kept]] = field(default_factory=dict[str, dict[str, Kept]])
    read_at: float = float("-inf")
    not_given: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()


class Members:
    """Which members each clinic's API gives.

    `declared` returns the members of a clinic ("Episode.alerts") that its API leaves out where they are empty: their
    absence means that there is none.
    """

    def __init__(
        self,
        vault: Vault,
        clock: Clock,
        declared: Callable[[str], frozenset[str]] = lambda _clinic: frozenset(),
    ) -> None:
        self._vault = vault
        self._clock = clock
        self._declared = declared
        self._clinics: dict[str, _Clinic] = {}
        self._lock = threading.Lock()

    def is_due(self, clinic: str, endpoint: str) -> bool:
        """Whether the next answer of this endpoint should be looked at."""
        here = self._clinics.get(clinic)
        window = here.windows.get(endpoint) if here else None
        return (
            window is None
            or window.records < _FIRST
            or not 0 <= self._clock() - window.looked_at < _SECONDS_BETWEEN
        )

    def learn(self, clinic: str, endpoint: str, look: Look, kinds: Mapping[str, frozenset[str]]) -> None:
        """Take down what came in an answer; `kinds` are the members that each kind of its records has."""
        self._refresh(clinic)
        with self._lock:
            here = self._clinics[clinic]
            window = here.windows.setdefault(endpoint, _Window())
            window.looked_at = self._clock()
            window.records += max(1, _count_of_main(look))
            for kind, came in look.records:
                if kind not in window.kinds:
                    window.kinds[kind] = _Kind(kinds.get(kind, came))
                window.kinds[kind].add(came)
            news = {
                kind: (one.kept(), one.gone())
                for kind, one in window.kinds.items()
                if _joined(here.stored.get(endpoint, {}).get(kind), one)
                != here.stored.get(endpoint, {}).get(kind)
            }
            for kind, (_kept, gone) in news.items():
                window.kinds[kind].told |= gone
        if news:
            self._keep(clinic, endpoint, news)

    def is_not_given(self, clinic: str, member: str) -> bool:
        """Whether no record had this member ("Episode.alerts") though there were some, and nothing says that none is meant."""
        self._refresh(clinic)
        return member in self._clinics[clinic].not_given and member not in self._declared(clinic)

    def missing(self, clinic: str) -> dict[str, list[str]]:
        """The members that didn't come, by endpoint, in order; those that are declared to mean none are left out."""
        self._refresh(clinic)
        declared = self._declared(clinic)
        with self._lock:
            stored = {endpoint: dict(kinds) for endpoint, kinds in self._clinics[clinic].stored.items()}
        return {
            endpoint: sorted({*_named(kinds, "missing")} - declared)
            for endpoint, kinds in sorted(stored.items())
        }

    def _refresh(self, clinic: str) -> None:
        """Read what the processes learned together, where that was long ago."""
        here = self._clinics.setdefault(clinic, _Clinic())
        now = self._clock()
        if 0 <= now - here.read_at < _READ_AGAIN:
            return
        here.read_at = now
        try:
            held = self._vault.get(self._name(clinic), KeptClinic)
        except StoreDown:
            return
        if held:
            with self._lock:
                self._set(here, held.value.endpoints)

    def _keep(self, clinic: str, endpoint: str, news: Mapping[str, tuple[Kept, frozenset[str]]]) -> None:
        """Put together with what others learned; without the store it counts in this process alone."""

        def merged(clinic_kept: KeptClinic) -> KeptClinic:
            kinds = dict(clinic_kept.endpoints.get(endpoint, {}))
            for kind, (kept, gone) in news.items():
                kinds[kind] = kinds.get(kind, Kept()).with_other(kept, gone)
            return KeptClinic({**clinic_kept.endpoints, endpoint: kinds})

        def add(clinic_kept: KeptClinic) -> KeptClinic | None:
            after = merged(clinic_kept)
            return None if after == clinic_kept else after

        here, until = self._clinics[clinic], self._clock() + _LIFETIME
        none = KeptClinic({})
        try:
            written = self._vault.update(self._name(clinic), KeptClinic, add, initial=none, expires_at=until)
        except StoreDown:
            log.warning("not kept: which members the API gives")
            written = None
        with self._lock:
            self._set(here, (written or merged(KeptClinic(here.stored))).endpoints)

    @staticmethod
    def _set(here: _Clinic, endpoints: dict[str, dict[str, Kept]]) -> None:
        here.stored = endpoints
        here.given = frozenset(name for kinds in endpoints.values() for name in _named(kinds, "came"))
        missing = frozenset(name for kinds in endpoints.values() for name in _named(kinds, "missing"))
        here.not_given = missing - here.given

    def _name(self, clinic: str) -> str:
        return self._vault.name("members", clinic)


def _joined(stored: Kept | None, here: _Kind) -> Kept:
    return (stored or Kept()).with_other(here.kept(), here.gone())


def _named(kinds: Mapping[str, Kept], which: str) -> Iterable[str]:
    for kind, kept in kinds.items():
        names = kept.came if which == "came" else kept.missing
        yield from (f"{kind}.{name}" for name in names)


def _count_of_main(look: Look) -> int:
    """How many records the answer itself has, without those embedded in them."""
    if not look.records:
        return 0
    main = look.records[0][0]
    return sum(kind == main for kind, _came in look.records)
