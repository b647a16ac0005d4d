"""Bytes and requests of a first visit, a next page and a page fragment, as counted by Chromium."""

from __future__ import annotations

from playwright.sync_api import sync_playwright

from tests.browser.pages import ready
from tests.support import chromium
from tests.support.wire import Received, Recorder
from tools.bench.answers import EPISODE
from tools.bench.measures import Row, Size
from tools.bench.servers import Bench


def first_and_next(bench: Bench, size: Size) -> list[Row]:
    """A patient's home page in a new browser, read and then used, then other pages, then a page fragment."""
    portal = bench.portal()
    cookie = bench.sign_in(portal, "amelia")["Cookie"].partition("=")[2]
    origin = f"http://{portal.host}"
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        context = browser.new_context()
        context.add_cookies(
            [{"name": "__Host-sid", "value": cookie, "url": f"https://{portal.host}", "secure": True}]
        )
        page = context.new_page()
        recorder = Recorder(page)
        first = recorder.during(lambda: page.goto(origin))
        used = recorder.during(lambda: ready(page))
        following = [
            recorder.during(lambda path=path: page.goto(origin + path))
            for path in (f"/episodes/{EPISODE}", "/consents", "/conversations", "/notifications", "/")
        ]
        page.goto(f"{origin}/episodes/{EPISODE}")
        ready(page)

        def open_tab() -> None:
            with page.expect_response(
                lambda answer: "/appointments" in answer.url and "hx-request" in answer.request.headers
            ):
                page.get_by_role("link", name="Appointments", exact=True).click()

        part = recorder.during(open_tab)
        browser.close()
    portal.stop()
    largest = max(_bytes(one) for one in following)
    return [
        _row("First visit, all bytes and requests", 36, _bytes(first), f", {len(first)} requests", len(first) <= 6),
        _row("First visit once someone begins to use the page, all bytes", 42, _bytes([*first, *used])),
        _row("Next page, the largest of five", 6.5, largest),
        _row("Part of a page", 4, _bytes(part)),
    ]  # fmt: skip


def _bytes(received: list[Received]) -> int:
    return sum(one.size for one in received)


def _row(what: str, target: float, size: int, more: str = "", also: bool = True) -> Row:
    aim = f"≤ {target} kB" + (" in ≤ 6 requests" if more else "")
    return Row(what, aim, f"{size / 1000:.1f} kB{more}", size <= target * 1000 and also, {"bytes": size})
