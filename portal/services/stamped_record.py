"""What every record has that is changed: who created and changed it, and its stamp."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Id, Timed


class StampedRecord(Timed, frozen=True, kw_only=True):
    """A record with who created and changed it, and the stamp that a change sends back."""

    creation_time: datetime | None = None
    creator_id: Id | None = None
    last_modification_time: datetime | None = None
    last_modifier_id: Id | None = None
    concurrency_stamp: str | None = None


SET_BY_API = frozenset({"id", "creationTime", "creatorId", "lastModificationTime", "lastModifierId"})
"""Members that only the API sets; omitted when the record is sent back."""
