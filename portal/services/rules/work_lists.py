"""Which list of waiting forms a form is on, by the day for which it is needed."""

from __future__ import annotations

from datetime import date, timedelta
from enum import StrEnum

from portal.services.consents.forms import ConsentForm

WEEK_DAYS = 7


_FRIDAY = 4
"""Friday as `date.weekday` gives it."""


OLD_DAYS = 30
"""After how many days a late form is apart, with those to close or chase."""


class WorkList(StrEnum):
    """The lists, by their name in the query."""

    MINE = "mine"
    LATE = "late"
    FRIDAY = "friday"
    WEEK = "week"
    UNDATED = "undated"
    OPEN = "open"
    OLDER = "older"


def friday(day: date) -> date:
    """The next Friday, which may be that day."""
    return day + timedelta(days=(_FRIDAY - day.weekday()) % 7)


def is_until(needed: date, last: date, day: date) -> bool:
    """Whether it is needed until `last`, or has been overdue on `day` for no more than 30 days."""
    return day - timedelta(days=OLD_DAYS) <= needed <= last


def when_needed(form: ConsentForm, day: date) -> WorkList | None:
    """The list that the form's procedure date puts it on, on that day."""
    if form.procedure_date is None:
        return WorkList.UNDATED
    days = (form.procedure_date - day).days
    if days < -OLD_DAYS:
        return WorkList.OLDER
    if days <= 0:
        return WorkList.LATE
    return WorkList.WEEK if days <= WEEK_DAYS else None


def by_need(day: date, form: ConsentForm) -> tuple[bool, date, str, str, str]:
    """Sorts by when it is needed, the old ones last; then in a way that doesn't change with signatures."""
    on = form.procedure_date or date.max
    is_old = when_needed(form, day) is WorkList.OLDER
    return is_old, on, form.patient_name.casefold(), form.title, form.id
