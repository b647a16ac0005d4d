"""Members of every editable record."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Id, Timed


class Audited(Timed, frozen=True, kw_only=True):
    """Who created and changed a record, and the stamp that an update must send back."""

    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None


AUDIT_MEMBERS = frozenset({"id", "creationTime", "creatorId", "lastModificationTime", "lastModifierId"})
"""Members that only the API sets; omitted when the record is sent back."""
