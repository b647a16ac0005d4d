"""A nurse's morning and a physician's queue in a real browser, counted in clicks and pixels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from portal.careservice.ids import sample_id
from tests.browser.conftest import signed_in
from tests.browser.keys import Keys
from tests.browser.looking import MEASURE
from tests.browser.pages import ready
from tests.support.stack import PortalThread
from tools.screenshots import speak

EPISODE = sample_id("episode", "amelia-1")


@pytest.fixture(scope="module")
def stack(portal: PortalThread) -> PortalThread:
    """The portal in this process, which starts sooner."""
    return portal


@pytest.fixture(scope="module")
def nora(chrome: Browser, stack: PortalThread) -> Iterator[Page]:
    """The nurse, signed in for the module."""
    with signed_in(chrome, stack.origin(), "nora") as page:
        yield page


def go(page: Page, stack: PortalThread, path: str) -> None:
    page.goto(stack.origin() + path)
    ready(page)


# ── a person ────────────────────────────────────────────────────────────────────────────────────────────


def test_one_click_leads_to_a_patients_last_seven_days_and_one_more_to_what_she_sees(
    nora: Page, stack: PortalThread
) -> None:
    for path in (
        f"/consents/{sample_id('consent', 'amelia-genetic')}",
        f"/conversations/{sample_id('conversation', 'amelia-scan')}",
        f"/protocols/{sample_id('protocol', 'amelia')}",
        f"/episodes/{EPISODE}/monitoring",
    ):
        go(nora, stack, path)
        nora.get_by_role("region", name="Patient").get_by_role("link", name="Amelia Hart").click()
        expect(nora.locator("#week .happenings > li").first).to_be_visible()
    nora.get_by_role("link", name="As the patient sees it").click()
    expect(nora.get_by_text("You see what Amelia Hart sees.")).to_be_visible()
    expect(nora.get_by_role("heading", name="Hello, Millie")).to_be_visible()
    assert nora.locator("form:not([inert])").count() == 0
    nora.get_by_role("link", name="Treatment").first.click()
    expect(nora.get_by_text("You see what Amelia Hart sees.")).to_be_visible()
    nora.get_by_role("link", name="Back to your own view").click()
    expect(nora.get_by_role("heading", name="Patient overview")).to_be_visible()


def test_on_a_phone_a_patients_page_is_short_and_everything_is_a_tap_away(
    nora: Page, stack: PortalThread
) -> None:
    nora.set_viewport_size({"width": 390, "height": 844})
    go(nora, stack, f"/patients/{sample_id('patient', 'amelia')}?episode={EPISODE}")
    assert nora.evaluate("document.documentElement.scrollHeight") <= 4000
    expect(nora.get_by_text("Margaret Hart").first).to_be_hidden()
    nora.get_by_text("Contact details and case").click()
    expect(nora.get_by_text("Margaret Hart").first).to_be_visible()
    nora.get_by_text("Earlier days").click()
    expect(nora.locator("#week .happenings > li").last).to_be_visible()
    nora.locator(".topbar .brand > span").evaluate_all(
        "(names) => names.forEach((name) => (name.textContent = 'Riverside Fertility and Genetics'))"
    )
    for width in (360, 768):
        nora.set_viewport_size({"width": width, "height": 844})
        tops = [
            nora.locator(f".topbar {one}").first.evaluate("(one) => one.getBoundingClientRect().top")
            for one in (".rail-button", "#bell")
        ]
        assert max(tops) - min(tops) < 8, (
            f"a long clinic name pushes the bell to another line at {width}: {tops}"
        )
    nora.set_viewport_size({"width": 1280, "height": 900})


def test_whom_to_call_until_friday_is_one_click_with_number_and_mail(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, "/")
    tile = nora.get_by_role("link", name=re.compile("Missing until Friday"))
    count = re.sub(r"\D", "", tile.inner_text())
    tile.click()
    expect(nora.locator(".table tbody tr")).to_have_count(int(count))
    go(nora, stack, "/consents?list=open&waits=patients")  # until a Friday, those few may have neither
    expect(nora.locator(".table a[href^='tel:']").first).to_be_visible()
    expect(nora.locator(".table a[href^='mailto:']").first).to_be_visible()


def test_archiving_a_conversation_is_undone_by_one_click_or_key(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, f"/conversations/{sample_id('conversation', 'amelia-scan')}")
    for opened, taken_back in (
        (
            nora.get_by_role("link", name="Archive conversation").click,
            nora.get_by_role("button", name="Undo").click,
        ),
        (lambda: nora.keyboard.press("a"), lambda: nora.keyboard.press("u")),
    ):
        opened()
        nora.get_by_role("dialog").get_by_role("button", name=re.compile("^Archive")).click()
        expect(nora.get_by_role("button", name="Undo")).to_be_visible()
        taken_back()
        expect(nora.locator("#toasts")).to_contain_text("back in your inbox")
        go(nora, stack, f"/conversations/{sample_id('conversation', 'amelia-scan')}")


def test_an_embryologist_finds_a_place_by_two_words_and_what_ends_in_one_click(
    chrome: Browser, stack: PortalThread
) -> None:
    with signed_in(chrome, stack.origin(), "elif") as page:
        tile = page.locator("#ending")
        expect(tile.locator(".duty-count")).to_have_text(re.compile(r"\d"))
        count = int(tile.locator(".duty-count").inner_text())
        tile.get_by_role("link").click()
        expect(page.locator(".table tbody tr:not(.shelf)")).to_have_count(count)
        ready(page)
        page.keyboard.press("Control+k")
        page.keyboard.type("T4 C2")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile("/storage/.+"))
        expect(page.get_by_role("main")).to_contain_text(re.compile(r"T4\sC2"))


# ── finding somebody ────────────────────────────────────────────────────────────────────────────────────


def test_ctrl_k_two_letters_and_enter_open_a_patient(nora: Page, stack: PortalThread) -> None:
    """Also whose name an English keyboard can’t type."""
    for start, typed, name in (
        ("/", "am", "Amelia Hart"),
        ("/protocols", "si", "Siân Llewellyn"),
        ("/", "yi", "Ayşe Yıldız"),
        ("/", "os", "Anna O'Sullivan"),
    ):
        go(nora, stack, start)
        nora.keyboard.press("Control+k")
        nora.keyboard.type(typed)
        nora.keyboard.press("Enter")
        expect(nora.get_by_role("region", name="Patient")).to_contain_text(name)
        expect(nora.get_by_role("heading", level=1)).to_have_text("Patient overview")


def test_arrow_keys_move_through_the_hits_and_escape_closes_them(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, "/")
    start = nora.get_by_role("link", name="Protocols")
    start.focus()
    nora.keyboard.press("Control+k")
    nora.keyboard.type("elizabeth smith")
    expect(nora.locator("#found .hit-main")).to_have_count(2)
    nora.keyboard.press("Enter")
    expect(nora.locator("#found .hit-main").first).to_be_focused()
    nora.keyboard.press("ArrowDown")
    bell = "document.dispatchEvent(new CustomEvent('htmx:after:swap', { detail: { ctx: {} } }))"
    nora.evaluate(bell)
    expect(nora.locator("#found .hit-main").nth(1)).to_be_focused()
    nora.keyboard.press("ArrowUp")
    nora.keyboard.press("ArrowUp")
    expect(nora.locator("#find")).to_be_focused()
    nora.keyboard.press("Escape")
    expect(start).to_be_focused()
    nora.mouse.move(5, 800)
    expect(nora.locator("#found")).to_be_hidden()


def test_a_late_search_response_does_not_replace_a_newer_one(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, "/")
    held: list[Route] = []

    def hold_the_first(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    nora.route("**/find", hold_the_first)
    nora.keyboard.press("Control+k")
    nora.keyboard.type("smith")
    for _ in range(50):
        if held:
            break
        nora.wait_for_timeout(20)
    nora.keyboard.press("Control+k")
    nora.keyboard.type("amelia")
    expect(nora.locator("#found")).to_have_attribute("data-for", "amelia")
    held[0].continue_()
    nora.wait_for_timeout(200)
    expect(nora.locator("#found")).to_have_attribute("data-for", "amelia")
    nora.unroute("**/find")


def test_the_staff_navigation_stays_visible_while_scrolling(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, "/consents")
    nora.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    rail = nora.get_by_role("navigation", name=re.compile("Sections"))
    expect(rail.get_by_role("link", name="Worklist")).to_be_in_viewport()


# ── work lists and the queue ────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def victor(chrome: Browser, stack: PortalThread) -> Iterator[Page]:
    """The physician, signed in for the module; each press of the mouse is counted."""
    with signed_in(chrome, stack.origin(), "victor") as page:
        yield page


def test_a_table_of_25_forms_is_at_most_1450_pixels_high_and_hardly_more_in_a_smaller_window(
    victor: Page, stack: PortalThread
) -> None:
    for path in ("/consents?list=open", "/consents?list=all"):
        go(victor, stack, path)
        expect(victor.locator(".table tbody tr")).to_have_count(25)
        for width, most in ((1024, 1600), (1280, 1450)):
            victor.set_viewport_size({"width": width, "height": 900})
            box = victor.locator(".table").bounding_box()
            assert box and box["height"] <= most, f"{path} {width}: {box}"


def test_column_headings_of_a_short_table_do_not_break_words(victor: Page, stack: PortalThread) -> None:
    """One row whose last column is empty leaves the columns' names the least room."""
    go(victor, stack, "/consents?list=all&status=Draft")
    box = victor.locator(".table thead").bounding_box()
    assert box and box["height"] <= 72, box


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1280])
def test_no_list_scrolls_sideways(victor: Page, stack: PortalThread, width: int) -> None:
    victor.set_viewport_size({"width": width, "height": 900})
    for path in ("/consents?list=open", "/consents?list=all", "/"):
        go(victor, stack, path)
        assert victor.evaluate("document.documentElement.scrollWidth") <= width, path
    victor.set_viewport_size({"width": 1280, "height": 900})


def test_a_queue_of_eleven_forms_is_signed_in_24_clicks_and_13_loads(
    victor: Page, stack: PortalThread, caplog: pytest.LogCaptureFixture
) -> None:
    clicks = 0

    def click(target: Locator) -> None:
        nonlocal clicks
        clicks += 1
        target.click()

    go(victor, stack, "/")
    caplog.clear()
    click(victor.get_by_role("main").get_by_role("link", name=re.compile("^Mine 11")))
    click(victor.get_by_role("main").get_by_role("link", name=re.compile("^Sign")).first)
    signed: set[str] = set()
    for number in range(1, 12):
        expect(victor.locator(".queue-place")).to_have_text(f"{number} of 11")
        expect(victor.locator(".paper .clause").first).to_be_visible()
        expect(victor.get_by_role("heading", name="Sign this form")).to_be_visible()
        signed.add(victor.url.partition("/sign")[0])
        click(victor.get_by_role("checkbox"))
        victor.keyboard.press("Tab")
        victor.keyboard.type("Victor Castellanos")
        click(
            victor.get_by_role("button", name="Sign and open the next" if number < 11 else "Sign this form")
        )
    expect(victor.get_by_role("heading", level=1)).to_have_text("Receipt")
    expect(victor.get_by_role("main").get_by_role("link", name=re.compile("^Next: "))).to_have_count(0)
    assert len(signed) == 11
    assert clicks <= 24, clicks
    answered = [(vars(line).get("route"), vars(line).get("status")) for line in caplog.records]
    loads = [route for route, status in answered if status == HTTPStatus.OK and "/consents" in route]
    assert len(loads) == 13, answered


def test_a_consent_for_the_current_patient_reaches_its_preview_in_three_clicks(
    nora: Page, stack: PortalThread
) -> None:
    go(nora, stack, f"/episodes/{EPISODE}")
    main = nora.get_by_role("main")
    main.get_by_role("link", name="New consent form").click()
    main.locator("a[href*='template=disposition']").click()
    main.get_by_role("button", name="Preview").click()
    expect(nora.get_by_text("Nothing is sent yet")).to_be_visible()
    expect(nora.locator("#signers")).to_contain_text("Amelia Hart")
    expect(nora.locator("#signers")).to_contain_text("Victor Castellanos")


def test_a_nurse_finds_a_patient_and_sends_a_consent_by_keyboard_alone(
    nora: Page, stack: PortalThread
) -> None:
    go(nora, stack, "/")
    keys = Keys(nora)
    nora.keyboard.press("Control+k")
    nora.keyboard.type("am")
    nora.keyboard.press("Enter")
    expect(nora.get_by_role("region", name="Patient")).to_contain_text("Amelia Hart")
    passed = 0
    for step in ("Send forms", "Go on with the ticked forms", "Send 1 form"):
        if step.startswith("Go on"):
            passed += stops_to(keys, re.compile("^Decision about embryos"))
            nora.keyboard.press("Space")
        passed += stops_to(keys, step)
        before = nora.url
        nora.keyboard.press("Enter")
        nora.wait_for_url(lambda url, before=before: url != before)
        ready(nora)
    expect(nora).to_have_url(re.compile(r"/patients/[0-9a-f-]{36}"))
    assert passed <= 60, passed


def stops_to(keys: Keys, name: str | re.Pattern[str]) -> int:
    """Go by the skip link and Tab to the element of this name, whose focus must be seen; how many stops it took."""
    keys.to("Skip to the content")
    keys.press("Enter")
    keys.to(name)
    return keys.stops + 1


# ── what is under way ───────────────────────────────────────────────────────────────────────────────────


def test_a_pressed_button_reacts_at_once_and_a_progress_bar_follows(nora: Page, stack: PortalThread) -> None:
    thread = f"/conversations/{sample_id('conversation', 'amelia-scan')}"
    go(nora, stack, thread)
    held: list[Route] = []
    nora.route("**/archive", lambda route: held.append(route))
    nora.locator(".bubble summary").first.click()
    button = nora.locator(".bubble form button").first
    words = button.bounding_box()
    button.click()
    assert button.get_attribute("aria-busy") == "true"
    assert button.bounding_box() == words, "the button's size must not change"
    expect(nora.locator("html[data-loading]")).to_have_count(1)
    held[0].continue_()
    expect(nora.locator("html[data-loading]")).to_have_count(0)
    expect(nora.locator("#toasts")).to_contain_text("Message archived")
    nora.unroute("**/archive")


def test_a_double_click_archives_one_message_and_undo_keeps_the_scroll_position(
    nora: Page, stack: PortalThread
) -> None:
    nora.set_viewport_size({"width": 1280, "height": 300})
    go(nora, stack, f"/conversations/{sample_id('conversation', 'amelia-scan')}")
    bubbles = nora.locator(".bubble")
    before = bubbles.count()
    assert before > 2
    nora.locator(".bubble summary").nth(1).click()
    button = nora.locator(".bubble form button").nth(1)
    button.evaluate("(one) => one.scrollIntoView({ block: 'start' })")
    place = nora.evaluate("scrollY")
    assert place > 0
    button.dblclick()
    expect(nora.locator("#toasts")).to_contain_text("Message archived")
    nora.wait_for_timeout(300)
    expect(nora.get_by_role("button", name="Undo")).to_have_count(1)
    place = nora.evaluate("scrollY")
    nora.get_by_role("button", name="Undo").click()
    expect(nora.locator("#toasts")).to_contain_text("Message restored")
    assert abs(nora.evaluate("scrollY") - place) < 60
    nora.set_viewport_size({"width": 1280, "height": 900})


def test_a_pressed_tab_or_link_reacts_at_once(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, f"/episodes/{EPISODE}")
    held: list[Route] = []
    nora.route("**/timeline", lambda route: held.append(route))
    tab = nora.get_by_role("link", name=re.compile("^Timeline"))
    tab.click()
    expect(tab).to_have_attribute("aria-busy", "true")
    expect(nora.locator("html[data-loading]")).to_have_count(1)
    held[0].continue_()
    expect(nora.locator("html[data-loading]")).to_have_count(0)
    nora.unroute("**/timeline")
    nora.get_by_role("heading", level=1).click()
    nora.locator("a[href='#main']").dispatch_event("click")
    nora.wait_for_timeout(300)
    assert nora.locator("html[data-loading], a[aria-busy]").count() == 0, "nothing is under way"
    link = nora.get_by_role("link", name="Protocols")
    assert link.evaluate("(one) => (one.click(), one.ariaBusy)") == "true"
    expect(nora.get_by_role("heading", level=1)).to_have_text("Protocols")


# ── the form of a protocol ──────────────────────────────────────────────────────────────────────────────

PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}/edit?as-saved=1"


def test_a_new_dose_is_few_keys_from_the_patient_and_shown_by_day(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, f"/patients/{sample_id('patient', 'amelia')}?episode={EPISODE}")
    _skip_to(nora, "Change the plan")
    nora.wait_for_url("**/edit")
    rows = nora.locator(".plan-row:not([data-short])")
    expect(rows).to_have_count(5)
    _skip_to(nora, re.compile("^New dose from"))
    expect(nora.locator("#medication-1-dose")).to_be_focused()
    nora.keyboard.press("Control+A")
    nora.keyboard.type("250")
    nora.keyboard.press("Enter")
    changed = nora.locator(".day-grid td[data-changed]")
    expect(changed.first).to_contain_text("250")
    expect(changed.first).to_be_in_viewport(ratio=1)
    _skip_to(nora, "Save protocol", press="Escape")


def _skip_to(page: Page, name: str | re.Pattern[str], press: str = "Enter") -> None:
    """Go by the second skip link to what the work begins with, in three keys, and press it."""
    ready(page)
    page.evaluate("document.activeElement.blur()")
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    here = page.locator(":focus")
    expect(here).to_have_text(name)
    expect(here).to_be_in_viewport()
    page.keyboard.press(press)


def test_five_medicines_and_their_days_have_the_whole_width(nora: Page, stack: PortalThread) -> None:
    nora.set_viewport_size({"width": 1600, "height": 900})
    go(nora, stack, PROTOCOL)
    rows = nora.locator(".plan-row:not([data-short])")
    expect(rows).to_have_count(5)
    grid = nora.locator(".day-grid")
    assert grid.evaluate("(one) => one.scrollWidth <= one.clientWidth && one.clientHeight < 360"), "29 days"
    sizes = grid.evaluate(
        "(one) => [...one.querySelectorAll('td')].map((it) => parseFloat(getComputedStyle(it).fontSize))"
    )
    assert min(sizes) >= 14
    expect(grid.locator("th[aria-current=date]")).to_contain_text("Today")
    nora.set_viewport_size({"width": 1280, "height": 900})
    nora.get_by_role("button", name="Add a medicine").click()
    expect(rows).to_have_count(6)
    expect(nora.locator("#medication-5-drug")).to_be_focused()


_MARKS_ALONE = r"""() => {
  const found = [], words = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = words.nextNode(); node; node = words.nextNode()) {
    for (const { index } of node.data.matchAll(/(?<=[\p{L}\p{N})])[.,;:!?](?=\s|$)/gu)) {
      const [before, mark] = [index - 1, index].map((at) => {
        const letter = document.createRange();
        letter.setStart(node, at);
        letter.setEnd(node, at + 1);
        return letter.getClientRects()[0];
      });
      if (mark && mark.top >= before.bottom) found.push(node.data.slice(0, index + 1));
    }
  }
  return found;
}"""
_CUT_FIELDS = """() => [...document.querySelectorAll(".plan-row :is(input[type=text], select):not([name$=instructions])")]
  .filter((one) => one.offsetWidth && one.scrollWidth > one.clientWidth + 1).map((one) => one.name)"""


@pytest.mark.parametrize("width", [768, 1024, 1280])
def test_names_hours_and_sentences_are_read_in_full(nora: Page, stack: PortalThread, width: int) -> None:
    nora.set_viewport_size({"width": width, "height": 2400})
    go(nora, stack, f"/episodes/{EPISODE}")
    assert not nora.evaluate(_MARKS_ALONE), (
        "a word just too long for its line leaves its full stop to the next one"
    )
    go(nora, stack, PROTOCOL)
    nora.locator("#medication-0-drug").fill("Choriogonadotropin alfa (Ovitrelle)")
    nora.locator("#medication-0-time").fill("08:00, 14:00, 20:00")
    assert not nora.evaluate(_CUT_FIELDS)
    assert not nora.evaluate(MEASURE)


def test_a_faulty_doses_sentence_has_the_rows_width(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, PROTOCOL)
    nora.locator("#medication-0-dose").fill("5,000")
    nora.get_by_role("button", name="Look at the changes").click()
    said = nora.locator("#medication-0-dose-error").bounding_box()
    assert said and said["width"] > 300 and said["height"] < 100


def test_the_schedule_follows_typing_and_a_late_response_does_not_replace_a_newer_one(
    nora: Page, stack: PortalThread
) -> None:
    go(nora, stack, PROTOCOL)
    held: list[Route] = []
    nora.route("**/protocols/days", lambda route: route.continue_() if held else held.append(route))
    drug = nora.locator("#medication-1-drug")
    drug.fill("Older")
    for _ in range(100):
        if held:
            break
        nora.wait_for_timeout(20)
    drug.fill("Newer")
    nora.wait_for_timeout(500)
    held[0].continue_()
    expect(nora.locator("#days")).to_contain_text("Newer")
    expect(nora.locator("#days")).not_to_contain_text("Older")
    nora.unroute("**/protocols/days")
    before = nora.locator("#medication-1-start_day-date").inner_text()
    nora.locator("#medication-1-start_day").fill("6")
    expect(nora.locator("#medication-1-start_day-date")).not_to_have_text(before)
    expect(drug).to_have_value("Newer")
    nora.locator("#down-medication-1").click()
    expect(nora.locator("#medication-2-drug")).to_have_value("Newer")
    expect(nora.locator("#down-medication-2")).to_be_focused()


def test_an_error_names_its_row_and_field_and_links_to_it(nora: Page, stack: PortalThread) -> None:
    go(nora, stack, PROTOCOL)
    nora.locator("#medication-2-dose").fill("much")
    nora.get_by_role("button", name="Look at the changes").last.click()
    summary = nora.locator(".error-summary")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name=re.compile("^Medicine 3, dose: Enter")).click()
    expect(nora.locator("#medication-2-dose")).to_be_focused()


def test_follicles_by_size_are_visible_beside_the_chart(nora: Page, stack: PortalThread) -> None:
    for language in ("es", "ar", "en"):
        speak(nora.context, stack.origin(), language)
        go(nora, stack, f"/episodes/{EPISODE}/monitoring")
        table = nora.locator(".chart-beside .table")
        assert table.evaluate("(one) => one.scrollWidth <= one.clientWidth"), language


def test_latin_titles_in_an_arabic_page_are_cut_at_their_end(nora: Page, stack: PortalThread) -> None:
    speak(nora.context, stack.origin(), "ar")
    go(nora, stack, "/consents?list=open")
    starts = """(one) => {
      const words = document.createRange();
      words.setStart(one.firstChild, 0);
      words.setEnd(one.firstChild, 7);
      const first = words.getBoundingClientRect(), box = one.getBoundingClientRect();
      return [one.scrollWidth > one.clientWidth, first.left >= box.left - 1 && first.right <= box.right + 1];
    }"""
    seen = nora.locator("tbody th > .row-second").evaluate_all(f"(all) => all.map({starts})")
    speak(nora.context, stack.origin(), "en")
    assert any(is_cut for is_cut, _ in seen)
    assert all(begins for _, begins in seen)


# ── words ───────────────────────────────────────────────────────────────────────────────────────────────


def test_rows_of_embryos_keep_to_few_lines(nora: Page, stack: PortalThread) -> None:
    embryos = f"/episodes/{sample_id('episode', 'grace-2')}/embryos"
    for width, most in ((390, 160), (1280, 90)):
        nora.set_viewport_size({"width": width, "height": 900})
        go(nora, stack, embryos)
        heights = nora.locator(".table tbody tr").evaluate_all(
            "(rows) => rows.map((row) => row.offsetHeight)"
        )
        assert heights and max(heights) <= most, heights
        assert nora.evaluate("document.documentElement.scrollWidth") <= width
    nora.set_viewport_size({"width": 1280, "height": 900})
