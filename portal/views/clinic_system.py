"""The state of the clinic's API: for administrators, who can ask its operator to fix what is missing."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, g

from portal.connect.answers.figures import Row
from portal.connect.answers.observer import ENDPOINTS
from portal.connect.dialects.named_records import use_of_member
from portal.context import context
from portal.i18n.gettext import _, ngettext
from portal.values import Value
from portal.web.handlers import Care, Page, Person, Side, render, signed_in
from portal.web.navigation import section_names
from portal.web.permissions import SEE_SYSTEM

bp = Blueprint("clinic_system", __name__, url_prefix="/clinic-system")


class Gap(Value, frozen=True):
    """A member that no record had: on which pages it is used, in words, and for what, in the contract's English."""

    name: str
    pages: list[str]
    purpose: str


class EndpointView(Value, frozen=True):
    """One endpoint of the care API; `missing` are members that no record had."""

    name: str
    calls: int
    median: str | None
    slow: str | None
    failures: int
    missing: list[Gap]
    faults: list[str]
    unknown: tuple[str, ...]


class SystemPage(Page, template="clinic_system/show.html"):
    """The endpoints called or known, and since when this process has counted their calls."""

    rows: list[EndpointView]
    not_called: int
    since: datetime


@bp.get("")
@signed_in(Side.STAFF, roles=SEE_SYSTEM)
def show(care: Care, person: Person) -> Response:
    """Show latency, failures and what is missing or unknown, by endpoint. Makes no calls."""
    answers = context().answers
    figures = answers.figures.rows(g.tenant.key)
    missing = answers.members.missing(g.tenant.key)
    rows = [
        _view(name, figures.get(name), missing.get(name, []))
        for name in ENDPOINTS
        if name in figures or missing.get(name)
    ]
    since = datetime.fromtimestamp(answers.figures.since, UTC)
    return render(SystemPage(rows=rows, not_called=len(ENDPOINTS) - len(rows), since=since))


def _view(name: str, row: Row | None, missing: list[str]) -> EndpointView:
    gaps = [_gap(member) for member in missing]
    if row is None:
        return EndpointView(name, 0, None, None, 0, gaps, [], ())
    left_out = [
        ngettext(
            "%(num)s record left out: %(member)s",
            "%(num)s records left out: %(member)s",
            times,
            member=member,
        )
        for member, times in row.left_out
    ]
    values = [
        ngettext(
            "%(num)s unknown value: %(member)s", "%(num)s unknown values: %(member)s", times, member=member
        )
        for member, times in row.values
    ]
    unreadable = [
        ngettext(
            "%(num)s value can’t be read: %(member)s",
            "%(num)s values can’t be read: %(member)s",
            times,
            member=member,
        )
        for member, times in row.unreadable
    ]
    return EndpointView(
        name,
        row.calls,
        _time(row.median),
        _time(row.slow),
        row.failures,
        gaps,
        left_out + unreadable + values,
        row.unknown,
    )


def _gap(member: str) -> Gap:
    use = use_of_member(member)
    if use is None:
        return Gap(member, [], "")
    words = area_names()
    return Gap(member, [words[area] for area in use.areas], use.purpose)


def area_names() -> dict[str, str]:
    """What people know the modules of `portal.views` by: the menu's word, and what those are called that it doesn't have."""
    return {
        **section_names(),
        "booking": _("Book your first visit"),
        "cases": _("Case"),
        "directories": _("Folders"),
        "files": _("Documents"),
        "find": _("Find"),
        "me": _("My details"),
        "patients": _("Patient"),
        "pgt_results": _("Genetic test"),
        "relationships": _("Relationships"),
    }


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else _("%(num)s ms", num=round(seconds * 1000))
