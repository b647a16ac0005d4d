"""What notifications and messages reveal about an enquiry, because no endpoint reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from msgspec import field

from portal.services.client import Care
from portal.services.conversations import Conversation, MessageSide, list_conversations
from portal.services.decoding import PagedResult
from portal.services.errors import CareError, NotOffered
from portal.services.gather import gather, gather_all, items_of, known
from portal.services.listed import Count, Listed
from portal.services.notifications import Notification, list_notifications, new_enquiries, newest_unread
from portal.values import Value
from portal.views.waiting_conversations import waiting_since
from portal.web import audit

T = TypeVar("T")

FIELDS = ("firstName", "lastName", "email", "phoneNumber", "source", "interest")
_NEWS, _CONVERSATIONS = 100, 50
_MOST_NEWS = 1000
"""Among how many notifications an enquiry is looked for that the newest don't tell of."""
_MOST_SHOWN = 3


class Enquiry(Value, frozen=True):
    """The known facts of an enquiry: values by field, and where it is mentioned."""

    id: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    notifications: tuple[Notification, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def wrote_as(self) -> str:
        """The name in the enquirer's latest message."""
        inbound = [m for c in self.conversations for m in c.messages if m.side == MessageSide.INBOUND]
        inbound.sort(key=lambda message: message.sent_at.timestamp() if message.sent_at else 0.0)
        return inbound[-1].sender_name if inbound else ""

    @property
    def name(self) -> str:
        told = (self.values.get("firstName", ""), self.values.get("lastName", ""))
        return " ".join(part for part in told if part) or self.wrote_as


def find_enquiries(care: Care, *prospect_ids: str) -> tuple[list[Enquiry], bool]:
    """What notifications and messages say about these enquiries, and whether both could be read."""
    news, conversations = gather(lambda: _newest_notifications(care), lambda: _newest_conversations(care))
    before = (
        []
        if isinstance(news, CareError) or _tells_of(news.items, prospect_ids)
        else _earlier(care, news.total)
    )
    heard = (*items_of(news), *(told for page in before for told in items_of(page)))
    spoken = items_of(conversations)
    found = [_enquiry(id_, heard, spoken) for id_ in prospect_ids]
    audit.shown(
        "notification.list", "notification", [n.id for enquiry in found for n in enquiry.notifications]
    )
    audit.shown(
        "conversation.list", "conversation", [c.id for enquiry in found for c in enquiry.conversations]
    )
    is_lost = None in (known(news), known(conversations)) or (
        None in map(known, before) and not _tells_of(heard, prospect_ids)
    )
    return found, not is_lost


class Enquiries(Value, frozen=True):
    """The enquiries that notifications, unread or new, and new messages name; whole if those are all.

    `new` is how many the unread notifications are about, None if those couldn't be read; `is_lost` says that a list couldn't.
    """

    found: Listed[Enquiry]
    new: Count | None
    is_lost: bool


def read_enquiries(care: Care) -> Enquiries:
    """Read them; a patient's messages aren't an enquiry's any more.

    A list that the clinic doesn't use names nobody. Raises CareError if none could be read.
    """
    unread, news, conversations = gather(
        lambda: newest_unread(care), lambda: _newest_notifications(care), lambda: _newest_conversations(care)
    )
    failures = [answer for answer in (unread, news, conversations) if isinstance(answer, CareError)]
    lost = [failure for failure in failures if not isinstance(failure, NotOffered)]
    if len(failures) == 3:
        raise (lost or failures)[0]
    heard = tuple(
        {notification.id: notification for notification in (*items_of(news), *items_of(unread))}.values()
    )
    spoken = items_of(conversations)
    named = [notification.entity_id for notification in heard if notification.is_about("Prospect")]
    wrote = [talk.prospect_id for talk in spoken if talk.patient_id is None]
    ids = dict.fromkeys(id_ for id_ in (*named, *wrote) if id_)
    is_whole = not lost and all(page.listed.is_whole for page in map(known, (news, conversations)) if page)
    return Enquiries(
        Listed(tuple(_enquiry(id_, heard, spoken) for id_ in ids), is_whole),
        None if isinstance(unread, CareError) else new_enquiries(unread.listed),
        bool(lost),
    )


def _tells_of(news: Iterable[Notification], prospect_ids: Sequence[str]) -> bool:
    told = {id_ for notification in news for id_ in (notification.entity_id, notification.datum("mergeId"))}
    return told.issuperset(prospect_ids)


def _earlier(care: Care, total: int) -> list[PagedResult[Notification] | CareError]:
    """The notifications before the newest, side by side."""
    starts = range(_NEWS, min(total, _MOST_NEWS), _NEWS)
    return gather_all([partial(list_notifications, care, skip=at, limit=_NEWS) for at in starts])


def _newest_notifications(care: Care) -> PagedResult[Notification]:
    return list_notifications(care, limit=_NEWS)


def _newest_conversations(care: Care) -> PagedResult[Conversation]:
    return list_conversations(care, limit=_CONVERSATIONS, include_archived=True)


def named_in(news: Sequence[Notification], prospect_id: str) -> Enquiry:
    return _enquiry(prospect_id, tuple(news), ())


def _enquiry(
    prospect_id: str, news: tuple[Notification, ...], conversations: tuple[Conversation, ...]
) -> Enquiry:
    about = [(n, "") for n in news if n.is_about("Prospect", prospect_id)]
    about += [(n, "merge") for n in news if n.datum("mergeId") == prospect_id]
    values = {
        name: value
        for name in FIELDS
        for n, prefix in reversed(about)
        if (value := n.datum(_prefixed(prefix, name)))
    }
    unread_first = [n for n, _ in sorted(about, key=lambda told: (told[1], told[0].is_read))]
    spoken = [talk for talk in conversations if talk.prospect_id == prospect_id]
    waiting_first = sorted(spoken, key=lambda talk: waiting_since(talk) or datetime.max.replace(tzinfo=UTC))
    return Enquiry(prospect_id, values, tuple(unread_first)[:_MOST_SHOWN], tuple(waiting_first)[:_MOST_SHOWN])


def _prefixed(prefix: str, name: str) -> str:
    return f"{prefix}{name[:1].upper()}{name[1:]}" if prefix else name
