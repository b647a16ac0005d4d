"""Changing doses: what was typed is what is stored, a change takes effect from a day, and the unusual is typed again."""

from __future__ import annotations

import re

import pytest

from portal.careservice.ids import sample_id
from tests.views.protocols.plans import AMELIAS, EPISODE, GANIRELIX, press, row

HCG = {**GANIRELIX, "drug": "Pregnyl (hCG)", "drug_class": "Luteal support", "unit": "IU"}
FSH = {
    **GANIRELIX,
    "drug": "rFSH (follitropin alfa)",
    "drug_class": "Gonadotropin",
    "dose": "225",
    "unit": "IU",
}


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("5,000", "Is “5,000” five thousand or five? Write 5000 or 5."),
        ("5.000", "Is “5.000” five thousand or five? Write 5000 or 5."),
        ("1,500", "Is “1,500” one thousand five hundred or one point five? Write 1500 or 1.5."),
        ("1,234.5", "without a separator for thousands"),
        ("1 500", "without a separator for thousands"),
    ],
)
def test_a_dose_that_may_be_two_numbers_is_asked_about_in_words(nora, typed, asked):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", status=422, name="x", type="Iui", **row(0, **{**HCG, "dose": typed}))
    assert asked in page.words
    assert page.tree.select_one("#medication-0-dose")["value"] == typed


def test_the_stored_dose_is_reviewed_in_words(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", name="In words", type="Iui", **row(0, **{**FSH, "dose": "112,5"}))
    assert "112.5 IU (one hundred and twelve point five)" in page.words


@pytest.mark.parametrize(
    ("dose", "reason"), [("2250", "outside the usual range of 37.5 to 450 IU"), ("450", None), ("37.5", None)]
)
def test_a_dose_outside_its_range_is_typed_again(nora, dose, reason):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", name=f"Range {dose}", type="Iui", **row(0, **{**FSH, "dose": dose}))
    if reason is None:
        assert not page.select("#again-0")
        return
    assert reason in page.words and "two thousand two hundred and fifty" in page.words
    refused = page.form("/protocols/new/create").submit(status=422, **{"again-0": "225"})
    assert "Type 2250, or change it." in refused.words
    made = refused.form("/protocols/new/create").submit(**{"again-0": "2250"})
    assert "2250 IU" in made.words


def test_a_dose_in_a_unit_that_its_medicine_isnt_given_in_is_typed_again(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    page = press(page, "review", name="Unit", type="Iui", **row(0, **{**FSH, "unit": "mg"}))
    assert "is usually given in IU, not in mg." in page.words and page.select("#again-0")


def test_two_rows_of_a_medicine_on_a_day_are_asked_about(nora):
    page = press(press(nora.get("/protocols/new"), "add-medication"), "add-medication")
    page = press(page, "review", name="Doubled", type="Iui", **row(0, **FSH), **row(1, **FSH))
    assert "is in two rows on the same day" in page.words


def test_a_trigger_needs_its_hour_to_be_active(nora):
    page = press(nora.get("/protocols/new"), "add-medication")
    trigger = {
        **GANIRELIX,
        "drug": "Triptorelin",
        "drug_class": "GnRH agonist",
        "dose": "0.2",
        "is_trigger": "yes",
    }
    made = (
        press(page, "review", name="No hour", type="Iui", **row(0, **trigger))
        .form("/protocols/new/create")
        .submit()
    )
    refused = made.form(f"{made.path}/status").submit(status=403)
    assert "An active protocol needs the hour of its trigger." in refused.words and "Draft" in refused.words


def test_a_trigger_too_far_from_the_collection_stops_until_its_hour_is_typed_again(nora):
    page = nora.get(f"/protocols/{AMELIAS}/edit")
    review = press(page, "review", description="As it is")
    assert "35 h before egg collection" in review.words and not review.select("[id^=again-]")
    review = press(nora.get(f"/protocols/{AMELIAS}/edit"), "review", **row(2, time="00:30"))
    assert "55.5 h before egg collection" in review.words
    refused = review.form(f"/protocols/{AMELIAS}/save").submit(status=422)
    assert "Type 00:30, or change it." in refused.words
    assert "21:00" in nora.get(f"/protocols/{AMELIAS}").words


def test_each_hour_of_a_trigger_is_asked_for_and_answered_by_itself(nora):
    review = press(nora.get(f"/protocols/{AMELIAS}/edit"), "review", **row(2, time="00:30, 01:45"))
    asked = [one["id"] for one in review.select("[id^=again-]") if one.tag == "input"]
    assert asked == ["again-2", "again-2-0030", "again-2-0145"], "twice the dose is asked about too"
    refused = review.form(f"/protocols/{AMELIAS}/save").submit(status=422, **{"again-2-0030": "00:30"})
    assert "Type 01:45, or change it." in refused.words and "Type 00:30" not in refused.words


def test_a_new_dose_begins_a_row_and_days_gone_by_stay(nora):
    episode = nora.get(f"/episodes/{EPISODE}/medication")
    page = episode.follow("Change the plan")
    assert "Amelia Hart" in page.words and "RF-10482" in page.words
    assert "17 April 1991" in page.words
    rewritten = press(page, "review", status=422, **row(0, dose="250"))
    assert "It was given as 225 IU (two hundred and twenty-five) on earlier days" in rewritten.words
    again = nora.get(f"/protocols/{AMELIAS}/edit")
    assert again.tree.select_one("#medication-0-dose")["value"] == "250" and again.select("#given-back")
    page = press(again.follow("Show it as it is saved instead"), "split-medication-0")
    first = int(page.tree.select_one("#medication-1-start_day")["value"])
    assert int(page.tree.select_one("#medication-0-end_day")["value"]) == first - 1
    assert page.tree.select_one("#medication-1-dose[data-focus]")
    review = press(page, "review", **row(1, dose="250"))
    assert "RF-10482" in review.words
    assert review.tree.body["data-page"] == f"/protocols/{AMELIAS}/edit"
    back = nora.get(f"/protocols/{AMELIAS}/edit")
    assert back.tree.select_one("#medication-1-dose")["value"] == "250"
    line = next(
        one
        for one in review.select("tbody tr")
        if "250\N{NO-BREAK SPACE}IU" in one.text_content() and "225\N{NO-BREAK SPACE}IU" in one.text_content()
    )
    assert "19:00 225 IU" in line.words and "19:00 250 IU" in line.words
    assert not review.select("[id^=again-]")
    changed = review.select(".day-grid td[data-changed]")
    assert changed and {one.words for one in changed} == {"Before: 225 After: 250"}
    assert len(review.select(".day-grid tbody tr:first-child td[data-dose]:not([data-changed])")) <= 4
    warned = review.tree.select_one(".notice[data-tone=attention]").words
    assert "Yes, 225 IU tonight again, and cetrorelix at 8 tomorrow." in warned
    assert "Do I stay at 225?" in warned and "The plan will say 250 IU." in warned
    assert re.search(r"Read for this: \d+ messages of the last 7 days", review.words)
    saved = review.form(f"/protocols/{AMELIAS}/save").submit()
    assert "225 IU" in saved.words and "250 IU" in saved.words
    assert not nora.get(f"/protocols/{AMELIAS}/edit").select("#given-back")


def test_a_long_plan_under_way_is_drawn_from_shortly_before_today(portal):
    omar = portal.sign_in("omar")
    page = omar.get(f"/protocols/{sample_id('protocol', 'maya')}/edit")
    days = [one.words for one in page.select(".day-grid thead th")][1:]
    assert [day.startswith("Today") or " Today " in day for day in days[:5]].index(True) == 3
    assert "The plan began before these days." in page.words


def test_a_long_plan_without_a_first_day_is_drawn_from_its_first_dose(nora):
    page = press(press(nora.get("/protocols/new"), "add-medication"), "add-medication")
    agonist = row(0, **{**GANIRELIX, "drug": "Triptorelin", "start_day": "-21", "end_day": "0"})
    review = press(page, "review", name="Long", type="Iui", **agonist, **row(1, **GANIRELIX, end_day="20"))
    drawn = review.tree.select(".day-grid tbody tr:first-child td[data-dose]")
    assert len(drawn) == 22 and "The plan began before these days." not in review.words


def test_a_page_opened_again_after_a_rows_button_is_the_form_after_it(nora):
    page = nora.get(f"/protocols/{AMELIAS}/edit")
    rows = len(page.select("[id^=medication-][id$=-dose]"))
    press(page, "remove-medication-0")
    again = nora.get(f"/protocols/{AMELIAS}/edit")
    assert again.select("#given-back") and len(again.select("[id^=medication-][id$=-dose]")) == rows - 1
    again.follow("Show it as it is saved instead")
