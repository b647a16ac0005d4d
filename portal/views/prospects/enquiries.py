"""The enquiries of which notifications and messages tell: who, how to reach them, and what to do about them."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response

from portal.services.listed import Listed
from portal.services.notifications import Notification
from portal.values import Value
from portal.views.prospects.enquiry import Enquiry, named_in, read_enquiries
from portal.views.waiting_conversations import waiting_since
from portal.web import section_counts
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.permissions import EDIT_PROSPECT

bp = Blueprint("enquiries", __name__)

_NEVER = datetime.min.replace(tzinfo=UTC)


class EnquiryRow(Value, frozen=True):
    """An enquiry; `at` is when it last told of itself, `waits` whether a message has no answer yet.

    `news` is its unread notification, `alike` the enquiry that may be of the same person.
    """

    enquiry: Enquiry
    at: datetime | None
    news: Notification | None
    alike: Enquiry | None
    waits: bool


class ListPage(Page, template="prospects/list.html"):
    """The enquiries that were read: those that wait for an answer, then the others, the latest first.

    `is_lost` says that others may be missing.
    """

    found: Listed[EnquiryRow]
    is_lost: bool


@bp.get("")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def show(care: Care, person: Person) -> Response:
    read = read_enquiries(care)
    found = read.found.through(lambda enquiries: _in_order([_row(enquiry) for enquiry in enquiries]))
    if read.new is not None:
        section_counts.learn(person, "/prospects", read.new)
    shown = [enquiry.id for row in found for enquiry in (row.enquiry, row.alike) if enquiry]
    audit.shown("prospect.list", "prospect", shown)
    for kind, ids in (
        ("notification", [news.id for row in found for news in row.enquiry.notifications]),
        ("conversation", [talk.id for row in found for talk in row.enquiry.conversations]),
    ):
        audit.shown(f"{kind}.list", kind, ids)
    return render(ListPage(found=found, is_lost=read.is_lost))


def _in_order(rows: list[EnquiryRow]) -> list[EnquiryRow]:
    return sorted(rows, key=lambda row: (row.waits, row.at or _NEVER), reverse=True)


def _row(enquiry: Enquiry) -> EnquiryRow:
    own = [news for news in enquiry.notifications if news.is_about("Prospect", enquiry.id)]
    others = [merge_id for news in enquiry.notifications if (merge_id := news.datum("mergeId"))]
    other = next((id_ for id_ in others if id_ != enquiry.id), None)
    times = [*(news.creation_time for news in own), *(talk.last_message_at for talk in enquiry.conversations)]
    return EnquiryRow(
        enquiry=enquiry,
        at=max((at for at in times if at), default=None),
        news=next((news for news in own if not news.is_read), None),
        alike=named_in(enquiry.notifications, other) if other else None,
        waits=any(map(waiting_since, enquiry.conversations)),
    )
