"""The content security policy in a real browser: no violation on any page or htmx swap, for any kind of person."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from portal import metrics
from tests.browser.album import kind_of
from tests.browser.conftest import SignIn
from tests.browser.pages import ready, sign_in
from tests.support.full import FULL, this_week
from tests.support.stack import PortalThread

SIDES = {"patients": ("amelia", "grace"), "staff": ("nora", "elif", "ada")}
_SWAPPED = 2 if FULL else 1
"""How many of a page's elements that load a part of it are pressed."""

_WATCH = """
document.addEventListener('securitypolicyviolation', (event) => window.reportViolation(
  `${location.pathname}: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
window.shown = Math.random();
document.addEventListener('htmx:after:swap', () => {
  window.reportSwap(location.pathname);
  requestAnimationFrame(() => setTimeout(() => { window.shown = Math.random(); }));
});
"""
"""`shown` is another number once a part of the page, or another page, is shown, and what that violates was told."""


_ATTACK = """() => {
  const attempts = [
    () => { document.body.innerHTML = '<p onclick="window.ran = true">'; },
    () => { trustedTypes.createPolicy('other', {}); },
    () => { window.eval('window.ran = true'); },
    () => {
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      document.body.append(script);
    },
  ];
  // Later, because what the debugger runs itself may use eval.
  for (const attempt of attempts) setTimeout(attempt);
  const picture = new Image();
  picture.onerror = () => setTimeout(() => { window.failed = true; }, 50);
  picture.src = 'https://elsewhere.example/x.png';
}"""


class Crawl:
    """Follows every link of a page to kinds of pages not in `seen`, and presses what loads a part of the page."""

    def __init__(self, page: Page, origin: str, seen: set[str] | None = None) -> None:
        self.page = page
        self.origin = origin
        self.seen = set[str]() if seen is None else seen
        self.violations: list[str] = []
        self.swaps: list[str] = []
        page.expose_function("reportViolation", lambda text: self.violations.append(text))
        page.expose_function("reportSwap", lambda path: self.swaps.append(path))
        page.add_init_script(_WATCH)

    def all(self) -> None:
        waiting = ["/"]
        while waiting:
            address = waiting.pop()
            kind = kind_of(urlsplit(address).path)
            if kind in self.seen:
                continue
            self.seen.add(kind)
            self.page.goto(self.origin + address, wait_until="load")
            waiting += [link for link in self.links() if link not in waiting]
            ready(self.page)
            self.swap()

    def links(self) -> list[str]:
        """The pages of the portal that this one links to; files are not pages."""
        hrefs: list[str] = self.page.eval_on_selector_all("a[href]", "links => links.map(link => link.href)")
        parts = [urlsplit(href) for href in hrefs]
        return [
            f"{one.path}?{one.query}" if one.query else one.path
            for one in parts
            if f"{one.scheme}://{one.netloc}" == self.origin
            and not re.search(r"\.ics$|^/files/[^/]+$|\.pdf$|download", one.path)
        ]

    def swap(self) -> None:
        elements = self.page.locator("main a[hx-get]:visible, main button[hx-get]:visible")
        for number in range(min(_SWAPPED, elements.count())):
            if number >= elements.count():
                return
            before = self.page.evaluate("window.shown")
            with self.page.expect_response(
                lambda answer: answer.request.resource_type in ("fetch", "document")
            ):
                elements.nth(number).click()
            self.page.wait_for_function("(before) => window.shown !== before", arg=before)
            self.page.wait_for_load_state("load")


@pytest.mark.parametrize("side", this_week(SIDES, 2))
@pytest.mark.asvs("3.4.3", "14.2.3")
def test_no_page_violates_the_content_security_policy(
    visit: SignIn, stack: PortalThread, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """`visit` also fails on whatever the console complains of. Each goes on where those before weren't led; patients in one week, staff in the other.

    The clinic asks how fast its pages are, which is told of each page that was left.
    """
    tenants = stack.context.settings.tenants
    before = tenants.by_key["riverside"]
    for host in before.hosts:
        monkeypatch.setitem(tenants.by_host, host, replace(before, page_speed=True))
    seen, swaps = set[str](), list[str]()
    for name in SIDES[side]:
        home = visit(name)
        seen.discard("/")
        crawl = Crawl(home.page, home.origin, seen)
        crawl.all()
        assert crawl.violations == []
        swaps += crawl.swaps
    assert len(seen) >= 20, seen
    assert swaps, "htmx swapped nothing"
    told = metrics.exposition().decode()
    assert re.search(r'portal_page_paint_seconds_count\{page="help.show",tenant="riverside"\} [1-9]', told)
    assert re.search(
        r'portal_page_layout_shift_bucket\{le="0.0",page="help.show",tenant="riverside"\} [1-9]', told
    )


@pytest.mark.asvs("3.2.2", "3.4.3")
def test_a_policy_violation_is_reported_and_blocked(chrome: Browser, stack: PortalThread) -> None:
    """What the crawl listens for does arrive, and what the policy forbids does not happen."""
    with chrome.new_context() as context:
        home = sign_in(context.new_page(), stack.origin(), "amelia")
        crawl = Crawl(home.page, home.origin)
        home.page.goto(home.origin + "/me")
        home.page.evaluate(_ATTACK)
        home.page.wait_for_function("() => window.failed")
        assert home.page.evaluate("window.ran") is None
        violated = {one.split(": ")[1].split()[0] for one in crawl.violations}
    assert violated == {"img-src", "require-trusted-types-for", "trusted-types"}
