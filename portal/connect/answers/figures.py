"""Statistics of a clinic's API in this process: latency, failures, and data that can't be decoded.

Kept in memory only, with bounded size; `/metrics` has the totals of all clinics and processes.
"""

from __future__ import annotations

import logging
import math
import re
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from portal import metrics
from portal.clock import Clock
from portal.values import Value

CALLS = 200
"""How many of the latest calls to an endpoint are counted."""

_MOST_CLINICS = 100
_MOST_NAMES = 30
_MANY_KINDS = 4
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,79}")

log = logging.getLogger("portal")


@dataclass(slots=True)
class _Endpoint:
    """The latest calls to an endpoint (seconds, whether it failed), and what its responses contained."""

    calls: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=CALLS))
    left_out: Counter[str] = field(default_factory=Counter[str])
    values: Counter[str] = field(default_factory=Counter[str])
    unreadable: Counter[str] = field(default_factory=Counter[str])
    unknown: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


class Row(Value, frozen=True):
    """One endpoint's statistics: failures among the latest `calls`; median and 95th percentile in seconds.

    `left_out` counts records that couldn't be decoded, `values` values outside their enumeration, `unreadable` those left
    out of their records because they couldn't be read, by member; `unknown`
    lists members that the portal doesn't use, as "*.name" if four or more kinds of record have one.
    """

    endpoint: str
    calls: int
    failures: int
    median: float | None
    slow: float | None
    left_out: tuple[tuple[str, int], ...]
    values: tuple[tuple[str, int], ...]
    unreadable: tuple[tuple[str, int], ...]
    unknown: tuple[str, ...]


class Figures:
    """This process's statistics of the clinics' APIs since `since` (seconds since 1970)."""

    def __init__(self, clock: Clock) -> None:
        self.since = clock()
        self._clinics: OrderedDict[str, dict[str, _Endpoint]] = OrderedDict()
        self._lock = threading.Lock()
        self._said: set[tuple[str, str, str]] = set()

    def called(self, clinic: str, endpoint: str, seconds: float, *, failed: bool) -> None:
        self._of(clinic, endpoint).calls.append((seconds, failed))

    def left_out(self, clinic: str, endpoint: str, fields: Iterable[str]) -> None:
        """Count records that can't be decoded, by the offending member ("$.items[3].id")."""
        for path in fields:
            member = member_of(path)
            metrics.left_out(endpoint, member)
            self._count(self._of(clinic, endpoint).left_out, member)
            self._say_once("a record can't be read", clinic, endpoint, member, by_member=False)

    def unknown_values(self, clinic: str, endpoint: str, values: Counter[str]) -> None:
        """Count values that are in no enumeration, by member ("Episode.stage")."""
        for member, times in values.items():
            metrics.unknown_value(endpoint, member, times=times)
            self._count(self._of(clinic, endpoint).values, member, times)
            self._say_once("unknown value", clinic, endpoint, member)

    def unreadable_values(self, clinic: str, endpoint: str, values: Counter[str]) -> None:
        """Count values that can't be read and were left out of their records, by member ("Alert.until")."""
        for member, times in values.items():
            metrics.unreadable_value(endpoint, member, times=times)
            self._count(self._of(clinic, endpoint).unreadable, member, times)
            self._say_once("a value can't be read", clinic, endpoint, member)

    def unknown_members(self, clinic: str, endpoint: str, members: Iterable[str]) -> None:
        """Record the names of members that the portal doesn't use, if they look like names."""
        here = self._of(clinic, endpoint)
        with self._lock:
            for name in members:
                kind, _, member = name.rpartition(".")
                is_new = member not in here.unknown
                if _NAME.fullmatch(name) and not (is_new and len(here.unknown) >= _MOST_NAMES):
                    kinds = here.unknown.setdefault(member, set())
                    if len(kinds) < _MANY_KINDS:
                        kinds.add(kind)

    def rows(self, clinic: str) -> dict[str, Row]:
        """The statistics of the endpoints called at this clinic."""
        with self._lock:
            here = dict(self._clinics.get(clinic, {}))
            return {name: _row(name, value) for name, value in here.items()}

    def _of(self, clinic: str, endpoint: str) -> _Endpoint:
        with self._lock:
            endpoints = self._clinics.setdefault(clinic, {})
            self._clinics.move_to_end(clinic)
            if len(self._clinics) > _MOST_CLINICS:
                self._clinics.popitem(last=False)
            found = endpoints.get(endpoint)
            if found is None:
                found = endpoints[endpoint] = _Endpoint()
            return found

    def _count(self, counter: Counter[str], member: str, times: int = 1) -> None:
        with self._lock:
            if member in counter or len(counter) < _MOST_NAMES:
                counter[member] += times

    def _say_once(
        self, what: str, clinic: str, endpoint: str, member: str, *, by_member: bool = True
    ) -> None:
        """Log once per process about a member or an endpoint; never the value."""
        key = (what, endpoint, member if by_member else "")
        if key not in self._said and len(self._said) < 1000:
            self._said.add(key)
            log.warning(what, extra={"reason": f"{endpoint}: {member}", "tenant": clinic})


def member_of(path: str) -> str:
    """The member that a path in a response names, without list indexes: "embryos.status" for "$.embryos[2].status"."""
    name = re.sub(r"\[[^\]]*\]", "", path).removeprefix("$").removeprefix(".items").strip(".")
    return name or "the whole"


def _row(name: str, called: _Endpoint) -> Row:
    calls = list(called.calls)
    seconds = sorted(took for took, failed in calls if not failed)
    return Row(
        endpoint=name,
        calls=len(calls),
        failures=sum(failed for _took, failed in calls),
        median=_quantile(seconds, 0.5),
        slow=_quantile(seconds, 0.95),
        left_out=tuple(sorted(called.left_out.items())),
        values=tuple(sorted(called.values.items())),
        unreadable=tuple(sorted(called.unreadable.items())),
        unknown=tuple(sorted(_of_kinds(called.unknown))),
    )


def _of_kinds(unknown: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Members by kind of record; one that many kinds have, such as links, only once: "*._links"."""
    for member, kinds in unknown.items():
        names = [f"{kind}.{member}" if kind else member for kind in kinds]
        yield from names if len(names) < _MANY_KINDS else [f"*.{member}"]


def _quantile(seconds: list[float], part: float) -> float | None:
    return seconds[max(0, math.ceil(part * len(seconds)) - 1)] if seconds else None
