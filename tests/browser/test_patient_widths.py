"""Patients' pages in every window size, with names and words longer than a line: nothing scrolls sideways."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

import pytest
from playwright.sync_api import Browser

from portal.careservice.ids import sample_id
from tests.browser.album import LANGUAGES, Leaf
from tests.browser.conftest import SignIn
from tests.browser.looking import looker
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


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        pytest.param(
            "amelia",
            {"en": PAGES, "es": this_week(PAGES, 4), "ar": this_week(PAGES[::-1], 4)},
            id="under treatment",
        ),
        pytest.param("grace", dict.fromkeys(LANGUAGES, OF_EMBRYOS), id="with embryos"),
    ],
)
def test_no_page_of_a_patient_scrolls_sideways(
    stack: PortalThread, chrome: Browser, long_words: None, name: str, paths: dict[str, Sequence[str]]
) -> None:
    visitor, found = stack.sign_in(name), list[str]()
    with looker(chrome) as looking:
        for language in LANGUAGES:
            visitor.post("/language", {"language": language, "next": "/"})
            widths = WIDTHS if language == "en" or FULL else WIDTHS[::2]
            for path in paths[language]:
                page = visitor.get(path)
                assert f'lang="{language}"' in page.text[:500]
                looking.put(Leaf(name, "patient", language, path, page.url, page.status, page.text))
                found += [f"{language} {path}: {fault}" for fault in looking.sideways(*widths)]
    assert not found, "\n".join(found)


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
