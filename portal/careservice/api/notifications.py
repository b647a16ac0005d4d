"""Notification and notification settings: read and update (care API specification §4)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from sqlalchemy import select

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.paging import filtered, paginate
from portal.careservice.api.records import AuditedRecord, Record, as_record, columns
from portal.careservice.domain import notifications
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.notifications import Notification, NotificationSettings, Preference, QuietHours
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.rules import Invalid
from portal.careservice.domain.texts import ONE_LINE
from portal.careservice.ids import GivenId

MODULE = "Notification"


class NotificationRecord(Record, kw_only=True):
    """A notification."""

    __annotations__ = columns(notifications.Notification)


class NotificationPage(Record, kw_only=True):
    """One page of the caller's notifications; `unreadCount` counts all of them."""

    total_count: int
    unread_count: int
    items: list[NotificationRecord]


class SetRead(msgspec.Struct, rename="camel", kw_only=True):
    """Which notifications (some, or all) to mark as read or unread."""

    is_read: bool
    ids: Annotated[list[GivenId], msgspec.Meta(max_length=1000)] | None = None
    all: bool = False


class Counts(Record, kw_only=True):
    """How many notifications were changed, and how many are unread now."""

    updated_count: int
    unread_count: int


class SettingsRecord(AuditedRecord, kw_only=True):
    """The channels by which the caller wants each kind of notification."""

    items: list[Preference]
    quiet_hours: QuietHours | None
    language: str | None


class SettingsChange(msgspec.Struct, rename="camel", kw_only=True):
    """The caller's new choices."""

    items: Annotated[list[Preference], msgspec.Meta(max_length=200)]
    quiet_hours: QuietHours | None = None
    language: Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"), ONE_LINE] | None = (
        None
    )


SORTABLE = {
    "creationTime": Notification.creation_time,
    "type": Notification.type,
    "severity": Notification.severity,
    "isRead": Notification.is_read,
    "title": Notification.title,
}


@api.get("/api/app/notification")
@endpoint(Act.USE_NOTIFICATIONS, MODULE)
def list_notifications(caller: Caller) -> NotificationPage:
    """The caller's notifications, newest first, by IsRead, Type and Filter."""
    session, query, actor = database.session(), payload.query(), caller.actor
    chosen = select(Notification).where(
        Notification.tenant_id == actor.tenant_id, Notification.person_id == actor.person_id
    )
    is_read, kind = query.flag("IsRead"), query.text("Type")
    if is_read is not None:
        chosen = chosen.where(Notification.is_read.is_(is_read))
    if kind is not None:
        chosen = chosen.where(Notification.type == kind)
    total, found = paginate(
        session,
        query,
        filtered(chosen, query, folded_to=(Notification.folded_text,)),
        sortable=SORTABLE,
        default=(Notification.creation_time.desc(), Notification.id),
    )
    return NotificationPage(
        total_count=total,
        unread_count=notifications.unread_count(session, actor),
        items=[as_record(notification, NotificationRecord) for notification in found],
    )


@api.put("/api/app/notification")
@endpoint(Act.USE_NOTIFICATIONS, MODULE)
def update_notifications(caller: Caller) -> Counts:
    """Mark notifications as read or unread; reading one about a conversation marks its messages as read."""
    session, actor = database.session(), caller.actor
    wanted = payload.body(SetRead)
    if wanted.all == (wanted.ids is not None):
        raise Invalid("Give either ids or all.", "ids", "all")
    updated = notifications.set_read(session, actor, wanted.ids, is_read=wanted.is_read)
    session.flush()
    return Counts(updated_count=updated, unread_count=notifications.unread_count(session, actor))


@api.get("/api/app/notification/settings")
@endpoint(Act.USE_NOTIFICATIONS, MODULE)
def get_notification_settings(caller: Caller) -> SettingsRecord:
    """The caller's choices, or the defaults until they make some."""
    return _settings(caller.actor, notifications.settings_of(database.session(), caller.actor))


@api.put("/api/app/notification/settings")
@endpoint(Act.USE_NOTIFICATIONS, MODULE)
def update_notification_settings(caller: Caller) -> SettingsRecord:
    """The caller's updated choices."""
    session = database.session()
    change, stamp = payload.stamped(SettingsChange)
    kept = notifications.change_settings(
        session,
        caller.actor,
        items=change.items,
        quiet_hours=change.quiet_hours,
        language=change.language,
        stamp=stamp,
    )
    session.flush()
    return _settings(caller.actor, kept)


def _settings(actor: Actor, kept: NotificationSettings | None) -> SettingsRecord:
    items = list(notifications.merged_items(actor, kept).values())
    if kept is not None:
        return SettingsRecord(
            items=items,
            quiet_hours=kept.quiet_hours,
            language=kept.language,
            creation_time=kept.creation_time,
            creator_id=kept.creator_id,
            last_modification_time=kept.last_modification_time,
            last_modifier_id=kept.last_modifier_id,
            concurrency_stamp=kept.concurrency_stamp,
        )
    return SettingsRecord(
        items=items,
        quiet_hours=None,
        language=None,
        creation_time=notifications.NEVER_CHOSEN,
        creator_id=None,
        last_modification_time=None,
        last_modifier_id=None,
        concurrency_stamp=actor.person_id,
    )
