"""The page of one conversation, and of what arrives while it is open."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, url_for
from markupsafe import Markup
from msgspec import structs

from portal.i18n.gettext import _
from portal.services.conversations import Conversation
from portal.values import Value
from portal.views.conversations.view import Bubble, Row, Thread, others_in, row_of, subject_of, thread_of
from portal.views.recent import name_opened
from portal.web.handlers import Page, Person, audit, render


class News(Value, frozen=True):
    """Messages that arrived while the thread was open: how many since the last one seen, and the first of them.

    `known` is the newest message that the page has.
    """

    known: str
    since: str = ""
    count: int = 0
    first: str = ""


_PART, _MOST_UNREAD = 50, 200
"""The most messages on a page, as some APIs send all that there ever were; more of a conversation's newest if they are unread."""


class ThreadPage(Page, template="conversations/show.html", about="thread"):
    """One conversation, for staff beside the others; `shown` are its messages, or only the new ones.

    Of a long one those `before` a message, or the newest; `earlier` leads to those before them, or says that they can't be
    read. Only the newest are marked as read.
    """

    thread: Thread
    shown: list[Bubble]
    news: News
    opened: bool
    just_read: int
    beside: list[Row]
    consequences: list[str]
    before: str
    earlier: str


def show_thread(
    conversation: Conversation,
    person: Person,
    *,
    opened: bool = False,
    beside: Sequence[Conversation] = (),
    before: str = "",
) -> Response:
    """The thread as a page or a fragment; `opened` ones don't request to be marked as read again.

    `beside` are the conversations shown beside it; of a long thread, the messages `before` the one with this id are shown.
    """
    audit.shown("conversation.read", "conversation", conversation.id)
    audit.shown("conversation.list", "conversation", [row.id for row in beside])
    name_opened(next(iter(others_in(conversation, person)), ""), subject_of(conversation))
    page = page_of(conversation, person, opened=opened, beside=beside, before=before)
    return render(page, fragment="thread")


def page_of(
    conversation: Conversation,
    person: Person,
    *,
    opened: bool = True,
    just_read: int = 0,
    beside: Sequence[Conversation] = (),
    news: News | None = None,
    shown: list[Bubble] | None = None,
    before: str = "",
) -> ThreadPage:
    messages = conversation.in_order
    ids = [message.id for message in messages]
    end = ids.index(before) if before in ids else len(ids)
    is_newest = end == len(ids)
    most = max(_PART, min(conversation.unread_count, _MOST_UNREAD)) if is_newest else _PART
    part = messages[max(0, end - most) : end]
    thread = thread_of(structs.replace(conversation, messages=part), person)
    return ThreadPage(
        thread=thread,
        shown=thread.bubbles if shown is None else shown,
        news=news or News(known=conversation.newest_id),
        opened=opened or not is_newest,
        just_read=just_read,
        beside=[row_of(row, person) for row in beside],
        consequences=consequences_of_archiving(),
        before="" if is_newest else before,
        earlier=_link_to_earlier(conversation, part[0].id) if end > most else _of_unread(conversation),
    )


def _link_to_earlier(conversation: Conversation, before: str) -> Markup:
    href = url_for("conversations.show", conversation_id=conversation.id, before=before)
    return Markup('<a href="{}">{}</a>').format(href, _("Earlier messages"))


def _of_unread(conversation: Conversation) -> str:
    """What is said of messages before those that the API gave."""
    return "" if conversation.is_whole else _("There may be earlier messages. They can’t be read here.")


def bubbles_after(conversation: Conversation, person: Person, id_: str) -> list[Bubble]:
    """The messages after this one, which may be archived; all if it is empty, none if it is unknown."""
    ids = [message.id for message in conversation.in_order]
    if id_ and id_ not in ids:
        return []
    later = set(ids[ids.index(id_) + 1 :] if id_ else ids)
    return [bubble for bubble in thread_of(conversation, person).bubbles if bubble.id in later]


def consequences_of_archiving() -> list[str]:
    return [
        _("It leaves your inbox. You can still read it under Archived, and put it back."),
        _("Nothing changes for the others in the conversation."),
    ]
