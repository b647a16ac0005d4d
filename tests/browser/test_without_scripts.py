"""A browser whose JavaScript is off: signing, booking, rows of a form, menus, and nothing dead.

With CARE_TEST_FULL=1, every journey of every role too (`without_scripts/`).
"""

from __future__ import annotations

import re
from datetime import date, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from portal.careservice.ids import sample_id
from tests.browser.album import kind_of
from tests.browser.conftest import Person
from tests.browser.pages import Consent, Seen, signs
from tests.browser.steps import go_on, seen, summary
from tests.support.stack import PortalProcess

GENETIC = re.compile("Consent to preimplantation genetic testing")
TOMASZ = sample_id("prospect", "tomasz")


def test_a_couple_signs_a_form_and_one_partner_withdraws_without_scripts(person: Person) -> None:
    amelia, daniel = person("amelia"), person("daniel")
    receipt = signs(amelia.consents().sign(GENETIC), "Amelia Hart")
    receipt.open_proof().sees("Name typed in the portal")
    receipt = signs(daniel.consents().sign(GENETIC), "Daniel Hart")
    receipt.verify()
    seen(receipt).sees("Matches")
    amelia.go("/consents").follow(GENETIC)
    form = Consent(amelia.page, amelia.origin)
    form.withdraw("We have changed our minds.").sees("We have changed our minds.")


def test_a_missing_statement_is_reported_with_a_link_to_it(person: Person) -> None:
    reading = person("daniel").consents().sign(re.compile("frozen sperm"))
    step = reading.have_read()
    step.press("Continue")
    refused = seen(step)
    expect(refused.page.locator(".error-summary")).to_be_visible()
    refused.page.locator(".error-summary a").first.click()
    assert re.search(r"#statement-\d+$", refused.page.url)


def test_the_language_is_chosen_in_the_menu_and_kept(person: Person) -> None:
    home = person("amelia")
    summary(home, "Your menu").click()
    home.page.get_by_role("button", name="العربية").click()
    expect(home.page.locator("html")).to_have_attribute("dir", "rtl")
    home.page.goto(home.origin + "/consents")
    expect(home.page.locator("html")).to_have_attribute("lang", "ar")


def test_the_remaining_sections_are_in_a_menu(person: Person) -> None:
    home = person("amelia")
    summary(home, "More").click()
    home.page.get_by_role("link", name="Care team").click()
    team = Seen(home.page, home.origin)
    assert "/care-team" in team.page.url


def test_a_protocol_is_made_and_changed_with_rows_added_and_removed(person: Person) -> None:
    page = person("victor").go("/protocols/new")
    page.press("Add a medicine")
    page = seen(page)
    page.press("Add a medicine")
    page = seen(page)
    rows = page.main.locator("fieldset.plan-row")
    expect(rows).to_have_count(2)
    page.main.get_by_role("button", name=re.compile("^Remove")).last.click()
    page = seen(page)
    expect(page.main.locator("fieldset.plan-row")).to_have_count(1)
    page.main.locator("[name=name]").fill("Made without scripts")
    page.main.locator("[name=type]").select_option(index=1)
    for name, value in {
        "drug": "Ganirelix",
        "drug_class": "GnRH antagonist",
        "dose": "0.25",
        "unit": "mg",
        "route": "Subcutaneous",
        "start_day": "6",
    }.items():
        field = page.main.locator(f"[name=medication-0-{name}]")
        if name in ("drug_class", "unit", "route"):
            field.select_option(value)
        else:
            field.fill(value)
    page.press("Show the days")
    page = seen(page)
    expect(page.main.locator("#days td[data-dose]").first).to_be_visible()
    page.press("Preview")
    made = go_on(seen(page))
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Made without scripts")
    made.follow("Edit")
    edit = seen(made)
    edit.main.locator("[name=medication-0-dose]").fill("0.5")
    edit.press("Look at the changes")
    review = seen(edit)
    review.press("Save protocol")
    seen(review).sees(re.compile("0.5 mg"))


def test_an_enquirer_books_by_link_without_signing_in(
    person: Person, chrome: Browser, stack: PortalProcess
) -> None:
    page = person("colin").go(f"/prospects/{TOMASZ}/book")
    page.press(re.compile("Make a booking link"))
    made = seen(page)
    address = made.main.locator("#address").input_value()
    context = chrome.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    try:
        public = context.new_page()
        public.goto(_next_week(address, 2))
        booking = Seen(public, stack.origin())
        refused = go_on(booking)
        expect(public.locator(".error-summary")).to_be_visible()
        refused.main.locator("[name=window]").first.check()
        booked = go_on(refused)
        expect(booked.page.get_by_role("heading", level=1)).to_have_text("Your visit is booked")
        with public.expect_download() as waiting:
            booked.follow("Add to your calendar")
        assert waiting.value.suggested_filename.endswith(".ics")
    finally:
        context.close()


def _next_week(path: str, weeks: int = 1) -> str:
    return f"{path}?from={(date.today() + timedelta(weeks=weeks)).isoformat()}"


@pytest.mark.parametrize("name", ["amelia", "nora", "elif"])
def test_no_visible_button_or_link_is_dead_without_scripts(person: Person, name: str) -> None:
    """A button outside a form, or a link to nowhere, is only there for scripts, and must not be seen without them."""
    home = person(name)
    page = home.page
    links = page.locator("nav a[href^='/'], main a[href^='/']").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )
    pages = {kind_of(path): path for path in links if not path.partition("?")[0].endswith((".ics", ".pdf"))}
    assert len(pages) > 5
    for path in pages.values():
        page.goto(home.origin + path)
        assert not _dead(page), f"{path}: {_dead(page)}"


def _dead(page: Page) -> list[str]:
    candidates = page.locator(
        "button[type=button]:not([popovertarget]), a[href='#'], a:not([href]), button:not(form button):not([type=button])"
    )
    return [one.inner_text() for one in candidates.all() if one.is_visible()]
