"""Answers stored for a day, so that a request sent twice with the same key is carried out once."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import LargeBinary, String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base
from portal.careservice.domain.rules import Invalid

KEPT_FOR = timedelta(hours=24)


class KeptAnswer(Base):
    """The answer to the first request with a key."""

    __tablename__ = "kept_answers"

    owner: Mapped[str] = mapped_column(String(160), primary_key=True)
    method: Mapped[str] = mapped_column(String(8), primary_key=True)
    path: Mapped[str] = mapped_column(String(400), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    body_hash: Mapped[str] = mapped_column(String(64))
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    kept_at: Mapped[datetime] = mapped_column(index=True)


def recall(session: Session, pending: KeptAnswer) -> bytes | None:
    """The stored answer for the key of `pending`, or None after adding `pending` to claim the key for this request.

    Of two concurrent requests the database lets one through; the other is retried and finds its answer. Raises
    Invalid if the key was used with another body.
    """
    moment = now()
    session.execute(delete(KeptAnswer).where(KeptAnswer.kept_at < moment - KEPT_FOR))
    kept = _kept(session, pending)
    if kept is None:
        pending.kept_at = moment
        pending.answer = b""
        session.add(pending)
        session.flush()
        return None
    if kept.body_hash != pending.body_hash:
        raise Invalid("This Idempotency-Key was sent with another request.", "Idempotency-Key")
    return kept.answer


def _kept(session: Session, pending: KeptAnswer) -> KeptAnswer | None:
    return session.scalars(
        select(KeptAnswer).where(
            KeptAnswer.owner == pending.owner,
            KeptAnswer.method == pending.method,
            KeptAnswer.path == pending.path,
            KeptAnswer.key == pending.key,
        )
    ).one_or_none()
