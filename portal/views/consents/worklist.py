"""Staff's work lists: the consent forms waiting for signatures, by whose turn it is and when they are needed.

All lists come from one read, so that the counts match what their links open. Where too many forms wait for one read, each
list is asked for by itself; a list that isn't whole even then is counted with "at least". Nothing is cached.

A form whose time to sign ended before everyone had is among them while its procedure is still to come and no other form
is in its place: nobody can sign it, but somebody has to send it anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from urllib.parse import urlencode

from flask import url_for
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.consents import (
    is_replaced,
    list_awaiting,
    list_due,
    list_expired,
    list_of_each,
    list_open_consents,
    list_undated,
)
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.decoding import PagedResult
from portal.services.errors import CareError, NotSignedIn
from portal.services.gather import gather, gather_all, needed
from portal.services.listed import Count, Listed
from portal.services.rules.signing import listed_role
from portal.services.rules.work_lists import (
    OLD_DAYS,
    WEEK_DAYS,
    WorkList,
    by_need,
    friday,
    is_until,
    when_needed,
)
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.contacts import NO_CONTACTS, Awaited, Contacts
from portal.views.consents.form_filter import EVERYTHING, FormFilter
from portal.views.consents.labels import short_name, whose
from portal.views.consents.list import Due, due, with_text_in_doubt
from portal.web import section_counts
from portal.web.choice_names import choice_name
from portal.web.filters import today
from portal.web.listing import Chip

PAGE = 25


class WorkRow(Value, frozen=True):
    """A form in staff's table: when it is needed, and who it is waiting for.

    `waits_for` are those who haven't signed, `whose` says whose one is that waits for nobody, `href` is the row's link, `short` the form's short name;
    `needs_title` says that another row has the same patient and short name.
    """

    form: ConsentForm
    due: Due | None
    waits_for: tuple[Awaited, ...]
    whose: str
    is_mine: bool
    href: str
    sign_href: str
    short: str
    needs_title: bool = False


class Work(Value, frozen=True):
    """The waiting forms that were read, by list, soonest needed first and the old ones last.

    `whole` are the lists of which nothing is missing, `total` is how many forms wait. `form_filter` leaves some out of every
    list.
    """

    lists: Mapping[WorkList, Sequence[ConsentForm]]
    whole: frozenset[WorkList]
    total: Count
    person: Person
    form_filter: FormFilter = EVERYTHING

    @property
    def forms(self) -> Sequence[ConsentForm]:
        return self.lists[WorkList.OPEN]

    def forms_of(self, which: WorkList) -> Listed[ConsentForm]:
        found = tuple(self.lists[which])
        if self.form_filter:
            found = tuple(form for form in found if self.form_filter.fits(form, self.person))
        return Listed(found, which in self.whole and not self.doubt(which))

    def doubt(self, which: WorkList) -> str:
        """Why the filter may leave out forms of one list that belong there; empty if it doesn't."""
        return self.form_filter.doubt(self.lists[which], self.person)

    def count_of(self, which: WorkList) -> Count:
        """How many forms one list has, also those that weren't read if that is known."""
        is_total = which is WorkList.OPEN and not self.form_filter
        return self.total if is_total else self.forms_of(which).count

    def rows_of(
        self, which: WorkList, first: int, end: int, contacts: Contacts = NO_CONTACTS
    ) -> tuple[WorkRow, ...]:
        """The rows of a part of one list, whose links name it."""
        query = queue_query(which, form_filter=self.form_filter)
        return listed_rows(self.forms_of(which).items[first:end], self.person, contacts, query, is_work=True)

    def usual(self) -> WorkList:
        """The default list: the person's own, if it isn't empty."""
        return WorkList.MINE if self.forms_of(WorkList.MINE) else WorkList.OPEN

    def chips(self, current: WorkList | None) -> list[tuple[Chip, Count]]:
        """The lists as links with counts, without the old ones."""
        lists = (which for which in WorkList if which is not WorkList.OLDER)
        return [
            (
                Chip(list_word(which), list_address(which, self.form_filter), which == current),
                self.count_of(which),
            )
            for which in lists
        ]

    @property
    def older(self) -> tuple[Count, str]:
        """How many are long overdue, and the address of their list."""
        return self.count_of(WorkList.OLDER), list_address(WorkList.OLDER, self.form_filter)

    def shows_older(self, which: WorkList) -> bool:
        """Whether the list shown is that of the long overdue ones."""
        return which is WorkList.OLDER


def read_work(care: Care, person: Person, form_filter: FormFilter = EVERYTHING) -> Work:
    """Read the forms waiting for signatures: three calls, and more where more than 1,000 wait. Raises CareError."""
    of = form_filter.patient_id
    pending, partly, expired = gather(
        lambda: list_open_consents(care, ConsentStatus.PENDING, of),
        lambda: list_open_consents(care, ConsentStatus.PARTIALLY_SIGNED, of),
        lambda: list_expired(care, today(), patient_id=of),
    )
    heads = {ConsentStatus.PENDING: needed(pending), ConsentStatus.PARTIALLY_SIGNED: needed(partly)}
    return replace(work_of(care, heads, expired, person, is_everybodys=of is None), form_filter=form_filter)


def work_of(
    care: Care,
    heads: Mapping[ConsentStatus, PagedResult[ConsentForm]],
    expired: Listed[ConsentForm] | CareError,
    person: Person,
    *,
    is_everybodys: bool = True,
) -> Work:
    """The work lists from the first page of waiting forms of each status, and those expired; raises NotSignedIn.

    What waits for the person is counted beside the section, unless these are the forms of one patient.
    """
    whole, more = _rest(care, heads, person)
    read = [form for page in (*(head.listed for head in heads.values()), *more) for form in page]
    if not all(form.status.known for form in read):  # one may wait too
        whole = frozenset[WorkList]()
    day = today()
    lapsed = _lapsed(care, expired, read, day)
    if not lapsed.is_whole:
        whole -= {WorkList.LATE, WorkList.FRIDAY, WorkList.WEEK}
    found = {form.id: form for form in read if form.is_open}  # one may have been signed meanwhile
    found |= {form.id: form for form in lapsed}
    listed = with_text_in_doubt(care, sorted(found.values(), key=partial(by_need, day)), person)
    total = sum((head.count for head in heads.values()), Count(0))
    if WorkList.OPEN in whole:
        total = Count(len(listed))
    elif not whole:
        total = Count(len(listed), is_whole=False)
    work = Work(_by_list(listed, person, day), whole, total, person)
    if is_everybodys:
        section_counts.learn(person, "/consents", work.count_of(WorkList.MINE))
    return work


def _lapsed(
    care: Care, expired: Listed[ConsentForm] | CareError, read: Iterable[ConsentForm], day: date
) -> Listed[ConsentForm]:
    """The forms to be sent anew: of those that have expired, also by the portal's clock alone, as `read` has them."""
    if isinstance(expired, NotSignedIn):
        raise expired
    listed = Listed[ConsentForm]((), is_whole=False) if isinstance(expired, CareError) else expired
    both = {form.id: form for form in (*listed, *read) if form.is_expired}
    ahead = [form for form in both.values() if form.procedure_date and form.procedure_date >= day]
    patients = [*dict.fromkeys(form.patient_id for form in ahead if form.patient_id)]
    forms_of = list_of_each(care, patients)
    lapsed = (
        form
        for form in ahead
        if form.patient_id in forms_of and not is_replaced(form, forms_of[form.patient_id])
    )
    return Listed(tuple(lapsed), listed.is_whole and len(forms_of) == len(patients))


def _by_list(
    forms: Iterable[ConsentForm], person: Person, day: date
) -> Mapping[WorkList, Sequence[ConsentForm]]:
    lists: dict[WorkList, list[ConsentForm]] = {which: [] for which in WorkList}
    until = friday(day)
    for form in forms:
        lists[WorkList.OPEN].append(form)
        if listed_role(form, person):
            lists[WorkList.MINE].append(form)
        if form.procedure_date and is_until(form.procedure_date, until, day):
            lists[WorkList.FRIDAY].append(form)
        if by_date := when_needed(form, day):
            lists[by_date].append(form)
    return lists


def _rest(
    care: Care, heads: Mapping[ConsentStatus, PagedResult[ConsentForm]], person: Person
) -> tuple[frozenset[WorkList], list[Listed[ConsentForm]]]:
    """The lists of which nothing is missing, and what was read for them beyond `heads`."""
    day = today()
    spans = {
        WorkList.LATE: (day - timedelta(days=OLD_DAYS), day),
        WorkList.WEEK: (day + timedelta(days=1), day + timedelta(days=WEEK_DAYS)),
    }
    missing: list[WorkList] = []
    asked: list[tuple[WorkList, Callable[[], Listed[ConsentForm]]]] = []
    for status, head in heads.items():
        if head.listed.is_whole:
            continue
        reached = _reached(head)
        missing.append(WorkList.OPEN)
        if reached is None or reached < spans[WorkList.LATE][0]:
            missing.append(WorkList.OLDER)
        asked.append((WorkList.MINE, partial(list_awaiting, care, status, person.sub)))
        asked.append((WorkList.UNDATED, partial(list_undated, care, status, head.total)))
        for which, (first, last) in spans.items():
            if reached is None or reached <= last:
                asked.append((which, partial(list_due, care, status, first, last)))
    more: list[Listed[ConsentForm]] = []
    for (which, _call), answer in zip(asked, gather_all([call for _which, call in asked]), strict=True):
        if isinstance(answer, NotSignedIn):
            raise answer
        if isinstance(answer, CareError) or not answer.is_whole:
            missing.append(which)
        if not isinstance(answer, CareError):
            more.append(answer)
    if {WorkList.LATE, WorkList.WEEK} & set(missing):
        missing.append(WorkList.FRIDAY)
    return frozenset(WorkList) - set(missing), more


def _reached(head: PagedResult[ConsentForm]) -> date | None:
    """The day before which no form is missing from the first page of a list by date; None if it isn't in that order."""
    dates = [form.procedure_date or date.max for form in head.items]
    return dates[-1] if dates and not head.unreadable and dates == sorted(dates) else None


def listed_rows(
    forms: Iterable[ConsentForm],
    person: Person,
    contacts: Contacts = NO_CONTACTS,
    query: str = "",
    *,
    is_work: bool = False,
) -> tuple[WorkRow, ...]:
    """The forms as rows; `query` follows their links. In a work list, also one that has expired waits for somebody."""
    rows = [_row_of(form, person, contacts, query, is_work=is_work) for form in forms]
    alike = Counter((row.form.patient_name, row.short) for row in rows)
    return tuple(
        replace(row, needs_title=True) if alike[row.form.patient_name, row.short] > 1 else row for row in rows
    )


def _row_of(form: ConsentForm, person: Person, contacts: Contacts, query: str, *, is_work: bool) -> WorkRow:
    is_mine = listed_role(form, person) is not None
    has_lapsed = is_work and form.is_expired
    return WorkRow(
        form=form,
        due=Due(choice_name(form.status), "urgent") if has_lapsed else due(form),
        waits_for=contacts.of(form, person) if form.is_open or has_lapsed else (),
        whose=whose(form),
        is_mine=is_mine,
        href=url_for("consents.show", consent_id=form.id) + query,
        sign_href=url_for("consents.sign.show", consent_id=form.id) + query if is_mine else "",
        short=short_name(form),
    )


def list_word(which: WorkList) -> str:
    words = {
        WorkList.MINE: _("Mine"),
        WorkList.LATE: _("Late or today"),
        WorkList.FRIDAY: _("Until Friday"),
        WorkList.WEEK: _("Next 7 days"),
        WorkList.UNDATED: _("No date"),
        WorkList.OPEN: _("All that wait"),
        WorkList.OLDER: _("Long overdue"),
    }
    return words[which]


def list_address(which: WorkList, form_filter: FormFilter = EVERYTHING) -> str:
    return form_filter.address(list=which)


def queue_query(which: WorkList, done: int = 0, form_filter: FormFilter = EVERYTHING) -> str:
    """The query parameters that identify the list that a form was opened from."""
    return "?" + urlencode({"list": str(which), **form_filter.query, **({"done": done} if done else {})})
