"""How a person may end a consent form: withdraw, decline, record a withdrawal, or cancel."""

from __future__ import annotations

from enum import StrEnum

from portal.services.cases import CareStatus
from portal.services.consents.forms import (
    CLINIC_ROLES,
    NAMING_KINDS,
    UNKNOWN_ACCOUNT,
    ConsentForm,
    ConsentKind,
)
from portal.services.episodes import Episode
from portal.services.rules.signing import STATUS_UNKNOWN, Obstacle, end_of
from portal.state.session_records import Person

_OVER = (CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR)


class Ending(StrEnum):
    """What ending a form means for a person."""

    WITHDRAW = "withdraw"
    DECLINE = "decline"
    """A signer of the patient's side hasn't signed yet."""
    RECORD = "record"
    """Staff record what a signer of the patient's side told them."""
    CANCEL = "cancel"
    """Staff end a form that nobody of the patient's side has signed."""

    @property
    def is_withdrawal(self) -> bool:
        """Whether a signer takes back their own consent."""
        return self is Ending.WITHDRAW

    @property
    def is_decline(self) -> bool:
        """Whether somebody who is asked to sign doesn't want to."""
        return self is Ending.DECLINE

    @property
    def is_recorded(self) -> bool:
        """Whether staff record what a signer told them."""
        return self is Ending.RECORD

    @property
    def is_cancellation(self) -> bool:
        """Whether staff cancel what no patient has signed."""
        return self is Ending.CANCEL


def ending_of(form: ConsentForm, person: Person) -> Ending | None:
    """How `person` can end the form; None if it isn't theirs to end, whatever its status."""
    if person.is_staff:
        if not form.is_signed_by_patients_side and not form.lacks_signatures:
            return Ending.CANCEL
        return Ending.RECORD if any(signer.person_id for signer in form.patients_side) else None
    roles = {signer.role for signer in form.required_signers if signer.person_id == person.sub}
    if (roles and roles <= CLINIC_ROLES) or is_for_others_alone(form, person):
        return None
    is_asked = form.is_signer(person.sub) and not (form.signature_of(person.sub) or form.lacks_signatures)
    return Ending.DECLINE if is_asked else Ending.WITHDRAW


def is_for_others_alone(form: ConsentForm, person: Person) -> bool:
    """Whether everyone who signs for the patient's side is known to be somebody else.

    A signer may be named by a patient's record instead of an account, and that record may be the person's own.
    """
    records = {form.patient_id, form.partner_id}
    signatures = ((signer, form.signature_for(signer)) for signer in form.patients_side)
    ids = {signer.person_id or (signature and signature.person_id) for signer, signature in signatures}
    are_known = all(id_ and not id_.startswith(UNKNOWN_ACCOUNT) for id_ in ids)
    are_accounts = person.sub in records or not ids & records
    return bool(ids) and are_known and are_accounts and not form.is_signer(person.sub)


def obstacle_to_ending(form: ConsentForm, person: Person, episode: Episode | None = None) -> Obstacle | None:
    """What keeps `person` from ending the form; `episode`, if read, shows what has been carried out."""
    if ended := end_of(form):
        return ended
    if not form.is_revocable:
        return Obstacle("FormNotSent" if form.status.known else STATUS_UNKNOWN)
    if ending_of(form, person) is None:
        return Obstacle("WithdrawalNotYours")
    return Obstacle("ConsentActedUpon") if is_carried_out(form, episode) else None


def is_carried_out(form: ConsentForm, episode: Episode | None) -> bool:
    """Whether nothing that a signed form allows is open any more, as far as its episode shows."""
    if not form.is_signed or episode is None:
        return False
    if form.kind not in NAMING_KINDS:
        return False
    named = set(form.embryo_storage_ids or ())
    under = [embryo for embryo in episode.embryos if embryo.id in named or embryo.consent_form_id == form.id]
    if under or named:
        return named <= {embryo.id for embryo in under} and all(embryo.is_terminal for embryo in under)
    return form.kind == ConsentKind.TREATMENT and episode.status in _OVER
