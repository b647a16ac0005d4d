"""What a clinic's place in the world decides: its calendar, and how its telephone numbers are read."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import phonenumbers
from sqlalchemy.orm import Session

from portal.careservice.clock import now
from portal.careservice.identity.tables import Tenant


def today(session: Session, tenant_id: str) -> date:
    """The date at the clinic."""
    return now().astimezone(ZoneInfo(session.get_one(Tenant, tenant_id).time_zone)).date()


def telephone(session: Session, tenant_id: str, number: str) -> str | None:
    """A telephone number in E.164 (`+447700900182`), as somebody in the clinic's country dials it; None for none."""
    return e164(number, session.get_one(Tenant, tenant_id).country)


def e164(number: str, country: str | None) -> str | None:
    """A telephone number in E.164, dialled in `country` (ISO 3166-1 alpha-2); None for what can't be one."""
    try:
        parsed = phonenumbers.parse(number, country)
    except phonenumbers.NumberParseException:
        return None
    if parsed.extension or not phonenumbers.is_possible_number(parsed):
        return None
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164)
