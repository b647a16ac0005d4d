"""What is sent with each call: the bodies of acts and the queries of reads."""

from __future__ import annotations

from datetime import date, datetime

import msgspec
from msgspec import UNSET, UnsetType

from portal.services.api import SearchQuery
from portal.services.decoding import Id, Record
from portal.services.records.cases import CareStatus
from portal.services.records.consents import ConsentStatus, ReadingMode, SignerRole, SigningMethod, ToldBy
from portal.services.records.protocols import ProtocolStatus
from portal.services.records.storage import Disposition, EmbryoStatus, StorageLocation


class Signing(Record, frozen=True, kw_only=True):
    """What is sent to sign a consent form."""

    signer_role: SignerRole
    method: SigningMethod
    signature: str
    acknowledged_statement_ids: tuple[Id, ...]
    content_hash: str
    language: str | None
    screen_language: str | UnsetType = UNSET
    reading_mode: ReadingMode | UnsetType = UNSET
    concurrency_stamp: str | None


class Revoking(Record, frozen=True, kw_only=True):
    """What is sent to withdraw from a consent form, or to decline it."""

    concurrency_stamp: str | None
    reason: str | UnsetType = UNSET
    on_behalf_of: Id | UnsetType = UNSET
    told_at: datetime | UnsetType = UNSET
    told_by: ToldBy | UnsetType = UNSET


class CaseChange(Record, frozen=True, kw_only=True):
    """What is sent to change a case: all of it, None empties a member."""

    title: str
    status: CareStatus
    physician_id: Id | None
    coordinator_id: Id | None
    diagnosis: str | None
    notes: str | None
    closed_reason: str | None
    concurrency_stamp: str | None


class EmbryoChange(Record, frozen=True, kw_only=True):
    """What is sent to change an embryo's storage: a patient's choice names `disposition` alone."""

    disposition: Disposition
    concurrency_stamp: str | None
    status: EmbryoStatus | UnsetType = UNSET
    location: StorageLocation | UnsetType | None = UNSET
    storage_expires_at: datetime | UnsetType | None = UNSET
    notes: str | UnsetType | None = UNSET


class DirectoryMove(Record, frozen=True, kw_only=True):
    """What is sent to move a folder; `new_parent_id` None is the root."""

    id: Id
    new_parent_id: Id | None
    concurrency_stamp: str | None


class ConversationsToArchive(Record, frozen=True, kw_only=True):
    """What is sent to archive conversations."""

    conversation_ids: tuple[Id, ...]


class NotificationsRead(Record, frozen=True, kw_only=True):
    """What is sent to set notifications read or unread: those of `ids`, or all."""

    is_read: bool
    ids: tuple[Id, ...] | UnsetType = UNSET
    all: bool | UnsetType = UNSET


class MergeChoices(Record, frozen=True, kw_only=True):
    """What is sent to merge two enquiries: for each member whose value stays, the id of its record."""

    field_choices: dict[str, str] | UnsetType = UNSET


class BookingRequest(Record, frozen=True, kw_only=True):
    """What is sent to book a window."""

    physician_id: Id
    location_id: Id | None
    start: datetime
    end: datetime
    time_zone: str
    appointment_type: str


class ConsentQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which consent forms are asked for."""

    sorting: str | None = None
    patient_id: Id | None = None
    case_id: Id | None = None
    episode_id: Id | None = None
    status: ConsentStatus | None = None
    waits_for: Id | None = None
    due_from: date | None = None
    due_to: date | None = None


class ProtocolQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which protocols are asked for."""

    sorting: str | None = None
    status: ProtocolStatus | None = None


class PhysicianQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which physicians are asked for, and for when."""

    from_: datetime | None = msgspec.field(default=None, name="From")
    to: datetime | None = None
    location_id: Id | None = None


class ConversationQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which conversations are asked for."""

    sorting: str | None = None
    include_archived: bool = False


class NotificationQuery(SearchQuery, frozen=True, kw_only=True, rename="pascal"):
    """Which notifications are asked for."""

    is_read: bool | None = None
    type: str | None = None


class FileQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which file is asked for."""

    id: Id
