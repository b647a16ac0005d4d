"""What a visit costs on a bad phone network: bytes over the wire and requests, as Chromium counts them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from portal.careservice.ids import sample_id
from portal.web import static
from tests.browser.pages import ready, sign_in
from tests.support.stack import ROOT, PortalProcess
from tests.support.wire import Received, Recorder

EPISODE = sample_id("episode", "amelia-1")
SCAN = sample_id("conversation", "amelia-scan")
MAIN_PAGES = ("/", f"/episodes/{EPISODE}", "/consents", "/conversations", "/notifications")
"""The five that patients open most."""

FIRST_VISIT, REQUESTS, NEXT_PAGE = 28_250, 5, 6_500
WITH_HTMX = 42_000
"""A first visit to a page that someone begins to use: its words, and so some fifty bytes, change with the hour."""

UNREAD = 34_000
"""A first visit to a conversation with a picture and a message that is marked as read, which takes 2.2 kB more."""

PARTS = {"Scans": 4_200, "Medicines": 4_200, "Appointments": 2_500}
"""The medicines have the doses around now and the drawing of the whole plan."""

WHOLE = {"Sec-Purpose": "prefetch"}
"""A page that is fetched ahead has no first part, which would add its bars wherever the machine is slow."""


@pytest.fixture(scope="module")
def stack(deployed: PortalProcess) -> PortalProcess:
    """The portal as it is deployed."""
    return deployed


@pytest.fixture(scope="module", autouse=True)
def compressed() -> None:
    """Static files are compressed when the portal is installed; here once more, for those changed since."""
    subprocess.run([sys.executable, "-m", "portal.web.static"], cwd=ROOT, check=True)


@pytest.fixture(scope="module")
def signed_in(compressed: None, chrome: Browser, stack: PortalProcess) -> Iterator[list[dict[str, object]]]:
    """The cookies of someone who is signed in, for browsers that have never been here."""
    context = chrome.new_context()
    sign_in(context.new_page(), stack.origin(), "amelia")
    yield context.cookies()  # pyright: ignore[reportReturnType]
    context.close()


@pytest.fixture
def fresh(chrome: Browser, signed_in: list[dict[str, object]]) -> Iterator[Page]:
    context = chrome.new_context(extra_http_headers=WHOLE)
    context.add_cookies(signed_in)  # pyright: ignore[reportArgumentType]
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(("made", "source"), static.SHEETS.items())
def test_the_served_style_sheet_has_the_rules_of_its_sources(chrome: Browser, made: str, source: str) -> None:
    page = chrome.new_page()
    rules: list[list[str]] = [
        page.evaluate(
            "(text) => { const sheet = new CSSStyleSheet(); sheet.replaceSync(text);"
            " return [...sheet.cssRules].map((rule) => rule.cssText.replace(/,\\s+/g, ',')); }",
            text,
        )
        for text in (static.joined_sheet(source), (static.FOLDER / made).read_text(encoding="utf-8"))
    ]
    page.close()
    assert len("".join(rules[0])) > 500
    assert rules[0] == rules[1]


def told(received: list[Received]) -> str:
    return ", ".join(f"{one.path} {one.size}" for one in received)


@pytest.mark.parametrize("path", MAIN_PAGES, ids=["home", "episode", "consents", "messages", "notifications"])
def test_a_first_visit_and_each_next_page_keep_to_their_byte_budgets(
    fresh: Page, stack: PortalProcess, path: str
) -> None:
    recorder = Recorder(fresh)
    first = recorder.during(lambda: fresh.goto(stack.origin() + path))
    assert sum(one.size for one in first) <= FIRST_VISIT, told(first)
    assert len(first) <= REQUESTS, told(first)
    other = next(one for one in MAIN_PAGES if one != path)
    following = recorder.during(lambda: fresh.goto(stack.origin() + other))
    assert sum(one.size for one in following) <= NEXT_PAGE, told(following)
    again = recorder.during(lambda: fresh.goto(stack.origin() + path))
    assert sum(one.size for one in again) <= NEXT_PAGE, told(again)


def test_what_only_use_needs_is_loaded_once_someone_begins_to_use_the_page(
    fresh: Page, stack: PortalProcess
) -> None:
    recorder = Recorder(fresh)
    seen = recorder.during(lambda: fresh.goto(stack.origin()))
    used = recorder.during(lambda: _scroll(fresh))
    assert not [one for one in seen if one.path.endswith("htmx.js")]
    assert [one.path for one in used if one.path.endswith("htmx.js")], told(used)
    assert sum(one.size for one in (*seen, *used)) <= WITH_HTMX, told([*seen, *used])


def test_a_conversation_with_something_unread_is_marked_as_read_without_htmx(
    fresh: Page, stack: PortalProcess
) -> None:
    fresh.route("**/read", lambda route: route.abort())  # it stays unread for others
    recorder = Recorder(fresh)
    with fresh.expect_request("**/read"):
        seen = recorder.during(lambda: fresh.goto(f"{stack.origin()}/conversations/{SCAN}"))
    assert not [one for one in seen if one.path.endswith("htmx.js")]
    assert sum(one.size for one in seen) <= UNREAD, told(seen)


def test_the_web_app_manifest_is_loaded_after_the_page(fresh: Page, stack: PortalProcess) -> None:
    sent: list[str] = []
    fresh.on("request", lambda request: sent.append(request.url))
    fresh.goto(stack.origin())
    assert not [url for url in sent if url.endswith(".webmanifest")]
    ready(fresh)
    manifest = fresh.context.new_cdp_session(fresh).send("Page.getAppManifest")
    assert not manifest["errors"]
    assert "Riverside Fertility" in manifest["data"]


def test_a_page_fragment_keeps_to_its_byte_budget(fresh: Page, stack: PortalProcess) -> None:
    recorder = Recorder(fresh)
    recorder.during(lambda: fresh.goto(f"{stack.origin()}/episodes/{EPISODE}"))
    ready(fresh)
    for tab, budget in PARTS.items():
        received = [
            one for one in recorder.during(lambda tab=tab: _open(fresh, tab)) if "/bell" not in one.path
        ]
        assert len(received) == 1, told(received)
        assert received[0].size <= budget, told(received)


def _scroll(page: Page) -> None:
    page.mouse.wheel(0, 100)
    page.wait_for_selector("link[rel=manifest]", state="attached")


def _open(page: Page, tab: str) -> None:
    with page.expect_response(lambda answer: "/episodes/" in answer.url):
        page.get_by_role("navigation", name="Parts of this treatment").get_by_role(
            "link", name=re.compile(f"^{tab}")
        ).click()
