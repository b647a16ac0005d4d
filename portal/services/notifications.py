"""Notifications and their settings (care API specification §4, group Notification)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import inf
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType

from portal.services.api import Group, SearchQuery
from portal.services.client import Care
from portal.services.decoding import Choice, Id, PagedResult, Record, Timed, Whole
from portal.services.listed import Count, Listed
from portal.services.paging import read_every_page, read_list, requested_page
from portal.services.responses import read_back


class Severity(Choice):
    """The severity of a notification or an alert."""

    INFO = "Info"
    SUCCESS = "Success"
    WARNING = "Warning"
    URGENT = "Urgent"


_REMINDERS = ("AppointmentReminder", "StorageReminder")


class Notification(Timed, frozen=True, kw_only=True):
    """A notification, and the record that it is about (`entity_type`, `entity_id`)."""

    shown_on: ClassVar = ("notifications", "home")

    id: Id
    type: Annotated[str, "kind of notification"] = ""
    title: Annotated[str, "title"] = ""
    body: Annotated[str, "text"] = ""
    severity: Annotated[Severity, "severity"] = Severity.INFO
    is_read: Annotated[bool, "whether it was read; number on the bell"] = False
    read_at: Annotated[datetime | None, "when it was read"] = None
    entity_type: Annotated[str | None, "kind of record it links to"] = None
    entity_id: Annotated[Id | None, "record it links to"] = None
    data: Annotated[dict[str, object], "mergeId, patientId, episodeId and details of an enquiry"] = (
        msgspec.field(default_factory=dict[str, object])
    )
    creation_time: datetime | None = None

    @property
    def weight(self) -> Severity:
        """Its severity; a reminder's says nothing of how near its day is, which is told where the date stands."""
        return Severity.INFO if self.type in _REMINDERS else self.severity

    @property
    def is_urgent(self) -> bool:
        return self.weight == Severity.URGENT

    def is_about(self, entity_type: str, entity_id: Id | None = None) -> bool:
        """Whether it is about a record of that type (ignoring case), and with that id if given."""
        same_type = (self.entity_type or "").casefold() == entity_type.casefold()
        return same_type and (entity_id is None or self.entity_id == entity_id)

    def datum(self, name: str) -> str | None:
        """A string or number in `data`, as a string; None if missing."""
        value = self.data.get(name)
        return str(value) if isinstance(value, str | int) and value != "" else None


class NotificationChoice(Record, frozen=True, kw_only=True):
    """The channels of one type of notification; a `locked` one can't be switched off."""

    shown_on: ClassVar = ("notification_settings",)

    type: Annotated[str, "kind of notification"]
    email: Annotated[bool, "by e-mail"] = False
    sms: Annotated[bool, "by text message"] = False
    push: Annotated[bool, "by push notification"] = False
    in_app: Annotated[bool, "in the portal"] = False
    locked: Annotated[bool, "whether it can be switched off"] = False


class QuietHours(Record, frozen=True, kw_only=True):
    """The times (HH:MM in `time_zone`) between which nothing is sent that can wait."""

    shown_on: ClassVar = ("notification_settings",)

    start: Annotated[str, "start of quiet hours"] = ""
    end: Annotated[str, "end of quiet hours"] = ""
    time_zone: Annotated[str | None, "time zone of quiet hours"] = None


class NotificationSettings(Record, frozen=True, kw_only=True):
    """A person's choices: channels by type, quiet hours, language."""

    shown_on: ClassVar = ("notification_settings",)

    items: Annotated[tuple[NotificationChoice, ...], "choices by kind"] = ()
    quiet_hours: Annotated[QuietHours | None, "when nothing is sent"] = None
    language: Annotated[str | None, "language of notifications"] = None
    concurrency_stamp: str | None = None

    @property
    def id(self) -> str:
        """None: everybody has one."""
        return ""

    @property
    def last_modification_time(self) -> None:
        """The API doesn't say."""


class NotificationCounts(Record, frozen=True, kw_only=True):
    """The result of marking notifications: how many changed, how many are unread now."""

    shown_on: ClassVar = ("notifications",)

    updated_count: Whole | None = None
    unread_count: Annotated[Whole | None, "number on the bell after reading"] = None


class NotificationQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which notifications are asked for."""

    is_read: bool | None = None
    type: str | None = None


class NotificationsRead(Record, frozen=True, kw_only=True):
    """What is sent to set notifications read or unread: those of `ids`, or all."""

    is_read: bool
    ids: tuple[Id, ...] | UnsetType = UNSET
    all: bool | UnsetType = UNSET


_notifications = Group("Notification")
_NOTIFICATION = "/api/app/notification"
LIST_NOTIFICATIONS = _notifications.get(
    _NOTIFICATION, PagedResult[Notification], NotificationQuery, shows="notification", page="/notifications"
)
UPDATE_NOTIFICATIONS = _notifications.put(_NOTIFICATION, NotificationCounts, NotificationsRead)
READ_NOTIFICATION_SETTINGS = _notifications.get(
    f"{_NOTIFICATION}/settings", NotificationSettings, shows=None, page="/notifications/settings"
)
UPDATE_NOTIFICATION_SETTINGS = _notifications.put(
    f"{_NOTIFICATION}/settings", NotificationSettings, NotificationSettings
)


MANY = 100
"""From here on pages say "99+"."""


def list_notifications(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    is_read: bool | None = None,
    type: str | None = None,
    text: str | None = None,
) -> PagedResult[Notification]:
    """One page of notifications, with the total of unread ones."""
    query = NotificationQuery(
        skip_count=skip, max_result_count=limit, is_read=is_read, type=type, filter=text
    )
    return read_list(LIST_NOTIFICATIONS, query, care=care)


def newest_unread(care: Care) -> PagedResult[Notification]:
    """The newest unread ones, by which home and the list of enquiries count what is new."""
    return list_notifications(care, limit=50, is_read=False)


def set_read(care: Care, notification_ids: Sequence[str], *, is_read: bool = True) -> NotificationCounts:
    """Mark these notifications read or unread; the counts are None if the API doesn't say."""
    return _update(care, NotificationsRead(ids=tuple(notification_ids), is_read=is_read))


def set_all_read(care: Care, kind: str = "", until: datetime | None = None) -> NotificationCounts:
    """Mark this person's notifications read, all or those of a kind; the counts are None if the API doesn't say.

    Those made after `until` stay unread: this person hasn't seen them.
    """
    unread = read_every_page(
        lambda skip, limit: list_notifications(care, skip=skip, limit=limit, is_read=False, type=kind or None)
    )
    moment = until.timestamp() if until else inf
    later = {n.id for n in unread if n.creation_time and n.creation_time.timestamp() > moment}
    if not (kind or later):
        return _update(care, NotificationsRead(all=True, is_read=True))
    ids = [n.id for n in unread if n.id not in later and (not kind or n.type == kind)]
    return set_read(care, ids) if ids else NotificationCounts()


def unread_among(care: Care, page: PagedResult[Notification]) -> int | None:
    """The total of unread ones, from a page of unread ones; None if it can't be determined.

    An API that marks deleted ones may count them too.
    """
    if page.unread is not None:
        return page.unread
    is_known = page.count.is_whole and (page.listed.is_whole or not care.adapter.marks_deleted)
    return page.count.number if is_known else None


def count_unread(care: Care) -> int:
    """The number of unread ones; if the API doesn't count them, at most `MANY`.

    Asks more than once where the API doesn't count.
    """
    first = NotificationQuery(skip_count=0, max_result_count=1, is_read=False)
    page = requested_page(care.read(LIST_NOTIFICATIONS, query=first), 0, 1)
    if page.unread is None and page.total_count == 1:  # it may count what it sent
        page = list_notifications(care, limit=2, is_read=False)
    told = unread_among(care, page)
    if told is not None:
        return told
    everything = read_every_page(
        lambda skip, limit: list_notifications(care, skip=skip, limit=limit, is_read=False)
    )
    unread = everything.where(lambda notification: not notification.is_read).count
    return unread.number if unread.is_whole else MANY


def ids_announcing(
    notifications: Iterable[Notification], conversation_id: str, before: datetime | None = None
) -> tuple[str, ...]:
    """The ids of the unread notifications about a conversation, made `before` a moment; marking them read marks its messages read."""
    about = (n for n in notifications if not n.is_read and n.is_about("Conversation", conversation_id))
    return tuple(n.id for n in about if not (before and n.creation_time and n.creation_time >= before))


def get_settings(care: Care) -> NotificationSettings:
    return care.read(READ_NOTIFICATION_SETTINGS)


def update_settings(care: Care, settings: NotificationSettings) -> NotificationSettings:
    """Save the settings and return them with a new stamp.

    Raises `Invalid` for an unknown type or a change to a locked one, `Conflict` if they were changed meanwhile.
    """
    done = care.act(UPDATE_NOTIFICATION_SETTINGS, settings)
    return done or read_back(lambda: get_settings(care))


def _update(care: Care, change: NotificationsRead) -> NotificationCounts:
    return care.act(UPDATE_NOTIFICATIONS, change) or NotificationCounts()


def notable(news: PagedResult[Notification]) -> Listed[Notification]:
    """Unread notifications, the pressing ones first; others only about records not already on this page."""
    shown = ("Conversation", "ConsentForm")
    found = news.listed.where(
        lambda notification: (
            not notification.is_read
            and (is_pressing(notification) or not any(map(notification.is_about, shown)))
        )
    )
    return found.through(lambda unread: sorted(unread, key=is_pressing, reverse=True))


def new_enquiries(news: Listed[Notification]) -> Count:
    """How many enquiries unread notifications are about."""
    unread = news.where(lambda notification: not notification.is_read and notification.is_about("Prospect"))
    ids = {notification.entity_id for notification in unread} - {None}
    return Count(len(ids), unread.is_whole)


def is_pressing(notification: Notification) -> bool:
    """Whether it comes first: it is urgent, somebody withdrew a consent, or a couple shares no more."""
    return notification.is_urgent or notification.type in ("ConsentRevoked", "SharingEnded")
