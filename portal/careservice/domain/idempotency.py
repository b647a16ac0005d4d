"""Answers kept for a day, so that an act sent twice under one key happens once."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import LargeBinary, String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base
from portal.careservice.domain.rules import Invalid

KEPT_FOR = timedelta(hours=24)


class KeptAnswer(Base):
    """The answer that was given to the first request under a key."""

    __tablename__ = "kept_answers"

    owner: Mapped[str] = mapped_column(String(160), primary_key=True)
    method: Mapped[str] = mapped_column(String(8), primary_key=True)
    path: Mapped[str] = mapped_column(String(400), primary_key=True)
    key: Mapped[str] = mapped_column(String(200), primary_key=True)
    body_hash: Mapped[str] = mapped_column(String(64))
    answer: Mapped[bytes] = mapped_column(LargeBinary)
    kept_at: Mapped[datetime] = mapped_column(index=True)


def recall(session: Session, mark: KeptAnswer) -> bytes | None:
    """The answer kept under `mark`'s key, or None after taking the key for this request.

    Two requests at once: the database lets one of them be done, and the other, begun anew, finds its answer. The same key with another body is invalid.
    """
    moment = now()
    session.execute(delete(KeptAnswer).where(KeptAnswer.kept_at < moment - KEPT_FOR))
    kept = _kept(session, mark)
    if kept is None:
        mark.kept_at = moment
        mark.answer = b""
        session.add(mark)
        session.flush()
        return None
    if kept.body_hash != mark.body_hash:
        raise Invalid("This Idempotency-Key was sent with another request.", "Idempotency-Key")
    return kept.answer


def _kept(session: Session, mark: KeptAnswer) -> KeptAnswer | None:
    return session.scalars(
        select(KeptAnswer).where(
            KeptAnswer.owner == mark.owner,
            KeptAnswer.method == mark.method,
            KeptAnswer.path == mark.path,
            KeptAnswer.key == mark.key,
        )
    ).one_or_none()
