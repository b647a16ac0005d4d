"""Plans as the person last saw them, so that a change is told until they say that they have seen it.

Kept sealed in the store for each person and clinic: status, first day, and of each row the medicine, its dose and its
hours, without anybody's name. The first look at a plan is its beginning: nothing has changed yet.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

import msgspec
from msgspec import structs

from portal.services.records.plan_changes import PlanSeen, seen
from portal.services.records.protocols import Protocol
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_MOST = 4
"""Plans that are kept for one person; the one that was looked at longest ago goes first."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as it was seen; when it changed before that, and the events of the calendar file that was downloaded."""

    plan: PlanSeen
    episode_id: str | None = None
    changed_at: datetime | None = None
    downloaded: str | None = None
    events: tuple[str, ...] = ()


class Looks(msgspec.Struct, frozen=True):
    """What one person saw, by the id of the plan, the newest look last."""

    plans: dict[str, Look]


_LOOKS = LastKnown("plans", Looks(plans={}), seconds=90 * 24 * 3600)


def look(person: Person, plan: Protocol) -> Look:
    """Return how the person last saw a plan; the first look is kept."""
    known = _LOOKS.of(person).plans.get(plan.id)
    if known is None:
        known = _first_look(plan)
        _LOOKS.update(person, lambda looks: None if plan.id in looks.plans else _with(looks, plan.id, known))
    return known


def note_change(person: Person, plan: Protocol) -> None:
    """Remember when the plan changed, though the person hasn't said that they have seen it."""

    def with_change(looks: Looks) -> Looks | None:
        held = looks.plans.get(plan.id)
        at = plan.last_modification_time
        if held is None or at is None or held.changed_at == at:
            return None
        return _with(looks, plan.id, structs.replace(held, changed_at=at))

    _LOOKS.update(person, with_change)


def mark_seen(person: Person, plan: Protocol, shown: str) -> bool:
    """Remember that the person has seen the plan; False if it is no longer the one that was `shown` (its digest)."""
    if digest(plan) != shown:
        return False

    def with_seen(looks: Looks) -> Looks:
        held = looks.plans.get(plan.id) or _first_look(plan)
        at = plan.last_modification_time or held.changed_at
        return _with(looks, plan.id, structs.replace(held, plan=seen(plan), changed_at=at))

    _LOOKS.update(person, with_seen)
    return True


def remember_download(person: Person, plan: Protocol, events: tuple[str, ...]) -> None:
    """Remember which plan and which events the calendar file held that the person downloaded."""

    def with_download(looks: Looks) -> Looks:
        held = looks.plans.get(plan.id) or _first_look(plan)
        return _with(looks, plan.id, structs.replace(held, downloaded=digest(plan), events=events))

    _LOOKS.update(person, with_download)


def last_change(person: Person, episode_id: str | None) -> datetime | None:
    """Return when the plan of an episode was last changed, as far as the person has seen it."""
    times = [
        look.changed_at
        for look in _LOOKS.of(person).plans.values()
        if look.changed_at and episode_id in (None, look.episode_id)
    ]
    return max(times, default=None)


def digest(plan: Protocol) -> str:
    """Return what tells two states of a plan apart: equal for plans with the same status, days and doses."""
    return hashlib.sha256(msgspec.json.encode(seen(plan))).hexdigest()[:32]


def _first_look(plan: Protocol) -> Look:
    was_changed = plan.creation_time is not None and plan.last_modification_time != plan.creation_time
    return Look(
        plan=seen(plan),
        episode_id=plan.episode_id,
        changed_at=plan.last_modification_time if was_changed else None,
    )


def _with(looks: Looks, plan_id: str, look: Look) -> Looks:
    others = {key: held for key, held in looks.plans.items() if key != plan_id}
    return Looks(plans=dict([*others.items(), (plan_id, look)][-_MOST:]))
