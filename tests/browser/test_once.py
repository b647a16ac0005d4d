"""A double click, F5 on the result, Back and another tab with the old form: one act, in a real browser.

A few acts, for the browser's part is the same for all; each of them is sent twice in `tests/web/test_once.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import SignIn
from tests.support.acts import ACTS, People, Ready, over_the_line
from tests.support.full import FULL
from tests.support.hostile import CountingProxy
from tests.support.stack import CareService, PortalProcess, plan

WITHOUT = list(ACTS) if FULL else ["create a protocol", "book by a link"]
WITH = list(ACTS) if FULL else ["sign", "merge"]


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CareService, CountingProxy]]:
    """The care service, and the way to it."""
    service = CareService(plan(tmp_path_factory.mktemp("once")))
    proxy = CountingProxy(service.plan.service_port)
    yield service, proxy
    proxy.stop()
    service.stop()


@pytest.fixture(scope="module")
def stack(line: tuple[CareService, CountingProxy]) -> Iterator[PortalProcess]:
    """The portal at the end of that way."""
    service, proxy = line
    tenants = service.plan.data / "tenants-once.toml"
    tenants.write_text(over_the_line(service.plan, proxy))
    running = PortalProcess(service.plan, PORTAL_TENANTS=str(tenants))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(stack: PortalProcess) -> People:
    return People(stack.origin())


@pytest.mark.parametrize(
    ("act", "javascript"),
    [*((act, False) for act in WITHOUT), *((act, True) for act in WITH)],
    ids=lambda value: value if isinstance(value, str) else ("scripts" if value else "no-scripts"),
)
def test_an_act_double_clicked_reloaded_and_sent_from_another_tab_happens_once(
    line: tuple[CareService, CountingProxy],
    stack: PortalProcess,
    people: People,
    visit: SignIn,
    chrome: Browser,
    act: str,
    javascript: bool,
) -> None:
    service, proxy = line
    proxy.asked.clear()
    ready = ACTS[act](people, service.plan)
    if ready.who:
        page = visit(ready.who, javascript=javascript).page
        _go_through(page, stack.origin() + ready.address, ready)
    else:
        context = chrome.new_context(java_script_enabled=javascript)
        try:
            _go_through(context.new_page(), stack.origin() + ready.address, ready)
        finally:
            context.close()
    assert proxy.count(ready.call) == 1


def _go_through(page: Page, address: str, ready: Ready) -> None:
    other = page.context.new_page()
    for tab in (page, other):
        tab.goto(address)
        _fill(tab, ready)
    _button(page, ready).dblclick()
    _ends(page, ready)
    page.reload()
    _ends(page, ready)
    page.go_back()
    if _can_be_sent_again(page, ready):
        _fill(page, ready)
        _button(page, ready).click()
        _ends(page, ready)
    _button(other, ready).click()
    _ends(other, ready)


def _ends(page: Page, ready: Ready) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(ready.end)


def _form(page: Page, ready: Ready) -> Locator:
    there = urlsplit(ready.form.action)
    return page.locator(f'main form[action="{there.path}"], main form[action^="{there.path}?"]').filter(
        has=page.locator("[type=hidden]")
    )


def _button(page: Page, ready: Ready) -> Locator:
    return _form(page, ready).locator("button[data-kind=primary], button[data-kind=danger]")


def _fields(page: Page, ready: Ready) -> list[tuple[Locator, str]]:
    return [
        (page.locator(f'[name="{name}"]:not([type=radio]), [name="{name}"][value="{value}"]'), value)
        for name, value in ready.values.items()
    ]


def _can_be_sent_again(page: Page, ready: Ready) -> bool:
    """Whether the page has the form still; a window that is booked is no longer there to be chosen."""
    return _form(page, ready).count() == 1 and all(field.count() for field, _ in _fields(page, ready))


def _fill(page: Page, ready: Ready) -> None:
    for field, value in _fields(page, ready):
        if field.get_attribute("type") == "radio":
            field.check()
        else:
            field.fill(value)
