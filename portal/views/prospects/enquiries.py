"""The enquiries, as far as notifications and messages name them: who, how to reach them, and what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, Response

from portal.config.tenants import Side
from portal.services.client import Care
from portal.services.listed import Listed
from portal.services.notifications import Notification
from portal.state.session_records import Person
from portal.views.prospects.known import Known, named_in, read_enquiries
from portal.views.waiting_conversations import waiting_since
from portal.web import audit, section_counts
from portal.web.guard import signed_in
from portal.web.htmx import render
from portal.web.pages import Page
from portal.web.permissions import EDIT_PROSPECT

bp = Blueprint("enquiries", __name__)


@dataclass(frozen=True, slots=True)
class EnquiryRow:
    """An enquiry; `news` is its unread notification, `alike` the enquiry that may be of the same person.

    `waits_since` is when the first message without an answer came, None if there is none.
    """

    enquiry: Known
    at: datetime | None
    news: Notification | None
    alike: Known | None
    waits_since: datetime | None


class ListPage(Page, template="prospects/list.html"):
    """The enquiries that were read, the latest first; `is_lost` says that others may be missing."""

    found: Listed[EnquiryRow]
    is_lost: bool


@bp.get("")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def show(care: Care, person: Person) -> Response:
    """Show the enquiries."""
    read = read_enquiries(care)
    found = read.found.through(lambda enquiries: [_row(enquiry) for enquiry in enquiries])
    if read.new is not None:
        section_counts.learn(person, "/prospects", read.new)
    audit.shown("prospect.list", "prospect", [row.enquiry.id for row in found])
    for kind, ids in (
        ("notification", [news.id for row in found for news in row.enquiry.notifications]),
        ("conversation", [talk.id for row in found for talk in row.enquiry.conversations]),
    ):
        audit.shown(f"{kind}.list", kind, ids)
    return render(ListPage(found=found, is_lost=read.is_lost))


def _row(enquiry: Known) -> EnquiryRow:
    others = [merge_id for news in enquiry.notifications if (merge_id := news.datum("mergeId"))]
    other = next((id_ for id_ in others if id_ != enquiry.id), None)
    waits = [since for talk in enquiry.conversations if (since := waiting_since(talk)) and since.year > 1]
    times = [
        *(news.creation_time for news in enquiry.notifications),
        *(talk.last_message_at for talk in enquiry.conversations),
    ]
    return EnquiryRow(
        enquiry=enquiry,
        at=max((at for at in times if at), default=None),
        news=next((news for news in enquiry.notifications if not news.is_read), None),
        alike=named_in(enquiry.notifications, other) if other else None,
        waits_since=min(waits, default=None),
    )
