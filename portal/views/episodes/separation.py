"""What a separation leaves open in a treatment under way: embryos, and forms of a partner with whom nothing is shared any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from msgspec.structs import replace

from portal.services.client import Care
from portal.services.consents import list_forms_of
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.episodes import ConsentBrief, Episode
from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.services.listed import Listed
from portal.services.relationships import PARTNERS, Relationship
from portal.values import Value
from portal.views.consents.labels import whose
from portal.web.filters import local, today

NOT_READ: Listed[ConsentForm] = Listed((), is_whole=False)

_OVER = (ConsentStatus.REVOKED, ConsentStatus.EXPIRED, ConsentStatus.SUPERSEDED)


class Separation(Value, frozen=True):
    """Who they are, since when nothing is shared, how many embryos are kept, and the forms.

    `waiting` are the forms that wait for their signature, as far as they were read; `review` are all others that stand. `whose`
    says by a form's id whose it is.
    """

    name: str
    since: date
    embryos: int
    waiting: Listed[ConsentForm]
    review: tuple[ConsentBrief, ...]
    whose: Mapping[str, str]


def ended_sharing(episode: Episode, day: date) -> Relationship | None:
    """The patient's relationship that ended last in a treatment under way, unless something is shared with that person again.

    One that had ended before the treatment, and before its embryos were frozen, has nothing to do with it.
    """
    if episode.is_ended:
        return None
    theirs = [relationship for relationship in _of_patient(episode) if relationship.type in PARTNERS]
    live = [relationship for relationship in theirs if not relationship.is_ended(day)]
    ended = [
        relationship
        for relationship in theirs
        if relationship.is_ended(day)
        and _is_of_treatment(relationship, episode)
        and not any(relationship.is_between_same_people(other) for other in live)
    ]
    return max(ended, key=lambda relationship: relationship.end_date or date.min, default=None)


def _of_patient(episode: Episode) -> Iterator[Relationship]:
    """The patient's relationships, seen from the patient: one with the partner may stand on the partner's record."""
    patient, partner = episode.patient, episode.partner
    for relationship in episode.relationships:
        if relationship.related_patient_id == patient.id:
            if partner and relationship.patient_id == partner.id:
                yield replace(
                    relationship,
                    patient_id=patient.id,
                    related_patient_id=partner.id,
                    related_name=partner.full_name,
                )
        elif relationship.patient_id in (None, patient.id):
            yield relationship


def _is_of_treatment(relationship: Relationship, episode: Episode) -> bool:
    if episode.start_date is None or relationship.end_date is None:
        return True
    kept = [embryo for embryo in episode.embryos if not embryo.is_terminal]
    frozen = [local(embryo.cryopreserved_at).date() for embryo in kept if embryo.cryopreserved_at]
    return min([episode.start_date, *frozen]) < relationship.end_date


def separation_of(episode: Episode, forms: Listed[ConsentForm]) -> Separation | None:
    """Return what rests on a partner with whom sharing has ended; None while nothing does."""
    ended = ended_sharing(episode, today())
    if ended is None or ended.end_date is None:
        return None
    partner = episode.partner if episode.partner and episode.partner.id == ended.related_patient_id else None
    ids = {partner.user_id, partner.id} if partner else {ended.related_patient_id}
    waiting = forms.where(
        lambda form: (
            form.is_open
            and any(signer.person_id and signer.person_id in ids for signer in form.missing_signers)
        )
    )
    told = {form.id for form in waiting}
    return Separation(
        name=ended.related_name or (partner.full_name if partner else ""),
        since=ended.end_date,
        embryos=sum(not embryo.is_terminal for embryo in episode.embryos),
        waiting=waiting,
        review=tuple(
            form for form in episode.consent_forms if form.status not in _OVER and form.id not in told
        ),
        whose={form.id: whose(form) for form in forms},
    )


def read_forms(care: Care, episode: Episode) -> Listed[ConsentForm]:
    """Read an episode's forms where sharing has ended in it."""
    if ended_sharing(episode, today()) is None:
        return NOT_READ
    forms = attempt(lambda: list_forms_of(care, episode.id))
    return NOT_READ if isinstance(forms, CareError) else forms
