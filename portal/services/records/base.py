"""What every editable record carries."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Id, Timed


class Audited(Timed, frozen=True, kw_only=True):
    """Who made and changed a record, and the stamp that an update must send back."""

    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None


AUDIT_MEMBERS = frozenset({"id", "creationTime", "creatorId", "lastModificationTime", "lastModifierId"})
"""Members of a record that the API alone sets: left out when the record is sent back."""
