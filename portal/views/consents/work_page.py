"""The page of a list of work: one of the clinic's lists of forms, or the default one."""

from __future__ import annotations

from flask import Response, request

from portal.parse import page_number
from portal.services.consents.forms import ConsentForm
from portal.services.listed import Listed
from portal.services.rules.work_lists import WorkList
from portal.views.chosen_patient import ChosenPatient
from portal.views.consents.contacts import NO_CONTACTS, read_contacts
from portal.views.consents.form_filter import kind_choices, waits_choices
from portal.views.consents.queue import asked_list
from portal.views.consents.worklist import PAGE, Work, WorkRow
from portal.web.handlers import Care, Page, audit, render


class WorkPage(Page, template="consents/worklist.html", about="chosen"):
    """One page of a work list, with the counts of all lists; `forms` are the list's, `rows` the page's."""

    chosen: ChosenPatient | None
    work: Work
    which: WorkList
    forms: Listed[ConsentForm]
    rows: tuple[WorkRow, ...]
    number: int
    pages: int
    waits_choices: list[tuple[str, str]]
    kind_choices: list[tuple[str, str]]


def show_work(care: Care, work: Work, chosen: ChosenPatient | None) -> Response:
    """Show a page of the requested list, or of the default one."""
    which = asked_list() or work.usual()
    forms = work.forms_of(which)
    pages = max(1, -(-len(forms.items) // PAGE))
    number = min(page_number(request.args.get("page")), pages)
    first, end = (number - 1) * PAGE, number * PAGE
    reach = read_contacts(care, forms.items[first:end]) if work.form_filter.is_about_people else NO_CONTACTS
    page = WorkPage(
        chosen=chosen,
        work=work,
        which=which,
        forms=forms,
        rows=work.rows_of(which, first, end, reach),
        number=number,
        pages=pages,
        waits_choices=waits_choices(),
        kind_choices=kind_choices(work.forms, work.form_filter.kind),
    )
    audit.shown("consent.list", "consent", [row.form.id for row in page.rows])
    return render(page, fragment="results")
