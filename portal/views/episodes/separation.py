"""What a separation leaves open in a treatment under way: embryos, and forms of a partner with whom nothing is shared any more."""

from __future__ import annotations

from datetime import date

from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.episodes import ConsentBrief, Episode
from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.services.listed import Listed
from portal.services.relationships import PARTNERS, Relationship
from portal.values import Value
from portal.web.filters import today

NOT_READ: Listed[ConsentForm] = Listed((), is_whole=False)

_OVER = (ConsentStatus.REVOKED, ConsentStatus.EXPIRED, ConsentStatus.SUPERSEDED)


class Separation(Value, frozen=True):
    """Who they are, since when nothing is shared, how many embryos are kept, and the forms.

    `waiting` are the forms that wait for their signature, as far as they were read; `review` are all others that stand.
    """

    name: str
    since: date
    embryos: int
    waiting: Listed[ConsentForm]
    review: tuple[ConsentBrief, ...]


def ended_sharing(episode: Episode, day: date) -> Relationship | None:
    """The relationship of a treatment under way that ended last, unless something is shared with that person again."""
    theirs = [
        relationship
        for relationship in episode.relationships
        if relationship.type in PARTNERS and not episode.is_ended
    ]
    live = {relationship.related_patient_id for relationship in theirs if not relationship.is_ended(day)}
    ended = [
        relationship
        for relationship in theirs
        if relationship.is_ended(day) and relationship.related_patient_id not in live
    ]
    return max(ended, key=lambda relationship: relationship.end_date or date.min, default=None)


def separation_of(episode: Episode, forms: Listed[ConsentForm]) -> Separation | None:
    """Return what rests on a partner with whom sharing has ended; None while nothing does."""
    ended = ended_sharing(episode, today())
    if ended is None or ended.end_date is None:
        return None
    partner = episode.partner if episode.partner and episode.partner.id == ended.related_patient_id else None
    ids = {partner.user_id or partner.id} if partner else {ended.related_patient_id}
    waiting = forms.where(
        lambda form: any(signer.person_id in ids for signer in form.missing_signers) and form.is_open
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
    )


def read_forms(care: Care, episode: Episode) -> Listed[ConsentForm]:
    """Read an episode's forms where sharing has ended in it."""
    if ended_sharing(episode, today()) is None:
        return NOT_READ
    forms = attempt(lambda: list_consents(care, episode_id=episode.id, limit=100))
    return NOT_READ if isinstance(forms, CareError) else forms.listed
