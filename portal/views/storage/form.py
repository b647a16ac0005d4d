"""The form of an embryo's record for staff."""

from __future__ import annotations

from datetime import UTC, datetime, time

from flask import g, request

from portal.dates import in_zone
from portal.i18n.gettext import _
from portal.parse import calendar_date
from portal.services.storage import NO_LOCATION, EmbryoStatus, EmbryoStorage
from portal.views.storage.moves import Moves, move_name, reason
from portal.web.fields import Fields, member, part
from portal.web.filters import local
from portal.web.forms import a_date, choice, text

LONGEST_NOTES = 10_000


def embryo_fields(embryo: EmbryoStorage, moves: Moves) -> Fields[EmbryoStorage]:
    offered = (embryo.status, *(move.status for move in moves.of(embryo) if move.is_offered))
    status = choice(
        _("Status"),
        [(str(status), move_name(embryo, status)) for status in offered],
        radios=True,
        known={str(status): move_name(embryo, status) for status in EmbryoStatus},
        wrong=_why_not(embryo, moves),
    )
    paid = text(_("Paid until"), kind="date", check=a_date)
    of, empty = "location", NO_LOCATION
    return [
        member("status", status, value=EmbryoStatus),
        part(of, empty, "facility", text(_("Facility"), longest=100)),
        part(of, empty, "tank", text(_("Tank"), longest=40)),
        part(of, empty, "canister", text(_("Canister"), longest=40)),
        part(of, empty, "cane", text(_("Cane"), longest=40)),
        part(of, empty, "position", text(_("Position"), longest=40)),
        member("storage_expires_at", paid, text=_day, value=_start_of),
        member("notes", text(_("Notes"), kind="textarea", longest=LONGEST_NOTES)),
    ]


def _day(instant: datetime | None) -> str:
    return local(instant).date().isoformat() if instant else ""


def _start_of(typed: str) -> datetime | None:
    """The start of that day at the clinic."""
    day = calendar_date(typed)
    return in_zone(datetime.combine(day, time(), tzinfo=g.tenant.time_zone), UTC) if day else None


def _why_not(embryo: EmbryoStorage, moves: Moves) -> str:
    """The error for a submitted status that isn't offered."""
    move = moves.to(embryo, EmbryoStatus(request.form.get("status") or str(embryo.status)))
    if move is None or move.is_offered:
        return _("Its present state doesn’t allow this step.")
    return " ".join(reason(embryo, lack).words for lack in move.missing)
