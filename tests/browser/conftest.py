"""A real Chromium in front of a running portal. Every test also fails on errors in the browser's console."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import (
    APIRequestContext,
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Route,
    expect,
    sync_playwright,
)

from portal.demo.stack import PEOPLE
from tests.browser.pages import Home, arrive
from tests.support import chromium
from tests.support.resolver import AskedTheSystem
from tests.support.stack import CareService, PortalProcess, PortalThread

# Chromium reports this if the last page had no view transition; it is harmless.
_HARMLESS = (
    *("ViewTransition opt-in disabled", "Transition was skipped", "Transition was aborted"),
    "htmx:error: timeout {elt: span#bell",  # on a busy machine; the bell is refreshed later
)

_PATIENCE = 30_000
"""Milliseconds after which what doesn't come counts as missing: a busy machine takes ten seconds for a PDF."""
expect.set_options(timeout=_PATIENCE)


@pytest.fixture(scope="session")
def chrome() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def _no_requests_by_playwright(monkeypatch: pytest.MonkeyPatch) -> None:
    """Playwright's own requests ask the system's resolver for `*.localhost`; the browser and `LocalSession` don't."""

    def refuse(*_: object, **__: object) -> None:
        raise AskedTheSystem("use the page, or tests.support.visitor.LocalSession")

    monkeypatch.setattr(Route, "fetch", refuse)
    for method in ("fetch", "get", "head", "post", "put", "patch", "delete"):
        monkeypatch.setattr(APIRequestContext, method, refuse)


@pytest.fixture(scope="module")
def stack(portal: PortalThread) -> PortalThread:
    """The portal that a module's browsers open, over fresh records: in a thread, unless its tests prove more than pages."""
    return portal


@pytest.fixture(scope="module")
def deployed(service: CareService) -> Iterator[PortalProcess]:
    """The portal as it is deployed."""
    running = PortalProcess(service.plan)
    yield running
    running.stop()


SignIn = Callable[..., Home]


@pytest.fixture
def visit(chrome: Browser, stack: PortalThread | PortalProcess) -> Iterator[SignIn]:
    """A browser of its own for one signed-in person: `visit("amelia", javascript=False, width=390)`."""
    opened: list[BrowserContext] = []
    complaints: list[str] = []

    def visitor(name: str, *, javascript: bool = True, width: int = 1280, height: int = 900) -> Home:
        context = chrome.new_context(
            java_script_enabled=javascript,
            viewport={"width": width, "height": height},
            locale="en-GB",
            timezone_id="Europe/London",
        )
        context.set_default_timeout(_PATIENCE)
        opened.append(context)
        page = context.new_page()
        _listen(page, complaints)
        tenant = next(key for key, people in PEOPLE.items() if name in dict(people))
        return arrive(page, stack.origin(tenant), name)

    yield visitor
    for context in opened:
        context.close()
    assert not complaints, "the browser's console: " + "; ".join(complaints)


Person = Callable[[str], Home]


@pytest.fixture
def person(visit: SignIn) -> Person:
    """Someone signed in, on a phone if they are a patient, without scripts."""

    def someone(name: str) -> Home:
        if name in ("amelia", "daniel", "grace", "maya"):
            return visit(name, javascript=False, width=390, height=844)
        return visit(name, javascript=False)

    return someone


@contextmanager
def signed_in(chrome: Browser, origin: str, name: str, **options: Any) -> Generator[Page]:
    """A browser of this person's own, for as long as a module of tests; `options` are those of its context."""
    complaints: list[str] = []
    context = chrome.new_context(
        **{
            "viewport": {"width": 1280, "height": 900},
            "locale": "en-GB",
            "timezone_id": "Europe/London",
            **options,
        }
    )
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    _listen(page, complaints)
    arrive(page, origin, name)
    yield page
    context.close()
    assert not complaints, "the browser's console: " + "; ".join(complaints)


def _listen(page: Page, complaints: list[str]) -> None:
    def on_console(message: ConsoleMessage) -> None:
        text = message.text
        if message.type in ("error", "warning") and not any(known in text for known in _HARMLESS):
            # A refused form deliberately gets a 4xx response, which the browser logs as a failed resource.
            if "Failed to load resource" in text and " 4" in text:
                return
            complaints.append(f"{page.url}: {text}")

    def on_error(error: Error) -> None:
        if not any(known in str(error) for known in _HARMLESS):
            complaints.append(f"{page.url}: {error}")

    page.on("console", on_console)
    page.on("pageerror", on_error)
