"""Withdrawing a consent form: by a signer of the patient's side, recorded for one by staff, or cancelled unsigned."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.consents import ends, kinds, notices
from portal.careservice.domain.consents.forms import ConsentForm, require_not_ended
from portal.careservice.domain.consents.parties import PATIENTS_SIDE
from portal.careservice.domain.enumerations import ConsentStatus, Severity, ToldBy
from portal.careservice.domain.rules import Invalid, Refused, Rule, require_stamp
from portal.careservice.domain.texts import SEVERAL_LINES
from portal.careservice.identity.tables import Person
from portal.careservice.ids import GivenId

Reason = Annotated[str, msgspec.Meta(max_length=2000, pattern=r"\S"), SEVERAL_LINES]


class Withdrawal(msgspec.Struct, rename="camel", kw_only=True):
    """A withdrawal, with a reason if the person gives one.

    Staff who record what a signer told them say for whom (`on_behalf_of`, that signer's `personId`), and when and how
    they were told.
    """

    reason: Reason | None = None
    on_behalf_of: GivenId | None = None
    told_at: datetime | None = None
    told_by: ToldBy | None = None


def revoke(session: Session, actor: Actor, form: ConsentForm, given: Withdrawal, stamp: str) -> ConsentForm:
    """Withdraw a form and notify its signers; raises Refused or Invalid."""
    ends.expire_overdue(session, form.patient_id)
    require_not_ended(form.status)
    if form.status == ConsentStatus.DRAFT:
        raise Refused(Rule.FORM_NOT_SENT)
    _require_theirs(form, actor, given)
    _require_sound(given)
    ends.require_open(session, form)
    require_stamp(form.concurrency_stamp, stamp)
    writer = session.get(Person, actor.person_id)
    form.revoked_at = now()
    form.revoke_reason = given.reason
    form.revoked_by_id = actor.person_id
    form.revoked_by_name = writer.name if writer else None
    form.on_behalf_of = given.on_behalf_of
    form.told_at = given.told_at
    form.told_by = given.told_by
    ends.leave_force(session, actor, form, ConsentStatus.REVOKED)
    notices.tell_signers(session, form, "ConsentRevoked", Severity.WARNING)
    return form


def _require_theirs(form: ConsentForm, actor: Actor, given: Withdrawal) -> None:
    """Raise Refused unless the patient's side withdraws, or none of it has signed.

    Where each of a couple has a form of their own, only who signs it may.
    """
    theirs = {signer.person_id for signer in form.required_signers if signer.role in PATIENTS_SIDE}
    if not theirs or form.folded_kind not in kinds.ONE_PERSON_SIGNS:
        theirs.add(form.patient.user_id or form.patient.id)
    if actor.is_staff:
        is_cancelled = not any(signature.role in PATIENTS_SIDE for signature in form.signatures)
        allowed = is_cancelled if given.on_behalf_of is None else given.on_behalf_of in theirs
    else:
        allowed = actor.person_id in theirs and given.on_behalf_of is None
    if not allowed:
        raise Refused(Rule.WITHDRAWAL_NOT_YOURS)


def _require_sound(given: Withdrawal) -> None:
    if given.on_behalf_of is None:
        for member, value in (("toldAt", given.told_at), ("toldBy", given.told_by)):
            if value is not None:
                raise Invalid("Only a withdrawal recorded for somebody else was told.", member)
    if given.told_at is not None and given.told_at > now():
        raise Invalid("That is in the future.", "toldAt")
