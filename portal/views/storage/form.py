"""The form of an embryo's record for staff, and saving what it says."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from flask import g, request

from portal.dates import in_zone
from portal.i18n.gettext import _
from portal.parse import calendar_date
from portal.services.client import Care
from portal.services.storage import EmbryoStatus, EmbryoStorage, StorageLocation, update_embryo_storage
from portal.views.storage.moves import Moves, move_name, reason
from portal.views.storage.view import LOCATION, paid_until
from portal.web.forms import Fields, Values, a_date, choice, text

LONGEST_NOTES = 10_000


def values_of(embryo: EmbryoStorage) -> Values:
    """The text of each field of its form."""
    return {
        "status": str(embryo.status),
        **{f"location_{name}": getattr(embryo.location, name, "") for name in LOCATION},
        "storage_expires_at": day.isoformat() if (day := paid_until(embryo)) else "",
        "notes": embryo.notes or "",
    }


def fields_of(embryo: EmbryoStorage, moves: Moves) -> Fields:
    """The fields of its form, with the moves that are offered."""
    offered = (embryo.status, *(move.status for move in moves.of(embryo) if move.is_offered))
    return {
        "status": choice(
            _("Status"),
            [(str(status), move_name(embryo, status)) for status in offered],
            radios=True,
            known={str(status): move_name(embryo, status) for status in EmbryoStatus},
            wrong=_why_not(embryo, moves),
        ),
        "location_facility": text(_("Facility"), longest=100),
        "location_tank": text(_("Tank"), longest=40),
        "location_canister": text(_("Canister"), longest=40),
        "location_cane": text(_("Cane"), longest=40),
        "location_position": text(_("Position"), longest=40),
        "storage_expires_at": text(_("Paid until"), kind="date", check=a_date),
        "notes": text(_("Notes"), kind="textarea", longest=LONGEST_NOTES),
    }


def write(care: Care, embryo: EmbryoStorage, values: Values) -> EmbryoStorage | None:
    """Save these values over the version of the record that was read."""
    place = {name: values[f"location_{name}"] for name in LOCATION}
    status = EmbryoStatus(values["status"])
    return update_embryo_storage(
        care,
        embryo.id,
        is_move=status != embryo.status,
        status=status,
        location=StorageLocation(**place) if any(place.values()) else None,
        storage_expires_at=_instant_of(embryo, calendar_date(values["storage_expires_at"])),
        disposition=embryo.disposition,
        notes=values["notes"] or None,
        stamp=embryo.concurrency_stamp,
    )


def _instant_of(embryo: EmbryoStorage, day: date | None) -> datetime | None:
    """The instant to save for a date: the record's if the date is unchanged, else the start of that day at the clinic."""
    if day is None or day == paid_until(embryo):
        return embryo.storage_expires_at if day else None
    return in_zone(datetime.combine(day, time(), tzinfo=g.tenant.time_zone), UTC)


def _why_not(embryo: EmbryoStorage, moves: Moves) -> str:
    """The error for a submitted status that isn't offered."""
    move = moves.to(embryo, EmbryoStatus(request.form.get("status") or str(embryo.status)))
    if move is None or move.is_offered:
        return _("Its present state doesn’t allow this step.")
    return " ".join(reason(embryo, one).words for one in move.missing)
