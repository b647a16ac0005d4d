"""The notice of what changed in a medicine plan since the person last saw it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from itertools import groupby

from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.protocols import Protocol, ProtocolStatus
from portal.services.rules.doses import Dose, Standing, minutes
from portal.services.rules.plan_changes import DoseChange, Kind, PlanChange, Portion, changed
from portal.state.session_records import Person
from portal.values import Value
from portal.web import seen_plans
from portal.web.doses import PlanWords, amount
from portal.web.filters import day, in_a_row, today, within_a_sentence
from portal.web.filters import moment as write_moment
from portal.web.labels import route_name
from portal.web.plan_view import PlanView

_EVENING = 17 * 60
"""Minutes after midnight."""

_RECENT = timedelta(days=14)


class PlanNotice(Value, frozen=True):
    """What to show about a plan: a title and one line per change, if it changed.

    `shown` is the plan's digest, with which the person confirms having seen it; `has_calendar` says that its calendar file
    was downloaded, `is_calendar_old` that the plan has changed since, or its treatment has ended.
    """

    plan: Protocol
    shown: str
    title: str | None
    lines: list[str]
    has_calendar: bool
    is_calendar_old: bool


def notice_of(person: Person, plan: Protocol, episode: Episode | None) -> PlanNotice:
    """Return what changed in the plan since the person confirmed having seen it; no doses of a treatment that has ended."""
    view = PlanView(plan, episode, person)
    seen_plan, shown = seen_plans.last_seen(person, plan), seen_plans.digest(plan)
    is_told = view.standing not in (Standing.ENDED, Standing.ANOTHERS)
    change = changed(seen_plan.plan, plan, today()) if is_told else None
    if change and change.at != seen_plan.changed_at:
        seen_plans.note_change(person, plan)
    lines = [*_status(change.status), *dict.fromkeys(map(_line, change.doses))] if change else []
    return PlanNotice(
        plan,
        shown,
        in_a_row(filter(None, (_title(change), view.medicines_of)), " · ") if change else None,
        lines,
        has_calendar=bool(seen_plan.events),
        is_calendar_old=bool(seen_plan.events)
        and (seen_plan.downloaded != shown or not view.standing.has_doses),
    )


def is_before_change(at: datetime | None, changed_at: datetime | None) -> bool:
    """Return whether `at` is before the plan's last change, by at most 14 days: it may state the old doses as current."""
    return at is not None and changed_at is not None and changed_at - _RECENT <= at < changed_at


def _title(change: PlanChange) -> str:
    if change.at is None:
        return _("The plan has changed")
    return _("The plan changed on %(moment)s", moment=write_moment(change.at))


def _status(status: ProtocolStatus | None) -> Iterable[str]:
    words = {
        ProtocolStatus.ACTIVE: _("The plan is active now."),
        ProtocolStatus.ON_HOLD: _("The plan is on hold now."),
        ProtocolStatus.COMPLETED: _("The plan is completed now."),
        ProtocolStatus.CANCELLED: _("The plan is cancelled now."),
    }
    return [words.get(status) or _("The plan’s status has changed.")] if status else []


def _line(change: DoseChange) -> str:
    drug, since = change.drug, _since(change)
    old, new = change.before, change.after
    if change.kind is Kind.MOVED and old and new:
        return _("%(drug)s: %(new)s instead of %(old)s", drug=drug, new=_moment(new), old=_moment(old))
    if change.kind is Kind.NEW and new:
        return _("New: %(drug)s %(what)s, %(since)s", drug=drug, what=_whole(new), since=since)
    if change.kind is Kind.ROUTE and old and new and old.route and new.route:
        now, before = (within_a_sentence(route_name(portion.route)) for portion in (new, old))
        return _(
            "%(drug)s: %(new)s instead of %(old)s, %(since)s", drug=drug, new=now, old=before, since=since
        )
    if change.kind in (Kind.ROUTE, Kind.INSTRUCTIONS):
        return _("%(drug)s: its instructions have changed, %(since)s. See the plan.", drug=drug, since=since)
    if change.kind is Kind.ENDED:
        return _("%(drug)s: no more %(since)s", drug=drug, since=since)
    if change.kind is Kind.DAYS or old is None or new is None:
        return _("%(drug)s: taken on other days, %(since)s. See the plan.", drug=drug, since=since)
    if old.times == new.times and old.amount and new.amount:
        now, before = _amount(new.doses[0]), _amount(old.doses[0])
    elif old.amount and old.amount == new.amount:
        now, before = _hours(new, new.doses), _hours(old, old.doses)
    else:
        now, before = _whole(new), _whole(old)
    return _("%(drug)s: %(new)s instead of %(old)s, %(since)s", drug=drug, new=now, old=before, since=since)


def _since(change: DoseChange) -> str:
    """Return from when the change applies: `from tonight`, `from today` or `from` a date."""
    portion = change.after or change.before
    if change.on != today():
        return _("from %(day)s", day=day(change.on))
    hours = [at for time in portion.times if (at := minutes(time)) is not None] if portion else []
    is_evening = bool(hours) and all(at >= _EVENING or at < 3 * 60 for at in hours)
    return _("from tonight") if is_evening else _("from today")


def _whole(portion: Portion) -> str:
    """`250 units at 19:00`, or `150 units at 08:00, 75 units at 20:00`."""
    alike = groupby(portion.doses, _amount)
    return in_a_row(_part(what, _hours(portion, doses)) for what, doses in alike)


def _part(what: str, hours: str) -> str:
    return _("%(what)s at %(hours)s", what=what, hours=hours) if hours else what


def _amount(dose: Dose) -> str:
    return amount(dose.medication, is_plain=True)


def _moment(portion: Portion) -> str:
    """`Tue 24 Nov, 21:00`."""
    return in_a_row(filter(None, (day(portion.on), _hours(portion, portion.doses))))


def _hours(portion: Portion, doses: Iterable[Dose]) -> str:
    words = PlanWords(None, is_plain=True)
    return in_a_row(words.hour(dose.time, _date(portion, dose.time)) for dose in doses if dose.time)


def _date(portion: Portion, time: str) -> date:
    """Return the calendar date of a dose in a day's list: times before 03:00 belong to the following date."""
    at = minutes(time)
    return portion.on + timedelta(days=1) if at is not None and at < 3 * 60 else portion.on
