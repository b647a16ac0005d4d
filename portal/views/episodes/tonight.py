"""The doses around now as their patient or partner sees them: the nearest first, how to take it, what to do if it was missed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime

from flask import g
from msgspec.structs import replace

from portal.config.medicines import Medicine
from portal.i18n.gettext import _
from portal.request_values import is_seen_by_staff
from portal.services.episodes import Appointment, Episode
from portal.services.protocols import Medication, Protocol
from portal.services.rules.doses_around import DueDose, Timing, doses_around, evening_of, nearest
from portal.services.rules.medicine_names import speaks_of
from portal.values import Value
from portal.views.episodes.egg_collection import collection_of
from portal.web.advice import Advice, advice_in
from portal.web.alerts import ClinicAlert
from portal.web.doses import DoseLine, PlanWords, clinics_medicine
from portal.web.filters import ago, countdown, day, in_a_row, local, moment, now, today
from portal.web.plan_view import PlanView
from portal.web.taken_doses import Taken, key_of, taken

_COLLECTION_HOURS = range(24, 49)
"""How many hours after a trigger an egg collection may be the one that it is timed for."""


class CardDose(Value, frozen=True):
    """One dose as the card shows it; `done_at` is when the patient ticked it off, `done_what` if that was another amount."""

    key: str
    plan_id: str
    line: DoseLine
    on: date
    at: datetime | None
    timing: Timing
    done_at: datetime | None
    done_what: str
    is_trigger: bool
    may_be_taken: bool
    medicine: Medicine | None
    alerts: tuple[ClinicAlert, ...]

    @property
    def what(self) -> str:
        """The medicine and its amount, as a tick notes it."""
        return _what(self.line)

    @property
    def tick(self) -> Taken:
        """What to note when the patient ticks it off now."""
        return Taken(now(), self.plan_id, self.what, self.on)

    @property
    def is_missed(self) -> bool:
        """Whether its hour has passed and it isn't ticked off."""
        return self.timing is Timing.PAST and self.done_at is None

    @property
    def clock_words(self) -> str:
        """How far its hour is ahead (`In 3 hours`) or past without a tick (`2 hours ago`); else empty."""
        if self.at is None:
            return ""
        return countdown(self.at) if self.timing is Timing.AHEAD else ago(self.at) if self.is_missed else ""

    @property
    def how(self) -> Advice | None:
        """How to take it, in the clinic's words."""
        return advice_in(self.medicine.how) if self.medicine else None

    @property
    def missed(self) -> Advice | None:
        """What to do if it was missed, in the clinic's words."""
        return advice_in(self.medicine.missed) if self.medicine else None

    @property
    def guide(self) -> str:
        """The address of the clinic's leaflet or film, or empty."""
        return self.medicine.guide if self.medicine else ""


class Trigger(Value, frozen=True):
    """The trigger injection, from the evening before until half a day after it, or until the egg collection if it isn't ticked off.

    `visit` is the egg collection that it is timed for, so many hours later. It comes first unless another dose is nearer.
    """

    doses: tuple[CardDose, ...]
    visit: Appointment | None
    hours: int
    comes_first: bool

    @property
    def when(self) -> str:
        """Its moment in words; its day and what is said of its hour if that isn't given."""
        dose = self.doses[0]
        if dose.at is None:
            return in_a_row([day(dose.on), dose.line.time])
        return _("%(moment)s exactly", moment=moment(dose.at))


class Tonight(Value, frozen=True):
    """The doses around now, the nearest first.

    `others` are the further ones of today, `following` those after them. `alerts` are about medicines that aren't among
    them; `further_plan` is the id of the plan if it isn't the one that the treatment's record holds;
    `before` are ticks of doses that are no longer in the plan. `state` says why there are no doses, `plan_of` whose they are
    if not the reader's. What was ticked off is the own note of whose plan it is: nobody else's page has it (`knows_ticks`).
    """

    episode_id: str
    further_plan: str | None
    plan_name: str
    title: str
    first: tuple[CardDose, ...]
    others: tuple[CardDose, ...]
    following: tuple[CardDose, ...]
    trigger: Trigger | None
    alerts: tuple[ClinicAlert, ...]
    before: tuple[Taken, ...]
    state: tuple[str, str] | None
    may_tick: bool
    knows_ticks: bool
    plan_of: str
    alert_texts: frozenset[str]
    """The texts of all alerts that stand with the doses."""

    @property
    def doses(self) -> tuple[CardDose, ...]:
        return (*self.first, *self.others, *(self.trigger.doses if self.trigger else ()))

    @property
    def says_something(self) -> bool:
        """Whether there is a dose, around now or ahead, or a reason why none is shown."""
        return bool(self.doses or self.following or self.state)

    @property
    def is_done(self) -> bool:
        """Whether all doses but the first are ticked off, the trigger among them."""
        beside = (*self.others, *(self.trigger.doses if self.trigger else ()))
        return bool(self.others) and all(dose.done_at for dose in beside)

    @property
    def clock_example(self) -> datetime | None:
        """The moment of the first dose: by it a device elsewhere tells what its own clock shows."""
        moments = (dose.at for dose in (*self.doses, *self.following))
        return next((at for at in moments if at), None)

    @property
    def digest(self) -> str:
        """A digest of all that the card says, also by the clock: an open page with another one is out of date."""
        counted = (*self.first, *(self.trigger.doses if self.trigger else ()))
        without_set = replace(self, alert_texts=frozenset())  # each process orders a set in its own way
        told = (without_set, today(), [dose.clock_words for dose in counted])
        return hashlib.sha256(repr(told).encode()).hexdigest()[:20]


def tonight_of(view: PlanView, alerts: Sequence[ClinicAlert]) -> Tonight | None:
    """Return the doses around now as this patient sees them; None without a plan, or once it has ended with the treatment."""
    plan, episode = view.protocol, view.episode
    if plan is None or episode is None or (episode.is_ended and not view.standing.has_doses):
        return None
    at = local(now())
    around = doses_around(plan, episode, at)
    knows_ticks = view.is_own and not is_seen_by_staff()
    noted = taken(view.person) if view.is_own else {}
    ticks = {key: note for key, note in noted.items() if note.plan_id == plan.id}

    def is_done(due: DueDose) -> bool:
        return key_of(plan, due) in ticks

    triggers = _triggers(around.triggers, is_done if knows_ticks else None, episode, at)
    listed = [due for due in around.doses if due not in triggers]
    coming = tuple(due for due in around.following if due not in triggers)
    first = nearest(listed, is_done, at) or coming
    known = _known_names(plan)
    about = [alert for alert in alerts if speaks_of(alert.text, known)]
    cards: dict[DueDose, CardDose] = {}
    told = set[str]()
    for due in (*first, *triggers, *listed, *coming):
        if due not in cards:
            cards[due] = _card(plan, due, ticks, [alert for alert in about if alert.text not in told], at)
            told.update(alert.text for alert in cards[due].alerts)
    keys = {card.key for card in cards.values()}
    trigger = _trigger(triggers, cards, episode, nearest((*triggers, *listed), is_done, at))
    if trigger and knows_ticks and trigger.doses[0].is_missed:
        trigger = replace(trigger, comes_first=True)
    return Tonight(
        episode_id=episode.id,
        further_plan=plan.id if view.is_further else None,
        plan_name=plan.name,
        title=_title(first, at),
        first=tuple(cards[due] for due in first),
        others=tuple(cards[due] for due in listed if due not in first),
        following=() if first == coming else tuple(cards[due] for due in coming),
        trigger=trigger,
        alerts=tuple(alert for alert in about if alert.text not in told),
        before=tuple(note for key, note in ticks.items() if key not in keys and note.on == at.date()),
        state=view.state,
        may_tick=view.is_own,
        knows_ticks=knows_ticks,
        plan_of=view.whose,
        alert_texts=frozenset(alert.text for alert in about),
    )


def _card(
    plan: Protocol, due: DueDose, ticks: Mapping[str, Taken], alerts: Iterable[ClinicAlert], at: datetime
) -> CardDose:
    key, words = key_of(plan, due), PlanWords(plan, is_plain=True)
    line, note, medicine = words.line(due.dose), ticks.get(key), clinics_medicine(due.dose.medication)
    names = _names(due.dose.medication, medicine)
    return CardDose(
        key=key,
        plan_id=plan.id,
        line=line,
        on=due.on,
        at=due.at,
        timing=due.timing(at),
        done_at=note.at if note else None,
        done_what=note.what if note and note.what != _what(line) else "",
        is_trigger=due.dose.medication.triggers,
        may_be_taken=due.may_be_taken(at),
        medicine=medicine,
        alerts=tuple(alert for alert in alerts if speaks_of(alert.text, names)),
    )


def _what(line: DoseLine) -> str:
    return f"{line.drug} {line.amount}".strip()


def _names(row: Medication, medicine: Medicine | None) -> tuple[str, ...]:
    return (row.drug, *((medicine.brand,) if medicine else ()), *(("trigger",) if row.triggers else ()))


def _known_names(plan: Protocol) -> list[str]:
    """The names of medicines by which an alert is known to be about one: the plan's, the clinic's and the usual ones."""
    own = [name for medicine in g.tenant.medicines for name in (medicine.drug, medicine.brand) if name]
    return [*(row.drug for row in plan.medications), *own, *g.tenant.protocol_choices.drugs]


def _triggers(
    doses: Sequence[DueDose], is_done: Callable[[DueDose], bool] | None, episode: Episode, at: datetime
) -> tuple[DueDose, ...]:
    """The triggers of the moment to speak of: a missed one before all others, until its egg collection has begun.

    Where it isn't known what was ticked off (`is_done` is None) none is missed, and each is told for half a day.
    """

    def is_over(due: DueDose) -> bool:
        visit = collection_of(episode, after=due.at)
        return is_done is None or is_done(due) or (visit is not None and visit.start <= at)

    def done(due: DueDose) -> bool:
        return is_done is not None and is_done(due)

    shown = [due for due in doses if due.is_recent(at) or not is_over(due)]
    open_ = [due for due in shown if not done(due)]
    missed = [due for due in open_ if is_done is not None and due.timing(at) is Timing.PAST]
    if not missed and (soon := nearest(shown, done, at)):
        return soon
    first = (missed or open_ or shown[-1:])[:1]
    return tuple(due for due in open_ or shown if (due.on, due.at) == (first[0].on, first[0].at))


def _trigger(
    triggers: Sequence[DueDose],
    cards: Mapping[DueDose, CardDose],
    episode: Episode,
    nearest_of_all: Sequence[DueDose],
) -> Trigger | None:
    """The triggers of one moment; any of another moment are listed with the doses."""
    if not triggers:
        return None
    first, at = triggers[0], triggers[0].at
    visit = collection_of(episode, after=at)
    hours = round((visit.start - at).total_seconds() / 3600) if visit and at else 0
    evening = (evening_of(at) if at else None) or first.on
    return Trigger(
        tuple(cards[due] for due in triggers),
        visit if hours in _COLLECTION_HOURS else None,
        hours,
        comes_first=evening <= today() and (not nearest_of_all or nearest_of_all[0] in triggers),
    )


def _title(doses: Sequence[DueDose], at: datetime) -> str:
    """`Tonight`, `Today` or `Next dose`, by when the first of the doses is due."""
    if not doses or doses[0].at is None:
        return _("Today")
    evening = evening_of(doses[0].at)
    if evening == (evening_of(at) or at.date()):
        return _("Tonight")
    if evening and evening < at.date():
        return _("Last night")
    return _("Today") if doses[0].on == at.date() else _("Next dose")
