"""The embryos in storage at the clinic, as far as consent forms lead to them, for staff.

No endpoint lists embryos. They are embedded in episodes (care API specification §4), whose ids stand in the forms about
embryos: storage, renewal, disposition, donation. A step looks through one page of forms and reads some of the episodes that
they name, so that no request of a large clinic makes more than 50 calls; the next step goes on where it ended.

What was read is kept with the session for a quarter of an hour, so that the lists of one inventory fit each other. An
embryo's own page, and every change, reads its episode anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

import msgspec

from portal.services.cases import CareStatus
from portal.services.episodes import Episode
from portal.services.listed import Count, Listed
from portal.services.patients import Patient
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation
from portal.views.embryo_view import EmbryoView

MOST = 4000
"""More embryos than these aren't kept."""


class KeptEmbryo(msgspec.Struct, frozen=True, array_like=True):
    """An embryo that isn't gone, and whose it is, without a name where its treatment doesn't know that person."""

    id: str
    episode_id: str
    code: str
    status: str
    method: str
    day: int | None
    grade: str
    place: tuple[str, str, str, str, str] | None
    hold_reason: str | None
    consented_until: date | None
    paid_until: datetime | None
    limit: date | None
    disposition: str
    patient_id: str
    first_name: str
    last_name: str
    mrn: str
    born: date | None

    @property
    def view(self) -> EmbryoView:
        embryo = EmbryoStorage(
            id=self.id,
            embryo_code=self.code,
            status=EmbryoStatus(self.status),
            method=self.method,
            day=self.day,
            grade=self.grade,
            location=_location(self.place),
            hold_reason=self.hold_reason,
            storage_consented_until=self.consented_until,
            storage_expires_at=self.paid_until,
            statutory_limit=self.limit,
            disposition=Disposition(self.disposition),
        )
        patient = Patient(
            id=self.patient_id,
            first_name=self.first_name,
            last_name=self.last_name,
            mrn=self.mrn,
            date_of_birth=self.born,
        )
        return EmbryoView(embryo, Episode(id=self.episode_id, status=CareStatus.FINISHED, patient=patient))


class Inventory(msgspec.Struct, frozen=True, kw_only=True):
    """What was read since `begun_at` (seconds since 1970).

    `named` are the ids of the episodes that forms name, of which the first `asked` were asked for; `failed` are those of them
    that couldn't be read. `forms` were looked through, `is_last_form` if those were all; `unnamed` of them are of embryos that there
    may be, but name no episode. Without `is_kept` the store didn't take it, so that another step would read the same again.
    """

    begun_at: float
    named: tuple[str, ...] = ()
    asked: int = 0
    failed: tuple[str, ...] = ()
    forms: int = 0
    is_last_form: bool = False
    unnamed: int = 0
    embryos: tuple[KeptEmbryo, ...] = ()
    is_kept: bool = True

    @property
    def is_full(self) -> bool:
        return len(self.embryos) >= MOST

    @property
    def may_go_on(self) -> bool:
        """Whether another step may find more."""
        return not self.is_full and (not self.is_last_form or self.asked < len(self.named))

    @property
    def is_whole(self) -> bool:
        """Whether every form was looked through and every episode that one names was read."""
        return not (self.may_go_on or self.failed or self.unnamed or self.is_full)

    @property
    def episodes(self) -> int:
        return self.asked - len(self.failed)

    @property
    def named_count(self) -> Count:
        """How many episodes the forms name."""
        return Count(len(self.named), self.is_last_form)

    @property
    def begun(self) -> datetime:
        return datetime.fromtimestamp(self.begun_at, UTC)

    @property
    def listed(self) -> Listed[EmbryoView]:
        return Listed(tuple(kept.view for kept in self.embryos), self.is_whole)


def kept_of(episodes: Iterable[Episode]) -> list[KeptEmbryo]:
    return [
        _kept_embryo(embryo, episode)
        for episode in episodes
        for embryo in episode.embryos
        if not embryo.is_terminal
    ]


def once(embryos: Iterable[KeptEmbryo]) -> tuple[KeptEmbryo, ...]:
    """Each embryo once: it may be embedded in the episode that froze it and in one that is to use it."""
    return tuple({kept.id: kept for kept in embryos}.values())


def _kept_embryo(embryo: EmbryoStorage, episode: Episode) -> KeptEmbryo:
    at, patient = embryo.location, episode.owner_of(embryo) or Patient(id=embryo.patient_id or "")
    return KeptEmbryo(
        id=embryo.id,
        episode_id=episode.id,
        code=embryo.embryo_code,
        status=str(embryo.status),
        method=embryo.method,
        day=embryo.day,
        grade=embryo.grade,
        place=at.parts if at else None,
        hold_reason=embryo.hold_reason,
        consented_until=embryo.storage_consented_until,
        paid_until=embryo.storage_expires_at,
        limit=embryo.statutory_limit,
        disposition=str(embryo.disposition),
        patient_id=patient.id,
        first_name=patient.first_name,
        last_name=patient.last_name,
        mrn=patient.mrn,
        born=patient.date_of_birth,
    )


def _location(place: tuple[str, str, str, str, str] | None) -> StorageLocation | None:
    if place is None:
        return None
    facility, tank, canister, cane, position = place
    return StorageLocation(facility=facility, tank=tank, canister=canister, cane=cane, position=position)
