"""Webhooks that were processed, so that one delivered twice takes effect once."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import LargeBinary, String, delete
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice import database
from portal.careservice.clock import now
from portal.careservice.database import Base

KEPT_FOR = timedelta(days=30)
"""How long a delivery's answer is kept; senders stop retrying long before."""


class Delivery(Base):
    """A processed webhook and its answer; `webhook_id` is its kind and the SHA-256 of its `webhook-id`."""

    __tablename__ = "webhook_deliveries"

    webhook_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    received_at: Mapped[datetime] = mapped_column(index=True)


def recall(session: Session, kind: str, webhook_id: str) -> bytes | Delivery:
    """The answer to an earlier delivery of this webhook, or a new `Delivery` to store its answer in.

    Webhooks are processed one at a time, so that each finds the answer, sender and conversation of the one before.
    """
    database.lock_table(session, Delivery)
    moment = now()
    session.execute(delete(Delivery).where(Delivery.received_at < moment - KEPT_FOR))
    own = f"{kind}:{sha256(webhook_id.encode()).hexdigest()}"
    kept = session.get(Delivery, own)
    if kept is not None:
        return kept.answer
    taken = Delivery(webhook_id=own, answer=b"", received_at=moment)
    session.add(taken)
    return taken
