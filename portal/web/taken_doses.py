"""The doses that a patient ticked off, as a note of their own: the care API has no such record, and the clinic sees none.

Stored encrypted for each person and clinic for two days, so that a tick outlasts signing out: a tick that were lost could
mean a second dose.
"""

from __future__ import annotations

import hashlib
from datetime import date, datetime

import msgspec

from portal.services.protocols import Protocol
from portal.services.rules.doses_around import DueDose
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_KEPT_SECONDS = 2 * 24 * 3600
_MOST = 60
"""Maximum number of ticks kept for one person; the oldest is dropped first."""


class Taken(msgspec.Struct, frozen=True):
    """A tick: when it was made, and of what, in words, for which date."""

    at: datetime
    plan_id: str
    what: str
    on: date


class TakenDoses(msgspec.Struct, frozen=True):
    """One person's ticks by dose, the latest first."""

    ticks: dict[str, Taken]


TICKS = LastKnown("taken", TakenDoses(ticks={}), seconds=_KEPT_SECONDS)


def taken(person: Person) -> dict[str, Taken]:
    """Return this person's ticks by the key of their dose."""
    return TICKS.get(person).ticks


def key_of(plan: Protocol, due: DueDose) -> str:
    """Return a name for a dose that stays the same while its medicine and moment do, whatever the amount."""
    drug = " ".join(due.dose.medication.drug.split()).casefold()
    parts = (plan.id, drug, due.on.isoformat(), due.dose.time or "", str(due.number))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def tick(person: Person, key: str, note: Taken) -> bool:
    """Note that a dose was taken; an earlier tick of it stands. Return False if it couldn't be stored."""

    def with_tick(saved: TakenDoses) -> TakenDoses:
        return TakenDoses(dict(list({key: note, **saved.ticks}.items())[:_MOST]))

    return TICKS.update(person, with_tick) is not None


def untick(person: Person, key: str) -> bool:
    """Remove a tick. Return False if it couldn't be stored."""

    def without(saved: TakenDoses) -> TakenDoses:
        return TakenDoses({name: note for name, note in saved.ticks.items() if name != key})

    return TICKS.update(person, without) is not None
