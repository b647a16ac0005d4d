"""Two people make an irreversible move of an embryo: each in a browser of their own, and both at one device."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SignIn
from tests.browser.pages import Seen
from tests.browser.steps import go_on, seen, told
from tests.support.stack import PASSWORD, CareService, PortalThread, plan
from tests.support.two_people import second_person_asked, signed_by
from tests.views.storage.embryos import address, stored, to_discard


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CareService]:
    running = CareService(plan(tmp_path_factory.mktemp("two")))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def stack(service: CareService) -> Iterator[PortalThread]:
    """A portal whose clinic asks for two people."""
    running = PortalThread(service.plan)
    with second_person_asked(running):
        yield running
    running.stop()


def begin(first: Seen, service: CareService, code: str) -> Seen:
    """Send the move as the first person."""
    signed_by(service.plan, to_discard(service, code))
    first.go(address(code))
    first.page.locator("#edit > summary").click()
    first.page.get_by_label("Discarded").check()
    asked = go_on(seen(first))
    return read_straw(asked, code)


def read_straw(page: Seen, code: str) -> Seen:
    page.page.get_by_label("The embryo’s code, from the straw").fill(code)
    page.page.get_by_label("The record number, from the straw").fill("RF-09117")
    return go_on(page)


@pytest.mark.parametrize(
    ("code", "javascript"), [("GO-3", True), ("GO-4", False)], ids=["scripts", "no-scripts"]
)
def test_two_people_each_in_a_browser_of_their_own(
    visit: SignIn, service: CareService, code: str, javascript: bool
) -> None:
    first, second = visit("elif", javascript=javascript), visit("victor", javascript=javascript)
    waits = begin(first, service, code)
    expect(waits.page.get_by_role("heading", level=1)).to_have_text("A second person checks this too")
    assert stored(service, code, "status") == "Stored"
    second.go("/")
    second.main.get_by_role("link", name="Grace").first.click()
    page = seen(second)
    expect(page.main).to_contain_text("You are the second person")
    read_straw(page, code)
    told(second, "is saved")
    assert stored(service, code, "status") == "Discarded"
    waits.page.get_by_role("link", name="See whether it is done").click()
    expect(waits.page.locator("main")).to_contain_text("This status is final")


def test_both_at_one_device(visit: SignIn, service: CareService) -> None:
    first = visit("elif")
    waits = begin(first, service, "GO-1")
    page = waits.page
    page.get_by_role("link", name="Sign in here as the second person").click()
    page.locator("input[name=username]").fill("victor")
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("button[type=submit]").first.click()
    expect(page.locator("main")).to_contain_text("You are the second person")
    read_straw(seen(first), "GO-1")
    told(first, "is saved")
    assert stored(service, "GO-1", "status") == "Discarded"
    notes = stored(service, "GO-1", "notes")
    assert "Elif" in notes and "Victor" in notes
