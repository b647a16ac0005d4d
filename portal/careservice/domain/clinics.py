"""What depends on a clinic's location: today's date, and how telephone numbers are read."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import phonenumbers
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity.tables import Tenant


def today(session: Session, tenant_id: str) -> date:
    """Today's date in the clinic's time zone."""
    return now().astimezone(ZoneInfo(session.get_one(Tenant, tenant_id).time_zone)).date()


def telephone(session: Session, tenant_id: str, number: str) -> str | None:
    """A number as dialled in the clinic's country, in E.164 (`+447700900182`); None if it isn't a possible number."""
    return e164(number, session.get_one(Tenant, tenant_id).country)


def e164(number: str, country: str | None) -> str | None:
    """A number as dialled in `country` (ISO 3166-1 alpha-2), in E.164; None if it isn't a possible number."""
    try:
        parsed = phonenumbers.parse(number, country)
    except phonenumbers.NumberParseException:
        return None
    if parsed.extension or not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
