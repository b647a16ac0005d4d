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
from portal.views.episodes.egg_collection import collection_of
from portal.views.protocols.labels import ENDS
from portal.web.doses import PlanWords, state_words
from portal.web.drawings.schedule import medication_grid
from portal.web.filters import number, short_date, today
from portal.web.permissions import may


class ProtocolView(Value, frozen=True):
    """A protocol with the names for its ids, as far as known."""

    protocol: Protocol
    person: Person
    physician: str | None
    patient: Patient | None
    withdrawn: tuple[ConsentBrief, ...] = ()
    is_nameless: bool = False

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
        """The day of the protocol today, while it is active."""
        day = self.protocol.day_on(today())
        is_running = self.protocol.is_active and day is not None and day > 0
        return day if is_running else None

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
    def is_followed(self) -> bool:
        """Whether the patient follows it now, so that its days are calendar dates."""
        return standing(self.protocol, None, today()) is Standing.FOLLOWED

    @property
    def state(self) -> tuple[str, str] | None:
        """For a patient: why it isn't followed now, and what to do."""
        return (
            state_words(standing(self.protocol, None, today()), is_plain=True)
            if self.person.is_patient
            else None
        )

    def date_of(self, day: int) -> date | None:
        """The date of a day of the protocol, if it has a start date."""
        return self.protocol.date_of(day)


class Whose(Value, frozen=True):
    """Whose plan it is: the patient, if they can be read, and when eggs are to be collected.

    `withdrawn` are the forms that the treatment rests on and that were withdrawn; `is_unread` says that the API has it but
    didn't answer.
    """

    patient: Patient | None = None
    withdrawn: tuple[ConsentBrief, ...] = ()
    collection: Appointment | None = None
    is_unread: bool = False


def read_whose(care: Care, protocol: Protocol) -> Whose:
    """Return whose plan this is; without an episode, or if it can't be read, nobody."""
    episode_id = protocol.episode_id
    if not episode_id:
        return Whose()
    read = attempt(lambda: get_episode(care, episode_id))
    episode = known(read)
    return Whose(
        _patient_of(protocol, episode),
        episode.withdrawn if episode else (),
        collection_of(episode),
        is_unread=_is_unread(read),
    )


def _patient_of(protocol: Protocol, episode: Episode | None) -> Patient | None:
    couple = (episode.patient, episode.partner) if episode else ()
    return next((patient for patient in couple if patient and patient.id == protocol.patient_id), None)


def _is_unread(read: object) -> bool:
    return isinstance(read, CareError) and not isinstance(read, NotOffered)


def read_view(care: Care, person: Person, protocol: Protocol) -> ProtocolView:
    """The protocol; for staff with the names for its ids, as far as they can be read."""
    if not person.is_staff:
        return ProtocolView(protocol, person, physician=None, patient=None)
    physicians, episode = gather(
        lambda: list_physicians(care).value.items if protocol.physician_id else (),
        lambda: get_episode(care, protocol.episode_id) if protocol.episode_id else None,
    )
    names = {physician.id: physician.name for physician in known(physicians) or ()}
    whole = known(episode)
    return ProtocolView(
        protocol,
        person,
        physician=names.get(protocol.physician_id or ""),
        patient=_patient_of(protocol, whole),
        withdrawn=whole.withdrawn if whole else (),
        is_nameless=_is_unread(physicians) or (_is_unread(episode) and not isinstance(episode, NotFound)),
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
