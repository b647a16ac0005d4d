"""The embryos in storage at the clinic, as far as consent forms lead to them, for staff.

No endpoint lists embryos. They are embedded in episodes (care API specification §4), whose ids stand in the forms about
embryos: storage, renewal, disposition, donation. A step looks through one page of forms and reads some of the episodes that
they name, so that no request of a large clinic makes more than 50 calls; the next step goes on where it ended.

What was read is kept with the session for a quarter of an hour, so that the lists of one inventory fit each other. An
embryo's own page, and every change, reads its episode anew.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial

import msgspec
from msgspec.structs import replace

from portal.context import context, session
from portal.services.cases import CareStatus
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import EMBRYO_KINDS, ConsentForm
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotAllowed, NotFound
from portal.services.gather import gather_all
from portal.services.listed import Count, Listed
from portal.services.paging import CAP
from portal.services.patients import Patient
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation
from portal.state.copies import ROOM
from portal.store import StoreDown
from portal.views.episodes.lookup import remembered
from portal.views.storage.view import EmbryoView

STEP = 48
"""How many episodes one step reads."""
_AT_ONCE = 12
"""How many of them the API is asked for at the same time."""
_MOST = 4000
"""More embryos than these aren't kept."""
_SECONDS = 15 * 60


class KeptEmbryo(msgspec.Struct, frozen=True, array_like=True):
    """An embryo that isn't gone, and whose it is: what the inventory shows of it."""

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
        """The embryo with the little of its episode that is kept."""
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


class Room(msgspec.Struct, frozen=True, kw_only=True):
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
        """Whether there is no room for more embryos."""
        return len(self.embryos) >= _MOST

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
        """How many episodes were read."""
        return self.asked - len(self.failed)

    @property
    def named_count(self) -> Count:
        """How many episodes the forms name."""
        return Count(len(self.named), self.is_last_form)

    @property
    def begun(self) -> datetime:
        """When the first of it was read."""
        return datetime.fromtimestamp(self.begun_at, UTC)

    @property
    def listed(self) -> Listed[EmbryoView]:
        """The embryos."""
        return Listed(tuple(kept.view for kept in self.embryos), self.is_whole)


def room(care: Care) -> Room:
    """Return what is kept, or read the first step; raises CareError if the forms can't be read."""
    return _kept() or read_on(care)


def read_on(care: Care) -> Room:
    """Read another step and return all that was read; when nothing is left, what failed is tried again.

    Raises CareError if the forms can't be read.
    """
    known = _kept() or Room(begun_at=context().clock(), named=tuple(remembered()))
    if known.is_full:
        return known
    if not known.is_last_form and len(known.named) - known.asked < STEP:
        known = _with_forms(care, known)
    known = _with_episodes(care, known)
    return replace(known, is_kept=_keep(known))


@contextmanager
def changing_room() -> Generator[None]:
    """Around a change of an embryo: afterwards the room is read anew, also if nobody knows whether the change happened."""
    try:
        yield
    finally:
        forget_room()


def forget_room() -> None:
    """Drop what is kept."""
    if name := session().name:
        try:
            context().copies.drop(name, ROOM)
        except StoreDown:
            return


def _with_forms(care: Care, known: Room) -> Room:
    """Look through the next page of forms, the oldest first, so that new ones don't move the others."""
    page = list_consents(care, skip=known.forms, limit=CAP, sorting="sentAt")
    about_embryos = [form for form in page.items if _is_about_embryos(form)]
    ids = (form.episode_id for form in about_embryos if form.episode_id)
    forms = known.forms + page.received
    return replace(
        known,
        named=tuple(dict.fromkeys((*known.named, *ids))),
        forms=forms,
        is_last_form=not page.received or (page.is_counted and forms >= page.total),
        unnamed=known.unnamed + sum(map(_leads_nowhere, about_embryos)) + len(page.unreadable),
    )


def _is_about_embryos(form: ConsentForm) -> bool:
    return form.kind in EMBRYO_KINDS or bool(form.embryo_storage_ids)


def _leads_nowhere(form: ConsentForm) -> bool:
    """Whether it names no episode, and isn't one for embryos that are yet to be frozen, which nobody has signed."""
    return not form.episode_id and bool(form.embryo_storage_ids or form.signatures)


def _with_episodes(care: Care, known: Room) -> Room:
    """Read the next episodes; an API that answers none of some is asked for no more."""
    ids = known.named[known.asked :][:STEP]
    is_again = not ids and not known.may_go_on
    ids = known.failed[:STEP] if is_again else ids
    read: dict[str, Episode | CareError] = {}
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        answers = gather_all([partial(get_episode, care, id_) for id_ in some])
        read |= zip(some, answers, strict=True)
        if not any(isinstance(answer, Episode | NotFound | NotAllowed) for answer in answers):
            break
    failed = [id_ for id_, answer in read.items() if not isinstance(answer, Episode | NotFound | NotAllowed)]
    found = [answer for answer in read.values() if isinstance(answer, Episode)]
    return replace(
        known,
        asked=known.asked + (0 if is_again else len(read)),
        failed=tuple(dict.fromkeys((*(id_ for id_ in known.failed if id_ not in read), *failed))),
        embryos=_once((*known.embryos, *_kept_of(found)))[:_MOST],
    )


def _kept_of(episodes: Iterable[Episode]) -> list[KeptEmbryo]:
    return [
        _kept_embryo(embryo, episode)
        for episode in episodes
        for embryo in episode.embryos
        if not embryo.is_terminal
    ]


def _once(embryos: Iterable[KeptEmbryo]) -> tuple[KeptEmbryo, ...]:
    """Each embryo once: it may be embedded in the episode that froze it and in one that is to use it."""
    return tuple({kept.id: kept for kept in embryos}.values())


def _kept_embryo(embryo: EmbryoStorage, episode: Episode) -> KeptEmbryo:
    at, patient = embryo.location, episode.patient
    return KeptEmbryo(
        id=embryo.id,
        episode_id=episode.id,
        code=embryo.embryo_code,
        status=str(embryo.status),
        method=embryo.method,
        day=embryo.day,
        grade=embryo.grade,
        place=(at.facility, at.tank, at.canister, at.cane, at.position) if at else None,
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


def _kept() -> Room | None:
    """What this session keeps, unless it began too long ago."""
    name = session().name
    try:
        held = context().copies.find(name, ROOM, b"") if name else None
    except StoreDown:
        return None
    try:
        known = msgspec.msgpack.decode(held, type=Room) if held else None
    except msgspec.DecodeError:  # of another version of the portal
        return None
    return known if known and 0 <= context().clock() - known.begun_at < _SECONDS else None


def _keep(known: Room) -> bool:
    """Keep it, and say whether the store took it; if not, each page reads the first step."""
    name = session().name
    if name is None:
        return False
    try:
        context().copies.keep(name, ROOM, b"", msgspec.msgpack.encode(known), seconds=_SECONDS)
    except StoreDown:
        return False
    return True
