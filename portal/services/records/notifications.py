"""Notifications and their settings."""

from __future__ import annotations

from datetime import datetime

import msgspec

from portal.services.decoding import Choice, Id, Record, Timed, Whole


class Severity(Choice):
    """The severity of a notification or an alert."""

    INFO = "Info"
    SUCCESS = "Success"
    WARNING = "Warning"
    URGENT = "Urgent"


class Notification(Timed, frozen=True, kw_only=True):
    """A notification, and the record that it is about (`entity_type`, `entity_id`)."""

    id: Id
    type: str = ""
    title: str = ""
    body: str = ""
    severity: Severity = Severity.INFO
    is_read: bool = False
    read_at: datetime | None = None
    entity_type: str | None = None
    entity_id: Id | None = None
    data: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    creation_time: datetime | None = None

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

    type: str
    email: bool = False
    sms: bool = False
    push: bool = False
    in_app: bool = False
    locked: bool = False


class QuietHours(Record, frozen=True, kw_only=True):
    """The times (HH:MM in `time_zone`) between which nothing is sent that can wait."""

    start: str = ""
    end: str = ""
    time_zone: str | None = None


class NotificationSettings(Record, frozen=True, kw_only=True):
    """A person's choices: channels by type, quiet hours, language."""

    items: tuple[NotificationChoice, ...] = ()
    quiet_hours: QuietHours | None = None
    language: str | None = None
    concurrency_stamp: str | None = None


class NotificationCounts(Record, frozen=True, kw_only=True):
    """The result of marking notifications: how many changed, how many are unread now."""

    updated_count: Whole | None = None
    unread_count: Whole | None = None
