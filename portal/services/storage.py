"""Embryo storage (care API specification §4, group EmbryoStorage); read as part of an episode."""

from __future__ import annotations

from datetime import datetime

from portal.services.client import Care
from portal.services.endpoints import UPDATE_EMBRYO_STORAGE
from portal.services.exchanges import EmbryoChange
from portal.services.records.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation
from portal.services.sign_in_age import FRESH


def update_embryo_storage(
    care: Care,
    embryo_id: str,
    *,
    status: EmbryoStatus,
    location: StorageLocation | None,
    storage_expires_at: datetime | None,
    disposition: Disposition,
    notes: str | None,
    stamp: str | None,
    is_move: bool = True,
) -> EmbryoStorage | None:
    """Save staff's changes and return the record; None if the API returns no body: read its episode again.

    PUT /api/care/embryo-storage/{id} (care API specification §4). `is_move` says that status or disposition change, which
    needs a fresh sign-in. Raises `Refused` for a status not in the embryo's `next_statuses`, on hold, or without the
    required consent; `Conflict` if it was changed meanwhile.
    """
    change = EmbryoChange(
        status=status,
        location=location,
        storage_expires_at=storage_expires_at,
        disposition=disposition,
        notes=notes,
        concurrency_stamp=stamp,
    )
    return care.act(UPDATE_EMBRYO_STORAGE, change, max_age=FRESH if is_move else None, id=embryo_id)


def choose_disposition(
    care: Care, embryo_id: str, *, disposition: Disposition, stamp: str | None
) -> EmbryoStorage | None:
    """Save a patient's decision (`ContinueStorage` renews); nothing else of the record is sent.

    PUT /api/care/embryo-storage/{id} (care API specification §4). Returns the record, or None if the API returns no body:
    read its episode again. Raises `Refused` without the required signed consent.
    """
    choice = EmbryoChange(disposition=disposition, concurrency_stamp=stamp)
    return care.act(UPDATE_EMBRYO_STORAGE, choice, max_age=FRESH, id=embryo_id)
