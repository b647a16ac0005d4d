"""Ending storage without a signed form: after a limit has passed, a death or a court order.

No endpoint does this, only a command that the service's operator runs on behalf of two responsible people.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import clinics
from portal.careservice.domain.columns import one_of
from portal.careservice.domain.consents.names import folded_name, has_words
from portal.careservice.domain.embryos import MOVES, EmbryoStorage
from portal.careservice.domain.enumerations import EmbryoStatus
from portal.careservice.domain.rules import Invalid
from portal.careservice.ids import new_id

ENDS = (EmbryoStatus.DISCARDED, EmbryoStatus.DONATED, EmbryoStatus.SHIPPED_OUT)
"""The final statuses other than Transferred."""


class EndReason(StrEnum):
    """Why storage ends without the patients' decision."""

    LIMIT_PASSED = "limit-passed"
    DEATH = "death"
    COURT_ORDER = "court-order"


class StorageEnd(Base):
    """An end of storage by the operator's command, with the two people responsible for it."""

    __tablename__ = "storage_ends"

    id: Mapped[Id] = mapped_column(primary_key=True, default=new_id)
    tenant_id: Mapped[str] = mapped_column(String(36))
    embryo_id: Mapped[str] = mapped_column(ForeignKey("embryo_storage.id"), index=True)
    status: Mapped[EmbryoStatus] = mapped_column(one_of(EmbryoStatus))
    reason: Mapped[EndReason] = mapped_column(one_of(EndReason))
    explanation: Mapped[str]
    first_name: Mapped[str]
    second_name: Mapped[str]
    ended_at: Mapped[datetime]


def end_storage(
    session: Session,
    embryo_id: str,
    *,
    status: EmbryoStatus,
    reason: EndReason,
    explanation: str,
    names: tuple[str, str],
) -> StorageEnd:
    """End an embryo's storage regardless of the patients' wish; raises Invalid if a requirement isn't met."""
    embryo = session.get(EmbryoStorage, embryo_id)
    if embryo is None:
        raise Invalid("There is no such embryo.", "embryo")
    if not MOVES[embryo.status]:
        raise Invalid(f"The embryo is already {embryo.status}.", "embryo")
    first, second = (name.strip() for name in names)
    if not folded_name(first) or not folded_name(second) or folded_name(first) == folded_name(second):
        raise Invalid("Two people have to be responsible for this: give two names.", "by")
    if not has_words(explanation):
        raise Invalid("Say which limit, whose death or which order it is.", "explanation")
    if reason == EndReason.LIMIT_PASSED and not _is_past_a_limit(session, embryo):
        raise Invalid("No limit of this embryo has passed.", "reason")
    end = StorageEnd(
        tenant_id=embryo.tenant_id,
        embryo_id=embryo.id,
        status=status,
        reason=reason,
        explanation=explanation.strip(),
        first_name=first,
        second_name=second,
        ended_at=now(),
    )
    session.add(end)
    embryo.status = status
    embryo.hold_cause = None
    embryo.hold_reason = None
    embryo.held_by_clinic = False
    embryo.clinic_hold_reason = None
    embryo.touch(None)
    return end


def _is_past_a_limit(session: Session, embryo: EmbryoStorage) -> bool:
    today: date = clinics.today(session, embryo.tenant_id)
    return any(
        limit is not None and limit < today
        for limit in (embryo.statutory_limit, embryo.storage_consented_until)
    )
