"""The height of the most used pages in common windows: what matters is visible without much scrolling."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from portal.careservice.ids import sample_id
from portal.state.booking_links import BookingLinks
from tests.browser.conftest import SignIn
from tests.support.hours import pages_at
from tests.support.stack import SECRETS, CareService, PortalThread, plan

PHONE: ViewportSize = {"width": 390, "height": 844}
_HEIGHT = "() => document.documentElement.scrollHeight"
_TREATMENT = 1600
"""A treatment on a desktop: two doses, with the advice for a missed one open, a warning, and then day by day."""
_OPEN, _CLOSED = 10, 20
"""Hours of the day: what is said about reaching the clinic is longer when it is closed."""

at_both_hours = pytest.mark.parametrize("hour", [_OPEN, _CLOSED], indirect=True)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    """Care service and portal, whose pages tell the hour of the test."""
    the = plan(tmp_path_factory.mktemp("lengths"))
    service = CareService(the)
    running = PortalThread(the)
    yield running
    running.stop()
    service.stop()


@pytest.fixture(autouse=True)
def hour(request: pytest.FixtureRequest) -> Iterator[int]:
    """The hour that pages tell, when the clinic is open unless a test says otherwise."""
    told: int = getattr(request, "param", _OPEN)
    with pages_at(told):
        yield told


def test_the_booking_page_fits_in_one_and_a_half_windows(chrome: Browser, stack: PortalThread) -> None:
    links = BookingLinks((SECRETS["PORTAL_SECRET_KEYS"],), time.time)
    signed = links.make(
        clinic="riverside", prospect_id=sample_id("prospect", "tomasz"), lifetime=timedelta(days=7)
    )
    context = chrome.new_context(viewport=PHONE, locale="en-GB")
    page = context.new_page()
    page.goto(f"{stack.origin()}/book/{signed}")
    day = page.get_by_role("navigation", name="Days").get_by_role("link").last  # today may be almost over
    day.click()
    expect(day).to_have_attribute("aria-current", "date")
    assert page.evaluate(_HEIGHT) <= 1.5 * PHONE["height"]
    page.locator("input[name=window]").nth(3).check()
    button = page.get_by_role("button", name="Book")
    expect(button).to_have_text(str(page.locator("input:checked").get_attribute("data-names-button")))
    expect(button).to_be_in_viewport()
    context.close()


def test_notification_settings_have_one_row_per_kind_and_a_visible_save_button(visit: SignIn) -> None:
    page = visit("amelia", **PHONE).go("/notifications/settings").page
    assert page.evaluate(_HEIGHT) <= 2000
    expect(page.get_by_role("button", name="Save my settings")).to_be_in_viewport()
    boxes = page.get_by_role("row", name="Messages").get_by_role("checkbox").all()
    places = [box.bounding_box() for box in boxes]
    assert len(places) == 4
    assert len({round(place["y"]) for place in places if place}) == 1, "four boxes in one row"


def test_my_details_folds_rare_fields_and_uses_the_full_width(visit: SignIn) -> None:
    home = visit("amelia", **PHONE)
    page = home.go("/me").page
    assert page.evaluate(_HEIGHT) <= 2200
    street = page.get_by_label("Street and number")
    expect(street).to_be_hidden()
    page.locator("summary", has_text="Address").click()
    expect(street).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    for path in ("/me", "/help", "/notifications"):
        page.goto(home.origin + path)
        beside, bar = (
            page.locator(".beside > aside").bounding_box(),
            page.locator(".topbar-inner").last.bounding_box(),
        )
        assert beside and bar
        assert abs(beside["x"] + beside["width"] - bar["x"] - bar["width"]) <= 24, path


@at_both_hours
@pytest.mark.parametrize("language", ["es", "ar"])
def test_pages_in_other_languages_have_the_same_maximum_height(visit: SignIn, language: str) -> None:
    home = visit("amelia", width=360, height=800)
    page = home.page
    page.evaluate(
        "(code) => document.querySelector(`button[name=language][value=${code}]`).click()", language
    )
    page.wait_for_selector(f"html[lang={language}]")
    page.goto(f"{home.origin}/me")
    assert page.evaluate(_HEIGHT) <= 2200
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{home.origin}/episodes/{sample_id('episode', 'amelia-1')}")
    assert page.evaluate(_HEIGHT) <= _TREATMENT


def test_a_heading_is_closer_to_its_own_text_than_to_the_text_above(visit: SignIn) -> None:
    page = visit("grace", width=1280, height=900).go("/storage").page
    cards, heading, rows = (
        page.locator(place).bounding_box()
        for place in (".stored > .card", "#results > section h2", "#results > section .links")
    )
    assert cards and heading and rows
    above = heading["y"] - cards["y"] - cards["height"]
    assert above >= 32
    assert above > rows["y"] - heading["y"] - heading["height"]


def test_five_embryos_are_five_rows_and_the_dates_that_they_share(visit: SignIn) -> None:
    page = visit("grace", **PHONE).go("/storage").page
    assert page.locator(".stored .link-row").count() == 5
    assert page.evaluate(_HEIGHT) <= 1550


def test_a_treatments_embryos_are_rows_that_expand_to_their_details(visit: SignIn) -> None:
    page = visit("grace", **PHONE).go(f"/episodes/{sample_id('episode', 'grace-2')}/embryos").page
    rows = page.locator(".embryos > article")
    assert rows.count() >= 6
    assert page.evaluate(_HEIGHT) <= 2500
    expect(rows.first.get_by_text("Frozen on")).to_be_hidden()
    rows.first.locator("summary").click()
    expect(rows.first.get_by_text("Frozen on")).to_be_visible()


@at_both_hours
def test_the_treatment_page_puts_the_next_visit_beside_the_doses_on_a_desktop(visit: SignIn) -> None:
    page = visit("amelia", width=1280, height=900).go(f"/episodes/{sample_id('episode', 'amelia-1')}").page
    assert page.evaluate(_HEIGHT) <= _TREATMENT
    doses, beside = (
        page.locator(".tonight").bounding_box(),
        page.locator(".next-visit:visible").bounding_box(),
    )
    assert doses and beside
    assert beside["x"] > doses["x"] + doses["width"], "the next visit is beside the doses"
    assert beside["y"] == doses["y"], "both begin where the page begins"
    page.set_viewport_size(PHONE)
    today, beside = page.locator(".today").bounding_box(), page.locator(".next-visit:visible").bounding_box()
    assert today and beside
    assert beside["y"] < today["y"], "on a phone the next visit comes above"
    assert page.evaluate(_HEIGHT) <= 3.5 * PHONE["height"]
    expect(page.locator(".dose-first").first).to_be_in_viewport()


@at_both_hours
def test_home_begins_with_the_dose_and_the_next_visit_is_one_tap_away(visit: SignIn) -> None:
    page = visit("amelia", **PHONE).page
    assert page.evaluate(_HEIGHT) <= 4 * PHONE["height"]
    expect(page.locator(".dose-first").first).to_be_in_viewport()
    expect(page.locator("#tonight details[open]").first).to_be_in_viewport()
    coming = page.locator(".next-visit:visible")
    expect(coming).to_have_count(1)
    place = coming.get_by_role("link", name="See it on a map")
    expect(place).to_be_hidden()
    coming.locator("summary").click()
    expect(place).to_be_visible()
    for told in ("1 Quayside", "Arrive 10 minutes early.", "empty bladder", "To change it, call"):
        expect(coming.get_by_text(told)).to_be_visible()
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("() => scrollTo(0, 0)")
    expect(coming).to_have_count(0)
    expect(page.get_by_role("link", name="See it on a map")).to_be_in_viewport()


def test_numbers_to_call_are_rows_for_a_thumb(visit: SignIn) -> None:
    page = visit("amelia", **PHONE).go("/help").page
    for link in page.locator(".contact a").all():
        place = link.bounding_box()
        assert place and place["height"] >= 48, link.inner_text()


def test_a_treatment_prints_on_few_sheets_with_when_to_call(visit: SignIn) -> None:
    home = visit("amelia", width=1280, height=900)
    page = home.page
    for part, sheets in (("monitoring", 2), ("appointments", 2), ("medication", 3)):
        home.go(f"/episodes/{sample_id('episode', 'amelia-1')}/{part}")
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= sheets, part
        page.emulate_media(media="print")
        expect(page.get_by_role("heading", name="Call now if you have")).to_be_visible()
        expect(page.get_by_role("heading", name="Also in this treatment")).to_be_hidden()
        page.emulate_media(media="screen")
