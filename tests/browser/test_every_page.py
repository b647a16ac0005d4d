"""Every page in every state: axe-core finds nothing (WCAG 2.2 AA), and nothing is lost at 320 pixels or in large letters.

`make test` looks once at a third, another one each week, of as few pages as hold every construct (each element of each side), in a theme, width and
language that change from page to page and from week to week; in turns between a phone and a desk, with letters set wider, or twice as large. With CARE_TEST_FULL=1 it looks at one page of each kind in every language and both themes, at a
phone's width in one and a desk's in the other, and measures each page of each person in one language. What is too wide
between a phone and a desk is found by `test_patient_widths.py` and `test_staff_widths.py` too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from portal.demo.stack import PEOPLE
from portal.web import templates
from tests.browser import states
from tests.browser.album import LANGUAGES, Album, Leaf, constructs
from tests.browser.looking import Looker, Theme, looker
from tests.support.full import FULL, WEEK, this_week
from tests.support.stack import ROOT, CareService, PortalThread, plan

NAMES = [*(name for people in PEOPLE.values() for name, _ in people), "nobody"]
MIXED = "mixed"


@dataclass
class Seen:
    """What was looked at, and what is wrong with it, by kind of fault."""

    leaves: list[Leaf]
    faults: dict[str, list[str]] = field(
        default_factory=lambda: {"axe": [], "320": [], "sideways": [], "spaced": [], "large": []}
    )


@pytest.fixture(scope="module", params=LANGUAGES if FULL else [MIXED])
def language(request: pytest.FixtureRequest) -> str:
    """The language of all pages, or MIXED when each person has one of their own."""
    return request.param


@pytest.fixture(scope="module")
def service(language: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CareService]:
    """The care service with fresh sample records for each language: a walk signs, withdraws and books."""
    running = CareService(plan(tmp_path_factory.mktemp(f"care-{language}")))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def album(portal: PortalThread, language: str) -> tuple[Album, set[str]]:
    """All pages, in one language or each person in one of their own."""
    return collected(portal, language)


def collected(portal: PortalThread, language: str) -> tuple[Album, set[str]]:
    """Walk through the whole product as everybody; return its pages and the templates that made them."""
    found = Album(all_of_them=FULL)
    spoken = {
        name: LANGUAGES[number % len(LANGUAGES)] if language == MIXED else language
        for number, name in enumerate(NAMES)
    }
    shown: set[str] = set()
    shows = templates.render

    def render(name: str, context: dict[str, Any]) -> str:
        shown.add(name)
        return shows(name, context)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "render", render)
        states.collect(portal, found, spoken.__getitem__)
    return found, shown


@pytest.fixture(scope="module")
def seen(album: tuple[Album, set[str]], chrome: Browser) -> Seen:
    pages, _ = album
    leaves = this_week(pages.leaves if FULL else _with_all_constructs(pages.leaves), 3)
    result = Seen(leaves)
    with looker(chrome) as looking:
        for number, leaf in enumerate(leaves, 0 if FULL else WEEK // 3):
            if leaf.is_first or NAMES.index(leaf.person) % len(LANGUAGES) == LANGUAGES.index(leaf.language):
                _look(looking, leaf, number, result.faults)
    return result


def _with_all_constructs(leaves: list[Leaf]) -> list[Leaf]:
    """Some of the pages, in their order, that hold every construct of each side: time and again the one with most new ones."""
    of = {number: {(leaf.side, *one) for one in constructs(leaf.html)} for number, leaf in enumerate(leaves)}
    chosen: list[int] = []
    while any(of.values()):
        most = max(of, key=lambda number: len(of[number]))
        shown = of.pop(most)
        chosen.append(most)
        of = {number: left - shown for number, left in of.items()}
    return [leaves[number] for number in sorted(chosen)]


def _look(looking: Looker, leaf: Leaf, number: int, faults: dict[str, list[str]]) -> None:
    dresses: list[tuple[Theme, int]] = [("light", 360), ("dark", 1280), ("light", 1280), ("dark", 360)]
    if not FULL:
        dresses = [dresses[number % len(dresses)]]
    elif leaf.is_first:  # the other two dresses are another language's
        other = (number + LANGUAGES.index(leaf.language)) % 2 * 2
        dresses = dresses[other : other + 2] + [("forced", 1280)] * (number % 8 == 0)
    else:
        dresses = []
    if FULL or number % 4 == 0:
        looking.show(leaf)
    else:
        looking.put(leaf)
    for theme, width in dresses:
        looking.dress(theme, width)
        faults["axe"] += [f"{leaf.name} {theme} {width}: {fault}" for fault in looking.axe()]
    faults["320"] += [f"{leaf.name}: {fault}" for fault in looking.measure(320)]
    if FULL or number % 3 == 0:
        between = (600, 768, 1024, 1152, 1280) if FULL else (1152,)
        faults["sideways"] += [f"{leaf.name}: {fault}" for fault in looking.sideways(*between)]
    if FULL or number % 3 == 1:
        with looking.spaced():
            faults["spaced"] += [f"{leaf.name}: {fault}" for fault in looking.measure(320)]
    if FULL or number % 3 == 2:
        with looking.enlarged():
            faults["large"] += [f"{leaf.name}: {fault}" for fault in looking.measure(640)]


def test_no_page_has_an_axe_violation(seen: Seen) -> None:
    assert not seen.faults["axe"], "\n".join(seen.faults["axe"])


def test_at_320_pixels_nothing_scrolls_sideways_is_cut_or_overlaps(seen: Seen) -> None:
    assert not seen.faults["320"], "\n".join(seen.faults["320"])


def test_no_page_scrolls_sideways_at_widths_between_phone_and_desktop(seen: Seen) -> None:
    assert not seen.faults["sideways"], "\n".join(seen.faults["sideways"])


def test_no_content_is_lost_with_wider_text_spacing(seen: Seen) -> None:
    """WCAG 2.2, 1.4.12."""
    assert not seen.faults["spaced"], "\n".join(seen.faults["spaced"])


def test_no_content_is_lost_with_text_at_twice_the_size(seen: Seen) -> None:
    """WCAG 2.2, 1.4.4."""
    assert not seen.faults["large"], "\n".join(seen.faults["large"])


def test_the_walk_shows_every_page_template(album: tuple[Album, set[str]]) -> None:
    """Every template of a page was shown by the walk or by `states.py`; a new one that neither reaches is named here.

    Those of documents to print are no pages: `tests/web/test_pdf.py` and `tests/views/protocols/test_schedule.py` show them.
    """
    pages = {
        str(path.relative_to(ROOT / "templates"))
        for path in (ROOT / "templates").rglob("*.html")
        if path.parent.name != "print"
        and "{% extends" in path.read_text(encoding="utf-8")
        and "{% block step %}{% endblock %}" not in path.read_text(encoding="utf-8")
    }
    unseen = pages - album[1]
    assert not unseen, f"let states.py show these: {sorted(unseen)}"
    sides = {leaf.side for leaf in album[0].leaves}
    assert sides == {"patient", "staff", "none", "identity"}


# ── what opens over a page ──────────────────────────────────────────────────────────────────────────────


def _menus(page: Page) -> None:
    """Every menu; one that lies over another is opened by itself."""
    page.evaluate("() => document.querySelectorAll('details[data-menu]').forEach((one) => (one.open = true))")


def _more(page: Page) -> None:
    page.evaluate("() => (document.querySelector('.mainnav details').open = true)")


def _rail(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator(".rail-button").click()


def _shortcuts(page: Page) -> None:
    page.evaluate("() => document.getElementById('shortcuts').showModal()")


def _warning(page: Page) -> None:
    page.evaluate("() => document.getElementById('session-warning').showModal()")


def _ended(page: Page) -> None:
    """The session is over, as another tab or the next request says: this browser has none."""
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.locator("#session-warning [data-session=ended]").wait_for()


def _told(page: Page) -> None:
    """A toast with its Undo, as htmx adds it: the one of the page of pieces has the same words."""
    page.evaluate(
        """() => {
          const toast = document.createElement("div");
          toast.className = "toast";
          toast.innerHTML = '<p>Message archived. It can be found under Archived.</p>'
            + '<form><button class="button" data-kind="quiet">Undo</button></form>'
            + '<button type="button" class="toast-close" data-dismiss aria-label="Close">x</button>';
          document.getElementById("toasts").append(toast);
        }"""
    )


OVER = {
    "patient": (_menus, _more, _warning, _ended, _told),
    "staff": (_menus, _rail, _shortcuts, _warning, _ended, _told),
}
OPENED = [
    pytest.param(side, opens, theme, width, id=f"{side}{opens.__name__} {theme} {width}")
    for side, ways in OVER.items()
    for number, opens in enumerate(ways)
    for look, (theme, width) in enumerate(product(("light", "dark", "forced"), (360, 1280)))
    if FULL or look == number % 4
]


@pytest.fixture(scope="module")
def tab(chrome: Browser) -> Iterator[Looker]:
    with looker(chrome) as one:
        yield one


@pytest.mark.parametrize(("side", "opens", "theme", "width"), OPENED)
def test_no_menu_dialog_or_toast_has_an_axe_violation(
    album: tuple[Album, set[str]],
    tab: Looker,
    side: str,
    opens: Callable[[Page], None],
    theme: Theme,
    width: int,
) -> None:
    home = next(
        leaf for leaf in album[0].leaves if leaf.side == side and leaf.kind == "/" and leaf.status == 200
    )
    tab.show(home, theme=theme, width=width)
    opens(tab.page)
    assert not tab.axe()
    assert not tab.measure(320)
