"""Calls that were taken, so that one delivered twice has its effect once."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import LargeBinary, String, delete
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.database import Base

KEPT_FOR = timedelta(days=30)
"""How long a delivery's answer is kept; senders give up long before."""


class Delivery(Base):
    """A call that was taken, by its kind and `webhook-id`, and what it was answered.

    `webhook_id` is the kind with the id's SHA-256; of those taken before kinds were told apart, the id itself.
    """

    __tablename__ = "webhook_deliveries"

    webhook_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    received_at: Mapped[datetime] = mapped_column(index=True)


def recall(session: Session, kind: str, webhook_id: str) -> bytes | Delivery:
    """The answer that this delivery got before, or a `Delivery` to keep its answer in.

    Calls are taken one after the other, so that of two the second finds the first's answer, sender and conversation.
    """
    database.lock_table(session, Delivery)
    moment = now()
    session.execute(delete(Delivery).where(Delivery.received_at < moment - KEPT_FOR))
    own = f"{kind}:{sha256(webhook_id.encode()).hexdigest()}"
    kept = session.get(Delivery, own) or session.get(Delivery, webhook_id)
    if kept is not None:
        return kept.answer
    taken = Delivery(webhook_id=own, answer=b"", received_at=moment)
    session.add(taken)
    return taken
