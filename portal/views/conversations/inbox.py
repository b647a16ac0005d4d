"""The inbox as a page, and what it lists."""

from __future__ import annotations

from portal.services import decoding
from portal.services.client import Care
from portal.services.conversations import Conversation, list_conversations
from portal.services.listed import Count
from portal.services.paging import read_every_page
from portal.views.conversations.view import Row
from portal.web.pages import Page

PAGE = 20
"""Conversations on a page."""


class InboxPage(Page, template="conversations/inbox.html"):
    """One page of the inbox or archive; for staff also the waiting ones (`is_waiting`).

    `newest` is its newest message, after which the page polls for more. `covers` is how many conversations were searched
    for waiting ones, None if all were; `mine` leaves out those without this person.
    """

    rows: list[Row]
    found: Count
    q: str
    archived: bool
    page: int
    pages: int
    newest: str | None
    has_news: bool
    is_waiting: bool = False
    mine: bool = False
    covers: int | None = None


def current_page(care: Care, text: str, number: int) -> decoding.Page[Conversation]:
    """Read one page of the conversations, newest first. Raises CareError."""
    return list_conversations(care, skip=(number - 1) * PAGE, limit=PAGE, text=text or None)


def archived_page(care: Care, text: str, number: int) -> decoding.Page[Conversation]:
    """Read one page of only the archived ones, which the API doesn't list separately. Raises CareError."""
    everything = read_every_page(
        lambda skip, limit: list_conversations(
            care, skip=skip, limit=limit, text=text or None, include_archived=True
        )
    )
    archived = everything.where(lambda conversation: conversation.is_archived)
    start = (number - 1) * PAGE
    return decoding.Page(
        items=archived.items[start : start + PAGE],
        total_count=len(archived.items),
        is_counted=archived.is_whole,
    )
