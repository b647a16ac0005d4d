"""The patient whom a page for staff is about: who it is, above what it is.

The page's record says which patient (`PatientRef`); what tells two people of one name apart comes from their treatment, the
one that the page has read already or else one more call. Nobody's details are shown but those of the patient that the record
names.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import cast

from flask import g, request, url_for

from portal.services.client import Care
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotAllowed, NotFound, NotOffered
from portal.services.gather import attempt
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient
from portal.values import Value
from portal.web.alerts import ClinicAlert, alerts_of
from portal.web.filters import in_a_row, long_date, number, today


class PatientBanner(Value, frozen=True):
    """Who it is; `born` and `age` (years) in words; `partner` is the other person of the treatment.

    Without `name`, the patient is one of those named in `one_of`, if it isn't empty. `href` is the patient's page, empty if
    the record doesn't say which patient. `is_unread` says that the treatment couldn't be read, so that only what the record
    says is known.
    """

    name: str
    href: str = ""
    called: str = ""
    born: str = ""
    age: str = ""
    mrn: str = ""
    partner: str = ""
    alerts: tuple[ClinicAlert, ...] = ()
    is_unread: bool = False
    one_of: str = ""


def note_read(answer: object) -> None:
    """Keep a treatment that this request has read."""
    if isinstance(answer, Episode):
        _episodes()[answer.id] = answer


def banner_of(ref: PatientRef | None, *, hides_mrn: bool = False) -> PatientBanner | None:
    """Return the banner for staff; None for others, and for a page about no patient."""
    person = g.get("person")
    if ref is None or person is None or not person.is_staff:
        return None
    if not ref.episode_id:
        return PatientBanner(ref.name, _page(ref.patient_id), one_of=in_a_row(ref.one_of))
    episode = _episode(ref.episode_id)
    if isinstance(episode, CareError):
        is_gone = isinstance(episode, NotFound | NotAllowed | NotOffered)
        href = _page(ref.patient_id, None if is_gone else ref.episode_id)
        return PatientBanner(ref.name, href, is_unread=not is_gone, one_of=in_a_row(ref.one_of))
    patient, partner = _in_order(ref, episode)
    if patient is None:
        return PatientBanner(ref.name, _page(ref.patient_id), one_of=in_a_row(ref.one_of))
    born = patient.date_of_birth
    return PatientBanner(
        name=patient.full_name or ref.name,
        href=_page(patient.id, episode.id),
        called=patient.preferred_name or "",
        born=long_date(born) if born else "",
        age=number(_age(born, today())) if born else "",
        mrn="" if hides_mrn else patient.mrn,
        partner=partner.full_name if partner else "",
        alerts=tuple(alerts_of(episode, *_also_ongoing(patient, episode))),
    )


def _also_ongoing(patient: Patient, episode: Episode) -> Iterable[Episode]:
    """The patient's other ongoing treatments that the page has read: a warning of one of them is the patient's, too."""
    for other in _episodes().values():
        people = (other.patient, other.partner)
        if (
            other.id != episode.id
            and not other.is_ended
            and any(one and one.id == patient.id for one in people)
        ):
            yield other


def _page(patient_id: str | None, episode_id: str | None = None) -> str:
    """The address of the patient's page; the treatment, by which the patient is found, goes with it."""
    address = (
        url_for("patients.overview.show", patient_id=patient_id, episode=episode_id) if patient_id else ""
    )
    return "" if address.partition("?")[0] == request.path else address


def _episodes() -> dict[str, Episode]:
    if "episodes_read" not in g:
        g.episodes_read = {}
    return cast("dict[str, Episode]", g.episodes_read)


def _episode(id_: str) -> Episode | CareError:
    care: Care = g.care
    if id_ in _episodes():
        return _episodes()[id_]
    return attempt(lambda: get_episode(care, id_))


def _in_order(ref: PatientRef, episode: Episode) -> tuple[Patient | None, Patient | None]:
    """The patient that the record names, and the other person of the treatment; nobody if the record names neither."""
    patient, partner = episode.patient, episode.partner
    if ref.patient_id is None or patient.id == ref.patient_id:
        return patient, partner
    if partner and partner.id == ref.patient_id:
        return partner, patient
    return None, None


def _age(born: date, day: date) -> int:
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))
