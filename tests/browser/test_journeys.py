"""The main tasks of patients and staff in a real browser, with and without JavaScript."""

from __future__ import annotations

import re
import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Route, expect

from portal.careservice.ids import sample_id
from tests.browser.conftest import SignIn
from tests.browser.pages import Consent, signs
from tests.support.stack import PortalProcess
from tests.support.visitor import LocalSession

STORAGE = "Consent to freezing and storage of embryos"
GENETIC = re.compile("Consent to preimplantation genetic testing")

scripts_or_none = pytest.mark.parametrize("javascript", [True, False], ids=["scripts", "no-scripts"])


@pytest.fixture(scope="module")
def stack(deployed: PortalProcess) -> PortalProcess:
    """The portal as it is deployed."""
    return deployed


@scripts_or_none
def test_a_patient_sees_her_tasks_on_home_and_opens_her_treatment(visit: SignIn, javascript: bool) -> None:
    home = visit("amelia", javascript=javascript, width=390, height=844)
    home.sees("What needs you").sees("Needed in 4 days")
    treatment = home.treatment()
    treatment.sees("Cetrorelix").sees("Monitoring scan")
    treatment.follow("Scans")
    treatment.sees("How the follicles grow").sees("17 mm or more")


def test_a_couple_signs_a_form_in_turn_and_one_partner_withdraws(visit: SignIn) -> None:
    """The whole journey with scripts: two people, two roles, receipts, withdrawal, signing out, Back."""
    amelia = visit("amelia")
    daniel = visit("daniel")
    form = amelia.consents().sign(GENETIC)
    receipt = signs(form, "Amelia Hart")
    receipt.sees("Amelia Hart").open_proof().sees("Name typed in the portal")
    receipt = signs(daniel.consents().sign(GENETIC), "Daniel Hart")
    receipt.sees("Amelia Hart").sees("Daniel Hart")
    receipt.verify()
    expect(receipt.checks).to_have_text(
        [
            re.compile("Matches.*Daniel Hart: the text is exactly the one that was signed", re.DOTALL),
            re.compile("Matches.*Amelia Hart: the text is exactly the one that was signed", re.DOTALL),
        ]
    )

    amelia.go("/consents").follow(GENETIC)
    withdrawn = Consent(amelia.page, amelia.origin).withdraw("We have changed our minds.")
    withdrawn.sees("We have changed our minds.")

    last = amelia.page.url
    amelia.go("/").sign_out()
    amelia.page.go_back()
    expect(amelia.page.get_by_label("Password")).to_be_visible()
    expect(amelia.page.get_by_text("What needs you")).to_have_count(0)
    amelia.page.goto(last)
    expect(amelia.page.get_by_label("Password")).to_be_visible()


def test_a_form_is_signed_without_scripts(visit: SignIn) -> None:
    amelia = visit("amelia", javascript=False, width=390, height=844)
    receipt = signs(amelia.consents().sign(STORAGE), "Amelia Hart")
    receipt.sees("Everyone has signed.")
    receipt.follow("My papers")
    papers = amelia.go("/papers").sees(STORAGE)
    link = papers.main.get_by_role("link", name=f"PDF {STORAGE}").first
    with papers.page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename.endswith(".pdf")


def test_a_name_other_than_the_signers_is_refused_with_an_explanation(visit: SignIn) -> None:
    daniel = visit("daniel")
    naming = daniel.consents().sign(re.compile("frozen sperm")).have_read().agree_to_all()
    naming.page.get_by_label("Type your full name").fill("Somebody Else")
    naming.press("Sign this form")
    expect(naming.page.get_by_role("alert")).to_contain_text("Daniel Hart")
    receipt = naming.sign_as("daniel  hart")
    receipt.sees("Daniel Hart")


@scripts_or_none
def test_a_message_is_archived_and_restored(visit: SignIn, javascript: bool) -> None:
    amelia = visit("amelia", javascript=javascript)
    thread = amelia.messages().open(re.compile("After yesterday"))
    before = thread.in_thread.count()
    thread.archive_first()
    thread.is_told("Message archived.")
    expect(thread.in_thread).to_have_count(before - 1)
    thread.undo()
    thread.is_told("Message restored.")
    expect(thread.in_thread).to_have_count(before)


def test_a_message_arriving_in_an_open_thread_is_announced_without_moving_the_page(
    visit: SignIn, stack: PortalProcess
) -> None:
    daniel = visit("daniel", width=390, height=500)
    thread = daniel.messages().open(re.compile("After yesterday"))
    expect(thread.messages.get_by_text("now marked as read")).to_be_visible()
    newest, before, place = thread.in_thread.last, thread.in_thread.count(), thread.page.evaluate("scrollY")
    at = thread.in_thread.first.bounding_box()
    copy = (
        "INSERT INTO messages (id, conversation_id, tenant_id, sender_id, sender_name, folded_sender, side, channel,"
        " body, sent_at)"
        " SELECT ?, conversation_id, tenant_id, sender_id, sender_name, folded_sender, side, channel, 'One more thing.', ?"
        " FROM messages WHERE id = ?"
    )
    values = (
        str(uuid.uuid4()),
        str(datetime.now(UTC).replace(tzinfo=None)),
        sample_id("message", "amelia-scan-0"),
    )
    with closing(sqlite3.connect(stack.plan.data / "care.db", timeout=10)) as records, records:
        records.execute(copy, values)
    thread.page.evaluate("document.dispatchEvent(new Event('portal:look'))")
    jump = thread.page.get_by_role("link", name="1 new message")
    expect(jump).to_be_in_viewport()
    expect(thread.page.locator("#said")).to_have_text("1 new message")
    assert (thread.in_thread.first.bounding_box(), thread.page.evaluate("scrollY")) == (at, place)
    expect(thread.in_thread).to_have_count(before + 1)
    jump.click()
    expect(newest).to_contain_text("One more thing.")
    expect(newest).to_be_in_viewport()
    expect(jump).to_have_count(0)


def test_a_thread_that_another_session_marks_as_read_is_not_left_in_sight(visit: SignIn) -> None:
    nora = visit("nora")
    page = nora.page
    page.route(
        "**/read",
        lambda route: route.fulfill(
            content_type="text/html", headers={"Session-Tag": "another"}, body="<p id=read>Read"
        ),
    )
    page.goto(f"{nora.origin}/conversations/{sample_id('conversation', 'amelia-injection')}")
    expect(page.get_by_role("dialog", name="You are signed out")).to_be_visible()
    expect(page.locator("#read")).to_have_count(0)


def test_what_loads_after_a_session_has_ended_finds_its_nonce(visit: SignIn) -> None:
    """Behind a first part the page's own scripts are in its body, of which only the dialog is left."""
    nora = visit("nora")
    page = nora.page
    address = f"{nora.origin}/conversations/{sample_id('conversation', 'amelia-injection')}"

    def behind_a_first_part(route: Route) -> None:
        given = {name.title(): value for name, value in route.request.all_headers().items()}
        answer = LocalSession().get(address, headers={**given, "Accept-Encoding": "identity"})
        head, body = answer.text.split("<body", 1)
        scripts = re.findall(r"<script.*?</script>", head, re.DOTALL)
        for script in scripts:
            head = head.replace(script, "")
        assert scripts
        route.fulfill(
            headers=dict(answer.headers), body=f"{head}<body{body.replace('>', '>' + ''.join(scripts), 1)}"
        )

    page.route(address, behind_a_first_part)
    page.route(
        "**/read", lambda route: route.fulfill(content_type="text/html", headers={"Session-Tag": "another"})
    )
    page.goto(address)
    expect(page.get_by_role("dialog", name="You are signed out")).to_be_visible()
    page.mouse.move(20, 20)
    page.mouse.move(40, 40)
    expect(page.locator("link[rel=manifest]")).to_have_count(1)  # comes with htmx


def test_all_of_an_answer_that_marks_a_thread_as_read_arrives(visit: SignIn) -> None:
    nora = visit("nora")
    page = nora.page
    button = page.get_by_role("button", name="Mark as read")
    toast = '<hx-partial hx-target="#toasts" hx-swap="beforeend"><div class="toast">Some are missing</div></hx-partial>'

    def answer(route: Route) -> None:
        button.focus()
        given = {name.title(): value for name, value in route.request.all_headers().items()}
        answered = LocalSession().post(route.request.url, data=route.request.post_data_buffer, headers=given)
        kept = {name: answered.headers[name] for name in ("Content-Type", "Session-Tag")}
        route.fulfill(headers=kept, body=answered.text + toast)

    page.route("**/read", answer)
    nora.go(f"/conversations/{sample_id('conversation', 'amelia-injection')}")
    said = page.locator("#read", has_text="now marked as read")
    expect(said).to_be_focused()
    expect(page.locator("#toasts")).to_contain_text("Some are missing")
    count = re.search(r"\d+", page.locator("#bell").inner_text())
    known = f"?known={count.group() if count else 0}"
    assert str(page.locator("#bell").get_attribute("hx-get")).endswith(known), (
        "else the next look fetches it again"
    )


def test_an_acts_notice_is_shown_even_if_another_response_replaced_its_region(visit: SignIn) -> None:
    """The first answer replaces the region that the second, asked for before, is meant for; none is lost."""
    amelia = visit("amelia")
    held: list[Route] = []
    amelia.page.route("**/archive", lambda route: held.append(route))
    thread = amelia.messages().open(re.compile("After yesterday"))
    before = thread.in_thread.count()
    assert before >= 2, "the sample's thread has two messages"
    for place, asked in ((0, 1), (1, 2)):
        thread.archive(place)
        while len(held) < asked:
            amelia.page.wait_for_timeout(20)
    toasts = amelia.page.locator("#toasts").get_by_text("Message archived.")
    for number, route in enumerate(held, 1):
        route.continue_()
        expect(toasts).to_have_count(number)
    expect(thread.in_thread).to_have_count(before - 2)


def test_the_current_tab_is_scrolled_into_view_on_a_phone(visit: SignIn) -> None:
    """Also where the sheet's `scroll-initial-target` isn't known, as in Safari and Firefox."""
    amelia = visit("amelia", width=320, height=844)
    page = amelia.page
    page.add_init_script("CSS.supports = () => false")
    page.route("**/styles-*.css", _without_initial_targets)
    amelia.go(f"/episodes/{sample_id('episode', 'amelia-1')}/appointments")
    tabs = page.get_by_role("navigation", name="Parts of this treatment")
    expect(tabs.get_by_role("link", name="Appointments")).to_be_in_viewport(ratio=1)
    tabs.get_by_role("link", name="Today").click()
    expect(page.get_by_role("link", name="Today", exact=True)).to_be_in_viewport(ratio=1)


def _without_initial_targets(route: Route) -> None:
    sheet = LocalSession().get(route.request.url, timeout=10).text
    assert "scroll-initial-target" in sheet
    route.fulfill(content_type="text/css", body=sheet.replace("scroll-initial-target", "x-initial-target"))


def test_reading_all_notifications_sets_list_and_bell_to_zero(visit: SignIn) -> None:
    nora = visit("nora")
    expect(nora.bell().locator(".badge")).to_be_visible()
    nora.notifications().all_read()
    expect(nora.bell().locator(".badge")).to_have_count(0)
    nora.page.reload()
    expect(nora.bell().locator(".badge")).to_have_count(0)


def test_a_nurse_finds_the_forms_of_one_patient(visit: SignIn) -> None:
    nora = visit("nora")
    nora.sees("Consents by procedure date")
    consents = nora.consents()
    consents.follow("All forms")
    consents.main.get_by_role("searchbox").fill("Sunita")
    consents.main.get_by_role("searchbox").press("Enter")
    consents.sees("Sunita Patel")
    expect(consents.page).to_have_url(re.compile("Sunita"))


def test_the_chart_tells_its_latest_day_and_the_others_to_a_finger_drawn_across_it(visit: SignIn) -> None:
    page = (
        visit("amelia", width=390, height=844)
        .go(f"/episodes/{sample_id('episode', 'amelia-1')}/monitoring")
        .page
    )
    days = page.locator(".chart-day")
    latest = days.last.locator("text").first
    expect(latest).to_be_visible()
    days.last.scroll_into_view_if_needed()
    first, last = days.first.locator("rect").bounding_box(), days.last.locator("rect").bounding_box()
    assert first and last
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    begin, end, y = last["x"] + 4, first["x"] + 4, last["y"] + 40
    for step in range(9):
        at = {"x": begin + (end - begin) * step / 8, "y": y}
        finger.send(
            "Input.dispatchTouchEvent", {"type": "touchMove" if step else "touchStart", "touchPoints": [at]}
        )
    expect(latest).to_be_hidden()
    expect(days.first.locator("text").first).to_be_visible()
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    for direction, onward, back in (("ltr", "ArrowRight", "ArrowLeft"), ("rtl", "ArrowLeft", "ArrowRight")):
        page.evaluate("(direction) => (document.dir = direction)", direction)
        days.first.focus()
        for key, day in ((onward, 1), (onward, 2), (back, 1)):
            page.keyboard.press(key)
            expect(days.nth(day)).to_be_focused()
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("row").nth(1)).to_be_visible()
