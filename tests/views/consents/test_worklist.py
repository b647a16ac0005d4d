"""Staff worklists over HTTP: counts that match their lists, and working through a list form by form."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

import pytest

from portal.config.tenants import Side
from portal.services.decoding import Page as Records
from portal.services.records.consents import ConsentForm, ConsentKind
from portal.views.consents import worklist
from portal.views.consents.worklist import WorkList, place_of, short_name, work_of
from tests.support.builders import VICTOR, consent, person
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
        words = re.fullmatch(r"(.*?) ([0-9]+)", link.get_text(" ", strip=True))
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
    assert mine.select('.chips a[aria-current="true"]')[0].get_text().strip().startswith("Mine")
    assert len(mine.select("tbody tr")) == len(mine.select("tbody .row-actions a"))
    others = signed_in("colin").get("/consents")
    assert others.select('.chips a[aria-current="true"]')[0].get_text().strip().startswith("All that wait")


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


def waiting(days: int | None, number: int = 0) -> ConsentForm:
    on = None if days is None else TODAY + timedelta(days=days)
    return consent(
        id=f"f{number}", patient_id="p", patient_name="Ana", procedure_date=on, required_signers=(VICTOR,)
    )


def records(*forms: ConsentForm, total: int | None = None) -> Records[ConsentForm]:
    return Records(items=forms, total_count=len(forms) if total is None else total)


@pytest.mark.parametrize(
    ("days", "which"),
    [
        (-3, WorkList.LATE),
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
    monkeypatch.setattr(worklist, "today", lambda: TODAY)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        work = work_of(None, [records(waiting(days))], person("someone", Side.STAFF))  # type: ignore[arg-type]
        dated = {one for one in (WorkList.LATE, WorkList.WEEK, WorkList.UNDATED) if work.rows_of(one)}
    assert dated == ({which} if which else set())


def test_beyond_a_thousand_forms_the_most_urgent_are_listed_with_a_note(portal: PortalThread) -> None:
    forms = [waiting(number % 30, number) for number in range(1000)]
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        work = work_of(
            None, [records(*forms, total=1700), records(waiting(0, 1001))], person("x", Side.STAFF)
        )  # type: ignore[arg-type]
        open_count = work.chips(None)[-1][1]
    assert len(work.rows) == 1000
    assert not work.is_complete
    assert open_count is None
    assert any(row.form.id == "f1001" for row in work.rows), (
        "the latest are left out, not the second page of results"
    )


def test_a_form_that_left_the_list_keeps_its_position_in_the_navigation(portal: PortalThread) -> None:
    forms = [waiting(number, number) for number in range(5)]
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        left = work_of(None, [records(*forms[:2], *forms[3:])], person("x", Side.STAFF))  # type: ignore[arg-type]
        place = place_of(left, WorkList.OPEN, forms[2], done=0)
        at_the_end = place_of(left, WorkList.OPEN, waiting(9, 9), done=1)
    assert (place.number, place.of) == (3, 5)
    assert place.next_form and place.next_form.id == "f3"
    assert place.next.endswith("?list=open&done=1")
    assert "/f1?" in place.back
    assert (at_the_end.number, at_the_end.of, at_the_end.next) == (6, 6, "")


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
        assert current.get_text().strip().startswith(which)


def test_declining_a_listed_form_leads_to_the_next(portal: PortalThread, victor: Visitor) -> None:
    form = fresh_form(portal.plan)
    page = victor.get(f"{form}/sign?list=mine")
    declining = victor.get(str(page.select('#sign a[href*="/revoke"]')[0]["href"]))
    declined = declining.form(f"{form}/revoke").submit(reason="The plan has changed.")
    assert declined.url.endswith("/revoke?list=mine")
    assert declined.select(".next-form a[href*='list=mine&done=1']")
