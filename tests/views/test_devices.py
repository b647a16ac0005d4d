"""Signed-in devices over HTTP: the list, and signing out one or all."""

from __future__ import annotations

import time

import pytest

from tests.support.signing import after_a_while
from tests.support.stack import PortalThread
from tests.support.visitor import Form, Page, Visitor

DEVICES = "/me/devices"


@pytest.fixture
def two(portal: PortalThread) -> tuple[Visitor, Visitor]:
    """Grace in two browsers, and nowhere else."""
    first = portal.sign_in("grace")
    first.post(f"{DEVICES}/sign-out", status=None)
    return portal.sign_in("grace"), portal.sign_in("grace")


def is_signed_in(visitor: Visitor) -> bool:
    """Whether the portal knows this browser (the identity server may still do, and would sign it in again)."""
    return visitor.request("GET", DEVICES, status=None, follow=False).status == 200


def sign_out_of(page: Page, *, here: bool) -> Form:
    """The form of the first device that is this one, or is another."""
    tasks = (task for task in page.select(".task") if ("This device" in task.text_content()) is here)
    return page.form(next(tasks).select_one("form"))


def test_devices_are_described_and_the_current_one_is_marked(portal: PortalThread) -> None:
    visitor = portal.visitor("harbour")
    visitor.http.headers["User-Agent"] = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1"
    visitor.sign_in("maya")
    page = visitor.get(DEVICES)
    assert "Safari · iPhone This device" in page.words
    assert "Last used" in page.words and "Signed in" in page.words
    assert not page.select('a[href="/me/devices/sign-out"]')


@pytest.mark.asvs("3.3.4")
def test_the_devices_page_reveals_no_session_id(two: tuple[Visitor, Visitor]) -> None:
    import hashlib

    page = two[0].get(DEVICES)
    for visitor in two:
        cookie = visitor.session_id
        assert cookie not in page.text
        assert hashlib.sha256(cookie.encode()).hexdigest() not in page.text


def test_one_device_is_signed_out_and_the_others_stay(two: tuple[Visitor, Visitor]) -> None:
    here, there = two
    page = here.get(DEVICES)
    assert len(page.select(".task")) == 2
    form = sign_out_of(page, here=False)
    page = form.submit()
    assert "The device is signed out." in page.tree.select_one("#toasts").text_content()
    assert len(page.select(".task")) == 1
    assert is_signed_in(here) and not is_signed_in(there)
    again = here.post(form.action)
    assert "signed out already" in again.tree.select_one("#toasts").text_content()


def test_signing_out_this_device_signs_out_here(two: tuple[Visitor, Visitor]) -> None:
    here, there = two
    page = here.get(DEVICES)
    sign_out_of(page, here=True).submit(status=None)
    assert not is_signed_in(here) and is_signed_in(there)


@pytest.mark.parametrize("way", ["the same cookie", "no cookie", "another host"])
def test_a_device_that_was_signed_out_needs_the_password(
    portal: PortalThread, two: tuple[Visitor, Visitor], way: str
) -> None:
    """Its browser is still signed in at the identity server."""
    here, there = two
    time.sleep(1)  # the identity server tells sign-ins in whole seconds
    sign_out_of(here.get(DEVICES), here=False).submit()
    if way == "no cookie":
        there.http.cookies.clear("riverside.localhost", "/", "__Host-sid")
    if way == "another host":
        there.origin = f"http://localhost:{portal.port}"
    page = there.get(DEVICES)
    assert page.tree.select_one("input[name=password]"), page.url
    page = there.fill_sign_in(page, "grace")
    assert page.path == DEVICES


@pytest.mark.asvs("7.5.2")
def test_signing_out_another_device_asks_for_the_password(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    here, there = two
    asked = after_a_while(portal, sign_out_of(here.get(DEVICES), here=False))
    assert asked.tree.select_one("input[name=password]"), asked.url
    assert is_signed_in(there)
    page = here.fill_sign_in(asked, "grace")
    assert page.heading.startswith("Sign out") and page.heading.endswith("?")
    assert "asked for your password" not in page.words
    page = page.form(page.path).submit()
    assert page.path == DEVICES and len(page.select(".task")) == 1
    assert is_signed_in(here) and not is_signed_in(there)


@pytest.mark.asvs("7.5.2")
def test_signing_out_everywhere_asks_for_the_password(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    here, there = two
    asked = after_a_while(portal, here.get(f"{DEVICES}/sign-out").form(f"{DEVICES}/sign-out"))
    assert asked.tree.select_one("input[name=password]"), asked.url
    assert is_signed_in(here) and is_signed_in(there)
    page = here.fill_sign_in(asked, "grace")
    assert page.heading == "Sign out everywhere?"
    page.form(f"{DEVICES}/sign-out").submit(status=None)
    assert not is_signed_in(here) and not is_signed_in(there)


def test_pages_announce_that_the_password_will_be_needed(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    here, _there = two
    other = sign_out_of(here.get(DEVICES), here=False).action
    pages = (DEVICES, other, f"{DEVICES}/sign-out")
    assert not [path for path in pages if "asked for your password first" in here.get(path).words]
    portal.clock.advance(6 * 60)
    said = [path for path in pages if "asked for your password first" in here.get(path).words]
    mine = here.get(sign_out_of(here.get(DEVICES), here=True).action)
    portal.clock.advance(-6 * 60)
    assert said == list(pages)
    assert "asked for your password" not in mine.words, "this device is signed out separately"


def test_signing_out_this_device_never_asks_for_the_password(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    here, there = two
    form = sign_out_of(here.get(DEVICES), here=True)
    portal.clock.advance(6 * 60)
    form.submit(status=None)
    portal.clock.advance(-6 * 60)
    assert not is_signed_in(here) and is_signed_in(there)


def test_signing_out_a_single_device_everywhere_needs_no_password(portal: PortalThread) -> None:
    portal.sign_in("grace").post(f"{DEVICES}/sign-out", status=None)
    alone = portal.sign_in("grace")
    page = alone.get(f"{DEVICES}/sign-out")
    portal.clock.advance(6 * 60)
    page.form(f"{DEVICES}/sign-out").submit(status=None)
    portal.clock.advance(-6 * 60)
    assert not is_signed_in(alone)


def test_signing_out_a_missing_device_is_reported(portal: PortalThread) -> None:
    page = portal.sign_in("grace").get(f"{DEVICES}/{'0' * 32}/sign-out")
    assert page.path == DEVICES
    assert "signed out already" in page.tree.select_one("#toasts").text_content()


@pytest.mark.asvs("8.2.2")
def test_another_persons_device_cannot_be_signed_out(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    amelia = portal.sign_in("amelia")
    action = str(two[0].get(DEVICES).tree.select_one(".task form")["action"])
    assert "signed out already" in amelia.post(action).tree.select_one("#toasts").text_content()
    assert is_signed_in(two[0]) and is_signed_in(two[1])


@pytest.mark.asvs("7.4.3")
def test_signing_out_everywhere_asks_first_then_leaves_no_session(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    here, there = two
    page = here.get(DEVICES).follow("Sign out everywhere")
    assert page.heading == "Sign out everywhere?"
    assert "this one too" in page.words
    page.form(f"{DEVICES}/sign-out").submit(status=None)
    assert not is_signed_in(here) and not is_signed_in(there)
    written = "".join(file.read_text() for file in (portal.plan.data / "audit").iterdir())
    assert '"audit":"device.sign-out-everywhere","outcome":"done"' in written


def test_a_device_signed_out_from_another_asks_for_the_password_again(portal: PortalThread) -> None:
    """Its browser is still signed in at the identity server: coming back silently would make the act a lie."""
    portal.sign_in("amelia").post(f"{DEVICES}/sign-out", status=None)
    phone, laptop = portal.sign_in("amelia"), portal.sign_in("amelia")
    page = laptop.get(DEVICES)
    time.sleep(1.1)  # auth_time is in whole seconds
    sign_out_of(page, here=False).submit()
    asked = phone.get("/", status=None)
    assert asked.tree.select_one("input[name=password]"), asked.url
    assert phone.fill_sign_in(asked, "amelia").heading == "Hello, Millie"
