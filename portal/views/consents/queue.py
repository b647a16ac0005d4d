"""Working through a list: a form's address says which list it was opened from, which gives the next one."""

from __future__ import annotations

from flask import Response, request, url_for

from portal.parse import whole_number
from portal.services.consents.forms import ConsentForm
from portal.services.gather import attempt, known
from portal.services.listed import Count
from portal.services.rules.work_lists import WorkList, by_need
from portal.values import Value
from portal.views.consents.form_filter import FormFilter
from portal.views.consents.worklist import PAGE, Work, list_word, listed_rows, queue_query, read_work
from portal.web.filters import today
from portal.web.handlers import Care, Person, redirect_to


def asked_list() -> WorkList | None:
    try:
        return WorkList(request.args.get("list", ""))
    except ValueError:
        return None


def with_queue(address: str) -> str:
    """The address with this request's list parameters."""
    which = asked_list()
    if which is None:
        return address
    query = queue_query(which, _done(), FormFilter.read(request.args))
    return f"{address}&{query[1:]}" if "?" in address else address + query


def to_receipt(form: ConsentForm, *, opens_next: bool = False) -> Response:
    """To what the person has signed; with `opens_next` rather to the list's next form to sign, if there is one."""
    address = url_for("consents.receipt", consent_id=form.id, open_next=1 if opens_next else None)
    return redirect_to(with_queue(address))


def place_in_list(care: Care, person: Person, form: ConsentForm) -> Place | None:
    """The form's position in the list that it was opened from; None if there is none or it can't be read."""
    which = asked_list() if person.is_staff else None
    if which is None:
        return None
    work = known(attempt(lambda: read_work(care, person, FormFilter.read(request.args))))
    return None if work is None else place_of(work, which, form, _done())


def _done() -> int:
    return whole_number(request.args.get("done"), most=999) or 0


class Place(Value, frozen=True):
    """A form's position in the list that it was opened from.

    `back` and `next` are the addresses of its neighbours, `home` is the list's, at this form's position; `query` is added
    to further addresses of the form itself.
    """

    words: str
    query: str
    home: str
    number: int
    of: Count
    back: str
    next: str
    next_form: ConsentForm | None
    next_sign: str


def place_of(work: Work, which: WorkList, form: ConsentForm, done: int) -> Place:
    """The form's position in its list; if it has been signed and left the list, its former position.

    `done` is how many left the list before, from the query, so that the count continues: 3 of 11, 4 of 11.
    """
    forms = work.forms_of(which)
    own_query = queue_query(which, done, work.form_filter)
    ids = [listed.id for listed in forms]
    if form.id in ids:
        index = ids.index(form.id)
        after = index + 1
    else:
        day = today()
        index = after = sum(by_need(day, listed) < by_need(day, form) for listed in forms)
        done += 1
    query = queue_query(which, done, work.form_filter)
    rows = listed_rows(forms.items[max(index - 1, 0) : after + 1], work.person)
    before = next((row for row in rows if index and row.form.id == ids[index - 1]), None)
    following = next((row for row in rows if after < len(ids) and row.form.id == ids[after]), None)
    page = index // PAGE + 1
    return Place(
        words=list_word(which),
        query=own_query,
        home=work.form_filter.address(list=which, **({"page": page} if page > 1 else {}))
        + f"#form-{form.id}",
        number=index + done + (form.id in ids),
        of=work.count_of(which) + Count(done),
        back=before.href + query if before else "",
        next=following.href + query if following else "",
        next_form=following.form if following else None,
        next_sign=following.sign_href + query if following and following.sign_href else "",
    )
