"""Protocols: list, show, make and change them; rows without scripts, both versions after a conflict, once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from portal.careservice.ids import sample_id
from portal.services.errors import Unavailable
from portal.services.protocols import update_protocol
from portal.views import protocols
from portal.views.protocols import create, edit, form

AMELIAS = sample_id("protocol", "amelia")
EPISODE = sample_id("episode", "amelia-1")
GANIRELIX = {
    "drug": "Ganirelix",
    "drug_class": "GnRH antagonist",
    "dose": "0,25",
    "unit": "mg",
    "route": "Subcutaneous",
    "start_day": "6",
}
"""A row as it is typed, with a comma in its dose."""


@pytest.fixture(scope="module")
def nora(portal):
    return portal.sign_in("nora")


@pytest.fixture(scope="module")
def victor(portal):
    return portal.sign_in("victor")


def row(number: int, **columns: str) -> dict[str, str]:
    return {f"medication-{number}-{name}": value for name, value in columns.items()}


def press(page, act: str, status: int | None = 200, **values):
    """Press one of the form's own buttons, as a browser without scripts does."""
    return page.form(form_of(page)).submit(button=("do", act), status=status, **values)


def form_of(page):
    return page.soup.select_one("form:has(button[value=review])")


def make(visitor, name: str):
    """A protocol of the clinic's own, made from an empty form."""
    page = press(visitor.get("/protocols/new"), "add-medication")
    page = press(page, "review", name=name, type="Antagonist", **row(0, **GANIRELIX))
    return page.form("/protocols/new/create").submit()


def test_staff_find_protocols_by_filter_search_and_order_in_the_address(nora):
    make(nora, "Zebra plan")
    page = nora.get("/protocols?q=Zebra&sort=name")
    assert "Zebra plan" in page.words
    assert "Antagonist, rFSH 225" not in page.words
    assert "1 protocol" in page.words
    assert "q=Zebra" in page.link("Draft")
    assert "Zebra plan" not in page.follow("Active").words
    assert nora.get("/protocols?sort=-nonsense&page=x&status=odd").status == 200
    assert nora.fragment("/protocols?q=Zebra", "results").soup.select_one("#results")


def test_a_protocol_shows_its_rows_and_draws_its_days(nora):
    page = nora.get(f"/protocols/{AMELIAS}")
    assert "Antagonist protocol" in page.words
    assert "Cetrorelix GnRH antagonist" in page.words
    assert "0.25 mg" in page.words
    assert page.select("svg .chart-bar")
    assert "Amelia Hart" in page.words
    assert "Dr Victor Castellanos" in page.words


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


def test_other_staff_read_and_are_refused_when_they_try_to_write(portal):
    elif_ = portal.sign_in("elif")
    page = elif_.get(f"/protocols/{AMELIAS}")
    assert "Put on hold" not in page.words
    assert not page.select('a[href$="/edit"]')
    assert "New protocol" not in elif_.get("/protocols").words
    for path in ("/protocols/new", f"/protocols/{AMELIAS}/edit"):
        elif_.get(path, status=403)
    elif_.post(f"/protocols/{AMELIAS}/status", {"status": "OnHold"}, status=403)


def test_rows_are_added_and_removed_without_scripts_keeping_input(nora):
    page = nora.get("/protocols/new")
    page = press(page, "add-medication", name="Half typed", description="Two\nlines")
    page = press(page, "add-medication", **row(0, drug="rFSH", dose="abc"))
    page = press(page, "add-check", **row(1, drug="hMG"))
    assert page.soup.select_one("#name")["value"] == "Half typed"
    assert page.soup.select_one("#description").get_text().strip() == "Two\nlines"
    page = press(page, "remove-medication-0")
    assert page.soup.select_one("#medication-0-drug")["value"] == "hMG"
    assert not page.soup.select_one("#medication-1-drug")
    page = press(page, "remove-check-0")
    assert not page.soup.select_one("#check-0-day")


@pytest.mark.parametrize("number", ["9" * 5000, "٠", "²", "-1", ""])
def test_removing_an_unknown_row_changes_nothing(nora, number):
    page = press(nora.get("/protocols/new"), "add-check")
    fields = [(name, value) for name, value in page.form(form_of(page)).fields() if name != "do"]
    kept = nora.post("/protocols/new", [*fields, ("do", f"remove-check-{number}")])
    assert kept.soup.select_one("#check-0-day")


def test_a_row_added_by_htmx_takes_the_focus(nora):
    page = nora.get("/protocols/new")
    fields = dict(page.form(form_of(page)).fields()) | {"do": "add-medication", "name": "Kept by the page"}
    part = nora.fragment("/protocols/new", "rows", data=fields)
    assert part.soup.select_one("#rows #medication-0-drug[data-focus]")
    assert not part.select("#name")


def test_rows_are_moved_without_scripts_and_the_order_is_saved(nora):
    page = press(press(nora.get("/protocols/new"), "add-medication"), "add-medication")
    page = press(page, "up-medication-1", **row(0, drug="Cetrorelix"), **row(1, drug="hMG"))
    assert [page.soup.select_one(f"#medication-{n}-drug")["value"] for n in (0, 1)] == ["hMG", "Cetrorelix"]
    assert page.soup.select_one("#down-medication-0[data-focus]"), "its own way up has ended"
    for act in (
        "up-medication-0",
        "down-medication-1",
        "up-medication-99",
        "down-check-0",
        "up-medication-x",
    ):
        kept = press(page, act)
        assert kept.soup.select_one("#medication-0-drug")["value"] == "hMG", act
    page = press(page, "down-medication-0")
    assert page.soup.select_one("#up-medication-1[data-focus]")
    assert page.soup.select_one("#medication-0-drug")["value"] == "Cetrorelix"


def test_reordering_rows_counts_as_a_change(nora):
    made = make(nora, "Ordered plan")
    page = press(nora.get(f"{made.path}/edit"), "add-medication")
    later = {**GANIRELIX, "drug": "Buserelin"}
    press(page, "review", **row(1, **later)).form(f"{made.path}/save").submit()
    page = press(nora.get(f"{made.path}/edit"), "up-medication-1")
    review = press(page, "review")
    assert "Order of the medicines Ganirelix, Buserelin Buserelin, Ganirelix" in review.words
    assert "The protocol is saved." in review.form(f"{made.path}/save").submit().soup.get_text()
    again = nora.get(f"{made.path}/edit")
    assert again.soup.select_one("#medication-0-drug")["value"] == "Buserelin"


def test_choices_combine_those_of_portal_clinic_and_record(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    offered = [option.get_text() for option in page.select("#medication-0-unit option")]
    assert {"IU", "mg", "ampoule"} <= set(offered)
    assert page.soup.select_one('#drugs option[value="Follitropin delta"]')
    page = press(page, "draw", **row(0, unit="puffs", route="Nasal"))
    assert page.soup.select_one("#medication-0-unit option[selected]").get_text() == "puffs"
    assert page.soup.select_one("#medication-0-route option[selected]").get_text() == "Nasal"


def test_days_are_shown_with_their_dates(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "draw", start_date="2026-11-15", **row(0, **GANIRELIX, end_day="10"))
    assert page.soup.select_one("#medication-0-start_day-date").get_text() == "Fri 20 Nov"
    assert page.soup.select_one("#medication-0-end_day-date").get_text() == "Tue 24 Nov"
    page = press(page, "draw", **row(0, end_day="soon"))
    assert page.soup.select_one("#medication-0-end_day-date").get_text() == ""


def test_the_schedule_preview_makes_no_api_call(nora, monkeypatch):
    page = press(nora.get("/protocols/new"), "add-medication")
    fields = dict(page.form(form_of(page)).fields()) | row(0, **GANIRELIX) | {"start_date": "2026-11-15"}

    def no_call(*_args, **_more):
        raise AssertionError("the API is asked for nothing")

    monkeypatch.setattr(edit, "get_protocol", no_call)
    monkeypatch.setattr(form, "list_physicians", no_call)
    part = nora.fragment("/protocols/days", "days", data=fields)
    assert part.select("#days svg .chart-bar")
    assert part.soup.select_one("time[data-date-of=medication-0-start_day]").get_text() == "Fri 20 Nov"
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
    summary = page.soup.select_one(".error-summary")
    for link in summary.select("a"):
        assert page.soup.select_one(str(link["href"])) is not None
    told = summary.get_text(" ")
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
    assert page.soup.select_one("#medication-0-end_day[aria-invalid]")
    assert page.soup.select_one("#medication-0-drug")["value"] == "Cetrorelix"


def test_changes_are_shown_before_they_are_saved(nora):
    shown = make(nora, "Diff plan")
    page = press(nora.get(f"{shown.path}/edit"), "add-medication")
    page = press(page, "add-check")
    review = press(
        page, "review", description="Watch the lining", **row(0, dose="0.5"),
        **row(1, **{**GANIRELIX, "drug": "hMG", "dose": "150", "unit": "IU"}),
        **{"check-0-day": "5", "check-0-kind": "Scan"},
    )  # fmt: skip
    rows = [[cell.get_text().strip() for cell in line.select("th, td")] for line in review.select("tbody tr")]
    assert ["Medication: Ganirelix, Dose", "0.25", "0.5"] in rows
    assert ["Description", "none", "Watch the lining"] in rows
    assert any("hMG, GnRH antagonist, 150 IU" in line[2] and line[1] == "none" for line in rows)
    assert "hMG" not in nora.get(shown.path).words
    back = review.form(f"{shown.path}/save").page.visitor.post(
        f"{shown.path}/back", review.form(f"{shown.path}/save").fields()
    )
    assert back.soup.select_one("#medication-1-drug")["value"] == "hMG"
    saved = review.form(f"{shown.path}/save").submit()
    assert "The protocol is saved." in saved.soup.get_text()
    assert "hMG" in saved.words
    assert "0.5 mg" in saved.words
    again = press(nora.get(f"{shown.path}/edit"), "review")
    assert "nothing to save" in again.words


def test_concurrent_edits_of_a_row_show_both_versions_and_keep_input(nora, victor):
    path = make(nora, "Shared plan").path
    hers, his = nora.get(f"{path}/edit"), victor.get(f"{path}/edit")
    press(his, "review", name="Shared plan B", **row(0, dose="0.5")).form(f"{path}/save").submit()
    compared = press(hers, "review", status=409, description="Hers alone", **row(0, dose="0.75"))
    assert "Two versions" in compared.heading
    assert "0.75 mg" in compared.words
    assert "0.5 mg" in compared.words
    assert "Shared plan B" in compared.words
    assert "Hers alone" in compared.words
    undecided = compared.form(f"{path}/review").submit(status=422)
    choice = undecided.soup.select_one("input[type=radio][id$=-mine][name^=keep-m-]")
    review = undecided.form(f"{path}/review").submit(**{str(choice["name"]): "mine"})
    assert "Medication: Ganirelix, Dose 0.5 0.75" in review.words
    saved = review.form(f"{path}/save").submit()
    assert "0.75 mg" in saved.words
    assert "Hers alone" in saved.words
    assert saved.heading == "Shared plan B"


def test_a_change_between_review_and_save_is_detected(nora, victor):
    path = make(nora, "Late change").path
    review = press(nora.get(f"{path}/edit"), "review", **row(0, dose="1"))
    press(victor.get(f"{path}/edit"), "review", **row(0, dose="2")).form(f"{path}/save").submit()
    compared = review.form(f"{path}/save").submit(status=409)
    assert "1 mg" in compared.words
    assert "2 mg" in compared.words


def test_rows_added_by_others_are_kept(nora, victor):
    path = make(nora, "Both add").path
    hers = nora.get(f"{path}/edit")
    page = press(victor.get(f"{path}/edit"), "add-medication")
    press(page, "review", **row(1, **{**GANIRELIX, "drug": "Buserelin"})).form(f"{path}/save").submit()
    compared = press(hers, "review", status=409, description="Mine")
    review = compared.form(f"{path}/review").submit()
    saved = review.form(f"{path}/save").submit()
    assert "Buserelin" in saved.words
    assert "Mine" in saved.words


def test_only_legal_moves_are_offered_and_others_are_refused_in_words(nora):
    page = make(nora, "Moving plan")
    assert "Activate" in page.words
    assert "Put on hold" not in page.words
    refused = nora.post(f"{page.path}/status", {"status": "Completed"}, status=403)
    assert "Its present state doesn’t allow this step." in refused.words
    page = page.form(f"{page.path}/status").submit()
    assert "The protocol is now: Active." in page.soup.get_text()
    ending = page.follow("Complete")
    assert "can’t be changed or taken up again" in ending.words
    ended = ending.form(f"{page.path}/status").submit()
    assert "has ended" in ended.words
    assert not ended.select('form[action*="/status"]')
    assert nora.get(f"{page.path}/edit").path == page.path
    nora.post(f"{page.path}/status", {"status": "odd"}, status=403)


def test_a_status_change_of_an_unseen_version_is_refused(nora, victor):
    page = make(nora, "Seen plan")
    press(victor.get(f"{page.path}/edit"), "review", description="New").form(f"{page.path}/save").submit()
    told = page.form(f"{page.path}/status").submit(status=409)
    assert "Someone changed it while you were looking" in told.words
    assert "Draft" in told.words


def test_a_new_protocol_for_a_treatment_belongs_to_its_patient(nora, portal):
    page = press(nora.get(f"/protocols/new?episode={EPISODE}&copy={AMELIAS}"), "review", name="Copied plan")
    assert "Amelia" in page.words
    made = page.form("/protocols/new/create").submit()
    assert "Cetrorelix" in made.words
    assert "Amelia Hart" in made.words
    assert portal.sign_in("amelia").get(made.path).heading == "Copied plan"


def test_an_unavailable_treatment_is_reported_at_its_field(nora):
    page = press(nora.get("/protocols/new"), "review", status=422, name="x", type="Iui", episode="nowhere")
    assert page.soup.select_one("#episode[aria-invalid]")
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
    assert told.soup.select_one("#medication-0-dose[aria-invalid]")
    assert told.soup.select_one("#name[aria-invalid]")


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
    assert made.soup.select_one("tbody th bdi").get_text() == "Ganirelix"
    assert "In the evening" in made.words


def lost(before, *, is_done):
    """`update_protocol`, whose answer gets lost."""

    def update(care, protocol_id, **more):
        if is_done:
            before(care, protocol_id, **more)
        raise Unavailable("timed out", outcome_known=False)

    return update


def test_one_of_many_posts_of_a_change_is_sent(nora, monkeypatch):
    path = make(nora, "Changed once").path
    review = press(nora.get(f"{path}/edit"), "review", description="Once")
    form, sent = review.form(f"{path}/save"), []

    def counted(care, protocol_id, **more):
        sent.append(protocol_id)
        return update_protocol(care, protocol_id, **more)

    monkeypatch.setattr(edit, "update_protocol", counted)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: form.submit(status=None), range(8)))
    assert {(answer.status, answer.path) for answer in answers} == {(200, path)}
    assert len(sent) == 1


def test_a_change_with_a_lost_response_is_resolved_from_the_record(nora, monkeypatch):
    path = make(nora, "Edit lost").path
    form = press(nora.get(f"{path}/edit"), "review", description="Found again").form(f"{path}/save")
    monkeypatch.setattr(edit, "update_protocol", lost(update_protocol, is_done=False))
    assert "We couldn’t confirm that" in form.submit(status=503).words
    monkeypatch.setattr(edit, "update_protocol", lost(update_protocol, is_done=True))
    saved = form.submit()
    assert saved.path == path and "Found again" in saved.words


def test_a_status_change_with_a_lost_response_is_resolved_from_the_record(nora, monkeypatch):
    page = make(nora, "Status lost")
    form = page.form(f"{page.path}/status")
    monkeypatch.setattr(protocols, "update_protocol", lost(update_protocol, is_done=False))
    told = form.submit(status=503)
    assert "didn’t confirm this, and its record, read just now, doesn’t show it" in told.words
    monkeypatch.setattr(protocols, "update_protocol", lost(update_protocol, is_done=True))
    assert "The protocol is now: Active." in form.submit().soup.get_text()


def test_a_status_can_be_moved_back_and_forth(nora):
    page = make(nora, "Back and forth")
    page = page.form(f"{page.path}/status").submit()
    for word in ("On hold", "Active", "On hold", "Active"):
        page = page.form(f"{page.path}/status").submit()
        assert f"The protocol is now: {word}." in page.soup.get_text()


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
