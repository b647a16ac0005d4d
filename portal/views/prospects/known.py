"""What notifications and messages reveal about an enquiry, because no endpoint reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from portal.services.client import Care
from portal.services.conversations import Conversation, MessageSide, list_conversations
from portal.services.decoding import PagedResult
from portal.services.errors import CareError
from portal.services.gather import gather
from portal.services.listed import Count, Listed
from portal.services.notifications import Notification, list_notifications, new_enquiries
from portal.web import audit

T = TypeVar("T")

FIELDS = ("firstName", "lastName", "email", "phoneNumber", "source", "interest")
_NEWS, _TALKS = 100, 50
_MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Known:
    """The known facts of an enquiry: values by field, and where it is mentioned."""

    id: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    notifications: tuple[Notification, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def wrote_as(self) -> str:
        """The name in the enquirer's latest message."""
        inbound = [m for c in self.conversations for m in c.in_order if m.side == MessageSide.INBOUND]
        return inbound[-1].sender_name if inbound else ""

    @property
    def name(self) -> str:
        """The enquirer's name, as far as known."""
        told = (self.values.get("firstName", ""), self.values.get("lastName", ""))
        return " ".join(part for part in told if part) or self.wrote_as


def read_known(care: Care, *prospect_ids: str) -> tuple[list[Known], bool]:
    """What notifications and messages say about these enquiries, and whether both could be read."""
    news, talks = _read_mentions(care)
    heard, spoken = _items(news), _items(talks)
    found = [_known(id_, heard, spoken) for id_ in prospect_ids]
    audit.shown(
        "notification.list", "notification", [n.id for enquiry in found for n in enquiry.notifications]
    )
    audit.shown(
        "conversation.list", "conversation", [c.id for enquiry in found for c in enquiry.conversations]
    )
    return found, not (isinstance(news, CareError) or isinstance(talks, CareError))


@dataclass(frozen=True, slots=True)
class Enquiries:
    """The enquiries that the newest notifications and messages name, in that order; whole if those are all.

    `new` is how many are new by the notifications, None if those couldn't be read; `is_lost` says that one of the two couldn't.
    """

    found: Listed[Known]
    new: Count | None
    is_lost: bool


def read_enquiries(care: Care) -> Enquiries:
    """Read them; a patient's messages aren't an enquiry's any more. Raises CareError if neither could be read."""
    news, talks = _read_mentions(care)
    if isinstance(news, CareError) and isinstance(talks, CareError):
        raise news
    heard, spoken = _items(news), _items(talks)
    named = [notification.entity_id for notification in heard if notification.is_about("Prospect")]
    wrote = [talk.prospect_id for talk in spoken if talk.patient_id is None]
    ids = dict.fromkeys(id_ for id_ in (*named, *wrote) if id_)
    is_lost = isinstance(news, CareError) or isinstance(talks, CareError)
    is_whole = not any(isinstance(page, CareError) or not page.listed.is_whole for page in (news, talks))
    return Enquiries(
        Listed(tuple(_known(id_, heard, spoken) for id_ in ids), is_whole),
        None if isinstance(news, CareError) else new_enquiries(news.listed),
        is_lost,
    )


def _read_mentions(
    care: Care,
) -> tuple[PagedResult[Notification] | CareError, PagedResult[Conversation] | CareError]:
    return gather(
        lambda: list_notifications(care, limit=_NEWS),
        lambda: list_conversations(care, limit=_TALKS, include_archived=True),
    )


def _items(page: PagedResult[T] | CareError) -> tuple[T, ...]:
    return () if isinstance(page, CareError) else page.items


def named_in(news: Sequence[Notification], prospect_id: str) -> Known:
    """What these notifications say about it."""
    return _known(prospect_id, tuple(news), ())


def _known(prospect_id: str, news: tuple[Notification, ...], talks: tuple[Conversation, ...]) -> Known:
    about = [(n, "") for n in news if n.is_about("Prospect", prospect_id)]
    about += [(n, "merge") for n in news if n.datum("mergeId") == prospect_id]
    values = {
        name: value
        for name in FIELDS
        for n, prefix in reversed(about)
        if (value := n.datum(_prefixed(prefix, name)))
    }
    spoken = tuple(talk for talk in talks if talk.prospect_id == prospect_id)
    return Known(prospect_id, values, tuple(n for n, _ in about)[:_MOST_SHOWN], spoken[:_MOST_SHOWN])


def _prefixed(prefix: str, name: str) -> str:
    return f"{prefix}{name[:1].upper()}{name[1:]}" if prefix else name
