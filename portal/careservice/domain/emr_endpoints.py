"""Connections to a clinic's own electronic medical record."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.database import Base, Id
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.rules import NotThere, Refused, Rule


class EmrEndpoint(Base):
    """One connection; it can't be removed while it is synchronizing."""

    __tablename__ = "emr_endpoints"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    name: Mapped[str]
    address: Mapped[str]
    is_syncing: Mapped[bool] = mapped_column(default=False)


def remove(session: Session, actor: Actor, endpoint_id: str) -> None:
    """Delete a connection; raises Refused while it is synchronizing, NotThere if there is none."""
    endpoint = session.get(EmrEndpoint, endpoint_id)
    if endpoint is None or endpoint.tenant_id != actor.tenant_id:
        raise NotThere
    if endpoint.is_syncing:
        raise Refused(Rule.SYNC_RUNNING)
    session.delete(endpoint)
