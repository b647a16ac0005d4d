"""Snapshots of medicine plans as a person last saw them, to show what changed until they confirm having seen it.

Stored encrypted for each person and clinic, without names: status, first day, and each row's medicine, dose, times and route,
and a hash of its instructions.
The first time that a plan is shown, its snapshot is taken as it is, so nothing counts as changed.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

import msgspec
from msgspec import structs

from portal.config.routes import route_of
from portal.config.units import unit_of
from portal.services.protocols import Medication, Protocol
from portal.services.rules.plan_changes import PlanSnapshot, snapshot_of
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_MOST = 12
"""Maximum number of plans kept for one person; the one updated longest ago is dropped first."""


class SeenPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan as last seen, and the calendar file last downloaded for it.

    `changed_at` is the last known change of the plan; `downloaded` the digest of the plan in the calendar file; `events` its
    events.
    """

    plan: PlanSnapshot
    episode_id: str | None = None
    changed_at: datetime | None = None
    downloaded: str | None = None
    events: tuple[str, ...] = ()


class SeenPlans(msgspec.Struct, frozen=True):
    """One person's snapshots by plan id, the most recently updated last."""

    plans: dict[str, SeenPlan]


_SEEN = LastKnown("plans", SeenPlans(plans={}), seconds=90 * 24 * 3600)


def last_seen(person: Person, plan: Protocol) -> SeenPlan:
    """Return the plan as the person last saw it; the first time, as it is now, and stored so unless it has ended."""
    known = _SEEN.get(person).plans.get(plan.id)
    if known is None:
        known = _first_seen(plan)
        if not plan.is_ended:
            _SEEN.update(
                person, lambda saved: None if plan.id in saved.plans else _with(saved, plan.id, known)
            )
    return known


def note_change(person: Person, plan: Protocol) -> None:
    """Store when the plan changed, although the person hasn't confirmed having seen it."""

    def with_change(saved: SeenPlans) -> SeenPlans | None:
        before = saved.plans.get(plan.id)
        changed_at = plan.last_modification_time
        if before is None or changed_at is None or before.changed_at == changed_at:
            return None
        return _with(saved, plan.id, structs.replace(before, changed_at=changed_at))

    _SEEN.update(person, with_change)


def mark_seen(person: Person, plan: Protocol, shown: str) -> bool:
    """Store that the person has seen the plan; return False if it is no longer the one with the digest `shown`."""
    if digest(plan) != shown:
        return False

    def with_seen(saved: SeenPlans) -> SeenPlans:
        before = saved.plans.get(plan.id) or _first_seen(plan)
        changed_at = plan.last_modification_time or before.changed_at
        return _with(saved, plan.id, structs.replace(before, plan=snapshot_of(plan), changed_at=changed_at))

    _SEEN.update(person, with_seen)
    return True


def remember_download(person: Person, plan: Protocol, events: tuple[str, ...]) -> None:
    """Store which state of the plan and which events the downloaded calendar file contains."""

    def with_download(saved: SeenPlans) -> SeenPlans:
        before = saved.plans.get(plan.id) or _first_seen(plan)
        return _with(saved, plan.id, structs.replace(before, downloaded=digest(plan), events=events))

    _SEEN.update(person, with_download)


def last_change(person: Person, episode_id: str | None) -> datetime | None:
    """Return the last known change of an episode's plans, or of any plan if `episode_id` is None; None if none is known."""
    times = [
        seen_plan.changed_at
        for seen_plan in _SEEN.get(person).plans.values()
        if seen_plan.changed_at and episode_id in (None, seen_plan.episode_id)
    ]
    return max(times, default=None)


def digest(plan: Protocol) -> str:
    """Return a digest of the plan's status, days, doses and routes, whatever the order of its rows and their spelling: equal
    digests, equal plans.

    Without instructions, which the plan within a treatment may lack.
    """
    rows = sorted(msgspec.json.encode(_told(row)) for row in plan.medications)
    head = msgspec.json.encode((plan.status, plan.start_date))
    return hashlib.sha256(b"\n".join((head, *rows))).hexdigest()[:32]


def _told(row: Medication) -> tuple[object, ...]:
    """What a row says of its doses: a route, a unit or an hour may be written in several ways."""
    days = (
        row.start_day,
        row.end_day,
        row.last_dose_day,
        row.every_days or 1,
        row.triggers,
        row.ends_with_trigger,
    )
    words = (" ".join(text.casefold().split()) for text in (row.drug, row.stop_rule or ""))
    return (*words, row.dose, unit_of(row.unit), route_of(row.route), *days, *row.hours)


def _first_seen(plan: Protocol) -> SeenPlan:
    was_changed = plan.creation_time is not None and plan.last_modification_time != plan.creation_time
    return SeenPlan(
        plan=snapshot_of(plan),
        episode_id=plan.episode_id,
        changed_at=plan.last_modification_time if was_changed else None,
    )


def _with(saved: SeenPlans, plan_id: str, seen_plan: SeenPlan) -> SeenPlans:
    others = {key: other for key, other in saved.plans.items() if key != plan_id}
    return SeenPlans(plans=dict([*others.items(), (plan_id, seen_plan)][-_MOST:]))
