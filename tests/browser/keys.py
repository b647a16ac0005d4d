"""A person who uses only the keyboard: moves from focus stop to focus stop and reads what is announced."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page

# The focused element: its accessible name, its box, and whether the focus is visible.
_FOCUS = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const words = (element) => (element?.innerText ?? element?.textContent ?? "").trim().replace(/\\s+/g, " ");
  const labelled = (one.getAttribute("aria-labelledby") || "").split(" ").map((id) => words(document.getElementById(id))).join(" ").trim();
  const name = one.getAttribute("aria-label") || labelled || [...(one.labels || [])].map(words).join(" ") || words(one)
    || words(one.querySelector("title")) || one.querySelector("[aria-label]")?.getAttribute("aria-label") || one.getAttribute("title") || "";
  const box = one.getBoundingClientRect();
  const style = getComputedStyle(one);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
    && style.outlineColor !== "rgba(0, 0, 0, 0)";
  const points = [[.5, .5], [.15, .5], [.85, .5], [.5, .2], [.5, .8]].map(([x, y]) =>
    document.elementFromPoint(box.left + box.width * x, box.top + box.height * y));
  const seen = points.some((hit) => hit && (one.contains(hit) || hit.contains(one) || [...(one.labels || [])].some((label) => label.contains(hit))));
  return {
    name, tag: one.tagName.toLowerCase(), id: one.id, ring, seen, stop: one.matches(":focus-visible"),
    inMain: Boolean(one.closest("main")), floats: Boolean(one.closest("dialog, #toasts, .menu-panel, .skip")),
    left: box.left, right: box.right, top: box.top + scrollY, bottom: box.bottom + scrollY,
  };
}"""


@dataclass(frozen=True, slots=True)
class Stop:
    """An element that the focus came to."""

    name: str
    tag: str
    id: str
    ring: bool
    seen: bool
    stop: bool
    inMain: bool  # noqa: N815
    floats: bool
    left: float
    right: float
    top: float
    bottom: float

    def __str__(self) -> str:
        return f"{self.tag}{'#' + self.id if self.id else ''} “{self.name[:50]}”"


class Keys:
    """The keyboard of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.stops = 0
        """How many stops the last way took."""

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def focus(self) -> Stop | None:
        """Where the focus is now; None when it is nowhere."""
        found: dict[str, Any] | None = self.page.evaluate(_FOCUS)
        return Stop(**found) if found else None

    def tab(self) -> Stop | None:
        self.press("Tab")
        return self.focus()

    def all_stops(self, most: int = 400) -> list[Stop]:
        """Every stop of the page, from its start until the focus leaves it."""
        stops: list[Stop] = []
        for _ in range(most):
            stop = self.tab()
            if stop is None or (
                stops and (stop.name, stop.tag, stop.top) == (stops[0].name, stops[0].tag, stops[0].top)
            ):
                return stops
            stops.append(stop)
        raise AssertionError(f"no end after {most} stops, last {stops[-1]}")

    def to(self, name: str | re.Pattern[str], *, backwards: bool = False) -> Stop:
        """Go on with Tab until an element of this name."""
        passed: list[str] = []
        for number in range(1, 201):
            self.press("Shift+Tab" if backwards else "Tab")
            stop = self.focus()
            self.stops = number
            if stop and (stop.name == name if isinstance(name, str) else name.search(stop.name)):
                assert stop.ring, f"the focus on {stop} isn't visible"
                assert stop.seen, f"{stop} is covered"
                return stop
            passed.append(str(stop))
        raise AssertionError(f"{name!r} is not reached; passed {passed[:40]}")

    def use(self, name: str | re.Pattern[str], key: str = "Enter") -> None:
        """Go to it and press a key there."""
        self.to(name)
        self.press(key)
