"""Staff worklists over HTTP: counts that match their lists, and working through a list form by form."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import date, timedelta
from functools import cache
from typing import Any, cast
from urllib.parse import unquote

import msgspec
import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.adapter import PLAIN
from portal.services.consents import list_open_consents
from portal.services.consents.forms import (
    OPEN_STATUSES,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
    SignerRole,
)
from portal.services.consents.requests import ConsentQuery
from portal.services.decoding import PagedResult
from portal.services.errors import Invalid, Unavailable
from portal.services.listed import Count, Listed
from portal.services.rules.work_lists import WorkList
from portal.views import consents as consents_views
from portal.views.consents import contacts, worklist
from portal.views.consents.form_filter import FormFilter
from portal.views.consents.labels import short_name
from portal.views.consents.queue import place_of
from portal.views.consents.worklist import work_of
from portal.web.known_people import KnownPerson
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent, person
from tests.support.signing import NAMES, fresh_form
from tests.support.stack import PortalThread
from tests.support.visitor import Page, Visitor

TODAY = date(2026, 11, 22)


@pytest.fixture(scope="module")
def signed_in(portal: PortalThread) -> Callable[[str], Visitor]:
    """Everyone signs in once for the module."""
    return cache(portal.sign_in)


@pytest.fixture(scope="module")
def victor(signed_in: Callable[[str], Visitor]) -> Visitor:
    return signed_in("victor")


def lists(page: Page) -> dict[str, tuple[int, str]]:
    """Each list's count and address, by its word."""
    found: dict[str, tuple[int, str]] = {}
    for link in page.select("nav.chips a"):
        words = re.fullmatch(r"(.*?) ([0-9]+)", link.words)
        if words:
            found[words[1]] = int(words[2]), str(link["href"])
    return found


def rows(page: Page) -> list[str]:
    return [str(row["id"]) for row in page.select("tbody tr[id^=form-]")]


@pytest.mark.parametrize("name", ["nora", "victor"])
def test_each_count_matches_its_list_and_the_home_page(
    signed_in: Callable[[str], Visitor], name: str
) -> None:
    visitor = signed_in(name)
    page = visitor.get("/consents?list=open")
    assert lists(page) == lists(visitor.get("/"))
    for count, href in lists(page).values():
        opened: list[str] = []
        following: str | None = href
        while following:
            one = visitor.get(following)
            opened += rows(one)
            more = one.select(".pagination a[rel=next]")
            following = str(more[0]["href"]) if more else None
        assert len(opened) == len(set(opened)) == count, href


def test_filters_pages_and_order_of_all_forms_are_links_and_htmx_replaces_the_results(
    signed_in: Callable[[str], Visitor],
) -> None:
    page = signed_in("nora").get("/consents?list=all&sort=title")
    swapping = page.select(".chips a, .pagination a")
    assert len(swapping) > 5
    for link in swapping:
        assert link["href"] == link["hx-get"]
        assert (link["hx-target"], link["hx-push-url"]) == ("#results", "true")
    assert "/consents?list=all&sort=title&page=2" in [link["href"] for link in swapping]
    (sorted_by,) = page.select("th[aria-sort]")
    assert sorted_by["aria-sort"] == "ascending"
    assert page.select("th[aria-sort] a")[0]["href"] == "/consents?list=all&sort=-title"


def test_the_worklist_opens_with_ones_own_forms_or_else_all_pending(
    signed_in: Callable[[str], Visitor],
) -> None:
    mine = signed_in("victor").get("/consents")
    assert mine.select('.chips a[aria-current="true"]')[0].words.startswith("Mine")
    assert len(mine.select("tbody tr")) == len(mine.select("tbody .row-actions a"))
    others = signed_in("colin").get("/consents")
    assert others.select('.chips a[aria-current="true"]')[0].words.startswith("All that wait")


def test_a_partly_signed_form_is_listed_as_pending(victor: Visitor) -> None:
    partly = set(rows(victor.get("/consents?list=all&status=PartiallySigned")))
    assert partly
    waiting = [row for page in (1, 2) for row in rows(victor.get(f"/consents?list=open&page={page}"))]
    assert partly <= set(waiting)


def test_a_form_opened_from_a_list_links_to_its_neighbours(victor: Visitor) -> None:
    listed = victor.get("/consents?list=mine")
    first = victor.get(str(listed.select("tbody .row-link")[0]["href"]))
    assert "1 of 11" in first.words
    assert not first.select(".queue a[rel=prev]")
    second = victor.get(str(first.select(".queue a[rel=next]")[0]["href"]))
    assert "2 of 11" in second.words
    assert victor.get(str(second.select(".queue a[rel=prev]")[0]["href"])).url == first.url
    home = str(second.select(".queue a")[0]["href"])
    assert home == f"/consents?list=mine#{rows(listed)[1]}", "returns to the form's row"


@pytest.mark.parametrize("query", ["", "?list=nonsense", "?list=all", "?done=3"])
def test_a_form_opened_directly_has_no_list_navigation(victor: Visitor, query: str) -> None:
    form = rows(victor.get("/consents?list=mine"))[0].removeprefix("form-")
    assert not victor.get(f"/consents/{form}{query}").select(".queue")


def test_patients_have_no_worklists_and_no_list_navigation(signed_in: Callable[[str], Visitor]) -> None:
    amelia = signed_in("amelia")
    assert not amelia.get("/consents?list=mine").select("tbody tr")
    form = amelia.get("/consents").select("a[href^='/consents/']")[0]["href"]
    assert not amelia.get(f"{form}?list=mine").select(".queue")


def test_the_receipt_links_to_the_next_form_in_the_list(signed_in: Callable[[str], Visitor]) -> None:
    """And the count goes on, though what is signed has left the list."""
    victor = signed_in("victor")
    listed = victor.get("/consents?list=mine")
    page = victor.get(str(listed.select("tbody .row-actions a")[0]["href"]))
    for number in (1, 2):
        assert f"{number} of 11" in page.words
        receipt = page.form("/consents/").submit(check_all=True, signature=NAMES["victor"])
        assert receipt.heading == "Receipt"
        following = receipt.select(".next-form a")[0]
        assert f"{number + 1} of 11" in receipt.words
        page = victor.get(str(following["href"]))
        assert f"/consents/{rows(listed)[number].removeprefix('form-')}/sign" in page.url
    assert "3 of 11" in page.words


# ── reckoned without a portal ───────────────────────────────────────────────────────────────────────────


NO_API = cast("Any", None)


def waiting(days: int | None, number: int = 0, signer: Signer = VICTOR) -> ConsentForm:
    on = None if days is None else TODAY + timedelta(days=days)
    return consent(
        id=f"f{number}", patient_id="p", patient_name="Ana", procedure_date=on, required_signers=(signer,)
    )


def heads(*pages: PagedResult[ConsentForm]) -> dict[ConsentStatus, PagedResult[ConsentForm]]:
    """The first page of waiting forms of each status."""
    return dict(zip(OPEN_STATUSES, (*pages, records()), strict=False))


def records(*forms: ConsentForm, total: int | None = None) -> PagedResult[ConsentForm]:
    return PagedResult(items=forms, total_count=len(forms) if total is None else total)


@contextmanager
def at(portal: PortalThread, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A request of that day."""
    monkeypatch.setattr(worklist, "today", lambda: TODAY)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        yield


@pytest.mark.parametrize(
    ("days", "which"),
    [
        (-31, WorkList.OLDER),
        (-30, WorkList.LATE),
        (0, WorkList.LATE),
        (1, WorkList.WEEK),
        (7, WorkList.WEEK),
        (8, None),
        (None, WorkList.UNDATED),
    ],
)
def test_a_procedure_date_belongs_to_one_list(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, days: int | None, which: WorkList | None
) -> None:
    with at(portal, monkeypatch):
        work = work_of(NO_API, heads(records(waiting(days))), Listed(), person("someone", Side.STAFF))
        lists = (WorkList.LATE, WorkList.WEEK, WorkList.UNDATED, WorkList.OLDER)
        dated = {one for one in lists if work.forms_of(one)}
    assert dated == ({which} if which else set())


class Clinic:
    """A care API with so many waiting forms; `narrows` says whether it knows who and when a list is asked for.

    An API that doesn't ignores the parameters; one that is `strict` refuses them.
    """

    def __init__(self, forms: list[ConsentForm], *, narrows: bool = True, strict: bool = False) -> None:
        self.forms = sorted(forms, key=lambda form: (form.procedure_date or date.max, form.id))
        self.narrows, self.strict = narrows, strict
        self.largest_page: int | None = None
        self.adapter, self.observer, self.clock = PLAIN, None, time.time

    def read(self, _endpoint: object, *, query: ConsentQuery, **_: object) -> PagedResult[ConsentForm]:
        found = [form for form in self.forms if str(form.status) == query.status]
        due = [day.isoformat() if day else None for day in (query.due_from, query.due_to)]
        asked = [query.waits_for, *due]
        if self.strict and any(asked):
            raise Invalid
        if self.narrows:
            who, first, last = asked
            found = [f for f in found if not who or any(s.person_id == who for s in f.missing_signers)]
            found = [
                f for f in found if not first or (f.procedure_date and first <= f.procedure_date.isoformat())
            ]
            found = [
                f for f in found if not last or (f.procedure_date and f.procedure_date.isoformat() <= last)
            ]
        skip, limit = query.skip_count, query.max_result_count
        return PagedResult(items=tuple(found[skip : skip + limit]), total_count=len(found))

    def heads(self) -> dict[ConsentStatus, PagedResult[ConsentForm]]:
        return {status: list_open_consents(cast("Any", self), status) for status in OPEN_STATUSES}

    def work(self) -> worklist.Work:
        return worklist.read_work(cast("Any", self), person(VICTOR.person_id or "", Side.STAFF))


def busy(old: int) -> list[ConsentForm]:
    """Forms of a busy clinic: old ones that nobody closed, then what matters now."""
    signed = {
        "status": ConsentStatus.PARTIALLY_SIGNED,
        "required_signers": (AMELIA, VICTOR),
        "signatures": consent(AMELIA).signatures,
    }
    mine = [replace(waiting(days, 5000 + days), **signed) for days in (-2, 3, 40, 90)]
    others = [waiting(days, 6000 + number, AMELIA) for number, days in enumerate((-5, 0, 0, 1, 6, 7, 8, 300))]
    undated = [waiting(None, 7000 + number, AMELIA) for number in range(2)]
    later = [waiting(100 + number, 8000 + number, AMELIA) for number in range(300)]
    of_a_couple = {**signed, "required_signers": (AMELIA, DANIEL)}
    signed_old = [replace(waiting(-40, 10_000 + number), **of_a_couple) for number in range(old)]
    return [
        *signed_old,
        *(waiting(-40 - number % 400, number, AMELIA) for number in range(old)),
        *mine,
        *others,
        *undated,
        *later,
    ]


def counts(work: worklist.Work) -> dict[WorkList, tuple[int, bool]]:
    found = {which: work.count_of(which) for which in WorkList}
    return {which: (count.number, count.is_whole) for which, count in found.items()}


def test_a_thousand_old_forms_take_nothing_from_the_lists_of_now(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at(portal, monkeypatch):
        few, many = counts(Clinic(busy(3)).work()), counts(Clinic(busy(2400)).work())
    lists = (WorkList.MINE, WorkList.LATE, WorkList.FRIDAY, WorkList.WEEK, WorkList.UNDATED)
    assert {which: many[which] for which in lists} == {which: few[which] for which in lists}
    assert [few[which] for which in lists] == [(4, True), (4, True), (6, True), (4, True), (2, True)]
    assert few[WorkList.OLDER] == (6, True)
    assert many[WorkList.OLDER] == (2000, False)
    assert many[WorkList.OPEN] == (4800 + few[WorkList.OPEN][0] - 6, True)


@pytest.mark.parametrize("strict", [False, True])
def test_an_api_that_doesnt_narrow_its_list_is_never_counted_as_if_it_did(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    with at(portal, monkeypatch):
        true = counts(Clinic(busy(2400)).work())
        told = counts(Clinic(busy(2400), narrows=False, strict=strict).work())
        listed = Clinic(busy(985), narrows=False, strict=strict).work()
    for which, (number, is_whole) in told.items():
        assert (number, is_whole) == true[which] if is_whole else number <= true[which][0], which
    assert not told[WorkList.MINE][1]
    assert not told[WorkList.WEEK][1]
    assert not told[WorkList.FRIDAY][1]
    assert counts(listed)[WorkList.WEEK] == (4, True), "the first thousand reach beyond this week"
    assert counts(listed)[WorkList.OLDER] == (1970, True)


def test_pages_say_at_least_where_a_list_isnt_whole(
    portal: PortalThread, victor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic = Clinic(busy(2400), narrows=False)

    def read(_care: object, _person: object, _narrowing: object) -> worklist.Work:
        return worklist.work_of(cast("Any", clinic), clinic.heads(), Listed(), person("victor", Side.STAFF))

    monkeypatch.setattr(consents_views, "read_work", read)
    page = victor.get("/consents?list=week")
    assert page.select(".chips [aria-current] .count") == [], "at least 0 says nothing"
    assert "This list isn’t complete" in page.words
    assert "Nothing waits here" not in page.words
    assert "At least 2,000 forms have been overdue for more than 30 days" in page.words
    assert len(rows(victor.get("/consents?list=older"))) == worklist.PAGE


@pytest.mark.parametrize(
    ("day", "friday"),
    [
        (date(2026, 11, 25), date(2026, 11, 27)),
        (date(2026, 11, 27), date(2026, 11, 27)),
        (date(2026, 11, 28), date(2026, 12, 4)),
    ],
)
def test_until_friday_is_until_the_next_one_and_with_what_is_late(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, day: date, friday: date
) -> None:
    needed = (day - timedelta(days=31), day - timedelta(days=30), friday, friday + timedelta(days=1), None)
    forms = [replace(waiting(None, number), procedure_date=on) for number, on in enumerate(needed)]
    with at(portal, monkeypatch):
        monkeypatch.setattr(worklist, "today", lambda: day)
        work = work_of(NO_API, heads(records(*forms)), Listed(), person("x", Side.STAFF))
        assert {form.id for form in work.forms_of(WorkList.FRIDAY)} == {"f1", "f2"}


# ── the filter of a list ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "fitting"),
    [
        ({}, {"both", "partner", "clinic"}),
        ({"waits": "patients"}, {"both", "partner"}),
        ({"waits": "partners"}, {"partner"}),
        ({"waits": "us"}, {"both", "clinic"}),
        ({"waits": "no-account"}, {"partner"}),
        ({"kind": "Storage"}, {"partner"}),
        ({"waits": "us", "kind": "Storage"}, set[str]()),
        ({"waits": "everyone", "kind": "Other"}, {"both", "partner", "clinic"}),
    ],
)
def test_a_list_is_narrowed_by_whom_it_waits_for_and_by_kind(
    query: dict[str, str], fitting: set[str]
) -> None:
    signed = consent(AMELIA).signatures
    without_account = replace(DANIEL, person_id="record-of-daniel")
    forms = (
        consent(id="both", required_signers=(AMELIA, VICTOR)),
        consent(id="clinic", required_signers=(AMELIA, VICTOR), signatures=signed),
        consent(
            id="partner",
            required_signers=(AMELIA, without_account),
            signatures=signed,
            partner_id="record-of-daniel",
            kind=ConsentKind.STORAGE,
        ),
    )
    form_filter = FormFilter.read(query)
    reader = person("someone", Side.STAFF)
    assert {form.id for form in forms if form_filter.fits(form, reader)} == fitting


def test_people_to_call_come_with_number_neutral_mail_and_missing_account(
    portal: PortalThread, signed_in: Callable[[str], Visitor]
) -> None:
    nora = signed_in("nora")
    (patients,) = nora.get("/consents?list=friday").select("select#waits option[value=patients]")
    assert patients.text_content() == "Patients and partners"
    page = nora.get("/consents?list=open&waits=patients")
    amelia = next(row for row in page.select("tbody tr") if "Amelia Hart" in row.text_content())
    assert amelia.select("a[href='tel:+447700900182']")
    (mail,) = amelia.select("a[href^='mailto:']")[:1]
    written = unquote(str(mail["href"])).lower()
    assert not any(word in written for word in ("consent", "form", "embryo", "treatment", "sign the"))
    assert "no account yet" in page.words
    assert "no account yet no number known" in page.words
    assert not nora.get("/consents?list=open").select("main a[href^='tel:']"), "nothing is read unasked"


def test_a_signer_who_isnt_known_yet_has_nobodys_number() -> None:
    nobody = msgspec.convert(
        ["", "e-1", "", "Daniel Hart", "", None, "", "+447700900182", "", [], "", False, [], 0.0], KnownPerson
    )
    known = contacts.Contacts({("e-1", ""): nobody}, frozenset(), is_asked=True)
    signer = Signer(role=SignerRole.PATIENT, name="Amelia Hart")
    form = ConsentForm(
        id="c", title="", status=ConsentStatus.PENDING, episode_id="e-1", required_signers=(signer,)
    )
    (awaited,) = known.of(form, person("nora", Side.STAFF))
    assert (awaited.number, awaited.lacks) == ("", "unknown")


def test_a_treatment_that_cant_be_read_is_said_where_the_number_is_missing(
    portal: PortalThread, signed_in: Callable[[str], Visitor], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(contacts, "get_episode", fail)
    monkeypatch.setattr(contacts, "known_people", tuple)
    page = signed_in("nora").get("/consents?list=open&waits=patients")
    amelia = next(row for row in page.select("tbody tr") if "Amelia Hart" in row.text_content())
    assert "the number couldn’t be read" in amelia.text_content()


def test_a_narrowed_list_stays_narrowed_while_it_is_worked_through(victor: Visitor) -> None:
    page = victor.get("/consents?list=open&waits=us&kind=GeneticTesting")
    first = page.select("tbody a.row-link")[0]
    assert "waits=us" in str(first["href"])
    assert "kind=GeneticTesting" in str(first["href"])
    number, _address = lists(page)["All that wait"]
    assert f"1 of {number}" in victor.get(str(first["href"])).words


def test_the_old_ones_come_last_and_have_a_list_of_their_own(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at(portal, monkeypatch):
        forms = [waiting(days, number) for number, days in enumerate((-300, -31, -30, 0, 5, None))]
        work = work_of(NO_API, heads(records(*forms)), Listed(), person("x", Side.STAFF))
    assert [form.id for form in work.forms_of(WorkList.OPEN)] == ["f2", "f3", "f4", "f5", "f0", "f1"]


def test_a_form_that_left_the_list_keeps_its_position_in_the_navigation(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = [waiting(number, number) for number in range(5)]
    with at(portal, monkeypatch):
        left = work_of(NO_API, heads(records(*forms[:2], *forms[3:])), Listed(), person("x", Side.STAFF))
        place = place_of(left, WorkList.OPEN, forms[2], done=0)
        at_the_end = place_of(left, WorkList.OPEN, waiting(9, 9), done=1)
    assert (place.number, place.of) == (3, Count(5))
    assert place.next_form and place.next_form.id == "f3"
    assert place.next.endswith("?list=open&done=1")
    assert "/f1?" in place.back
    assert (at_the_end.number, at_the_end.of, at_the_end.next) == (6, Count(6), "")


@pytest.mark.parametrize(
    ("title", "kind", "short"),
    [
        ("Consent to genetic testing (PGT-A)", ConsentKind.GENETIC_TESTING, "Genetic testing · PGT-A"),
        ("Consent to freezing", ConsentKind.STORAGE, "Storage"),
        ("Something of the clinic’s", None, "Something of the clinic’s"),
        ("A form (see the long remark at its end)", ConsentKind.STORAGE, "Storage"),
    ],
)
def test_a_form_has_a_short_name(
    portal: PortalThread, title: str, kind: ConsentKind | None, short: str
) -> None:
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        written = short_name(consent(title=title, kind=kind))
    assert re.sub("[\u2066-\u2069]", "", written) == short


def test_a_patients_forms_with_the_same_short_name_show_their_titles(
    portal: PortalThread, victor: Visitor
) -> None:
    names = [("One", "Amelia Hart"), ("Another", "Amelia Hart"), ("One", "Daniel Hart")]
    forms = [
        consent(id=f"f{number}", kind=ConsentKind.TREATMENT, title=title, patient_name=name)
        for number, (title, name) in enumerate(names)
    ]
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        rows = worklist.listed_rows(forms, person("x", Side.STAFF))
    assert [row.needs_title for row in rows] == [True, True, False]
    twins = [fresh_form(portal.plan).rpartition("/")[2] for _ in range(2)]
    titled = victor.get("/consents?list=all&q=Amelia").select("tbody tr[data-titled]")
    assert {f"form-{id_}" for id_ in twins} <= {str(row["id"]) for row in titled}


def test_home_names_the_list_it_shows(signed_in: Callable[[str], Visitor]) -> None:
    for name, which in (("victor", "Mine"), ("colin", "All that wait")):
        (current,) = signed_in(name).get("/").select('.chips a[aria-current="true"]')
        assert current.words.startswith(which)


def test_declining_a_listed_form_leads_to_the_next(portal: PortalThread, victor: Visitor) -> None:
    form = fresh_form(portal.plan)
    page = victor.get(f"{form}/sign?list=mine")
    declining = victor.get(str(page.select('#sign a[href*="/revoke"]')[0]["href"]))
    declined = declining.form(f"{form}/revoke").submit(reason="The plan has changed.")
    assert declined.url.endswith("/revoke?list=mine")
    assert declined.select(".next-form a[href*='list=mine&done=1']")


@pytest.mark.parametrize(
    ("spoken", "subject"),
    [
        ("ar-EG", "هناك ما ينتظرك"),
        ("es", "Tienes algo pendiente"),
        ("cy", "Something waits for you"),
        ("", "Something waits for you"),
    ],
)
def test_a_neutral_mail_is_in_the_language_of_the_record(
    portal: PortalThread, spoken: str, subject: str
) -> None:
    somebody = contacts.Awaited(name="Ana Li", email="ana@example.org", language=spoken)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        address = contacts.neutral_mail(somebody)
    assert f"subject={subject}&" in unquote(address)
