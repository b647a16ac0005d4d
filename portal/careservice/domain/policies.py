"""Each clinic's own policies."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.database import Base, Id


class ClinicPolicy(Base):
    """A clinic's policy; a clinic without a row has the defaults, which disclose least."""

    __tablename__ = "clinic_policies"

    tenant_id: Mapped[Id] = mapped_column(primary_key=True)
    discloses_sex: Mapped[bool] = mapped_column(default=False)
    modules_off: Mapped[list[str]] = mapped_column(default=list)


def discloses_sex(session: Session, tenant_id: str) -> bool:
    """Whether the clinic discloses the sex of embryos at all."""
    policy = session.get(ClinicPolicy, tenant_id)
    return policy is not None and policy.discloses_sex


def modules_off(session: Session, tenant_id: str) -> list[str]:
    """The parts of the service that the clinic doesn't use."""
    policy = session.get(ClinicPolicy, tenant_id)
    return policy.modules_off if policy is not None else []
