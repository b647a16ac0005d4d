"""One protocol as its page shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from markupsafe import Markup

from portal.dates import days_after
from portal.i18n.locale import is_rtl
from portal.services.client import Care
from portal.services.episodes import Appointment, ConsentBrief, Episode, get_episode
from portal.services.errors import CareError, NotFound, NotOffered
from portal.services.gather import attempt, gather, known
from portal.services.patients import Patient
from portal.services.physicians import list_physicians
from portal.services.protocols import Check, Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Standing, standing
from portal.state.session_records import Person
from portal.values import Value
from portal.views.episodes.egg_collection import collection_of_plan
from portal.views.protocols.labels import ENDS
from portal.web.alerts import ClinicAlert, alerts_of
from portal.web.doses import PlanWords, medicines_of, plan_of, state_words
from portal.web.drawings.schedule import medication_grid
from portal.web.filters import number, short_date, today
from portal.web.permissions import may


class ProtocolView(Value, frozen=True):
    """A protocol with its treatment and the names for its ids, as far as known; `is_incomplete` if one couldn't be read."""

    protocol: Protocol
    person: Person
    physician: str | None
    episode: Episode | None
    is_incomplete: bool = False

    @property
    def patient(self) -> Patient | None:
        """Whose plan it is, with what the reader may know of them."""
        patient = _patient_of(self.protocol, self.episode)
        return patient.as_known_to(self.person.sub) if patient and self.person.is_patient else patient

    @property
    def patient_name(self) -> str:
        """The patient's name, or id; empty where neither the plan nor its treatment says it."""
        patient, plan = self.patient, self.protocol
        return (patient.full_name if patient else "") or plan.patient_name or plan.patient_id or ""

    @property
    def medicines_of(self) -> str:
        """`Daniel’s medicines`, if they aren't the reader's own, or for staff not the patient's; else empty."""
        return medicines_of(plan_of(self.protocol, self.episode, self.person))

    @property
    def withdrawn(self) -> tuple[ConsentBrief, ...]:
        """The forms that the treatment rests on and that were withdrawn."""
        return self.episode.withdrawn if self.episode else ()

    @property
    def alerts(self) -> list[ClinicAlert]:
        """The treatment's warnings that apply now, gravest first."""
        return alerts_of(self.episode) if self.episode else []

    @property
    def may_write(self) -> bool:
        return may(self.person, "protocol.edit") and not self.protocol.is_ended

    @property
    def may_copy(self) -> bool:
        return may(self.person, "protocol.edit")

    @property
    def steps(self) -> list[ProtocolStatus]:
        """The allowed statuses that aren't final."""
        return [to for to in self.protocol.next_statuses if to not in ENDS] if self.may_write else []

    @property
    def ends(self) -> list[ProtocolStatus]:
        return [to for to in self.protocol.next_statuses if to in ENDS] if self.may_write else []

    @property
    def day(self) -> int | None:
        """The day of the protocol today, while it is active and its treatment goes on."""
        day = self.protocol.day_on(today())
        is_running = self.protocol.is_active and day is not None and day > 0
        return day if is_running and not (self.episode and self.episode.is_ended) else None

    @property
    def grid(self) -> Markup | None:
        """The days as a chart; None if a patient isn't to follow it now."""
        plan = self.protocol
        if self.person.is_patient and not self.is_followed:
            return None
        return drawing(
            plan.medications, plan.monitoring, self.day, begins=plan.start_date, amount=self.words.amount
        )

    @property
    def medications(self) -> list[Medication]:
        return sorted(
            self.protocol.medications,
            key=lambda medication: (medication.start_day, medication.hours[0] or "~", medication.drug),
        )

    @property
    def checks(self) -> list[Check]:
        return sorted(self.protocol.monitoring, key=lambda entry: (entry.day, entry.kind))

    @property
    def words(self) -> PlanWords:
        return PlanWords(self.protocol, is_plain=self.person.is_patient)

    @property
    def standing(self) -> Standing:
        """Whether its doses are taken today."""
        return standing(self.protocol, self.episode, today())

    @property
    def is_followed(self) -> bool:
        """Whether the patient follows it now, so that its days are calendar dates."""
        return self.standing is Standing.FOLLOWED

    @property
    def has_status(self) -> bool:
        """Whether its status is told: to patients not that of a plan whose treatment has ended, or that is another's."""
        return self.person.is_staff or self.standing not in (
            Standing.ENDED,
            Standing.GOES_ON,
            Standing.ANOTHERS,
        )

    @property
    def state(self) -> tuple[str, str] | None:
        """Why it isn't followed now, and what to do; for staff only what its status doesn't say."""
        if self.person.is_staff and self.standing not in (Standing.ENDED, Standing.ANOTHERS):
            return None
        return state_words(self.standing, is_plain=self.person.is_patient)

    @property
    def go_on(self) -> list[str]:
        """What of it is still to be taken although the treatment has ended."""
        return self.words.instructions_to_continue(self.episode, today())

    def date_of(self, day: int) -> date | None:
        """The date of a day of the protocol, if it has a start date."""
        return self.protocol.date_of(day)


class PlanOwner(Value, frozen=True):
    """Whose plan it is: the patient and the treatment (`episode`), if they can be read.

    `withdrawn` are the forms that the treatment rests on and that were withdrawn. `is_unread`: the treatment may be there
    although it couldn't be read.
    """

    patient: Patient | None = None
    withdrawn: tuple[ConsentBrief, ...] = ()
    episode: Episode | None = None
    is_unread: bool = False

    def collection(self, begins: date | None) -> Appointment | None:
        """When eggs are to be collected after a plan whose day 1 is `begins`, which may be typed and not saved yet."""
        return collection_of_plan(self.episode, begins)


def read_owner(care: Care, protocol: Protocol) -> PlanOwner:
    """Return whose plan this is; without an episode, or if it can't be read, nobody."""
    episode_id = protocol.episode_id
    if not episode_id:
        return PlanOwner()
    read = attempt(lambda: get_episode(care, episode_id))
    episode = known(read)
    return PlanOwner(
        _patient_of(protocol, episode),
        episode.withdrawn if episode else (),
        episode,
        is_unread=_is_unread(read),
    )


def _patient_of(protocol: Protocol, episode: Episode | None) -> Patient | None:
    return None if episode is None or protocol.is_template else episode.owner_of(protocol)


def _is_unread(read: object) -> bool:
    """Whether it may be there although it couldn't be read."""
    return isinstance(read, CareError) and not isinstance(read, NotOffered | NotFound)


def read_treatment(care: Care, protocol: Protocol) -> Episode | None:
    """The plan's treatment, None if there is none that the API gives; raises CareError if it can't be read."""
    read = attempt(lambda: get_episode(care, protocol.episode_id) if protocol.episode_id else None)
    if isinstance(read, CareError) and _is_unread(read):
        raise read
    return known(read)


def read_view(care: Care, person: Person, protocol: Protocol) -> ProtocolView:
    """The protocol with its treatment; for staff with its physician's name."""
    physicians, episode = gather(
        lambda: list_physicians(care).value.items if person.is_staff and protocol.physician_id else (),
        lambda: get_episode(care, protocol.episode_id) if protocol.episode_id else None,
    )
    names = {physician.id: physician.name for physician in known(physicians) or ()}
    return ProtocolView(
        protocol,
        person,
        physician=names.get(protocol.physician_id or ""),
        episode=known(episode),
        is_incomplete=_is_unread(physicians) or _is_unread(episode),
    )


def drawing(
    medications: Sequence[Medication],
    checks: Sequence[Check],
    day: int | None = None,
    *,
    begins: date | None = None,
    amount: Callable[[Medication], str] | None = None,
) -> Markup | None:
    """The days of these rows as a chart, or None without rows; with dates if `begins`, the date of day 1, is given."""

    def name(day: int) -> str:
        on = days_after(begins, day - 1) if begins else None
        return short_date(on) if on else number(day)

    return medication_grid(
        medications,
        checks,
        today=day,
        name_day=name if begins else None,
        amount=amount or PlanWords(None, is_plain=False).amount,
        rtl=is_rtl(),
        id_="days-drawing",
    )
