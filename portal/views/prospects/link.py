"""Making a link that lets an enquirer book without signing in (`portal.views.booking`)."""

from __future__ import annotations

from datetime import datetime, timedelta

from flask import Blueprint, Response, g, request, url_for

from portal.context import context
from portal.parse import whole_number
from portal.services.errors import NotOffered
from portal.values import Value
from portal.views.booking.link import links
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.permissions import EDIT_PROSPECT

bp = Blueprint("link", __name__)

_DAYS = (2, 7, 14, 30)
_USUAL_DAYS = 7


class LinkCard(Value, frozen=True):
    """Whether the clinic offers booking links, their possible lifetimes, and the link just made."""

    is_offered: bool
    days: int = _USUAL_DAYS
    choices: tuple[int, ...] = _DAYS
    address: str = ""
    expires_at: datetime | None = None

    @classmethod
    def empty(cls) -> LinkCard:
        return cls(is_offered=g.tenant.service_client is not None)


class LinkPage(Page, template="prospects/book_link.html"):
    prospect_id: str
    link: LinkCard


@bp.get("/<record:prospect_id>/book-link")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def show(care: Care, person: Person, prospect_id: str) -> Response:
    """Ask how long a booking link should be valid."""
    return _page(prospect_id, LinkCard.empty())


@bp.post("/<record:prospect_id>/book-link")
@signed_in(Side.STAFF, roles=EDIT_PROSPECT)
def make(care: Care, person: Person, prospect_id: str) -> Response:
    """Make a link that lets the enquirer book without signing in."""
    days = whole_number(request.form.get("days"))
    if days not in _DAYS:
        return _page(prospect_id, LinkCard.empty(), status=422)
    if g.tenant.service_client is None:
        raise NotOffered(about_record=False)
    audit.assure()
    lifetime = timedelta(days=days)
    signed = links().make(clinic=g.tenant.key, prospect_id=prospect_id, lifetime=lifetime)
    audit.note("booking-link.create", "done", kind="prospect", id_=prospect_id)
    made = LinkCard(
        is_offered=True,
        days=days,
        address=url_for("booking.show", signed=signed, _external=True),
        expires_at=datetime.fromtimestamp(context().clock(), g.tenant.time_zone) + lifetime,
    )
    return _page(prospect_id, made)


def _page(prospect_id: str, card: LinkCard, *, status: int = 200) -> Response:
    audit.shown("prospect.read", "prospect", prospect_id)
    return render(LinkPage(prospect_id=prospect_id, link=card), fragment="link", status=status)
