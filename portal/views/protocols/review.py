"""The pages on which a protocol's changes are reviewed before they are saved, and compared with somebody else's."""

from __future__ import annotations

import msgspec
from flask import Response

from portal.services.protocols import Protocol
from portal.views.protocols.changes import Change, changes
from portal.views.protocols.day_grid import DayGrid
from portal.views.protocols.dose_changes import DoseDifference, dose_differences
from portal.views.protocols.dose_mentions import DoseMentions, read_dose_mentions
from portal.views.protocols.hard_stops import HardStop, triggers_told
from portal.views.protocols.plan import Plan
from portal.views.protocols.view import PlanOwner
from portal.web.edit_form import Comparison
from portal.web.handlers import Care, Page, render


class ReviewPage(Page, template="protocols/review.html", about="protocol", is_pinned=True):
    """The changes to review; `doses` are those of single days, `mentions` what messages say of them,
    `hard_stops` the questions to answer, `carried` hidden fields.
    """

    protocol: Protocol
    whose: PlanOwner
    changes: list[Change]
    doses: list[DoseDifference]
    triggers: list[str]
    hard_stops: list[HardStop]
    grid: DayGrid | None
    mentions: DoseMentions | None
    carried: list[tuple[str, str]]


class ComparePage(Page, template="protocols/compare.html", about="protocol", is_pinned=True):
    protocol: Protocol
    comparison: Comparison


def show_review(
    care: Care,
    protocol: Protocol,
    plan: Plan,
    whose: PlanOwner,
    physicians: list[tuple[str, str]],
    asked: list[HardStop],
    *,
    status: int = 200,
) -> Response:
    """Show the changes, with the questions to answer."""
    now = Plan.of(protocol)
    page = ReviewPage(
        protocol=protocol,
        whose=whose,
        changes=changes(now, plan, physicians),
        doses=dose_differences(now, plan),
        triggers=triggers_told(plan, whose.collection(plan.begins), is_unread=whose.is_unread),
        hard_stops=asked,
        grid=DayGrid.of(plan, now),
        mentions=read_dose_mentions(
            care,
            whose.patient.id if whose.patient else protocol.patient_id,
            _name(protocol, whose),
            before=now,
            after=plan,
        ),
        carried=[*plan.values().items(), ("opened", msgspec.json.encode(now.values()).decode())],
    )
    return render(page, status=status)


def _name(protocol: Protocol, whose: PlanOwner) -> str:
    return whose.patient.full_name if whose.patient else protocol.patient_name or ""


def show_comparison(protocol: Protocol, comparison: Comparison) -> Response:
    return render(ComparePage(protocol=protocol, comparison=comparison), status=comparison.status)
