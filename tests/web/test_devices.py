"""Signed-in devices over HTTP: what is listed, and signing out of one or of all."""

from __future__ import annotations

import pytest

from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

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


def test_devices_are_told_in_words_and_this_one_is_marked(portal: PortalThread) -> None:
    visitor = portal.visitor("harbour")
    visitor.http.headers["User-Agent"] = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0) Version/18.0 Safari/604.1"
    visitor.sign_in("maya")
    page = visitor.get(DEVICES)
    assert "Safari · iPhone This device" in page.words
    assert "Last used" in page.words and "Signed in" in page.words
    assert not page.select('a[href="/me/devices/sign-out"]')


def test_the_page_names_no_session_as_cookie_or_store_do(two: tuple[Visitor, Visitor]) -> None:
    import hashlib

    page = two[0].get(DEVICES)
    for visitor in two:
        cookie = next(one.value for one in visitor.http.cookies if one.name == "__Host-sid")
        assert cookie not in page.text
        assert hashlib.sha256(cookie.encode()).hexdigest() not in page.text


def test_one_device_is_signed_out_and_the_others_stay(two: tuple[Visitor, Visitor]) -> None:
    here, there = two
    page = here.get(DEVICES)
    assert len(page.select(".task")) == 2
    other = next(task for task in page.select(".task") if "This device" not in task.get_text())
    action = str(other.select_one("form")["action"])
    page = page.form(other.select_one("form")).submit()
    assert "The device is signed out." in page.soup.select_one("#toasts").get_text()
    assert len(page.select(".task")) == 1
    assert is_signed_in(here) and not is_signed_in(there)
    again = here.post(action)
    assert "signed out already" in again.soup.select_one("#toasts").get_text()


def test_signing_out_this_device_signs_out_here(two: tuple[Visitor, Visitor]) -> None:
    here, there = two
    page = here.get(DEVICES)
    mine = next(task for task in page.select(".task") if "This device" in task.get_text())
    page.form(mine.select_one("form")).submit(status=None)
    assert not is_signed_in(here) and is_signed_in(there)


@pytest.mark.asvs("7.5.2", "8.2.2")
def test_another_persons_device_can_not_be_signed_out(
    portal: PortalThread, two: tuple[Visitor, Visitor]
) -> None:
    amelia = portal.sign_in("amelia")
    action = str(two[0].get(DEVICES).soup.select_one(".task form")["action"])
    assert "signed out already" in amelia.post(action).soup.select_one("#toasts").get_text()
    assert is_signed_in(two[0]) and is_signed_in(two[1])


@pytest.mark.asvs("7.4.3", "7.5.2")
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
    other = next(task for task in page.select(".task") if "This device" not in task.get_text())
    page.form(other.select_one("form")).submit()
    asked = phone.get("/", status=None)
    assert asked.soup.select_one("input[name=password]"), asked.url
    assert phone.fill_sign_in(asked, "amelia").heading == "Hello, Amelia"
