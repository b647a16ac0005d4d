"""The clinics' sample records, dated relative to now so that they are always current."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from portal.careservice.sample import background, couple, ended, frozen, harbour, morning, staff
from portal.careservice.sample.clinic import Clinic


def add(session: Session, now: datetime) -> None:
    """Add the sample records to a database that holds the sample people."""
    riverside = Clinic(session, "riverside", now, "Europe/London")
    staff.add_physicians(riverside)
    staff.add_prospects(riverside)
    staff.add_emr_endpoints(riverside)
    couple.add(riverside)
    frozen.add(riverside)
    background.add(riverside)
    ended.add(riverside)
    morning.add(riverside)
    riverside.add_addresses()
    pier = Clinic(session, "harbour", now, "Europe/London")
    staff.add_physicians(pier)
    staff.add_emr_endpoints(pier)
    harbour.add(pier)
    pier.add_addresses()
