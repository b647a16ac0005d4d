"""Care cases (care API specification §4, group CareCase); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.endpoints import UPDATE_CASE
from portal.services.exchanges import CaseChange
from portal.services.records.cases import CareStatus, Case


def update_case(
    care: Care,
    case_id: str,
    *,
    title: str,
    status: CareStatus,
    physician_id: str | None,
    stamp: str | None,
    coordinator_id: str | None = None,
    diagnosis: str | None = None,
    notes: str | None = None,
    closed_reason: str | None = None,
) -> Case | None:
    """Update the case and return it with a new stamp; None if the API returns no body: read its episode again.

    PUT /api/care/cases/{id} (care API specification §4). All of these fields are written; None clears one.
    Raises `Refused` for a status not in the case's `next_statuses`, `Conflict` if it was changed
    meanwhile.
    """
    change = CaseChange(
        title=title,
        status=status,
        physician_id=physician_id,
        coordinator_id=coordinator_id,
        diagnosis=diagnosis,
        notes=notes,
        closed_reason=closed_reason,
        concurrency_stamp=stamp,
    )
    return care.act(UPDATE_CASE, change, id=case_id)
