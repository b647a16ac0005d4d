"""Staff's work lists: the consent forms waiting for signatures, by whose turn it is and when they are needed.

All lists come from one read, so that the counts match what their links open. Nothing is cached.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum
from functools import partial
from urllib.parse import urlencode

from flask import Blueprint, url_for

from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.consents import OPEN_STATUSES, list_open_consents
from portal.services.decoding import Page
from portal.services.errors import CareError
from portal.services.gather import gather_all
from portal.services.paging import CAP
from portal.services.records.consents import ConsentForm
from portal.state.session_records import Person
from portal.views.consents.eligibility import listed_role
from portal.views.consents.labels import kind_word, names_of
from portal.views.consents.list import Due, due, with_text_in_doubt
from portal.views.consents.missing import account_words, without_account
from portal.web.filters import in_a_row, today
from portal.web.listing import Chip

bp = Blueprint("worklist", __name__)

PAGE = 25
_WEEK_DAYS = 7
_ABBREVIATION = re.compile(r"\(([^()]{2,8})\)\s*$")


class WorkList(StrEnum):
    """The lists, by their name in the query."""

    MINE = "mine"
    LATE = "late"
    WEEK = "week"
    UNDATED = "undated"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A form in staff's table: when it is needed, and who it is waiting for.

    `waits_for` are the names of those who haven't signed, `note` says who of them can't, `href` is the row's link;
    `needs_title` says that another row has the same patient and short name.
    """

    form: ConsentForm
    due: Due | None
    waits_for: tuple[str, ...]
    missing: str
    note: str
    is_mine: bool
    href: str
    sign_href: str
    needs_title: bool = False

    def in_queue(self, query: str) -> WorkRow:
        """A copy whose link names the list."""
        return replace(
            self, href=self.href + query, sign_href=self.sign_href + query if self.sign_href else ""
        )

    @property
    def short(self) -> str:
        """The form's short name: `Genetic testing · PGT-A`."""
        return short_name(self.form)


@dataclass(frozen=True, slots=True)
class Work:
    """All waiting forms, soonest needed first; `total` also counts those that weren't read."""

    rows: tuple[WorkRow, ...]
    total: int

    @property
    def is_complete(self) -> bool:
        """Whether all waiting forms were read."""
        return self.total <= len(self.rows)

    def rows_of(self, which: WorkList) -> tuple[WorkRow, ...]:
        """The rows of one list."""
        return tuple(row for row in self.rows if _is_in(row, which))

    def usual(self) -> WorkList:
        """The default list: the person's own, if it isn't empty."""
        return WorkList.MINE if any(row.is_mine for row in self.rows) else WorkList.OPEN

    def chips(self, current: WorkList | None) -> list[tuple[Chip, int | None]]:
        """The lists as links with counts; the total is None if unknown."""
        counts = [(which, len(self.rows_of(which))) for which in WorkList]
        return [
            (
                Chip(list_word(which), url_for("consents.list", list=which), which == current),
                None if which is WorkList.OPEN and not self.is_complete else count,
            )
            for which, count in counts
        ]


@dataclass(frozen=True, slots=True)
class Place:
    """A form's position in the list that it was opened from.

    `back` and `next` are the addresses of its neighbours, `home` is the list's, at this form's position; `query` is added
    to further addresses of the form itself.
    """

    words: str
    query: str
    home: str
    number: int
    of: int
    back: str
    next: str
    next_form: ConsentForm | None
    next_sign: str


def read_work(care: Care, person: Person) -> Work:
    """Read the forms waiting for signatures, at most 1,000, in two calls. Raises CareError."""
    pages: list[Page[ConsentForm]] = []
    for page in gather_all([partial(list_open_consents, care, status) for status in OPEN_STATUSES]):
        if isinstance(page, CareError):
            raise page
        pages.append(page)
    return work_of(care, pages, person)


def work_of(care: Care, pages: Sequence[Page[ConsentForm]], person: Person) -> Work:
    """The work lists from these pages of waiting forms."""
    found = {
        form.id: form for page in pages for form in page.items if form.is_open
    }  # one may have been signed meanwhile
    listed = sorted(found.values(), key=_order)[:CAP]
    read = with_text_in_doubt(care, listed, person)
    rows = listed_rows(read, person)
    received = sum(len(page.items) for page in pages)
    unread = sum(page.total for page in pages) - received
    return Work(rows, len(rows) + max(unread, 0) + max(received - CAP, 0))


def listed_rows(forms: Iterable[ConsentForm], person: Person) -> tuple[WorkRow, ...]:
    """The rows for a list of forms."""
    rows = [_row_of(form, person) for form in forms]
    alike = Counter((row.form.patient_name, row.short) for row in rows)
    return tuple(
        replace(row, needs_title=True) if alike[row.form.patient_name, row.short] > 1 else row for row in rows
    )


def _row_of(form: ConsentForm, person: Person) -> WorkRow:
    missing = form.missing_signers if form.is_open else ()
    is_mine = listed_role(form, person) is not None
    return WorkRow(
        form=form,
        due=due(form),
        waits_for=tuple(signer.name or names_of((signer,)) for signer in missing),
        missing=names_of(missing),
        note=in_a_row(account_words(without_account(form, person))),
        is_mine=is_mine,
        href=url_for("consents.show", consent_id=form.id),
        sign_href=url_for("consents.sign.show", consent_id=form.id) if is_mine else "",
    )


def place_of(work: Work, which: WorkList, form: ConsentForm, done: int) -> Place:
    """The form's position in its list; if it has been signed and left the list, its former position.

    `done` is how many left the list before, from the query, so that the count continues: 3 of 11, 4 of 11.
    """
    rows = work.rows_of(which)
    own_query = queue_query(which, done)
    ids = [row.form.id for row in rows]
    if form.id in ids:
        index = ids.index(form.id)
        after = index + 1
    else:
        index = after = sum(_order(row.form) < _order(form) for row in rows)
        done += 1
    following = rows[after] if after < len(rows) else None
    query = queue_query(which, done)
    page = index // PAGE + 1
    return Place(
        words=list_word(which),
        query=own_query,
        home=url_for("consents.list", list=which, page=page if page > 1 else None) + f"#form-{form.id}",
        number=index + done + (form.id in ids),
        of=len(rows) + done,
        back=rows[index - 1].href + query if index > 0 else "",
        next=following.href + query if following else "",
        next_form=following.form if following else None,
        next_sign=following.sign_href + query if following and following.sign_href else "",
    )


def queue_query(which: WorkList, done: int = 0) -> str:
    """The query parameters that identify the list that a form was opened from."""
    return "?" + urlencode({"list": str(which), **({"done": done} if done else {})})


def list_word(which: WorkList) -> str:
    """A list's name."""
    words = {
        WorkList.MINE: _("Mine"),
        WorkList.LATE: _("Late or today"),
        WorkList.WEEK: _("This week"),
        WorkList.UNDATED: _("No date"),
        WorkList.OPEN: _("All that wait"),
    }
    return words[which]


@bp.app_template_filter("consent_short")
def short_name(form: ConsentForm) -> str:
    """`Genetic testing · PGT-A`: its kind, and the abbreviation at the end of its title."""
    known = form.kind is not None and form.kind.known
    found = _ABBREVIATION.search(form.title)
    parts = [kind_word(form.kind) if known else "", found[1] if found else ""]
    return in_a_row([part for part in parts if part], " · ") or form.title


def _is_in(row: WorkRow, which: WorkList) -> bool:
    on = row.form.procedure_date
    days = (on - today()).days if on else None
    match which:
        case WorkList.MINE:
            return row.is_mine
        case WorkList.LATE:
            return days is not None and days <= 0
        case WorkList.WEEK:
            return days is not None and 0 < days <= _WEEK_DAYS
        case WorkList.UNDATED:
            return days is None
        case WorkList.OPEN:
            return True


def _order(form: ConsentForm) -> tuple[date, str, str, str]:
    """Sorts by when it is needed; then in a way that doesn't change with signatures."""
    return form.procedure_date or date.max, form.patient_name.casefold(), form.title, form.id
