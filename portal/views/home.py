"""Home: what needs attention now. For patients a task list and today's treatment, for staff their work list.

Its regions are read concurrently and fail independently; each can be reloaded separately.
"""

from __future__ import annotations

from flask import Blueprint, Response

from portal.services.notifications import is_pressing
from portal.views.patient_home import PATIENT_REGIONS, NeedsPage, patient_home
from portal.views.staff_home import STAFF_REGIONS, WorklistPage, staff_home
from portal.web import bell
from portal.web.handlers import Care, Person, Side, audit, render, signed_in, wants
from portal.web.htmx import target

bp = Blueprint("home", __name__)
bp.add_app_template_filter(is_pressing, "is_pressing")


@bp.get("/")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show what needs this person's attention, most urgent first."""
    regions = STAFF_REGIONS if person.is_staff else PATIENT_REGIONS
    if wants(*regions):
        name = target() or ""
        return _answer(regions[name](care, person), fragment=name)
    page = staff_home(care, person) if person.is_staff else patient_home(care, person)
    return _answer(page, unread=bell.count(person))


def _answer(
    page: NeedsPage | WorklistPage, *, fragment: str | tuple[str, ...] = (), unread: int | None = None
) -> Response:
    """Render the page and record only the records shown on it, which are fewer than were read."""
    for kind, ids in page.shown().items():
        audit.shown(f"{kind}.list", kind, ids)
    return render(page, fragment=fragment, bell=unread)
