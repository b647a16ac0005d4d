"""Patients' pages in every window size, with names and words longer than a line: nothing scrolls sideways."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest

from portal.careservice.ids import sample_id
from tests.browser.conftest import SignIn
from tests.browser.pages import Home
from tests.support.full import FULL, this_week
from tests.support.stack import PortalThread

WIDTHS = (320, 390, 768, 1280, 1600)
EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
PAGES = (
    *(
        "/",
        EPISODE,
        f"{EPISODE}/medication",
        f"{EPISODE}/monitoring",
        f"{EPISODE}/consents",
        f"{EPISODE}/documents",
    ),
    *(
        "/consents",
        "/conversations",
        f"/conversations/{sample_id('conversation', 'amelia-scan')}",
        "/notifications",
    ),
    *("/notifications/settings", "/care-team", "/me", "/help", "/help/words"),
)
OF_EMBRYOS = ("/storage", f"/episodes/{sample_id('episode', 'grace-2')}/embryos")
LONG = "Wolfeschlegelsteinhausenbergerdorffwelchevoralternwarengewiss"
_CHANGES = (
    "UPDATE patients SET first_name = :long, preferred_name = :long",
    "UPDATE messages SET body = :long || body, sender_name = :long",
    "UPDATE conversations SET subject = :long",
    "UPDATE notifications SET title = :long, body = :long || body",
    "UPDATE files SET name = :long",
    "UPDATE attachments SET name = :long",
    "UPDATE physicians SET name = :long",
)


@pytest.fixture(scope="module")
def long_words(stack: PortalThread) -> None:
    """People, files, subjects and messages with a word of sixty letters."""
    with closing(sqlite3.connect(stack.plan.data / "care.db", timeout=10)) as records, records:
        for change in _CHANGES:
            records.execute(change, {"long": LONG})


def test_no_page_of_a_patient_scrolls_sideways(visit: SignIn, long_words: None) -> None:
    home = visit("amelia")
    found = (
        _sideways(home, "en", PAGES)
        + _sideways(home, "es", this_week(PAGES, 4))
        + _sideways(home, "ar", this_week(PAGES[::-1], 4))
    )
    assert not found


def test_no_page_about_embryos_scrolls_sideways(visit: SignIn, long_words: None) -> None:
    home = visit("grace")
    assert not [one for language in ("en", "es", "ar") for one in _sideways(home, language, OF_EMBRYOS)]


def test_the_last_third_of_a_wide_window_is_used_and_tabs_stay_where_they_are(visit: SignIn) -> None:
    home = visit("amelia", width=1280)
    page, empty, tops = home.page, list[str](), set[float]()
    for path in (*PAGES, f"{EPISODE}/timeline", f"{EPISODE}/team", "/me/devices", "/episodes"):
        page.goto(home.origin + path, wait_until="domcontentloaded")
        if not page.evaluate(_WORDS_IN_THE_LAST_THIRD):
            empty.append(path)
        if path.startswith("/episodes/"):
            tops.add(page.locator(".tabs").bounding_box()["y"])  # pyright: ignore[reportOptionalSubscript]
    assert not empty
    assert len(tops) == 1, tops
    page.set_viewport_size({"width": 844, "height": 390})
    page.goto(f"{home.origin}/notifications/settings", wait_until="domcontentloaded")
    assert not page.evaluate(_STAYS_IN_SIGHT), "a phone on its side is too low for bars"


_STAYS_IN_SIGHT = """() => [...document.querySelectorAll("body *")]
  .filter((one) => ["fixed", "sticky"].includes(getComputedStyle(one).position) && one.offsetWidth > innerWidth / 2 && one.offsetHeight)
  .map((one) => one.className)"""
_WORDS_IN_THE_LAST_THIRD = """() => {
  const main = document.querySelector("main"), box = main.getBoundingClientRect(), third = box.left + box.width * 2 / 3;
  const words = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    const of = node.parentElement;
    if (!node.data.trim() || of.closest(".pagehead, .crumbs, .back, .tabs, .call-now, .visually-hidden") || !of.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if ([...range.getClientRects()].some((line) => line.left >= third && line.top < innerHeight)) return true;
  }
  return false;
}"""


def _sideways(home: Home, language: str, paths: Sequence[str]) -> list[str]:
    """Which of these pages are wider than which windows, in this language."""
    page, found = home.page, list[str]()
    if page.locator("html").get_attribute("lang") != language:
        page.evaluate(
            "(code) => document.querySelector(`button[name=language][value=${code}]`).click()", language
        )
        page.wait_for_selector(f"html[lang={language}]")
    for path in paths:
        page.goto(home.origin + path, wait_until="domcontentloaded")
        for width in WIDTHS if language == "en" or FULL else WIDTHS[::2]:
            page.set_viewport_size({"width": width, "height": 900})
            if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                found.append(f"{language} {path}: {wide} px of {width}")
    return found
