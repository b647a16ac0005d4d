"""The types of each endpoint's request and response.

The services use the same types; tests/services/test_exchanges.py calls each service and compares. The published contract
(portal.connect.needs) and clinics' dialects (portal.connect.dialects) are derived from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from portal.services import endpoints
from portal.services.decoding import Id, Page, Record, Whole
from portal.services.endpoints import Endpoint
from portal.services.records.base import AUDIT_MEMBERS
from portal.services.records.cases import CareStatus, Case
from portal.services.records.consents import (
    ConsentDraft,
    ConsentForm,
    ConsentStatus,
    ReadingMode,
    SignerRole,
    SigningMethod,
    ToldBy,
)
from portal.services.records.conversations import ArchivedCount, Conversation, Message
from portal.services.records.documents import Directory
from portal.services.records.episodes import ConsentBrief, Episode, PgtBrief
from portal.services.records.notifications import Notification, NotificationCounts, NotificationSettings
from portal.services.records.patients import Patient
from portal.services.records.pgt_results import PgtResult
from portal.services.records.physicians import Physician
from portal.services.records.prospects import Booking, Prospect
from portal.services.records.protocols import Protocol, ProtocolDraft, ProtocolStatus
from portal.services.records.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation


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


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """How a page of a list is asked for."""

    skip_count: Whole
    max_result_count: Whole


class SearchQuery(PageQuery, frozen=True, kw_only=True, rename="pascal"):
    """A page of a list that can be searched."""

    filter: str | None = None


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


@dataclass(frozen=True, slots=True)
class Exchange:
    """One endpoint's types: the request body, except the members `without`, the query, and the response.

    `answer` is a record, a `Page` of records, `bytes` for a file, or `object` if the response is ignored.
    """

    answer: Any
    sent: type[Record] | None = None
    query: type[msgspec.Struct] | None = None
    without: frozenset[str] = frozenset()


EXCHANGES: Mapping[Endpoint, Exchange] = {
    endpoints.LIST_CONSENTS: Exchange(Page[ConsentForm], query=ConsentQuery),
    endpoints.CREATE_CONSENT: Exchange(ConsentForm, ConsentDraft),
    endpoints.READ_CONSENT: Exchange(ConsentForm),
    endpoints.SIGN_CONSENT: Exchange(ConsentForm, Signing),
    endpoints.REVOKE_CONSENT: Exchange(ConsentForm, Revoking),
    endpoints.LIST_PROTOCOLS: Exchange(Page[Protocol], query=ProtocolQuery),
    endpoints.CREATE_PROTOCOL: Exchange(Protocol, ProtocolDraft),
    endpoints.READ_PROTOCOL: Exchange(Protocol),
    endpoints.UPDATE_PROTOCOL: Exchange(Protocol, Protocol, without=AUDIT_MEMBERS),
    endpoints.UPDATE_PATIENT: Exchange(Patient, Patient, without=AUDIT_MEMBERS),
    endpoints.UPDATE_CASE: Exchange(Case, CaseChange),
    endpoints.DELETE_RELATIONSHIP: Exchange(object),
    endpoints.UPDATE_EMBRYO_STORAGE: Exchange(EmbryoStorage, EmbryoChange),
    endpoints.READ_PGT_RESULT: Exchange(PgtResult),
    endpoints.READ_EPISODE: Exchange(Episode),
    endpoints.LIST_PHYSICIANS: Exchange(Page[Physician], query=PhysicianQuery),
    endpoints.DELETE_EMR_ENDPOINT: Exchange(object),
    endpoints.MOVE_DIRECTORY: Exchange(Directory, DirectoryMove),
    endpoints.READ_FILE_CONTENT: Exchange(bytes, query=FileQuery),
    endpoints.RESTORE_MESSAGE: Exchange(Message),
    endpoints.ARCHIVE_MESSAGE: Exchange(Message),
    endpoints.LIST_CONVERSATIONS: Exchange(Page[Conversation], query=ConversationQuery),
    endpoints.ARCHIVE_CONVERSATIONS: Exchange(ArchivedCount, ConversationsToArchive),
    endpoints.LIST_NOTIFICATIONS: Exchange(Page[Notification], query=NotificationQuery),
    endpoints.UPDATE_NOTIFICATIONS: Exchange(NotificationCounts, NotificationsRead),
    endpoints.READ_NOTIFICATION_SETTINGS: Exchange(NotificationSettings),
    endpoints.UPDATE_NOTIFICATION_SETTINGS: Exchange(NotificationSettings, NotificationSettings),
    endpoints.MERGE_PROSPECTS: Exchange(Prospect, MergeChoices),
    endpoints.BOOK_WINDOW: Exchange(Booking, BookingRequest),
}
"""The types of each endpoint in `endpoints.ALL`."""

PART_OF: Mapping[type, type[Record]] = {
    ConsentDraft: ConsentForm,
    ConsentBrief: ConsentForm,
    Signing: ConsentForm,
    Revoking: ConsentForm,
    ProtocolDraft: Protocol,
    CaseChange: Case,
    EmbryoChange: EmbryoStorage,
    PgtBrief: PgtResult,
    DirectoryMove: Directory,
    BookingRequest: Booking,
}
"""Types with members of another record; what is documented for that record's members also applies to theirs."""
