"""Conversations waiting for the clinic: those whose latest message is from outside and has no reply yet."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup, escape

from portal.i18n.gettext import _, ngettext
from portal.services.client import Care
from portal.services.conversations import Conversation, Message, MessageSide, list_conversations
from portal.services.listed import Listed
from portal.services.rules.danger_signs import danger_words, excerpt
from portal.state.session_records import Person
from portal.values import Value
from portal.web import section_counts
from portal.web.not_given import not_given
from portal.web.permissions import may
from portal.web.plain_text import plain_text

MOST = 200
"""How many of the newest conversations are searched; each comes with its messages, so one call is enough."""

_NEVER = datetime.min.replace(tzinfo=UTC)


class WaitingConversation(Value, frozen=True):
    """A conversation and the messages in it without a reply, oldest first; `danger` are the words of danger in them, or
    in the subject that they came with."""

    conversation: Conversation
    unanswered: tuple[Message, ...]
    danger: tuple[str, ...]

    @property
    def since(self) -> datetime:
        """When the first of them came; the year 1 if that isn't known."""
        return self.unanswered[0].sent_at or self.conversation.last_message_at or _NEVER

    @property
    def excerpt(self) -> Markup:
        """Part of the message with a word of danger, which is marked, else of the first without a reply."""
        texts = [plain_text(message.body) for message in self.unanswered]
        pieces = excerpt(next((text for text in texts if danger_words(text)), texts[0]))
        return Markup("").join(
            Markup("<mark>{}</mark>").format(words) if is_danger else escape(words)
            for words, is_danger in pieces
        )


class Waiting(Value, frozen=True):
    """The waiting conversations: those with words of danger first, then longest first.

    `newest` are all that were searched, newest first.
    """

    conversations: Listed[WaitingConversation]
    newest: tuple[Conversation, ...]

    @property
    def covers(self) -> int | None:
        """How many conversations were searched, None if all."""
        return None if self.conversations.is_whole else len(self.newest)

    def words_of_none(self, *, mine: bool = False) -> str:
        """What is to be said where none, or none of one's own, was found.

        An API that doesn't tell patients' messages from the clinic's shows none.
        """
        if _is_untold(self.newest):
            return _(
                "The clinic’s system doesn’t say which messages are from patients, so which of them wait for an answer isn’t known here."
            )
        if mine:
            return (
                _("None of your conversations waits for an answer.")
                if self.covers is None
                else _("Among the newest conversations none of yours waits for an answer.")
            )
        if self.covers is None:
            return _("Every conversation has been answered.")
        return ngettext(
            "The newest conversation has been answered.",
            "The newest %(num)s conversations have been answered.",
            self.covers,
        )


def read_waiting(care: Care, person: Person) -> Waiting:
    """Search the newest conversations for waiting ones. Raises CareError."""
    page = list_conversations(care, limit=MOST).listed
    found = page.through(_in_order)
    waiting = Waiting(Listed(found.items, is_whole=found.is_whole and not _is_untold(page.items)), page.items)
    if may(person, "message.answer"):
        section_counts.learn(person, "/conversations", waiting.conversations.count)
    return waiting


def _is_untold(conversations: tuple[Conversation, ...]) -> bool:
    """Whether the API doesn't tell whose messages these conversations hold, or in words that nobody knows."""
    sides = {message.side for conversation in conversations for message in conversation.messages}
    is_unknown = bool(sides) and sides.isdisjoint((MessageSide.INBOUND, MessageSide.OUTBOUND))
    return bool(conversations) and (
        is_unknown or not_given("Message.side") or not_given("Conversation.messages")
    )


def _in_order(conversations: tuple[Conversation, ...]) -> list[WaitingConversation]:
    found: list[WaitingConversation] = []
    for conversation in conversations:
        if unanswered := _unanswered(conversation):
            is_new = conversation.is_whole and unanswered[0] == conversation.in_order[0]
            subject = conversation.subject if is_new else ""  # else it is that of what was answered
            words = danger_words(subject, *(plain_text(message.body) for message in unanswered))
            found.append(WaitingConversation(conversation, unanswered, words))
    return sorted(found, key=lambda waiting: (not waiting.danger, waiting.since))


def _unanswered(conversation: Conversation) -> tuple[Message, ...]:
    """The messages since the clinic's last one, none in an archived conversation.

    A message without a side neither counts as a reply nor waits for one.
    """
    found: list[Message] = []
    for message in conversation.in_order:
        if message.side is MessageSide.OUTBOUND:
            found.clear()
        elif message.side is MessageSide.INBOUND and not message.is_archived:
            found.append(message)
    return () if conversation.is_archived else tuple(found)


def waiting_since(conversation: Conversation) -> datetime | None:
    """The time of the first message without a reply; None if the clinic wrote last or there are no messages."""
    unanswered = _unanswered(conversation)
    return WaitingConversation(conversation, unanswered, ()).since if unanswered else None
