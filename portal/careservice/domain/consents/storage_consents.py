"""Whether everyone whose consent an embryo's storage rests on agrees to it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.domain.consents import kinds
from portal.careservice.domain.consents.forms import ConsentForm, with_people
from portal.careservice.domain.consents.parties import PATIENTS_SIDE
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import ConsentStatus
from portal.careservice.domain.patients import Patient

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def is_agreed_by_all(session: Session, embryo: EmbryoStorage) -> bool:
    """Whether all who ever signed a form that stores the embryo have signed one in force since it was stopped.

    Each gamete provider signs a form of their own, so one person's new form doesn't undo the other's withdrawal.
    """
    forms = [
        form
        for form in session.scalars(
            with_people(
                select(ConsentForm).where(
                    ConsentForm.tenant_id == embryo.tenant_id, ConsentForm.patient_id == embryo.patient_id
                )
            )
        )
        if form.folded_kind in kinds.STORES
        and (form.is_about(embryo.id) or form.id == embryo.consent_form_id)
    ]
    since = embryo.stopped_at or _LONG_AGO
    in_force = [form for form in forms if form.status == ConsentStatus.SIGNED]
    return _signers(session, forms, _LONG_AGO) <= _signers(session, in_force, since)


def _signers(session: Session, forms: Iterable[ConsentForm], since: datetime) -> set[str]:
    """The records of those on the patient's side who have signed one of these forms since then."""
    ids = {
        signature.person_id
        for form in forms
        for signature in form.signatures
        if signature.role in PATIENTS_SIDE and signature.signed_at > since
    }
    of_record = session.execute(
        select(Patient.id, Patient.user_id).where(or_(Patient.id.in_(ids), Patient.user_id.in_(ids)))
    )
    records = {account: record for record, user_id in of_record for account in (record, user_id) if account}
    return {records.get(id_, id_) for id_ in ids}
