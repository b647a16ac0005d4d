"""A locum physician between two patients: a queue of forms on a phone, by touch, counted in taps."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import signed_in
from tests.browser.pages import ready
from tests.support.stack import PortalThread

WIDTH, HEIGHT = 390, 844
KEYBOARD = 336
"""How much of the window a phone's keyboard takes."""
FORMS, TAPS = 3, 13
"""To the list and into its first form; then for each its sentence, its name and its button, and twice to the next one."""

# A finger can reach an element at its middle and near its corners, whichever edge it was scrolled to.
_HIDDEN = """(one) => {
  const found = [];
  for (const block of ["start", "center", "end", "nearest"]) {
    one.scrollIntoView({ block, behavior: "instant" });
    const box = one.getBoundingClientRect();
    for (const [x, y] of [[.5, .5], [.1, .2], [.9, .2], [.1, .8], [.9, .8]]) {
      const hit = document.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
      if (!hit || !(one.contains(hit) || hit.contains(one))) found.push(`${block}: ${hit?.className || hit?.tagName}`);
    }
  }
  return found;
}"""


@pytest.fixture(scope="module")
def victor(chrome: Browser, portal: PortalThread) -> Iterator[Page]:
    """The physician on a phone."""
    phone = {"viewport": {"width": WIDTH, "height": HEIGHT}, "has_touch": True, "is_mobile": True}
    with signed_in(chrome, portal.origin(), "victor", **phone) as page:
        yield page


def test_three_forms_of_a_queue_are_signed_by_touch_in_13_taps(victor: Page) -> None:
    taps = 0

    def tap(target: Locator) -> None:
        nonlocal taps
        taps += 1
        target.tap()

    main = victor.get_by_role("main")
    ready(victor)
    tap(main.get_by_role("link", name=re.compile("^Mine 11")))
    tap(main.get_by_role("link", name=re.compile("^Sign")).first)
    signed: set[str] = set()
    for number in range(1, FORMS + 1):
        place, sign = victor.locator(".queue-place"), main.get_by_role("button", name="Sign this form")
        declaration, name = main.get_by_role("checkbox"), main.get_by_label("Type your full name")
        expect(place).to_have_text(f"{number} of 11")
        expect(place).to_be_in_viewport()
        signed.add(victor.url.partition("/sign")[0])
        tap(declaration)
        expect(place).to_be_in_viewport()
        tap(name)
        victor.set_viewport_size({"width": WIDTH, "height": HEIGHT - KEYBOARD})
        for target in (declaration, name, sign):
            assert not target.evaluate(_HIDDEN), target
        expect(place).to_be_in_viewport()
        victor.keyboard.type("Victor Castellanos")
        victor.set_viewport_size({"width": WIDTH, "height": HEIGHT})
        assert not sign.evaluate(_HIDDEN)
        assert victor.evaluate("document.documentElement.scrollWidth") == WIDTH
        tap(sign)
        expect(victor.get_by_role("heading", level=1)).to_have_text("Receipt")
        following = main.get_by_role("link", name=re.compile("^Next: "))
        expect(following).to_be_in_viewport(ratio=1)
        expect(victor.locator(".next-form")).to_contain_text(f"{number + 1} of 11")
        if number < FORMS:
            tap(following)
    assert len(signed) == FORMS
    assert taps <= TAPS, taps


def test_reading_progress_is_shown(victor: Page, portal: PortalThread) -> None:
    victor.goto(portal.origin() + "/consents?list=mine")
    victor.get_by_role("main").get_by_role("link", name=re.compile("^Sign")).first.tap()
    ready(victor)
    line = victor.locator(".reading-position")
    share = "(line) => line.getBoundingClientRect().width / innerWidth"
    assert line.evaluate(share) < 0.05
    victor.evaluate("scrollTo(0, (document.documentElement.scrollHeight - innerHeight) / 2)")
    victor.wait_for_timeout(100)
    assert 0.4 < line.evaluate(share) < 0.6
    victor.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    victor.wait_for_timeout(100)
    assert line.evaluate(share) > 0.95
