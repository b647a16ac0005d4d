"""Ending a form: whatever it allowed and hasn't been done yet goes on hold.

Withdrawing, superseding and expiring all end a form here. What was carried out stays as it is.
"""

from __future__ import annotations

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import kinds
from portal.careservice.domain.consents.forms import OPEN, ConsentForm
from portal.careservice.domain.embryos import FINAL_WISHES, MOVES, EmbryoStorage, HoldCause, hold
from portal.careservice.domain.enumerations import CareStatus, ConsentStatus, Disposition
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.rules import Refused, Rule

_OVER = frozenset({CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR})


def leave_force(
    session: Session,
    actor: Actor | None,
    form: ConsentForm,
    end: ConsentStatus,
    *,
    successor: ConsentForm | None = None,
) -> None:
    """End a form as Revoked, Superseded or Expired; `actor` is None for the time that ran out.

    Embryos still at the clinic that it allowed to be stored, used or given away go on hold, unless the successor
    names them, and what it decided about them is undecided again. A withdrawn Treatment form also puts its
    Active episode on hold.
    """
    by = actor.sub if actor else None
    embryos = _embryos_under(session, form)
    was_signed = form.status == ConsentStatus.SIGNED
    form.status = end
    form.superseded_by_id = successor.id if successor else None
    form.touch(by)
    for embryo in embryos:
        if not MOVES[embryo.status]:
            continue
        if was_signed and embryo.disposition == form.disposition and embryo.disposition in FINAL_WISHES:
            embryo.disposition = Disposition.UNDECIDED
            embryo.touch(by)
        if successor is None or not successor.is_about(embryo.id):
            hold(embryo, _CAUSES[end], by)
    if was_signed and end == ConsentStatus.REVOKED and form.folded_kind == kinds.TREATMENT:
        _hold_treatment(session, form, by)


def expire_overdue(session: Session, patient_id: str) -> None:
    """End the patient's forms whose time to be signed is over; acts on forms and embryos call this first."""
    overdue = session.scalars(
        select(ConsentForm)
        .where(
            ConsentForm.patient_id == patient_id,
            ConsentForm.status.in_(OPEN),
            ConsentForm.expires_at <= now(),
        )
        .order_by(ConsentForm.id)
    ).all()
    for form in overdue:
        leave_force(session, None, form, ConsentStatus.EXPIRED)


def require_open(session: Session, form: ConsentForm) -> None:
    """Raise Refused if everything that a Signed form allows has been carried out."""
    if not is_open(session, form):
        raise Refused(Rule.CONSENT_ACTED_UPON)


def is_open(session: Session, form: ConsentForm) -> bool:
    """Whether a form still allows anything, or waits for signatures.

    Embryos are open until transferred, discarded, donated or shipped out; a treatment without embryos, until its
    episode is over. Other forms without embryos are always open.
    """
    if form.status != ConsentStatus.SIGNED:
        return True
    if embryos := _embryos_under(session, form):
        return any(MOVES[embryo.status] for embryo in embryos)
    if form.folded_kind == kinds.TREATMENT and form.episode_id is not None:
        episode = session.get(Episode, form.episode_id)
        return episode is None or episode.status not in _OVER
    return True


_CAUSES = {
    ConsentStatus.REVOKED: HoldCause.WITHDRAWAL,
    ConsentStatus.SUPERSEDED: HoldCause.CONSENT_ENDED,
    ConsentStatus.EXPIRED: HoldCause.CONSENT_ENDED,
}


def _embryos_under(session: Session, form: ConsentForm) -> list[EmbryoStorage]:
    """The embryos that stand under the form: stored under it or, if it is Signed, named by it."""
    allows = form.status == ConsentStatus.SIGNED and form.folded_kind in kinds.ALLOWS_MOVES | kinds.STORES
    named = form.embryo_storage_ids if allows else None
    found = session.scalars(
        select(EmbryoStorage)
        .where(
            EmbryoStorage.tenant_id == form.tenant_id,
            EmbryoStorage.patient_id == form.patient_id,
            or_(EmbryoStorage.consent_form_id == form.id, EmbryoStorage.id.in_(named or ())),
        )
        .order_by(EmbryoStorage.id)
    )
    return list(found)


def _hold_treatment(session: Session, form: ConsentForm, by: str | None) -> None:
    episode = session.get(Episode, form.episode_id) if form.episode_id else None
    if episode is not None and episode.status == CareStatus.ACTIVE:
        episode.status = CareStatus.ON_HOLD
        episode.stopped_at = form.revoked_at
        episode.touch(by)
