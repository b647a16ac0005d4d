"""Protocols: list, show and make them; rows without scripts; a new one is made once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from urllib.parse import urlsplit

import pytest

from portal.services.errors import Unavailable
from portal.views.protocols import create, edit, form
from tests.views.protocols.plans import AMELIAS, EPISODE, GANIRELIX, form_of, make, press, row

FIRST_DAY = date.today()


def on_day(number: int) -> str:
    """The date of a day of a plan that begins on FIRST_DAY, as pages show it."""
    return f"{FIRST_DAY + timedelta(days=number - 1):%a %-d %b}".replace("Sep", "Sept")


def test_staff_find_protocols_by_filter_search_and_order_in_the_address(nora):
    make(nora, "Zebra plan")
    page = nora.get("/protocols?q=Zebra&sort=name")
    assert "Zebra plan" in page.words
    assert "Antagonist, rFSH 225" not in page.words
    assert "1 protocol" in page.words
    assert "q=Zebra" in page.link("Draft")
    assert "Zebra plan" not in page.follow("Active").words
    assert nora.get("/protocols?sort=-nonsense&page=x&status=odd").status == 200
    assert nora.fragment("/protocols?q=Zebra", "results").tree.select_one("#results")


def test_a_patient_reads_only_their_own_protocol(portal):
    amelia, grace = portal.sign_in("amelia"), portal.sign_in("grace")
    page = amelia.get(f"/protocols/{AMELIAS}")
    assert "Cetrorelix" in page.words
    assert not page.select('a[href$="/edit"]')
    assert not page.select('form[action*="/status"]')
    grace.get(f"/protocols/{AMELIAS}", status=404)
    for path in ("/protocols", "/protocols/new", f"/protocols/{AMELIAS}/edit"):
        amelia.get(path, status=403)
    amelia.post(f"/protocols/{AMELIAS}/status", {"status": "OnHold"}, status=403)


def test_rows_are_added_and_removed_without_scripts_keeping_input(nora):
    page = nora.get("/protocols/new")
    page = press(page, "add-medication", name="Half typed", description="Two\nlines")
    page = press(page, "add-medication", **row(0, drug="rFSH", dose="abc"))
    page = press(page, "add-check", **row(1, drug="hMG"))
    assert page.tree.select_one("#name")["value"] == "Half typed"
    assert page.tree.select_one("#description").text_content().strip() == "Two\nlines"
    page = press(page, "remove-medication-0")
    assert page.tree.select_one("#medication-0-drug")["value"] == "hMG"
    assert not page.tree.select_one("#medication-1-drug")
    page = press(page, "remove-check-0")
    assert not page.tree.select_one("#check-0-day")


@pytest.mark.parametrize("number", ["9" * 5000, "٠", "²", "-1", ""])
def test_removing_an_unknown_row_changes_nothing(nora, number):
    page = press(nora.get("/protocols/new"), "add-check")
    fields = [(name, value) for name, value in page.form(form_of(page)).fields() if name != "do"]
    kept = nora.post("/protocols/new", [*fields, ("do", f"remove-check-{number}")])
    assert kept.tree.select_one("#check-0-day")


def test_a_row_added_by_htmx_takes_the_focus(nora):
    page = nora.get("/protocols/new")
    fields = dict(page.form(form_of(page)).fields()) | {"do": "add-medication", "name": "Kept by the page"}
    part = nora.fragment("/protocols/new", "rows", data=fields)
    assert part.tree.select_one("#rows #medication-0-drug[data-focus]")
    assert not part.select("#name")


def test_rows_are_moved_without_scripts_and_the_order_is_saved(nora):
    page = press(press(nora.get("/protocols/new"), "add-medication"), "add-medication")
    page = press(page, "up-medication-1", **row(0, drug="Cetrorelix"), **row(1, drug="hMG"))
    assert [page.tree.select_one(f"#medication-{n}-drug")["value"] for n in (0, 1)] == ["hMG", "Cetrorelix"]
    assert page.tree.select_one("#down-medication-0[data-focus]"), "its own way up has ended"
    for act in (
        "up-medication-0",
        "down-medication-1",
        "up-medication-99",
        "down-check-0",
        "up-medication-x",
    ):
        kept = press(page, act)
        assert kept.tree.select_one("#medication-0-drug")["value"] == "hMG", act
    page = press(page, "down-medication-0")
    assert page.tree.select_one("#up-medication-1[data-focus]")
    assert page.tree.select_one("#medication-0-drug")["value"] == "Cetrorelix"


def test_choices_combine_those_of_portal_clinic_and_record(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    offered = [option.text_content() for option in page.select("#medication-0-unit option")]
    assert {"IU", "mg", "ampoule"} <= set(offered)
    assert page.tree.select_one('#drugs option[value="Follitropin delta"]')
    page = press(page, "draw", **row(0, unit="puffs", route="Nasal"))
    assert page.tree.select_one("#medication-0-unit option[selected]").text_content() == "puffs"
    assert page.tree.select_one("#medication-0-route option[selected]").text_content() == "Nasal"


def test_days_are_shown_with_their_dates(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "draw", start_date=FIRST_DAY.isoformat(), **row(0, **GANIRELIX, end_day="10"))
    assert page.tree.select_one("#medication-0-start_day-date").text_content() == on_day(6)
    assert page.tree.select_one("#medication-0-end_day-date").text_content() == on_day(10)
    page = press(page, "draw", **row(0, end_day="soon"))
    assert page.tree.select_one("#medication-0-end_day-date").text_content() == ""


def test_the_schedule_preview_makes_no_api_call(nora, monkeypatch):
    page = press(nora.get("/protocols/new"), "add-medication")
    fields = (
        dict(page.form(form_of(page)).fields()) | row(0, **GANIRELIX) | {"start_date": FIRST_DAY.isoformat()}
    )

    def no_call(*_args, **_more):
        raise AssertionError("the API is asked for nothing")

    monkeypatch.setattr(edit, "get_protocol", no_call)
    monkeypatch.setattr(form, "list_physicians", no_call)
    part = nora.fragment("/protocols/days", "days", data=fields)
    assert part.select("#days td[data-dose]")
    assert part.tree.select_one("time[data-date-of=medication-0-start_day]").text_content() == on_day(6)
    assert nora.post("/protocols/days", fields).heading == "The days of these rows"
    half = nora.fragment("/protocols/days", "days", data=fields | row(0, dose="", start_day="x"))
    assert not half.select("svg .chart-bar")


def test_a_time_may_be_typed_without_its_zero(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", name="Early", type="Iui", **row(0, **GANIRELIX, time="8:00"))
    assert "08:00" in page.words


def test_errors_are_listed_by_row_with_links(nora):
    page = press(press(nora.get("/protocols/new"), "add-medication"), "add-check")
    page = press(
        page, "review", status=422, type="Antagonist", start_date="2026-02-31",
        **row(0, drug="Cetrorelix", dose="-1", start_day="5", end_day="4", time="25:00"), **{"check-0-day": "x"},
    )  # fmt: skip
    summary = page.tree.select_one(".error-summary")
    for link in summary.select("a"):
        assert page.tree.select_one(str(link["href"])) is not None
    told = summary.words
    for words in (
        "name for the protocol",
        "dose as a number",
        "last day comes before",
        "24 hours",
        "a day of the",
        "Medicine 1, dose: Enter the dose",
        "Medicine 1, last day: The last day",
        "Check 1, day: Enter a day",
    ):
        assert words in told
    assert page.tree.select_one("#medication-0-end_day[aria-invalid]")
    assert page.tree.select_one("#medication-0-drug")["value"] == "Cetrorelix"


def test_a_new_protocol_for_a_treatment_belongs_to_its_patient(nora, portal):
    form = nora.get(f"/protocols/new?episode={EPISODE}&copy={AMELIAS}")
    assert "RF-10482" in form.tree.select_one(".page-patient[data-pinned]").text_content()
    assert form.tree.select_one("#episode")["type"] == "hidden"
    page = press(form, "review", name="Copied plan")
    assert "Amelia" in page.words
    made = page.form("/protocols/new/create").submit()
    assert "Cetrorelix" in made.words
    assert "Amelia Hart" in made.words
    assert portal.sign_in("amelia").get(made.path).heading == "Copied plan"


def test_an_unavailable_treatment_is_reported_at_its_field(nora):
    page = press(nora.get("/protocols/new"), "review", status=422, name="x", type="Iui", episode="nowhere")
    assert page.tree.select_one("#episode[aria-invalid]")
    assert "no treatment with this id" in page.words


def test_twenty_posts_of_one_form_make_one_protocol(nora):
    page = press(nora.get("/protocols/new"), "review", name="Only once", type="Ppos")
    form = page.form("/protocols/new/create")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: form.submit(status=None), range(20)))
    assert len({answer.path for answer in answers}) == 1
    assert "1 protocol " in nora.get("/protocols?q=Only once").words
    assert form.submit().path == answers[0].path


def test_a_form_with_an_unknown_operation_starts_again(nora):
    page = nora.post("/protocols/new/create", {"operation": "nothing"})
    assert page.path == "/protocols/new"


def test_errors_of_the_api_are_shown_at_their_fields(nora, monkeypatch):
    from portal.services.errors import Invalid

    def refuse(*_args, **_more):
        raise Invalid({"medications.0.dose": ["invalid"], "elsewhere": ["invalid"]})

    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", name="Refused", type="Iui", **row(0, **GANIRELIX))
    monkeypatch.setattr(create, "create_protocol", refuse)
    told = page.form("/protocols/new/create").submit(status=422)
    assert told.tree.select_one("#medication-0-dose[aria-invalid]")
    assert told.tree.select_one("#name[aria-invalid]")


def test_a_lost_response_is_resolved_from_the_record(nora, monkeypatch):
    from portal.services.protocols import create_protocol

    def never_answered(care, draft, **more):
        create_protocol(care, draft, **more)
        raise Unavailable("timed out", outcome_known=False)

    page = press(nora.get("/protocols/new"), "review", name="Lost and found", type="Iui")
    monkeypatch.setattr(create, "create_protocol", never_answered)
    found = page.form("/protocols/new/create").submit()
    assert found.heading == "Lost and found"


def test_invisible_characters_are_removed_from_a_plan(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    hidden = {**GANIRELIX, "drug": "Gani\u202erelix\x00", "instructions": "In\u200b the\a evening"}
    page = press(page, "review", name="Plain\u202e plan", type="Iui", **row(0, **hidden))
    made = page.form("/protocols/new/create").submit()
    assert made.heading == "Plain plan"
    assert made.tree.select_one("tbody th bdi").text_content() == "Ganirelix"
    assert "In the evening" in made.words


def test_malformed_forms_cause_no_server_error(nora):
    for fields in ({}, {"do": "remove-medication-99"}, {"do": "add-nothing"}, {"opened": "{{", "do": "draw"}):
        nora.post(f"/protocols/{AMELIAS}/edit", fields)
    for path in ("save", "review", "back"):
        page = nora.post(
            f"/protocols/{AMELIAS}/{path}", {"m-x": "{", "c-y": "[]", "opened": "[1]"}, status=None
        )
        assert page.status in (200, 409, 422), (path, page.status)
    nora.get(f"/protocols/{AMELIAS}/end?to=Odd")
    nora.get("/protocols/not-there", status=404)
    assert urlsplit(nora.get("/protocols/new?copy=&episode=x").url).path == "/protocols/new"
