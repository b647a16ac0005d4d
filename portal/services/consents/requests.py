"""What is sent to create, sign, withdraw and list consent forms."""

from __future__ import annotations

from datetime import date, datetime

from msgspec import UNSET, UnsetType

from portal.services.api import SearchQuery
from portal.services.consents.forms import (
    ConsentStatus,
    PasskeyProof,
    ReadingMode,
    SignerRole,
    SigningMethod,
    ToldBy,
)
from portal.services.decoding import Id, Record


class NewSignature(Record, frozen=True, kw_only=True):
    """What is sent to sign a consent form: the name as typed, and the text that was shown.

    `content_hash` is the API's, as it came with the form that was shown; `language` is the text's (BCP 47). `screen_language`
    and `reading_mode` are sent only if the screen was in another, `passkey` only if the signer's passkey confirmed it.
    """

    signer_role: SignerRole
    method: SigningMethod = SigningMethod.TYPED_NAME
    signature: str
    acknowledged_statement_ids: tuple[Id, ...]
    content_hash: str
    language: str | None = None
    screen_language: str | UnsetType = UNSET
    reading_mode: ReadingMode | UnsetType = UNSET
    passkey: PasskeyProof | UnsetType = UNSET
    concurrency_stamp: str | None


class Revoking(Record, frozen=True, kw_only=True):
    """What is sent to withdraw from a consent form, or to decline it."""

    concurrency_stamp: str | None
    reason: str | UnsetType = UNSET
    on_behalf_of: Id | UnsetType = UNSET
    told_at: datetime | UnsetType = UNSET
    told_by: ToldBy | UnsetType = UNSET


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
