"""The clinics' sample records."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session


def add(session: Session, now: datetime) -> None:
    """Add the sample records to an empty database, dated around `now`."""
