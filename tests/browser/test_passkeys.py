"""Passkeys of Chromium's own virtual authenticator: one signs in to the portal, one confirms a signature there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.stack import PASSWORD, PortalThread

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


@pytest.fixture
def device(chrome: Browser) -> Iterator[Page]:
    """A browser whose device keeps passkeys, and whose owner unlocks it."""
    context = chrome.new_context(locale="en-GB")
    context.set_default_timeout(20_000)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    yield page
    context.close()


def test_a_passkey_is_added_and_signs_in(device: Page, stack: PortalThread) -> None:
    device.goto(stack.origin("riverside") + "/")
    device.get_by_role("link", name="Passkeys and recovery codes").click()
    device.get_by_label("User name").fill("grace")
    device.get_by_label("Password").fill(PASSWORD)
    device.get_by_role("button", name="Sign in").click()
    device.get_by_role("button", name="Add a passkey").click()
    expect(device.get_by_role("heading", name="Your new recovery codes")).to_be_visible()
    expect(device.get_by_role("button", name="Remove")).to_have_count(1)
    device.context.clear_cookies()
    device.goto(stack.origin("riverside") + "/")
    device.get_by_role("link", name="Use a passkey").click()
    device.get_by_role("button", name="Use a passkey").click()
    expect(device.get_by_role("heading", level=1)).to_have_text(re.compile("^Hello, "))


def test_a_passkey_is_added_and_confirms_a_signature(device: Page, stack: PortalThread) -> None:
    device.goto(stack.origin("riverside") + "/me/passkeys")
    device.get_by_label("User name").fill("grace")
    device.get_by_label("Password").fill(PASSWORD)
    device.get_by_role("button", name="Sign in").click()
    device.get_by_role("button", name="Add a passkey").click()
    expect(device.get_by_text("On one device alone")).to_be_visible()
    device.goto(stack.origin("riverside") + "/consents")
    device.get_by_role("link", name="Read and sign").first.click()
    device.get_by_role("button", name="I have read the form").click()
    expect(device.get_by_role("heading", level=1)).to_have_text("What you agree to")
    for statement in device.get_by_role("checkbox").all():
        statement.check()
    device.get_by_role("button", name="Continue").click()
    device.get_by_label("Type your full name").fill("Grace Okafor")
    expect(device.get_by_text("This browser can’t use your passkey")).to_be_hidden()
    device.get_by_label("Type your full name").press("Enter")  # as the first button does
    expect(device.get_by_role("heading", level=1)).to_have_text("You’ve signed")
    device.get_by_text("Proof: the whole receipt with its seals").click()
    expect(device.get_by_text("a passkey, on riverside.localhost")).to_be_visible()
    device.get_by_role("button", name="Verify").click()
    expect(device.get_by_text("the passkey confirmed this text, in this role.").first).to_be_visible()
