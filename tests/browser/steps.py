"""Steps that people take on any page without scripts."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.browser.pages import Seen


def seen(page: Seen) -> Seen:
    """The page that is there now."""
    return Seen(page.page, page.origin)


def go_on(page: Seen) -> Seen:
    """Press the one button that the page is for."""
    page.main.locator(
        "button.button[data-kind=primary]:not([formaction]), button.button[data-kind=danger]"
    ).first.click()
    return seen(page)


def told(page: Seen, words: str | re.Pattern[str]) -> None:
    expect(page.page.locator("#toasts").get_by_text(words).first).to_be_visible()


def summary(page: Seen, words: str) -> Locator:
    """The fold with these words that is seen: a page that waited has its bars twice, the first ones hidden."""
    return page.page.locator("summary", has_text=words).locator("visible=true")
