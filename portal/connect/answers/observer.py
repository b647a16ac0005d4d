"""Receives the client's observations of a clinic's API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import cast

from portal.clock import Clock
from portal.connect.answers.comparison import Comparison, compare, kinds_within
from portal.connect.answers.figures import Figures
from portal.connect.answers.members import Members
from portal.services.api import AnyEndpoint
from portal.services.endpoints import ALL
from portal.services.errors import BadResponse
from portal.services.members import members_of
from portal.services.salvage import Lost
from portal.store.vault import Vault
from portal.values import Value


class ClinicObserver(Value, frozen=True):
    """Records one clinic's observations in `Answers` (a `portal.services.client.Observer`)."""

    clinic: str
    members: Members
    figures: Figures

    def called(self, endpoint: AnyEndpoint, seconds: float, *, failed: bool) -> None:
        """Count a call and its duration; `failed`: with a server error, or no response."""
        self.figures.called(self.clinic, _name(endpoint), seconds, failed=failed)

    def decoded(
        self,
        endpoint: AnyEndpoint,
        answer: Callable[[], object],
        into: type[object],
        *,
        has_unknown: bool,
        lost: tuple[Lost, ...] = (),
    ) -> None:
        """Examine a decoded response: from time to time, and whenever it `has_unknown` values. `answer` returns its JSON.

        What was `lost` of it hasn't come, for all that pages may say.
        """
        name = _name(endpoint)
        if lost:
            self.figures.unreadable_values(self.clinic, name, Counter(value.member for value in lost))
        is_due = self.members.is_due(self.clinic, name)
        if not is_due and not has_unknown:
            return
        try:
            given = answer()
            found = compare(given, into)
        except BadResponse:
            return
        self.figures.unknown_values(self.clinic, name, found.values)
        self.figures.unknown_members(self.clinic, name, found.unknown)
        if is_due:
            unread = {value.member for value in lost} | (
                {_ACCOUNT} if _is_the_records_own(given) else set[str]()
            )
            self.members.learn(self.clinic, name, _without(found, unread), _kinds(into))

    def is_not_given(self, member: str) -> bool:
        """Whether the API is known never to send this member."""
        return self.members.is_not_given(self.clinic, member)

    def is_given(self, member: str) -> bool:
        """Whether the API is known to send this member; `Patient.userId` only where it isn't the record's own id."""
        return self.members.is_given(self.clinic, member)

    def left_out(self, endpoint: AnyEndpoint, fields: tuple[str, ...]) -> None:
        """Count records that couldn't be decoded, by the offending member."""
        self.figures.left_out(self.clinic, _name(endpoint), fields)


class Answers:
    """The observations of each clinic's API."""

    def __init__(
        self,
        vault: Vault,
        clock: Clock,
        declared: Callable[[str], frozenset[str]] = lambda _clinic: frozenset(),
    ) -> None:
        self.members = Members(vault, clock, declared)
        self.figures = Figures(clock)

    def of(self, clinic: str) -> ClinicObserver:
        return ClinicObserver(clinic, self.members, self.figures)


_ACCOUNT = "Patient.userId"


def _is_the_records_own(answer: object) -> bool:
    """Whether somebody's account has the id of their record: then neither it nor its absence tells who has one."""
    whole = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
    people = [whole, *(whole.get(name) for name in ("patient", "partner"))]
    known = [cast("dict[str, object]", person) for person in people if isinstance(person, dict)]
    return any(
        person.get("userId") is not None and person.get("userId") == person.get("id") for person in known
    )


def _without(found: Comparison, unread: set[str]) -> Comparison:
    if not unread:
        return found
    records = [
        (kind, frozenset(name for name in came if f"{kind}.{name}" not in unread))
        for kind, came in found.records
    ]
    return Comparison(records, found.unknown, found.values)


@cache
def _kinds(into: type[object]) -> dict[str, frozenset[str]]:
    """The members of each kind of record in a response."""
    return {
        kind: frozenset(member.name for member in members_of(record))
        for kind, record in kinds_within(into).items()
    }


ENDPOINTS = tuple(f"{endpoint.method} {endpoint.template}" for endpoint in ALL)
"""The names of all endpoints, in the order of the specification."""


@cache
def _name(endpoint: AnyEndpoint) -> str:
    return f"{endpoint.method} {endpoint.template}"
