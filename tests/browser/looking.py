"""A browser that shows a page of the album and reports what is wrong with it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import axe_playwright_python
from playwright.sync_api import Browser, CDPSession, Page

from tests.browser.album import Leaf

Theme = Literal["light", "dark", "forced"]
_AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
MEASURE = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
_RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    },
    "rules": {"target-size": {"enabled": True}},
    "resultTypes": ["violations"],
    # A frame holds another page, which is checked separately.
    "iframes": False,
}
_SPACED = "* { line-height: 1.5 !important; letter-spacing: .12em !important; word-spacing: .16em !important } p { margin-block-end: 2em !important }"
_SQUEEZED = r"""() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.data.trim().split(/\s+/).length < 5 || node.parentElement.closest("svg, option, .visually-hidden")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = new Map();  // a line of two directions has several rectangles
    for (const { bottom, width } of range.getClientRects()) {
      const line = Math.round(bottom / 8);
      lines.set(line, (lines.get(line) ?? 0) + width);
    }
    if (lines.size > 5 && [...lines.values()].every((one) => one < 80)) found.push(node.data.trim().slice(0, 60));
  }
  return found;
}"""
_PUT = """async (html) => {
  const next = new DOMParser().parseFromString(html, "text/html");
  const styles = (page) => [...page.querySelectorAll("link[rel=stylesheet]")];
  const wanted = styles(next).map((one) => one.getAttribute("href"));
  const here = styles(document).map((one) => one.getAttribute("href"));
  styles(document).forEach((one) => wanted.includes(one.getAttribute("href")) || one.remove());
  const added = styles(next).filter((one) => !here.includes(one.getAttribute("href")));
  await Promise.all(added.map((one) => new Promise((loaded) => {
    one.onload = one.onerror = loaded;
    document.head.append(one);
  })));
  for (const { name } of [...document.documentElement.attributes]) document.documentElement.removeAttribute(name);
  for (const { name, value } of next.documentElement.attributes) document.documentElement.setAttribute(name, value);
  document.body.replaceWith(next.body);
  document.querySelectorAll("main details").forEach((one) => (one.open = true));
}"""
_OPEN = "() => document.querySelectorAll('main details:not([data-menu])').forEach((one) => (one.open = true))"


@dataclass
class Looker:
    """One tab, in which pages of the album are answers; style and script come from the product, and from the cache.

    Answers are given by the browser's own protocol: a route of Playwright's would ask for every file, uncached.
    """

    page: Page
    _leaf: Leaf | None = None

    def show(self, leaf: Leaf, *, theme: Theme = "light", width: int = 1280, height: int = 900) -> None:
        self._leaf = leaf
        self.dress(theme, width, height)
        self.page.goto(leaf.url, wait_until="load")
        self.page.evaluate(_OPEN)

    def put(self, leaf: Leaf) -> None:
        """Show the page in place of the one before, which takes a tenth of the time of opening it; no script notices."""
        if urlsplit(self.page.url).netloc != urlsplit(leaf.url).netloc:
            self.show(leaf)
        else:
            self.page.evaluate(_PUT, leaf.html)

    def dress(self, theme: Theme, width: int, height: int = 900) -> None:
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(
            color_scheme="dark" if theme == "dark" else "light",
            forced_colors="active" if theme == "forced" else "none",
            reduced_motion="reduce",
        )

    def answer(self, paused: dict[str, Any]) -> None:
        """Answer a paused request for a document: the album's page as it was, or whatever the server says."""
        leaf, request = self._leaf, {"requestId": paused["requestId"]}
        if leaf is None or paused["request"]["url"] != leaf.url.partition("#")[0]:
            self._devtools.send("Fetch.continueRequest", request)
            return
        # Served with status 200, so that the browser doesn't replace an error page with its own.
        answer = {
            "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": "text/html; charset=utf-8"}],
            "body": b64encode(leaf.html.encode()).decode(),
        }
        self._devtools.send("Fetch.fulfillRequest", {**request, **answer})

    def intercept(self) -> None:
        """Have every request for a document wait for `answer`."""
        self._devtools.on("Fetch.requestPaused", self.answer)
        self._devtools.send("Fetch.enable", {"patterns": [{"resourceType": "Document"}]})

    def axe(self, only: str = "html") -> list[str]:
        """What axe-core finds, one line for each rule and element."""
        if not self.page.evaluate("() => Boolean(window.axe)"):
            self.page.evaluate(_AXE)
        found: list[dict[str, Any]] = self.page.evaluate(
            "([only, rules]) => axe.run(only, rules).then((found) => found.violations)", [only, _RULES]
        )
        return [
            f"{rule['id']}: {node['target']} {node['html'][:160]} ({_why(node)})"
            for rule in found
            for node in rule["nodes"]
        ]

    def measure(self, width: int, height: int = 640) -> list[str]:
        """What scrolls sideways, is cut or lies on other words at this size."""
        self.page.set_viewport_size({"width": width, "height": height})
        return self.page.evaluate(MEASURE)

    def sideways(self, *widths: int) -> list[str]:
        """At which of these widths the page scrolls sideways, and how wide it is; and words in a column too narrow."""
        found: list[str] = []
        for width in widths:
            self.page.set_viewport_size({"width": width, "height": 900})
            wide = self.page.evaluate("() => document.documentElement.scrollWidth")
            if wide > width:
                found.append(f"{wide} px of {width}")
            found += [f"squeezed at {width}: {words}" for words in self.page.evaluate(_SQUEEZED)]
        return found

    @contextmanager
    def spaced(self) -> Iterator[None]:
        """Letters, words, lines and paragraphs set wider (WCAG 2.2, 1.4.12)."""
        added = self.page.add_style_tag(content=_SPACED)
        yield
        added.evaluate("(one) => one.remove()")

    @contextmanager
    def enlarged(self) -> Iterator[None]:
        """Text of twice the size (WCAG 2.2, 1.4.4), as set in the browser."""
        self._devtools.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        yield
        self._devtools.send("Page.setFontSizes", {"fontSizes": {"standard": 16, "fixed": 13}})

    @cached_property
    def _devtools(self) -> CDPSession:
        return self.page.context.new_cdp_session(self.page)


def _why(node: dict[str, Any]) -> str:
    checks = [*node["any"], *node["all"], *node["none"]]
    return checks[0]["message"][:160] if checks else ""


@contextmanager
def looker(chrome: Browser) -> Iterator[Looker]:
    """A tab whose content security policy lets axe-core and a style of the test's own in."""
    context = chrome.new_context(bypass_csp=True, locale="en-GB")
    context.set_default_timeout(20_000)
    looking = Looker(context.new_page())
    looking.intercept()
    yield looking
    context.close()
