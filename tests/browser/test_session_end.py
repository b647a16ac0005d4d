"""The end of a session in the browser: a warning, a way to stay signed in, and no loss of typed text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import msgspec
import pytest
from playwright.sync_api import Browser, expect

from portal.careservice.ids import sample_id
from portal.state.session_records import SessionRecord, record_name
from portal.store import open_store
from portal.store.vault import Vault
from tests.browser.conftest import SignIn
from tests.browser.pages import Seen, sign_in
from tests.support.stack import SECRETS, PortalThread

NOTICE = "Here is what you had typed. Nothing has been sent yet."
IDLE = 30 * 60
CASE = f"/cases/{sample_id('case', 'amelia')}/edit?episode={sample_id('episode', 'amelia-1')}"
PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}/edit"
EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"

NOTE_SUBMITTED = """() => {
  const { submit } = HTMLFormElement.prototype;
  HTMLFormElement.prototype.submit = function () {
    sessionStorage.shown = this.checkVisibility();
    submit.call(this);
  };
}"""

scripts_or_none = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no-scripts"])
LeaveIn = Callable[[Seen, float], None]


@pytest.fixture
def leave_in(stack: PortalThread) -> LeaveIn:
    """Let a patient's session end in so many seconds, as if it had been unused until now."""
    vault = Vault(
        open_store(f"sqlite:///{stack.plan.data}/store.db", time.time), (SECRETS["PORTAL_SECRET_KEYS"],)
    )

    def leave(seen: Seen, seconds: float) -> None:
        cookie = next(one["value"] for one in seen.page.context.cookies() if one["name"] == "__Host-sid")  # pyright: ignore[reportTypedDictNotRequiredAccess]

        def age(record: SessionRecord) -> SessionRecord:
            return msgspec.structs.replace(record, used_at=time.time() - IDLE + seconds)

        assert vault.update(record_name(cookie), SessionRecord, age) is not None

    return leave


@scripts_or_none
def test_typed_text_is_restored_after_signing_in_again(
    visit: SignIn, leave_in: LeaveIn, javascript: bool
) -> None:
    amelia = visit("amelia", javascript=javascript)
    typed = f"Amy, scripts {javascript}"
    amelia.go("/me")
    amelia.page.get_by_label("Preferred name").fill(typed)
    leave_in(amelia, -60)
    amelia.press("Save my details")
    amelia.sees(NOTICE)
    expect(amelia.page).to_have_url(re.compile(r"/me$"))
    expect(amelia.page.get_by_label("Preferred name")).to_have_value(typed)
    amelia.follow("Show it as it is saved instead")
    expect(amelia.page.get_by_label("Preferred name")).not_to_have_value(typed)
    amelia.go("/me").sees(NOTICE)
    amelia.press("Save my details")
    expect(amelia.page.get_by_text("Your details are saved.")).to_be_visible()
    amelia.go("/me")
    expect(amelia.page.get_by_label("Preferred name")).to_have_value(typed)
    expect(amelia.page.get_by_text(NOTICE)).to_have_count(0)


def test_text_typed_when_the_session_ended_is_restored(visit: SignIn, leave_in: LeaveIn) -> None:
    amelia = visit("amelia")
    amelia.page.clock.install()
    amelia.go("/me")
    field = amelia.page.get_by_label("Preferred name")
    saved = field.input_value()
    field.fill("Ame, half typed")
    leave_in(amelia, -60)
    amelia.page.clock.fast_forward("30:10")
    over = amelia.page.get_by_role("dialog", name="You are signed out")
    expect(over.get_by_role("button", name="Sign in again")).to_be_focused()
    expect(amelia.page.locator("body > :not(script)")).to_have_count(1)
    expect(amelia.page).to_have_title("You are signed out")
    amelia.page.clock.fast_forward("01:00")  # nothing looks for news any more
    amelia.page.evaluate(NOTE_SUBMITTED)
    amelia.page.keyboard.press("Enter")
    amelia.sees(NOTICE)
    assert amelia.page.evaluate("sessionStorage.shown") == "false", "whoever presses it sees what was typed"
    expect(amelia.page).to_have_url(re.compile(r"/me$"))
    expect(field).to_have_value("Ame, half typed")
    amelia.follow("Show it as it is saved instead")
    expect(field).to_have_value(saved)


def test_typed_text_is_restored_after_leaving_the_page(visit: SignIn) -> None:
    nora = visit("nora")
    nora.go(CASE)
    notes = nora.page.get_by_label(re.compile("^Notes"))
    before = notes.input_value()
    typed = "Typed, and then the telephone rang"
    notes.fill(typed)
    nora.section("Protocols")
    expect(nora.page).to_have_url(re.compile("/protocols$"))
    nora.page.go_back()
    nora.sees(NOTICE)
    expect(notes).to_have_value(typed)
    nora.press("Save case")
    expect(nora.page.locator("#toasts").get_by_text("The case is saved.")).to_be_visible()

    nora.go(CASE)
    expect(nora.page.get_by_text(NOTICE)).to_have_count(0)
    notes.fill(before)
    nora.follow("Go back")
    expect(nora.page).to_have_url(re.compile("/episodes/"))
    nora.go(CASE)
    expect(notes).to_have_value(typed)
    expect(nora.page.get_by_text(NOTICE)).to_have_count(0)


def test_text_typed_beside_a_list_is_restored_when_its_row_is_opened_again(visit: SignIn) -> None:
    elif_ = visit("elif", width=1700)
    elif_.go("/storage")
    beside, row = elif_.page.locator("#record-beside"), elif_.page.locator("#results .row-link").first
    notes = beside.get_by_label(re.compile("^Notes"))
    row.click()
    beside.get_by_text("Change status, place, payment or notes").click()
    notes.fill("Typed, and then Escape")
    with elif_.page.expect_response(lambda answer: answer.request.method == "POST"):
        elif_.page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    row.click()
    expect(notes).to_have_value("Typed, and then Escape")
    expect(beside.get_by_text(NOTICE)).to_be_visible()


def test_typed_text_that_got_no_answer_is_told_and_kept(chrome: Browser, stack: PortalThread) -> None:
    context = chrome.new_context()
    nora = sign_in(context.new_page(), stack.origin(), "nora").go(CASE)
    notes, told = nora.page.get_by_label(re.compile("^Notes")), nora.page.locator("#toasts")
    notes.fill("Typed in the lift")
    context.set_offline(True)
    for _ in range(2):
        told.evaluate("(toasts) => [...toasts.children].forEach((one) => (one.dataset.before = ''))")
        nora.press("Save case")
        expect(told.locator("p:not([data-before])")).to_contain_text("No answer came.")
        expect(told.get_by_text("No answer came.")).to_have_count(1)
    context.set_offline(False)
    nora.section("Protocols")
    nora.go(CASE).sees(NOTICE)
    expect(notes).to_have_value("Typed in the lift")
    nora.press("Save case")
    expect(told.get_by_text("The case is saved.")).to_be_visible()
    context.close()


def test_back_and_reload_from_a_review_show_what_was_typed_and_leaving_it_forgets_that(visit: SignIn) -> None:
    nora = visit("nora")
    name = nora.page.get_by_label("Name", exact=True)
    nora.go(PROTOCOL)
    name.fill("Typed, to be reviewed")
    for comes_back in (nora.page.go_back, nora.page.reload):
        nora.press("Look at the changes")
        nora.sees("Nothing is saved yet.")
        comes_back()
        nora.sees(NOTICE)
        expect(name).to_have_value("Typed, to be reviewed")
    nora.press("Look at the changes")
    with nora.page.expect_request(lambda request: request.method == "POST"):
        nora.follow("Leave it as it is")
    nora.go(PROTOCOL)
    expect(name).not_to_have_value("Typed, to be reviewed")
    name.fill("Typed, and a row added")
    nora.press("Add a medicine")
    expect(
        nora.page.locator("[id^=medication-][id$=-dose]:focus, [id^=medication-][id$=-drug]:focus")
    ).to_have_count(1)
    with nora.page.expect_request(lambda request: request.method == "POST"):
        nora.follow("Go back")
    nora.go(PROTOCOL)
    expect(nora.page.get_by_text(NOTICE)).to_have_count(0)


def test_the_page_warns_two_minutes_before_the_session_ends_and_can_extend_it(
    visit: SignIn, leave_in: LeaveIn
) -> None:
    amelia = visit("amelia")
    amelia.page.clock.install()
    amelia.go("/consents")
    dialog = amelia.page.get_by_role("dialog", name="Are you still there?")
    expect(dialog).to_have_count(0)
    leave_in(amelia, 118)
    amelia.page.goto(f"{amelia.origin}/no/such/page")  # a page that doesn't count as use
    expect(dialog).to_be_visible()
    expect(dialog.locator("[data-countdown]")).to_have_text(re.compile(r"^1:\d\d$"))
    dialog.get_by_role("button", name="Stay signed in").click()
    expect(dialog).to_have_count(0)
    amelia.page.clock.run_for(10_000)
    expect(dialog).to_have_count(0)
    amelia.page.reload()
    amelia.page.clock.run_for(10_000)
    expect(dialog).to_have_count(0)


def test_going_back_from_a_tab_loads_the_page_with_its_scripts(visit: SignIn) -> None:
    """Those of a page whose body is replaced still hold the old dialog, and can't warn that the session ends."""
    page = visit("amelia").go(EPISODE).page
    page.locator(".tabs a").nth(1).click()
    page.wait_for_url(lambda url: not url.endswith(EPISODE))
    page.evaluate("() => (window.isBefore = true)")
    page.go_back(wait_until="commit")
    page.wait_for_function("() => !window.isBefore && document.readyState === 'complete'")
    assert page.url.endswith(EPISODE)


@pytest.mark.parametrize(
    ("key", "wrong"), [("Enter", "2024-01-01"), ("Escape", "2029-01-01")], ids=["behind", "ahead"]
)
def test_the_session_warning_is_announced_takes_the_focus_and_returns_it_on_a_device_of_any_clock(
    visit: SignIn, leave_in: LeaveIn, key: str, wrong: str
) -> None:
    amelia = visit("amelia")
    amelia.page.clock.install(time=wrong)
    amelia.go("/me")
    field = amelia.page.get_by_label("Preferred name")
    field.fill("Ame, in the middle of it")
    leave_in(amelia, 110)
    amelia.page.clock.fast_forward("28:10")
    dialog = amelia.page.get_by_role("dialog", name="Are you still there?")
    expect(dialog).to_have_accessible_description(re.compile(r"you will be signed out in 1:\d\d"))
    expect(dialog.get_by_role("button", name="Stay signed in")).to_be_focused()
    amelia.page.clock.pause_at(amelia.page.evaluate("Date.now() / 1000 + 1"))
    with amelia.page.expect_response(lambda answer: answer.url.endswith("/session/stay")) as staying:
        amelia.page.keyboard.press(key)
    assert staying.value.headers["session-lasts"]
    expect(dialog).to_have_count(0)
    expect(field).to_be_focused()
    expect(field).to_have_value("Ame, in the middle of it")


def test_an_unanswered_warning_is_repeated_until_the_session_ends(visit: SignIn, leave_in: LeaveIn) -> None:
    amelia = visit("amelia")
    amelia.page.clock.install()
    amelia.go("/me")
    amelia.page.get_by_label("Preferred name").fill("Half typed")
    amelia.page.clock.pause_at(time.time() + 10)  # a busy machine takes its time
    leave_in(amelia, 63)
    amelia.page.clock.fast_forward("28:00")
    dialog = amelia.page.locator("#session-warning")
    expect(dialog).to_be_visible()
    said, countdown = dialog.get_by_role("status"), dialog.locator("[data-countdown]")
    while countdown.inner_text() > "1:02":
        amelia.page.clock.fast_forward("00:01")
    amelia.page.clock.fast_forward("00:05")  # it leaves out seconds, too
    told, shown = said.inner_text(), countdown.inner_text()
    assert f"signed out in {shown}" in told and shown < "1:00"
    amelia.page.clock.fast_forward("00:01")
    expect(countdown).not_to_have_text(shown)
    expect(said).to_have_text(told)  # it is read out each half minute, not each second
    amelia.page.clock.fast_forward("01:01")
    expect(dialog).to_have_accessible_name("You are signed out")
    expect(dialog).to_have_accessible_description(re.compile("Sign in to go on from here"))
    expect(dialog.get_by_role("button", name="Sign in again")).to_be_focused()
    amelia.page.evaluate("void (window.fetch = (_, { body }) => (sessionStorage.handedIn = body))")
    amelia.page.goto(f"{amelia.origin}/portal.webmanifest")  # leaves the page instead of signing in
    assert "Half+typed" in str(amelia.page.evaluate("sessionStorage.handedIn"))


@pytest.mark.asvs("14.3.1")
def test_an_ended_session_clears_the_page_and_signing_in_returns_to_it(
    visit: SignIn, leave_in: LeaveIn
) -> None:
    amelia = visit("amelia")
    leave_in(amelia, 4)
    amelia.page.goto(f"{amelia.origin}/no/such/page")
    over = amelia.page.get_by_role("dialog", name="You are signed out")
    expect(over).to_be_visible()
    amelia.page.keyboard.press("Escape")
    expect(over).to_be_visible()
    over.get_by_role("button", name="Sign in again").click()
    expect(amelia.page).to_have_url(re.compile(r"/no/such/page$"))
    expect(over).to_have_count(0)
