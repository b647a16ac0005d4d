"""An episode as one person sees it: plain words for patients, professional terms for staff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from operator import itemgetter

from flask import g, url_for
from msgspec.structs import replace

from portal.context import session
from portal.i18n.gettext import _, ngettext
from portal.services.consents.forms import ConsentForm
from portal.services.episodes import Appointment, ConsentBrief, Episode, EpisodeStage, TimelineEvent
from portal.services.listed import Listed
from portal.services.pgt_results import PgtBrief, PgtCall
from portal.services.protocols import Protocol
from portal.services.rules.doses import doses_on, minutes
from portal.services.rules.stages import COUNTED, COUNTED_DAYS, SINCE_TRANSFER, needs_call_now, steps_of
from portal.services.storage import EmbryoStorage
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.embryos import codes_in
from portal.views.consents.labels import listed
from portal.views.episodes.documents import Paper, papers_of
from portal.views.episodes.ending import ONLY_VERIFIED, frozen_in, words_of_ending
from portal.views.episodes.measurements import Measurements
from portal.views.episodes.separation import NOT_READ, Separation, separation_of
from portal.views.episodes.steps_ahead import Step, step_of
from portal.views.episodes.tonight import Tonight, tonight_of
from portal.web import added_visits, labels
from portal.web.alerts import ClinicAlert, alerts_of
from portal.web.choice_names import choice_name
from portal.web.doses import DoseLine
from portal.web.filters import in_a_row, local, moment, months, now, number, today
from portal.web.not_given import not_given
from portal.web.permissions import may
from portal.web.plan_changes import PlanNotice, notice_of
from portal.web.plan_view import PlanView
from portal.web.seen_plans import last_change
from portal.web.seen_results import previous_calls


class Stage(Value, frozen=True):
    """A step of the ribbon; `state` is done, now or next."""

    label: str
    state: str


@dataclass(frozen=True)
class EpisodeView:
    """An episode as one person sees it; `forms` are its consent forms where they were read, `further_plans` those besides the one
    that its record holds. Made for one request: what it works out stays."""

    episode: Episode
    person: Person
    forms: Listed[ConsentForm] = NOT_READ
    further_plans: tuple[Protocol, ...] = ()

    @cached_property
    def title(self) -> str:
        """What kind of treatment it is: plain for patients, with its months once it has ended; the protocol's name for staff."""
        name = labels.treatment_name(self.episode.type, plain=self.person.is_patient)
        ended = months(self.episode.start_date, self.episode.end_date) if self.episode.is_ended else ""
        return in_a_row([name, ended]) if ended and self.person.is_patient else name

    @cached_property
    def frozen(self) -> str:
        """How many embryos were frozen in it, for its patients; empty if none."""
        return "" if self.person.is_staff else frozen_in(self.episode)

    @cached_property
    def heading(self) -> str:
        """The page's heading: the treatment for patients, the patient for staff."""
        return self.title if self.person.is_patient else self.episode.patient.full_name

    @cached_property
    def people(self) -> str:
        """Whose treatment it is, by full names."""
        names = [p.full_name for p in (self.episode.patient, self.episode.partner) if p and p.full_name]
        return listed(names)

    @cached_property
    def may_create_consent(self) -> bool:
        return may(self.person, "consent.create")

    @cached_property
    def unsigned_before_transfer(self) -> tuple[ConsentBrief, ...]:
        """For staff, the forms that a transfer still ahead has to wait for."""
        episode = self.episode
        if self.person.is_patient or episode.is_ended or episode.stage in SINCE_TRANSFER[1:]:
            return ()
        return episode.unsigned_before_transfer

    @cached_property
    def separation(self) -> Separation | None:
        """For staff, what rests on a partner with whom sharing has ended."""
        return separation_of(self.episode, self.forms) if self.person.is_staff else None

    @cached_property
    def is_own(self) -> bool:
        """Whether the reader is the patient (not the partner or staff)."""
        return self.episode.patient.is_me(self.person.sub)

    @cached_property
    def patient_called(self) -> str:
        return self.episode.patient.called

    @cached_property
    def href(self) -> str:
        return url_for("episodes.show", episode_id=self.episode.id)

    @cached_property
    def has_others(self) -> bool:
        """Whether the reader has other treatments to go back to."""
        record = session().record
        return record is None or len(record.episode_ids) != 1

    @cached_property
    def plan(self) -> PlanView:
        """The plan that its record holds, or that it holds none."""
        return PlanView(self.episode.protocol, self.episode, self.person)

    @cached_property
    def further(self) -> list[PlanView]:
        """Its further plans."""
        return [PlanView(plan, self.episode, self.person) for plan in self.further_plans]

    @cached_property
    def plans(self) -> list[PlanView]:
        """The plan that its record holds and the further ones that haven't ended; that there is none, if there are none of these."""
        ongoing = (plan for plan in self.further if plan.protocol and not plan.protocol.is_ended)
        return [*([self.plan] if self.plan.protocol else []), *ongoing] or [self.plan]

    @cached_property
    def only_plan(self) -> PlanView | None:
        """The only one of its plans, or that there is none; None if there are several."""
        return self.plans[0] if len(self.plans) == 1 else None

    @cached_property
    def day_note(self) -> str | None:
        """The progress: `Day 8` of the plan until the trigger, then the time since the transfer; none after the outcome.

        The only place that counts days: they are the plan's, whose first day the clinic sets.
        """
        stage = self.episode.stage
        if self.episode.outcome:
            return None
        if stage in SINCE_TRANSFER:
            return self._since_transfer()
        is_counted = stage is None or not stage.known or stage in COUNTED
        return _("Day %(day)s", day=number(self.plan.day)) if self.plan.day and is_counted else None

    def _since_transfer(self) -> str | None:
        """`5 days after the transfer`; after two weeks, in weeks; nothing once the early scan should be behind her."""
        moments = (e.occurred_at for e in self.events if e.stage == EpisodeStage.TRANSFER and e.verified)
        last = max((moment for moment in moments if moment), default=None)
        days = (today() - local(last).date()).days if last else 0
        if not 1 <= days <= COUNTED_DAYS:
            return None
        if days < 14:
            return ngettext("%(num)s day after the transfer", "%(num)s days after the transfer", days)
        return ngettext("%(num)s week after the transfer", "%(num)s weeks after the transfer", days // 7)

    @cached_property
    def stages(self) -> list[Stage]:
        """The steps of this treatment for the progress ribbon; none once it has ended."""
        return [Stage(choice_name(stage), state) for stage, state in self._steps]

    @cached_property
    def steps_ahead(self) -> list[Step]:
        """The steps of this treatment that are still to come and can be told in words, in order."""
        steps = (step_of(stage, self.upcoming) for stage, state in self._steps if state == "next")
        return [step for step in steps if step.meaning]

    @cached_property
    def _steps(self) -> list[tuple[EpisodeStage, str]]:
        """The steps, each with its state: done, now or next."""
        current = self.episode.stage
        if self.episode.is_ended or current is None or not current.known:
            return []
        steps = steps_of(
            self.episode, [event for event in self.episode.timeline if not self._is_withheld(event)]
        )
        order = list(EpisodeStage)
        place = order.index(current)
        return [
            (step, "now" if step == current else "done" if order.index(step) < place else "next")
            for step in steps
        ]

    @cached_property
    def may_begin_plan(self) -> bool:
        """Whether the reader may make a plan for this treatment: it runs, and has none that can be changed."""
        return not self.episode.is_ended and not self.plan.may_change and may(self.person, "protocol.edit")

    @cached_property
    def clock_example(self) -> datetime:
        """When the first dose of today is due, else noon: by it a device elsewhere tells what its own clock shows."""
        doses = doses_on(self.episode.protocol, self.episode, today())
        hours = (at for dose in doses if (at := minutes(dose.time)) is not None)
        return datetime.combine(today(), time(*divmod(next(hours, 12 * 60), 60)), g.tenant.time_zone)

    @cached_property
    def coming_days(self) -> list[tuple[date, list[DoseLine]]]:
        """The next six days with their doses, also those without any; none if no dose is due in them.

        Those of its owner's further plans are among them.
        """
        dates = [today() + timedelta(days=ahead) for ahead in range(1, 7)]
        days = [(on, self._lines_on(on)) for on in dates]
        return days if any(doses for _on, doses in days) else []

    def _lines_on(self, on: date) -> list[DoseLine]:
        found: list[tuple[tuple[int, Sequence[object]], DoseLine]] = []
        for plan in (self.plan, *self.further):
            if plan.protocol and plan.whose == self.plan.whose:
                first = plan.protocol.day_on(on) or 0
                for dose in doses_on(plan.protocol, self.episode, on):
                    found.append(((dose.day - first, dose.moment[1:]), plan.words.line(dose)))
        return [line for _moment, line in sorted(found, key=itemgetter(0))]

    @cached_property
    def plan_notice(self) -> PlanNotice | None:
        """What changed in the plan since the patient saw it; None for staff, and without a plan."""
        protocol = self.episode.protocol
        if not (self.person.is_patient and protocol):
            return None
        return notice_of(self.person, protocol, self.episode)

    @cached_property
    def visits_today(self) -> list[Appointment]:
        """Today's visits that weren't cancelled."""
        visits = (a for a in self.episode.appointments if not a.is_cancelled)
        found = [named(a) for a in visits if local(a.start).date() == today()]
        return sorted(found, key=lambda appointment: appointment.start)

    @cached_property
    def upcoming(self) -> list[Appointment]:
        return [named(a) for a in self.episode.upcoming(now())]

    @cached_property
    def later(self) -> list[Appointment]:
        return [a for a in self.upcoming if local(a.start).date() > today()]

    @cached_property
    def cancelled_ahead(self) -> list[Appointment]:
        """Visits that would still come but were cancelled, the next one first."""
        visits = (a for a in self.episode.appointments if a.is_cancelled and a.start > now())
        return sorted(map(named, visits), key=lambda appointment: appointment.start)

    @cached_property
    def gone_visits(self) -> list[str]:
        """When the visits would be that a patient added to a calendar and that the API doesn't list any more."""
        if self.person.is_staff or not_given("Episode.appointments"):
            return []
        return [moment(start) for start in added_visits.gone(self.person, self.episode, now())]

    @cached_property
    def past_visits(self) -> list[Appointment]:
        ahead = {appointment.id for appointment in (*self.upcoming, *self.cancelled_ahead)}
        gone = (named(a) for a in self.episode.appointments if a.id not in ahead)
        return sorted(gone, key=lambda appointment: appointment.start, reverse=True)

    @cached_property
    def events(self) -> list[TimelineEvent]:
        """Past events, earliest first; events without a time come first."""
        events = (
            e
            for e in self.episode.timeline
            if (e.occurred_at is None or e.occurred_at <= now()) and not self._is_withheld(e)
        )
        return sorted(events, key=lambda e: e.occurred_at.timestamp() if e.occurred_at else float("-inf"))

    def _is_withheld(self, event: TimelineEvent) -> bool:
        """Whether a patient doesn't read it yet: a pregnancy test or early scan that nobody has verified."""
        return self.person.is_patient and not event.verified and event.stage in ONLY_VERIFIED

    @cached_property
    def alerts(self) -> list[ClinicAlert]:
        """Current alerts, most severe first."""
        return alerts_of(self.episode)

    @cached_property
    def tonight(self) -> Tonight | None:
        """The doses around now, for patients; None for staff, and without a plan to follow."""
        return tonight_of(self.plan, self.alerts) if self.person.is_patient else None

    @cached_property
    def tonights(self) -> list[Tonight]:
        """The doses around now, those of further plans after those of the plan."""
        return [*filter(None, [self.tonight]), *self.further_tonights]

    @cached_property
    def further_tonights(self) -> list[Tonight]:
        """The doses around now of the further plans that have any, or why one that hasn't ended has none, for patients."""
        if not self.person.is_patient:
            return []
        found = (tonight_of(plan, self.alerts) for plan in self.plans if plan.is_further)
        return [tonight for tonight in found if tonight and tonight.says_something]

    def alerts_beside(self, tonight: Tonight | None) -> list[ClinicAlert]:
        """The alerts that don't stand with the doses already."""
        return [alert for alert in self.alerts if tonight is None or alert.text not in tonight.alert_texts]

    @cached_property
    def needs_call_now(self) -> bool:
        """Whether the page says on which signs to call at once: from stimulation to the early scan, and shortly after."""
        return self.person.is_patient and needs_call_now(self.episode, today(), g.tenant.time_zone)

    @cached_property
    def ending(self) -> tuple[str, str] | None:
        """How it ended: a short line and a longer one; None while it is ongoing."""
        if not self.episode.is_ended:
            return None
        return words_of_ending(self.episode, today(), is_own=self.is_own)

    @cached_property
    def measurements(self) -> Measurements:
        """The scans and blood tests; for patients without the values whose unit isn't given."""
        days = sorted(self.episode.monitoring, key=lambda day: day.date)
        return Measurements([day.readable for day in days] if self.person.is_patient else days, self.caution)

    @cached_property
    def caution(self) -> str:
        """What a patient reads wherever a value or event is shown that nobody has verified; empty for staff."""
        if self.person.is_staff:
            return ""
        return _("Your doctor hasn’t confirmed this yet. Doses follow only what the clinic tells you.")

    @cached_property
    def papers(self) -> list[Paper]:
        changed_at = last_change(self.person, self.episode.id) if self.person.is_patient else None
        return papers_of(self.episode.documents, changed_at)

    def physician(self, physician_id: str | None) -> str | None:
        """The name of a member of the care team."""
        team = self.episode.care_team
        return next((m.name for m in team if physician_id and m.physician_id == physician_id), None)

    @cached_property
    def codes(self) -> Mapping[str, str]:
        """Its embryos' codes by id, those of one code told apart."""
        return codes_in(self.episode)

    def pgt(self, embryo: EmbryoStorage) -> PgtBrief | None:
        """The genetic test of an embryo, as far as the person may see it."""
        return next(iter(self.episode.tests_of(embryo)), None)

    def further_pgt(self, embryo: EmbryoStorage) -> list[PgtBrief]:
        """Its other tests: which of them counts only the record says."""
        return self.episode.tests_of(embryo)[1:]

    @cached_property
    def previous_calls(self) -> dict[str, PgtCall]:
        """By the id of a test that the person sees: its call when they looked before, if it has changed."""
        tests = [result for result in self.episode.pgt_results if self.person.is_staff or result.is_released]
        return {id_: PgtCall(previous.call) for id_, previous in previous_calls(self.person, tests).items()}

    def number(self, value: float | None) -> str | None:
        return None if value is None else number(value)


def named(visit: Appointment) -> Appointment:
    """The visit with its purpose in the reader's language."""
    return replace(visit, kind=labels.visit_name(visit.kind))
