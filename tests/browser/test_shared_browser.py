"""One browser used by two people, one after the other: nothing of the first reaches the second."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import SignIn
from tests.browser.pages import Seen, sign_in
from tests.support.stack import PASSWORD

NAME = "Amelia Hart"
TYPED = "Typed by Amelia"
NO_CHANNEL = "window.BroadcastChannel = class { postMessage() {} }"
"""For a tab that hears nothing of the others."""

scripts_or_none = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no-scripts"])


def back_to(page: Page, address: str) -> None:
    """Press Back until the address is there again."""
    for _press in range(8):
        page.go_back()
        if page.url.endswith(address):
            return
    raise AssertionError(f"{address} isn't in this tab's history")


@scripts_or_none
def test_the_browser_does_not_put_what_one_person_typed_into_the_next_persons_form(
    visit: SignIn, javascript: bool
) -> None:
    amelia = visit("amelia", javascript=javascript)
    amelia.go("/me")
    for folded in amelia.main.locator("details.group > summary").all():
        folded.click()
    for label in ("Preferred name", "Town or city", "Name of the emergency contact"):
        amelia.page.get_by_label(label).fill(TYPED)
    amelia.page.get_by_label("Language for letters").select_option(index=2)
    amelia.sign_out()
    page = amelia.page
    sign_in(page, amelia.origin, "grace")
    back_to(page, "/me")
    Seen(page, amelia.origin)
    restored = page.evaluate(
        "[...document.querySelectorAll('main form [name]')].filter(field => field.options"
        " ? !field.selectedOptions[0].defaultSelected && field.selectedIndex : field.value !== field.defaultValue)"
        ".map(field => field.name)"
    )
    assert restored == []
    assert TYPED not in page.content() and NAME not in page.content()


def another_tab(seen: Seen, path: str, *, script: str = "") -> Seen:
    page = seen.page.context.new_page()
    page.add_init_script(script)
    page.goto(seen.origin + path)
    return Seen(page, seen.origin)


def is_over(page: Page) -> None:
    """Nothing of the record is left: not in the document, not in its title, not on paper."""
    expect(page.get_by_role("dialog", name="You are signed out")).to_be_visible()
    expect(page).to_have_title("You are signed out")
    expect(page.locator("body > :not(script)")).to_have_count(1)
    expect(page.locator("input, textarea")).to_have_count(0)
    assert NAME not in page.content()
    page.emulate_media(media="print")
    assert page.locator("body").inner_text().strip() == ""
    page.emulate_media(media="screen")


def test_signing_out_in_one_tab_clears_the_others_at_once(visit: SignIn) -> None:
    amelia = visit("amelia")
    other = another_tab(amelia, "/me")
    assert NAME in other.page.content()
    other.page.get_by_label("Preferred name").fill(TYPED)
    amelia.sign_out()
    is_over(other.page)
    sign_in(amelia.page, amelia.origin, "grace")
    other.page.get_by_role("button", name="Sign in again").click()
    Seen(other.page, amelia.origin)
    expect(other.page.get_by_label("Preferred name")).not_to_have_value(TYPED)
    assert TYPED not in other.page.content() and NAME not in other.page.content()


def test_a_page_is_cleared_by_an_answer_that_is_not_of_its_session(visit: SignIn) -> None:
    amelia = visit("amelia")
    returned_to, looked_at = (another_tab(amelia, "/me", script=NO_CHANNEL) for _tab in range(2))
    amelia.sign_out()
    assert NAME in returned_to.page.content()
    returned_to.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    is_over(returned_to.page)

    sign_in(amelia.page, amelia.origin, "grace")
    looked_at.page.evaluate("document.dispatchEvent(new Event('portal:look'))")
    is_over(looked_at.page)
    looked_at.page.get_by_role("button", name="Sign in again").click()
    Seen(looked_at.page, amelia.origin)
    assert NAME not in looked_at.page.content()


def test_a_fresh_sign_in_leaves_the_persons_other_tabs_as_they_are(visit: SignIn) -> None:
    amelia = visit("amelia")
    other = another_tab(amelia, "/me")
    other.page.get_by_label("Preferred name").fill(TYPED)
    amelia.page.goto(f"{amelia.origin}/sign-in?fresh=1&next=/help")
    amelia.page.locator("input[name=username]").fill("amelia")
    amelia.page.locator("input[name=password]").fill(PASSWORD)
    amelia.page.locator("form button").click()
    amelia.page.wait_for_url("**/help")
    for kind in ("visibilitychange", "portal:look"):
        with other.page.expect_response(re.compile("/(session|notifications/bell)")):
            other.page.evaluate(f"document.dispatchEvent(new Event('{kind}'))")
    expect(other.page.get_by_label("Preferred name")).to_have_value(TYPED)
