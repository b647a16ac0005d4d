"""The inbox as a page, and what it lists."""

from __future__ import annotations

from flask import Response, request

from portal.services import decoding
from portal.services.conversations import Conversation, list_conversations
from portal.services.listed import Count
from portal.services.paging import read_every_page
from portal.views.chosen_patient import ChosenPatient, read_page_of
from portal.views.conversations.view import Row, waiting_row
from portal.views.waiting_conversations import read_waiting
from portal.web import new_messages
from portal.web.filters import in_a_row
from portal.web.handlers import Care, Page, Person, audit, render

PAGE = 20
"""Conversations on a page."""


class InboxPage(Page, template="conversations/inbox.html", about="chosen"):
    """One page of the inbox or archive; for staff also the waiting ones (`is_waiting`), or those of a chosen patient.

    `newest` is its newest message, after which the page polls for more. `words_of_search` says which conversations were
    searched for waiting ones, empty if all were; `mine` leaves out those without this person.
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
    words_of_search: str = ""
    words_of_none: str = ""
    chosen: ChosenPatient | None = None


def current_page(care: Care, text: str, number: int) -> decoding.PagedResult[Conversation]:
    """Read one page of the conversations, newest first. Raises CareError."""
    return list_conversations(care, skip=(number - 1) * PAGE, limit=PAGE, text=text or None)


def page_of_patient(
    care: Care, chosen: ChosenPatient, text: str, number: int
) -> decoding.PagedResult[Conversation]:
    """Read one page of a patient's conversations, archived ones too, newest first. Raises CareError."""
    return read_page_of(
        chosen,
        lambda skip, limit: list_conversations(
            care, skip=skip, limit=limit, text=text or None, include_archived=True
        ),
        lambda conversation, chosen: (
            conversation.patient_id == chosen.id
            or conversation.episode_id in chosen.episode_ids
            or chosen.takes_part(participant.id for participant in conversation.participants)
        ),
        (number - 1) * PAGE,
        PAGE,
    )


def archived_page(care: Care, text: str, number: int) -> decoding.PagedResult[Conversation]:
    """Read one page of only the archived ones, which the API doesn't list separately. Raises CareError."""
    everything = read_every_page(
        lambda skip, limit: list_conversations(
            care, skip=skip, limit=limit, text=text or None, include_archived=True
        )
    )
    archived = everything.where(lambda conversation: conversation.is_archived)
    start = (number - 1) * PAGE
    return decoding.PagedResult(
        items=archived.items[start : start + PAGE],
        total_count=len(archived.items),
        is_counted=archived.is_whole,
    )


def show_waiting(care: Care, person: Person, number: int) -> Response:
    waiting = read_waiting(care, person)
    newest = waiting.searched[:PAGE]
    mine = request.args.get("mine") == "1"
    listed = waiting.conversations.where(
        lambda conversation: not mine or conversation.conversation.names(person.sub)
    )
    found, start = listed.count, (number - 1) * PAGE
    shown = listed.items[start : start + PAGE]
    if number == 1:
        new_messages.learn(person, newest)
    audit.shown("conversation.list", "conversation", [row.conversation.id for row in shown])
    return render(
        InboxPage(
            rows=[waiting_row(row, person) for row in shown],
            found=found,
            q="",
            archived=False,
            page=number,
            pages=max(1, -(-found.number // PAGE)),
            newest=new_messages.newest_of(newest) if number == 1 else None,
            has_news=False,
            is_waiting=True,
            mine=mine,
            words_of_search=in_a_row(filter(None, (waiting.words_of_search, waiting.words_of_untold)), " "),
            words_of_none=waiting.words_of_none(mine=mine),
        ),
        fragment="inbox",
    )
