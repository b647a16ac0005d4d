"""One protocol as its page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from portal.services.client import Care
from portal.services.episodes import Appointment, ConsentBrief, Episode, get_episode
from portal.services.errors import CareError, NotFound, NotOffered
from portal.services.gather import attempt, gather, known
from portal.services.patients import Patient
from portal.services.physicians import list_physicians
from portal.services.protocols import Check, Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Standing
from portal.state.session_records import Person
from portal.values import Value
from portal.views.episodes.egg_collection import collection_of_plan
from portal.views.protocols.labels import ENDS
from portal.web.alerts import ClinicAlert, alerts_of
from portal.web.permissions import may
from portal.web.plan_view import PlanView


@dataclass(frozen=True)
class ProtocolView(PlanView):
    """A plan as its own page shows it, or the clinic's own protocol: with the name of its physician, as far as known;
    `is_incomplete` if that or its treatment couldn't be read."""

    protocol: Protocol
    physician: str | None = None
    is_incomplete: bool = False

    @property
    def patient(self) -> Patient | None:
        """Whose plan it is, with what the reader may know of them."""
        owner = self.owner
        return owner.as_known_to(self.person.sub) if owner and self.person.is_patient else owner

    @property
    def patient_name(self) -> str:
        """The patient's name, or id; empty where neither the plan nor its treatment says it."""
        patient, plan = self.patient, self.protocol
        return (patient.full_name if patient else "") or plan.patient_name or plan.patient_id or ""

    @property
    def withdrawn(self) -> tuple[ConsentBrief, ...]:
        """The forms that the treatment rests on and that were withdrawn."""
        return self.episode.withdrawn if self.episode else ()

    @property
    def alerts(self) -> list[ClinicAlert]:
        """The treatment's warnings that apply now, gravest first."""
        return alerts_of(self.episode) if self.episode else []

    @property
    def may_copy(self) -> bool:
        return may(self.person, "protocol.edit")

    @property
    def steps(self) -> list[ProtocolStatus]:
        """The allowed statuses that aren't final."""
        return [to for to in self.protocol.next_statuses if to not in ENDS] if self.may_change else []

    @property
    def ends(self) -> list[ProtocolStatus]:
        return [to for to in self.protocol.next_statuses if to in ENDS] if self.may_change else []

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
    def has_status(self) -> bool:
        """Whether its status is told: to patients not that of a plan whose treatment has ended, or that is another's."""
        return self.person.is_staff or self.standing not in (
            Standing.ENDED,
            Standing.GOES_ON,
            Standing.ANOTHERS,
        )

    @property
    def state_beside_status(self) -> tuple[str, str] | None:
        """Why it isn't followed now, and what to do; for staff only what its status doesn't say."""
        if self.person.is_staff and self.standing not in (Standing.ENDED, Standing.ANOTHERS):
            return None
        return self.state


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
        episode.owner_of(protocol) if episode else None,
        episode.withdrawn if episode else (),
        episode,
        is_unread=_is_unread(read),
    )


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
        known(episode),
        person,
        physician=names.get(protocol.physician_id or ""),
        is_incomplete=_is_unread(physicians) or _is_unread(episode),
    )
