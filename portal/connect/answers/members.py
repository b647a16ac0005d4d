"""Which members a clinic's API sends, so that pages can tell an empty member from one that is never sent.

Counted over the latest records examined at each endpoint, and kept in the store, so that all processes agree. Only
member names are kept, never values. A response without news causes no write.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from portal.clock import Clock
from portal.connect.answers.comparison import Comparison
from portal.store import StoreDown
from portal.store.vault import Vault

RECORDS = 200
"""How many of the latest records of a kind are counted."""

_ALWAYS = 20
"""In how many records running a member came that is said always to come."""
_STOPPED = 5
"""From how many of the latest records such a member is missing when it no longer comes: an API was changed."""

_FIRST = 50
"""How many of an endpoint's records are examined without pause; afterwards, one response from time to time."""
_SECONDS_BETWEEN = 60
_SECONDS_WHILE_MISSING = 10
"""While the latest record lacks a member that had come: it may have stopped coming."""
_READ_AGAIN = 60
"""How often a process reads what the others learned, in seconds."""
_LIFETIME = 400 * 24 * 3600
_ALL = (1 << RECORDS) - 1

log = logging.getLogger("portal")


class Kept(msgspec.Struct, frozen=True):
    """The members of a kind of record that were sent at least once, and those that never were."""

    came: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()

    def with_other(self, other: Kept, gone: frozenset[str] = frozenset()) -> Kept:
        """The knowledge of both, less the members that this one knows are no longer sent."""
        came = (self.came - gone) | other.came
        return Kept(came, (self.missing | other.missing | gone) - came)


class KeptClinic(msgspec.Struct, frozen=True):
    """The knowledge about a clinic's API: kinds of record ("Episode") by endpoint ("GET /api/…")."""

    endpoints: dict[str, dict[str, Kept]]


@dataclass(slots=True)
class _Kind:
    """The latest records of a kind that this process examined: one bit per record for each member, 1 if it was sent."""

    members: frozenset[str]
    records: int = 0
    bits: dict[str, int] = field(default_factory=dict[str, int])
    told: set[str] = field(default_factory=set[str])
    """Members that this process has already reported as no longer sent; other processes may know better."""

    def add(self, came: frozenset[str]) -> None:
        self.records = min(self.records + 1, RECORDS)
        self.told -= came
        for name in self.members:
            self.bits[name] = ((self.bits.get(name, 0) << 1) | (name in came)) & _ALL

    @property
    def is_missing(self) -> bool:
        """Whether the latest record lacks a member that had come."""
        return any(bits and not bits & 1 for bits in self.bits.values())

    def kept(self) -> Kept:
        came = frozenset([name for name, bits in self.bits.items() if bits]) - self._stopped()
        return Kept(came, self.members - came)

    def gone(self) -> frozenset[str]:
        """Members missing from so many records that it can't be chance."""
        gone = self.kept().missing if self.records >= RECORDS else frozenset[str]()
        return (gone | self._stopped()) - self.told

    def _stopped(self) -> frozenset[str]:
        """Members that always came and are missing from the latest records."""
        return frozenset(
            [name for name, bits in self.bits.items() if not bits & 1 and self._has_stopped(bits)]
        )

    def _has_stopped(self, bits: int) -> bool:
        missing = (bits & -bits).bit_length() - 1
        before = bits >> max(missing, 0)
        return missing >= _STOPPED and before.bit_count() == self.records - missing >= _ALWAYS


@dataclass(slots=True)
class _Window:
    """What this process examined of an endpoint's responses."""

    kinds: dict[str, _Kind] = field(default_factory=dict[str, _Kind])
    records: int = 0
    looked_at: float = float("-inf")

    @property
    def seconds_between(self) -> int:
        """How long after the latest response was examined another one is."""
        is_missing = any(kind.is_missing for kind in self.kinds.values())
        return _SECONDS_WHILE_MISSING if is_missing else _SECONDS_BETWEEN


@dataclass(slots=True)
class _Clinic:
    """What this process knows about a clinic: its own observations and those from the store."""

    windows: dict[str, _Window] = field(default_factory=dict[str, _Window])
    stored: dict[str, dict[str, Kept]] = field(default_factory=dict[str, dict[str, Kept]])
    read_at: float = float("-inf")
    not_given: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()


class Members:
    """Which members each clinic's API sends.

    `declared` returns the members of a clinic ("Episode.alerts") that its API omits when they are empty: their absence
    means that there is no value.
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
        """Whether the next response of this endpoint should be examined."""
        here = self._clinics.get(clinic)
        window = here.windows.get(endpoint) if here else None
        return (
            window is None
            or window.records < _FIRST
            or not 0 <= self._clock() - window.looked_at < window.seconds_between
        )

    def learn(
        self, clinic: str, endpoint: str, found: Comparison, kinds: Mapping[str, frozenset[str]]
    ) -> None:
        """Record which members a response contained; `kinds` are the members of each kind of record in it."""
        self._refresh(clinic)
        with self._lock:
            here = self._clinics[clinic]
            window = here.windows.setdefault(endpoint, _Window())
            window.looked_at = self._clock()
            window.records += max(1, _count_of_main(found))
            for kind, came in found.records:
                if kind not in window.kinds:
                    window.kinds[kind] = _Kind(kinds.get(kind, came))
                window.kinds[kind].add(came)
            stored = here.stored.get(endpoint, {})
            news = {
                kind: (kept, gone)
                for kind, value in window.kinds.items()
                if stored.get(kind, Kept()).with_other(kept := value.kept(), gone := value.gone())
                != stored.get(kind)
            }
            for kind, (_kept, gone) in news.items():
                window.kinds[kind].told |= gone
        if news:
            self._keep(clinic, endpoint, news)

    def is_not_given(self, clinic: str, member: str, endpoints: Iterable[str] = ()) -> bool:
        """Whether records came but never this member ("Episode.alerts"), and absence isn't declared to mean none.

        Those of `endpoints` ("GET /api/…") alone are asked, if one of them is known to answer with such records: a list may
        leave out what the single record has.
        """
        self._refresh(clinic)
        here = self._clinics[clinic]
        if member in self._declared(clinic):
            return False
        kind, _dot, name = member.partition(".")
        known = [kinds[kind] for endpoint in endpoints if kind in (kinds := here.stored.get(endpoint, {}))]
        if not known:
            return member in here.not_given
        return not any(name in window.came for window in known) and any(
            name in window.missing for window in known
        )

    def is_given(self, clinic: str, member: str) -> bool:
        """Whether this member ("Episode.alerts") ever came."""
        self._refresh(clinic)
        return member in self._clinics[clinic].given

    def missing(self, clinic: str) -> dict[str, list[str]]:
        """The members never sent, by endpoint, in order; without those whose absence is declared to mean none."""
        self._refresh(clinic)
        declared = self._declared(clinic)
        with self._lock:
            stored = {endpoint: dict(kinds) for endpoint, kinds in self._clinics[clinic].stored.items()}
        return {
            endpoint: sorted({*_named(kinds, "missing")} - declared)
            for endpoint, kinds in sorted(stored.items())
        }

    def _refresh(self, clinic: str) -> None:
        """Read the shared knowledge from the store, if the last read was long enough ago."""
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
        """Merge with what other processes learned; while the store is down, keep it in this process only."""

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


def _named(kinds: Mapping[str, Kept], which: str) -> Iterable[str]:
    for kind, kept in kinds.items():
        names = kept.came if which == "came" else kept.missing
        yield from (f"{kind}.{name}" for name in names)


def _count_of_main(found: Comparison) -> int:
    """The number of records in a response, not counting embedded ones."""
    if not found.records:
        return 0
    main = found.records[0][0]
    return sum(kind == main for kind, _came in found.records)
