"""How many pages a browser loads for one signature, from home to the receipt, and how many show the text."""

from __future__ import annotations

import time

import msgspec
import pytest
from playwright.sync_api import Page, Response, expect

from portal.state.session_records import SessionRecord, record_name
from portal.store import open_store
from portal.store.vault import Vault
from tests.browser.conftest import SignIn
from tests.browser.pages import Reading, Receipt
from tests.support.signing import fresh_form
from tests.support.stack import PASSWORD, SECRETS, PortalThread

VOICES = """
const voices = [{ lang: "en-GB", localService: false }, { lang: "es-ES", localService: true }];
window.spoken = [];
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
Object.assign(speechSynthesis, { getVoices: () => voices, speak: (said) => spoken.push(said), cancel: () => {} });
window.installVoice = () => {
  voices.push({ lang: "en-US", localService: true });
  speechSynthesis.dispatchEvent(new Event("voiceschanged"));
};
"""
"""A device with an English voice of somebody else's server and a Spanish one of its own, until an English one is installed."""


@pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no-scripts"])
def test_a_form_is_signed_from_home_within_five_documents_and_its_text_shown_once(
    visit: SignIn, stack: PortalThread, javascript: bool
) -> None:
    """The password was given a while ago: the identity server's page is one of the five."""
    form = fresh_form(stack.plan)
    amelia = visit("amelia", javascript=javascript, width=390, height=844)
    page, documents = amelia.page, list[str]()
    page.on("response", lambda answer: documents.extend(_document(answer, page)))
    page.add_init_script(VOICES)

    page.locator(f'#main a[href="{form}/sign"]').click()
    reading = Reading(page, amelia.origin)
    clause = reading.main.locator(".clause .as-written").first.inner_text()
    with_text = [clause in reading.main.inner_text()]
    if javascript:
        _is_read_aloud_by_own_voice_alone(page)
    statements = reading.have_read()
    with_text.append(clause in page.locator("body").inner_text())
    for box in statements.main.get_by_role("checkbox").all():
        box.check()
    _age_sign_in(stack, page)
    statements.press("Continue")
    page.locator("input[name=password]").fill(PASSWORD)
    with_text.append(clause in page.locator("body").inner_text())
    page.locator("form button").click()
    page.get_by_label("Type your full name").fill("Amelia Hart")
    with_text.append(clause in page.locator("body").inner_text())
    page.get_by_role("button", name="Sign this form").click()
    Receipt(page, amelia.origin).sees("Amelia Hart")
    with_text.append(clause in page.locator("body").inner_text())

    assert len(documents) <= 5, documents
    assert sum(not url.startswith(amelia.origin) for url in documents) == 1, (
        "the identity server's sign-in page"
    )
    assert with_text == [True, False, False, False, False]
    expect(page).to_have_url(f"{amelia.origin}{form}/receipt")
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 844
    expect(page.get_by_role("link", name="Download as PDF")).to_be_in_viewport()
    expect(page.get_by_text("SHA-256").first).to_be_hidden()
    if javascript:
        _is_copied(page)

    to_sign = len(documents)
    amelia.go("/consents").follow("Consent to IVF")
    amelia.follow("Withdraw consent")
    amelia.press("Withdraw consent")
    amelia.sees("No reason given")
    assert len(documents) - to_sign < to_sign, "withdrawing takes fewer pages than signing"


def _is_read_aloud_by_own_voice_alone(page: Page) -> None:
    button = page.get_by_role("button", name="Read it aloud")
    expect(button).to_be_hidden()
    page.evaluate("installVoice()")
    button.click()
    said = page.evaluate("spoken.map(({ text, lang, voice }) => [text, lang, voice.localService])")
    assert said[0][0] == page.locator(".paper h1").inner_text()
    assert len(said) > page.locator(".clause-text").count()
    assert {tuple(one[1:]) for one in said} == {("en-US", True)}
    expect(button).to_be_hidden()
    page.evaluate("spoken.at(-1).onend()")
    expect(button).to_be_visible()


def _is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy = page.locator("[data-copy]").last
    copy.evaluate("(button) => button.closest('details')?.setAttribute('open', '')")
    copy.click()
    expect(copy).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == copy.get_attribute("data-copy")


def _document(answer: Response, page: Page) -> list[str]:
    """The address of a page that was loaded; nothing for a redirect, a part of a page or a file of it."""
    asked = answer.request
    is_page = asked.is_navigation_request() and asked.frame == page.main_frame and answer.status < 300
    return [answer.url] if is_page else []


def _age_sign_in(stack: PortalThread, page: Page) -> None:
    """Let this visitor's password have been given six minutes ago."""
    vault = Vault(
        open_store(f"sqlite:///{stack.plan.data}/store.db", time.time), (SECRETS["PORTAL_SECRET_KEYS"],)
    )
    cookie = next(one["value"] for one in page.context.cookies() if one["name"] == "__Host-sid")  # pyright: ignore[reportTypedDictNotRequiredAccess]

    def age(record: SessionRecord) -> SessionRecord:
        assert record.person is not None
        person = msgspec.structs.replace(record.person, auth_time=record.person.auth_time - 6 * 60)
        return msgspec.structs.replace(record, person=person)

    assert vault.update(record_name(cookie), SessionRecord, age) is not None
