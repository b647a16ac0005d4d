"""Conversations waiting for the clinic: those whose latest message is from outside and has no reply yet."""

from __future__ import annotations

from datetime import UTC, datetime

from markupsafe import Markup, escape

from portal.i18n.gettext import _, ngettext
from portal.services.client import Care
from portal.services.conversations import Conversation, Message, MessageSide, list_newest
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
        """Part of the message with a word of danger, which is marked, else of the first without a reply; and how many there are."""
        texts = [plain_text(message.body) for message in self.unanswered]
        pieces = excerpt(next((text for text in texts if danger_words(text)), texts[0]))
        shown = Markup("").join(
            Markup("<mark>{}</mark>").format(words) if is_danger else escape(words)
            for words, is_danger in pieces
        )
        many = len(texts)
        return (
            shown
            if many == 1
            else escape(ngettext("%(num)s message", "%(num)s messages", many)) + " · " + shown
        )


class Waiting(Value, frozen=True):
    """The waiting conversations: those with words of danger first, then longest first.

    `searched` are all that were looked through, `are_all` if there are no others; `are_newest` says that others are older.
    """

    conversations: Listed[WaitingConversation]
    searched: tuple[Conversation, ...]
    are_all: bool
    are_newest: bool

    @property
    def covers(self) -> int | None:
        """How many conversations were searched, None if all."""
        return None if self.are_all else len(self.searched)

    @property
    def words_of_untold(self) -> str:
        """Of how many it isn't known whether they wait; empty if of none.

        An API may not tell patients' messages from the clinic's, or leave some out.
        """
        untold = sum(map(_is_untold, self.searched))
        if untold and untold == len(self.searched):
            return _(
                "The clinic’s system doesn’t say which messages are from patients, so which of them wait for an answer isn’t known here."
            )
        words = ngettext(
            "Whether %(num)s conversation waits for an answer isn’t known: the clinic’s system doesn’t say who wrote in it.",
            "Whether %(num)s conversations wait for an answer isn’t known: the clinic’s system doesn’t say who wrote in them.",
            untold,
        )
        return words if untold else ""

    @property
    def words_of_search(self) -> str:
        """Which conversations were looked through; empty if all were."""
        if self.covers is None:
            return ""
        if self.are_newest:
            return _("Looked through: the newest %(num)s.", num=self.covers)
        return _("Looked through: %(num)s, and newer ones may wait.", num=self.covers)

    def words_of_none(self, *, mine: bool = False) -> str:
        """What is to be said where none, or none of one's own, was found."""
        if words := self.words_of_untold:
            return words
        if self.covers is not None and not self.are_newest:
            return _("None was found that waits for an answer.") + " " + self.words_of_search
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
    page, are_newest = list_newest(care, MOST)
    are_all = page.listed.is_whole
    waiting = Waiting(
        Listed(tuple(_in_order(page.items)), is_whole=are_all and not any(map(_is_untold, page.items))),
        page.items,
        are_all=are_all,
        are_newest=are_newest,
    )
    if may(person, "message.answer"):
        section_counts.learn(person, "/conversations", waiting.conversations.count)
    return waiting


def _is_untold(conversation: Conversation) -> bool:
    """Whether the API doesn't tell who wrote in it: in words that nobody knows, or without any message although there is one."""
    sides = {message.side for message in conversation.messages}
    has_content = bool(sides or conversation.unread_count or conversation.last_message_at)
    return (
        (has_content or not_given("Conversation.messages"))
        and not conversation.is_archived
        and sides.isdisjoint((MessageSide.INBOUND, MessageSide.OUTBOUND))
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
