"""How a conversation is shown: its row in the inbox, and its thread with the address that a patient replies to."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from urllib.parse import quote

from flask import url_for
from msgspec.structs import replace

from portal.i18n.gettext import _, ngettext
from portal.services.conversations import (
    Attachment,
    Channel,
    Conversation,
    Message,
    MessageSide,
    ReplyAddress,
)
from portal.services.patient_ref import PatientRef
from portal.state.session_records import Person
from portal.values import Value
from portal.views.waiting_conversations import WaitingConversation, waiting_since
from portal.web.filters import day as short_day
from portal.web.filters import in_a_row, isolate, local, today
from portal.web.not_given import not_given
from portal.web.plain_text import LONGEST, LONGEST_EXCERPT, plain_text
from portal.web.plan_changes import is_before_change
from portal.web.seen_plans import last_change

_PICTURES = ("image/png", "image/jpeg")
_LARGEST_PICTURE = 2_000_000
"""The maximum size in bytes of a picture shown inline; larger ones are only loaded when opened."""


class Row(Value, frozen=True):
    """One conversation in the inbox; `danger` are the words of danger in the messages without a reply."""

    id: str
    subject: str
    who: str
    first: str
    excerpt: str
    at: datetime | None
    channel: str | None
    unread: int
    archived: bool
    waits: bool
    waits_since: datetime | None = None
    danger: tuple[str, ...] = ()


class Bubble(Value, frozen=True):
    """One message in the thread; `mine` if the person's side sent it, `name` for the initials.

    `day` is the date's label if it is the first message of that day; `older_than` is when the patient's plan changed
    after it.
    """

    id: str
    sender: str
    name: str
    text: str
    at: datetime | None
    channel: str | None
    mine: bool
    unread: bool
    message: Message
    older_than: datetime | None
    day: str = ""

    def is_shown(self, file: Attachment) -> bool:
        """Whether a file is shown inline as a picture: its size must be known and the sender not in doubt."""
        is_small = file.size is not None and file.size <= _LARGEST_PICTURE
        return file.media_type in _PICTURES and is_small and self.message.sender_verified is not False


class Thread(Value, frozen=True):
    """A conversation; `patient_page` is where staff find how to reach the patient, empty if that isn't known."""

    id: str
    subject: str
    who: str
    unread: int
    is_archived: bool
    episode_id: str | None
    bubbles: list[Bubble]
    archived: list[Bubble]
    reply: Reply
    patient_page: str
    may_be: list[str]
    patient_ref: PatientRef | None


class Reply(Value, frozen=True):
    """Where a patient replies: addresses as text and as links."""

    email: str | None
    mailto: str | None
    number: str | None
    sms: str | None


def waiting_row(waiting: WaitingConversation, person: Person) -> Row:
    """Return a conversation for the list of those that wait for an answer."""
    return replace(
        row_of(waiting.conversation, person),
        excerpt=waiting.excerpt,
        waits_since=waiting.since if waiting.since.year > 1 else None,
        danger=waiting.danger,
    )


def row_of(conversation: Conversation, person: Person) -> Row:
    latest = conversation.latest
    return Row(
        id=conversation.id,
        subject=subject_of(conversation),
        who=_who(conversation, person),
        first=next(iter(others_in(conversation, person)), subject_of(conversation)),
        excerpt=_excerpt(latest, person) if latest else "",
        at=conversation.last_message_at or (latest.sent_at if latest else None),
        channel=_by_way_of(conversation.channel),
        unread=conversation.unread_count,
        archived=conversation.is_archived,
        waits=person.is_staff and waiting_since(conversation) is not None,
    )


def thread_of(conversation: Conversation, person: Person) -> Thread:
    """Return the conversation as this person reads it, its archived messages apart."""
    changed_at = last_change(person, conversation.episode_id) if person.is_patient else None
    bubbles = [_bubble(message, conversation, person, changed_at) for message in conversation.in_order]
    return Thread(
        id=conversation.id,
        subject=subject_of(conversation),
        who=_who(conversation, person),
        unread=conversation.unread_count,
        is_archived=conversation.is_archived,
        episode_id=conversation.episode_id,
        bubbles=_with_days([bubble for bubble in bubbles if not bubble.message.is_archived]),
        archived=_with_days([bubble for bubble in bubbles if bubble.message.is_archived]),
        reply=_reply(conversation.reply_address),
        patient_page=_patient_page(conversation) if person.is_staff else "",
        may_be=[sender.name for sender in conversation.possible_senders if sender.name and person.is_staff],
        patient_ref=conversation.patient_ref,
    )


def _patient_page(conversation: Conversation) -> str:
    if conversation.patient_id is None:
        return ""
    return url_for(
        "patients.overview.show", patient_id=conversation.patient_id, episode=conversation.episode_id
    )


def subject_of(conversation: Conversation) -> str:
    return conversation.subject or _("Without a subject")


def others_in(conversation: Conversation, person: Person) -> list[str]:
    """The names of those with whom the person is in it; for staff, who talk about patients, the patients' first."""
    others = [participant for participant in conversation.participants if participant.id != person.sub]
    if person.is_staff:
        others.sort(key=lambda participant: not participant.is_patient)
    return [participant.name for participant in others if participant.name]


def _with_days(bubbles: list[Bubble]) -> list[Bubble]:
    """The messages, the first of each day with the date's label."""
    names = {today(): _("Today"), today() - timedelta(days=1): _("Yesterday")}
    named: list[Bubble] = []
    before: date | None = None
    for bubble in bubbles:
        on = local(bubble.at).date() if bubble.at else before
        named.append(replace(bubble, day=names.get(on) or short_day(on)) if on and on != before else bubble)
        before = on
    return named


def _bubble(
    message: Message, conversation: Conversation, person: Person, changed_at: datetime | None
) -> Bubble:
    mine = is_mine(message, person)
    return Bubble(
        id=message.id,
        sender=_("You") if message.sender_id == person.sub else message.sender_name or _("Unknown sender"),
        name=person.name if message.sender_id == person.sub else message.sender_name or "",
        text=_text(message.body),
        at=message.sent_at,
        channel=_by_way_of(message.channel),
        mine=mine,
        unread=not mine
        and message.read_at is None
        and conversation.unread_count > 0
        and not not_given("Message.readAt"),
        message=message,
        older_than=changed_at if not mine and is_before_change(message.sent_at, changed_at) else None,
    )


def _text(body: str) -> str:
    text = plain_text(body)
    if body.strip() and not text:
        return _("This message can’t be shown.")
    if len(body) <= LONGEST:
        return text
    return text + "\n\n" + _("The rest of this message is too long to be shown.")


def is_mine(message: Message, person: Person) -> bool:
    """Whether the person's side sent it: the clinic for staff, the patient's side for others."""
    if message.side in (MessageSide.INBOUND, MessageSide.OUTBOUND):
        return (message.side is MessageSide.OUTBOUND) == person.is_staff
    return message.sender_id == person.sub


def _who(conversation: Conversation, person: Person) -> str:
    """The others in the thread, at most three by name."""
    names = others_in(conversation, person)
    if not names and conversation.possible_senders:
        return _("Sender not known for sure")
    more = len(names) - 3
    shown = in_a_row(names[:3])
    return shown + " " + ngettext("and %(num)s more", "and %(num)s more", more) if more > 0 else shown


def _excerpt(message: Message, person: Person) -> str:
    text = " ".join(plain_text(message.body, LONGEST_EXCERPT).split())[:160]
    if message.sender_id == person.sub:
        return _("You: %(words)s", words=isolate(text))
    return text


def _by_way_of(channel: Channel | None) -> str | None:
    if channel is None:
        return None
    words: dict[str, str] = {
        Channel.PORTAL: _("Portal"),
        Channel.EMAIL: _("E-mail"),
        Channel.SMS: _("Text message"),
        Channel.PHONE: _("Phone"),
    }
    return words.get(channel, str(channel))


def _reply(address: ReplyAddress) -> Reply:
    email, number = (address.email or "").strip(), (address.sms or "").strip()
    digits = re.sub(r"[^0-9+]", "", number)
    return Reply(
        email=email or None,
        mailto=f"mailto:{quote(email, safe='@+')}" if "@" in email else None,
        number=number or None,
        sms=f"sms:{digits}" if digits else None,
    )
