"""What notifications and messages reveal about an enquiry, because no endpoint reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from portal.services.client import Care
from portal.services.conversations import Conversation, MessageSide, list_conversations
from portal.services.errors import CareError
from portal.services.gather import gather, known
from portal.services.notifications import Notification, list_notifications
from portal.web import audit

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
    news, talks = gather(
        lambda: list_notifications(care, limit=_NEWS),
        lambda: list_conversations(care, limit=_TALKS, include_archived=True),
    )
    heard = tuple(page.items) if (page := known(news)) else ()
    spoken = tuple(talk.items) if (talk := known(talks)) else ()
    found = [_known(id_, heard, spoken) for id_ in prospect_ids]
    audit.shown(
        "notification.list", "notification", [n.id for enquiry in found for n in enquiry.notifications]
    )
    audit.shown(
        "conversation.list", "conversation", [c.id for enquiry in found for c in enquiry.conversations]
    )
    return found, not (isinstance(news, CareError) or isinstance(talks, CareError))


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
