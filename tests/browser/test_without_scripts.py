"""A browser whose JavaScript is off: errors lead to their field, menus open, and nothing is dead.

`test_journeys.py` signs and archives so, `test_once.py` makes a plan and books; the forms of every other journey are sent as such
a browser sends them, without one, in `tests/views`.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.album import kind_of
from tests.browser.conftest import Person
from tests.browser.pages import Seen
from tests.browser.steps import seen, summary


def test_a_missing_statement_is_reported_with_a_link_to_it(person: Person) -> None:
    reading = person("daniel").consents().sign(re.compile("frozen sperm"))
    step = reading.have_read()
    step.press("Continue")
    refused = seen(step)
    expect(refused.page.locator(".error-summary")).to_be_visible()
    refused.page.locator(".error-summary a").first.click()
    assert re.search(r"#statement-\d+$", refused.page.url)


def test_the_remaining_sections_are_in_a_menu(person: Person) -> None:
    home = person("amelia")
    summary(home, "More").click()
    home.page.get_by_role("link", name="Care team").click()
    team = Seen(home.page, home.origin)
    assert "/care-team" in team.page.url


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
