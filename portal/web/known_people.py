"""People whose treatments a member of staff has read in this session: how to reach them, and what else they are found by.

No endpoint searches by telephone, date of birth, number of a treatment, or by an embryo's code or place. What pages have read
is kept sealed, found by the session alone, and goes when it ends; nothing is read only to be kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import msgspec
from flask import g
from msgspec import structs

from portal.context import context, session
from portal.services.episodes import Episode
from portal.services.patients import Patient
from portal.services.storage import EmbryoStorage, StorageLocation
from portal.state.session_records import known_people_name
from portal.store import StoreDown
from portal.web.lately import Lately

_MOST = 600
"""How many people are kept, those read last."""
CURRENT_SECONDS = 15 * 60
"""For how long an address or number is shown without being read again."""
_AGAIN_SECONDS = 5 * 60


class KnownEmbryo(msgspec.Struct, frozen=True, array_like=True):
    """An embryo in storage; `place` is facility, tank, canister, cane and position.

    `owner` and `mrn` are of whose it is: a treatment may use the partner's; empty if it is known to be another's.
    """

    id: str
    code: str
    place: tuple[str, ...] = ()
    owner: str = ""
    mrn: str = ""


class KnownPerson(msgspec.Struct, frozen=True, array_like=True):
    """A person of a treatment as it was read at `read_at` (seconds since 1970).

    `account` is the id that they sign forms with, `numbers` are those of the treatment and its case; these and `embryos`
    are only with the patient whose treatment it is (`is_patient`).
    """

    patient_id: str
    episode_id: str
    account: str
    name: str
    called: str
    born: date | None
    mrn: str
    phone: str
    email: str
    numbers: tuple[str, ...]
    treatment: str
    is_ended: bool
    embryos: tuple[KnownEmbryo, ...]
    read_at: float
    language: str = ""
    is_patient: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """A person is known once for each treatment."""
        return self.episode_id, self.patient_id


class KnownPeople(msgspec.Struct, frozen=True):
    """The people known in a session, those read last at the end."""

    people: tuple[KnownPerson, ...] = ()


_lately = Lately(_AGAIN_SECONDS)
"""The people whom this process has kept, by session, with a hash of what was kept of them last."""


def people_of(episode: Episode, *, at: float) -> list[KnownPerson]:
    both = ((episode.patient, True), (episode.partner, False))
    return [_known(patient, episode, is_patient, at) for patient, is_patient in both if patient]


def known_people() -> tuple[KnownPerson, ...]:
    """Return the people known in this session, those read last first; none while the store is down."""
    name = session().name
    try:
        held = context().vault.get(known_people_name(name), KnownPeople) if name else None
    except StoreDown:
        return ()
    return held.value.people[::-1] if held else ()


def learn(episodes: Iterable[Episode]) -> None:
    """Keep the people of treatments that a page for staff has read; while the store is down, they aren't kept."""
    name, record, now = session().name, session().record, context().clock()
    if name is None or record is None:
        return
    new = {person.key: person for episode in episodes for person in people_of(episode, at=now)}
    seen = [
        _lately.repeats((name, key), now, hash(structs.replace(person, read_at=0.0)))
        for key, person in new.items()
    ]
    if all(seen):
        return

    def with_new(before: KnownPeople) -> KnownPeople | None:
        known = {person.key: person for person in before.people}
        if all(_is_still(known.get(key), person) for key, person in new.items()):
            return None
        others = [person for person in before.people if person.key not in new]
        return KnownPeople((*others, *new.values())[-_MOST:])

    try:
        context().vault.update(
            known_people_name(name),
            KnownPeople,
            with_new,
            initial=KnownPeople(),
            expires_at=context().sessions.ends_at(record),
        )
    except StoreDown:
        for key in new:
            _lately.forget((name, key))


def learn_what_was_read() -> None:
    """Keep the people of the treatments that this request has read, if it is for staff."""
    person, read = g.get("person"), g.get("episodes_read")
    if person is not None and person.is_staff and read:
        learn(read.values())


def _is_still(known: KnownPerson | None, now: KnownPerson) -> bool:
    """Whether this has been kept as it is, not long ago."""
    if known is None or now.read_at - known.read_at > _AGAIN_SECONDS:
        return False
    return structs.replace(known, read_at=now.read_at) == now


def _known(patient: Patient, episode: Episode, is_patient: bool, at: float) -> KnownPerson:
    case = episode.case
    embryos = [embryo for embryo in episode.embryos if not embryo.is_terminal] if is_patient else []
    numbers = (episode.number, case.case_number if case else "") if is_patient else ()
    return KnownPerson(
        patient_id=patient.id,
        episode_id=episode.id,
        account=patient.user_id or patient.id,
        name=patient.full_name,
        called=patient.preferred_name or "",
        born=patient.date_of_birth,
        mrn=patient.mrn,
        phone=patient.phone_number or "",
        email=patient.email or "",
        numbers=tuple(number for number in numbers if number),
        treatment=episode.type,
        is_ended=episode.is_ended,
        embryos=tuple(_known_embryo(embryo, episode) for embryo in embryos),
        read_at=at,
        language=patient.language or "",
        is_patient=is_patient,
    )


def _known_embryo(embryo: EmbryoStorage, episode: Episode) -> KnownEmbryo:
    owner, place = episode.owner_of(embryo), _place(embryo.location)
    name, mrn = (owner.full_name, owner.mrn) if owner else ("", "")
    return KnownEmbryo(embryo.id, embryo.embryo_code, place, name, mrn)


def _place(at: StorageLocation | None) -> tuple[str, ...]:
    return at.parts if at else ()
