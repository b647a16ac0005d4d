"""A device whose clock isn't the clinic's says so beside doses and visits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from portal.careservice.ids import sample_id
from tests.browser.pages import ready, sign_in
from tests.support.stack import PortalProcess

EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
SENTENCE = re.compile(
    r"Times are the clinic’s: (\d\d):(\d\d) there is (\w{3}),? (\d\d):(\d\d) where you are\."
)
Traveller = Callable[[str], Page]


@pytest.fixture
def traveller(chrome: Browser, stack: PortalProcess) -> Iterator[Traveller]:
    """A patient of the clinic in London, on a device in the given zone."""
    contexts: list[BrowserContext] = []

    def go(zone: str) -> Page:
        contexts.append(chrome.new_context(timezone_id=zone, base_url=stack.origin()))
        page = contexts[-1].new_page()
        sign_in(page, stack.origin(), "amelia")
        return page

    yield go
    for context in contexts:
        context.close()


@pytest.mark.parametrize("address", ["/", EPISODE, f"{EPISODE}/medication", f"{EPISODE}/appointments"])
def test_a_device_elsewhere_says_what_its_clock_shows(traveller: Traveller, address: str) -> None:
    page = traveller("America/New_York")
    page.goto(address)
    line = page.locator("[data-at]").first
    expect(line).to_be_visible()
    expect(line).to_have_text(SENTENCE)
    told = SENTENCE.search(line.inner_text())
    assert told
    there, here = (60 * int(told[i]) + int(told[i + 1]) for i in (1, 4))
    assert (there - here) % (24 * 60) in (4 * 60, 5 * 60)


def test_a_device_where_it_is_another_day_says_which(traveller: Traveller) -> None:
    page = traveller("America/New_York")
    page.goto(EPISODE)
    line = page.locator("[data-at]").first
    at = datetime.fromisoformat(line.get_attribute("data-at") or "")
    there = at.astimezone(ZoneInfo("America/New_York"))
    expect(line).to_contain_text(re.compile(f"{at:%H:%M} there is {there:%a},? {there:%H:%M} where"))


def test_the_sentence_comes_with_a_part_of_the_page_too(traveller: Traveller) -> None:
    page = traveller("America/New_York")
    page.goto(f"{EPISODE}/timeline")
    expect(page.locator("[data-at]")).to_have_count(0)
    ready(page)
    page.get_by_role("navigation", name="Parts of this treatment").get_by_role(
        "link", name="Medicines"
    ).click()
    expect(page.locator("[data-at]").first).to_be_visible()
    expect(page.locator("[data-at]").first).to_have_text(SENTENCE)
    assert page.evaluate("performance.getEntriesByType('navigation')[0].name").endswith("/timeline")


@pytest.mark.parametrize("zone", ["Europe/London", "Europe/Lisbon"])
def test_a_device_whose_clock_agrees_says_nothing(traveller: Traveller, zone: str) -> None:
    page = traveller(zone)
    page.goto(EPISODE)
    expect(page.locator("[data-at]").first).to_be_hidden()
