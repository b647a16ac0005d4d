"""Notifications, and each person's choice of channels by kind of notification."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any
from zoneinfo import available_timezones

import msgspec
from sqlalchemy import Index, Select, String, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base, Id, Returned
from portal.careservice.domain import conversations, people, translations
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited, Structs, one_of
from portal.careservice.domain.enumerations import Severity
from portal.careservice.domain.folding import folded_from
from portal.careservice.domain.rules import Invalid, NotThere, require_stamp
from portal.careservice.domain.texts import TimeOfDay
from portal.careservice.ids import new_id


class Notification(Base):
    """A notification to one person; its title is fit to be shown on a lock screen."""

    __tablename__ = "notifications"
    __table_args__ = (Index("ix_notifications_recipient", "tenant_id", "person_id", "creation_time"),)

    id: Mapped[Returned[Id]] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    person_id: Mapped[str] = mapped_column(String(36))
    type: Mapped[Returned[str]]
    title: Mapped[Returned[str]]
    body: Mapped[Returned[str]]
    folded_text: Mapped[str] = folded_from("title", "body")
    severity: Mapped[Returned[Severity]] = mapped_column(one_of(Severity))
    is_read: Mapped[Returned[bool]] = mapped_column(default=False)
    read_at: Mapped[Returned[datetime | None]]
    entity_type: Mapped[Returned[str | None]]
    entity_id: Mapped[Returned[str | None]] = mapped_column(String(36))
    data: Mapped[Returned[dict[str, Any]]] = mapped_column(default=dict)
    creation_time: Mapped[Returned[datetime]] = mapped_column(default=now)


class Preference(msgspec.Struct, rename="camel", kw_only=True):
    """The channels of one kind of notification; a locked one can't be changed."""

    type: str
    email: bool
    sms: bool
    push: bool
    in_app: bool
    locked: bool = False


class QuietHours(msgspec.Struct, rename="camel", kw_only=True):
    """Between `start` and `end` (HH:MM in `time_zone`) only in-app notifications are sent."""

    start: TimeOfDay
    end: TimeOfDay
    time_zone: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class NotificationSettings(Audited, Base):
    """One person's choices; people who have made none have no row and get the defaults."""

    __tablename__ = "notification_settings"

    person_id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    items: Mapped[list[Preference]] = mapped_column(Structs(list[Preference]))
    quiet_hours: Mapped[QuietHours | None] = mapped_column(Structs(QuietHours))
    language: Mapped[str | None]


def _preference(kind: str, *, email: bool = True, sms: bool = False, locked: bool = False) -> Preference:
    return Preference(type=kind, email=email, sms=sms, push=True, in_app=True, locked=locked)


DEFAULTS: tuple[Preference, ...] = (
    _preference("ConsentRequested", sms=True),
    _preference("ConsentCompleted"),
    _preference("ConsentRevoked", locked=True),
    _preference("MessageReceived"),
    _preference("AppointmentReminder", sms=True),
    _preference("EpisodeUpdated"),
    _preference("ResultReleased"),
    _preference("StorageReminder", sms=True),
    _preference("PaymentReceived"),
    _preference("PaymentFailed"),
    _preference("AccountSecurity", sms=True, locked=True),
)
"""The kinds that everybody can choose channels for; notices of withdrawals and security can't be switched off."""

STAFF_DEFAULTS: tuple[Preference, ...] = (
    _preference("ProspectReceived"),
    _preference("EmrSyncFailed", email=False),
    _preference("SharingEnded", locked=True),
)

NEVER_CHOSEN = datetime(2000, 1, 1, tzinfo=UTC)
"""The creation time of settings that nobody has made."""

_LOCALES = frozenset(translations.LANGUAGES)


def announce(
    session: Session,
    *,
    tenant_id: str,
    who: Iterable[str],
    kind: str,
    entity: tuple[str, str | None],
    severity: Severity = Severity.INFO,
    data: dict[str, Any] | None = None,
    notice: str | None = None,
    words: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Notify each of `who` once, in their own language, that `kind` happened to `entity` (type, id).

    `notice` names the text to use, if it isn't the one named after the kind; `words` are put into its body.
    """
    recipients = sorted(set(who))
    languages = people.locales(session, recipients) | _languages(session, recipients)
    for person_id in recipients:
        title, body = translations.notice(notice or kind, languages.get(person_id, "en"))
        session.add(
            Notification(
                id=new_id(),
                tenant_id=tenant_id,
                person_id=person_id,
                type=kind,
                title=title,
                body=body.format_map(words),
                severity=severity,
                entity_type=entity[0],
                entity_id=entity[1],
                data=data or {},
            )
        )


def _languages(session: Session, people: Sequence[str]) -> dict[str, str]:
    rows = session.execute(
        select(NotificationSettings.person_id, NotificationSettings.language).where(
            NotificationSettings.person_id.in_(people)
        )
    )
    return {person_id: language for person_id, language in rows if language in _LOCALES}


def unread_count(session: Session, actor: Actor) -> int:
    """How many of the person's notifications are unread."""
    counted = session.scalar(
        select(func.count())
        .select_from(Notification)
        .where(
            Notification.tenant_id == actor.tenant_id,
            Notification.person_id == actor.person_id,
            Notification.is_read.is_(False),
        )
    )
    return counted or 0


def set_read(session: Session, actor: Actor, ids: Sequence[str] | None, *, is_read: bool) -> int:
    """Mark the person's notifications (all if `ids` is None) as read or unread; return how many changed.

    Reading one that announces a conversation marks its messages as read, but for those of which a later notification is
    still unread. Raises NotThere for an unknown id.
    """
    mine = select(Notification).where(
        Notification.tenant_id == actor.tenant_id, Notification.person_id == actor.person_id
    )
    if ids is None:
        chosen = list(session.scalars(mine.where(Notification.is_read.is_not(is_read))))
    else:
        chosen = list(session.scalars(mine.where(Notification.id.in_(ids))))
        if len(chosen) != len(set(ids)):
            raise NotThere
    moment = now()
    changed = [notification for notification in chosen if notification.is_read != is_read]
    for notification in changed:
        notification.is_read = is_read
        notification.read_at = moment if is_read else None
    if is_read:
        session.flush()
        _mark_messages_read(session, actor, mine, chosen)
    return len(changed)


def _mark_messages_read(
    session: Session, actor: Actor, mine: Select[Notification], chosen: Sequence[Notification]
) -> None:
    """Mark what `chosen` announce: all of each conversation or, if a later notification is unread, until its last one."""
    read: dict[str, datetime] = {}
    for one in chosen:
        if one.entity_type == "Conversation" and one.entity_id is not None:
            read[one.entity_id] = max(one.creation_time, read.get(one.entity_id, one.creation_time))
    unread = session.scalars(
        mine.where(
            Notification.is_read.is_(False),
            Notification.entity_type == "Conversation",
            Notification.entity_id.in_(read),
        )
    )
    partly = {one.entity_id for one in unread if one.entity_id and one.creation_time > read[one.entity_id]}
    conversations.mark_read(session, actor, read.keys() - partly)
    for conversation_id in partly:
        conversations.mark_read(session, actor, {conversation_id}, until=read[conversation_id])


def defaults_for(actor: Actor) -> list[Preference]:
    """The default preferences for the kinds of notification that the person can get."""
    return [*DEFAULTS, *STAFF_DEFAULTS] if actor.is_staff else [*DEFAULTS]


def settings_of(session: Session, actor: Actor) -> NotificationSettings | None:
    """The person's own choices, None if they have made none."""
    return session.get(NotificationSettings, actor.person_id)


def change_settings(
    session: Session,
    actor: Actor,
    *,
    items: Sequence[Preference],
    quiet_hours: QuietHours | None,
    language: str | None,
    stamp: str,
) -> NotificationSettings:
    """Store the person's choices; kinds not named stay unchanged. Raises Invalid for unknown or locked kinds."""
    if quiet_hours is not None and quiet_hours.time_zone not in available_timezones():
        raise Invalid("There is no such time zone.", "quietHours.timeZone")
    kept = settings_of(session, actor)
    require_stamp(kept.concurrency_stamp if kept else actor.person_id, stamp)
    current = merged_items(actor, kept)
    for index, item in enumerate(items):
        before = current.get(item.type)
        if before is None:
            raise Invalid("There is no such kind of notification.", f"items[{index}].type")
        wanted = msgspec.structs.replace(item, locked=before.locked)
        if before.locked and wanted != before:
            raise Invalid("This kind of notification can't be changed.", f"items[{index}].type")
        current[item.type] = wanted
    if kept is None:
        kept = NotificationSettings(
            person_id=actor.person_id, tenant_id=actor.tenant_id, creator_id=actor.person_id
        )
        session.add(kept)
    kept.items = list(current.values())
    kept.quiet_hours = quiet_hours
    kept.language = language
    kept.touch(actor.sub)
    return kept


def merged_items(actor: Actor, kept: NotificationSettings | None) -> dict[str, Preference]:
    """Each kind that the person can get, with their own choice if they have made one."""
    items = {item.type: item for item in defaults_for(actor)}
    for item in kept.items if kept else ():
        if item.type in items and not items[item.type].locked:
            items[item.type] = item
    return items
