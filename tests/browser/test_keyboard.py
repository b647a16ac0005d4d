"""Keyboard-only use and what screen readers announce: focus, order, announcements."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from portal.careservice.ids import sample_id
from tests.browser.conftest import SignIn
from tests.browser.keys import Keys, Stop
from tests.browser.pages import Receipt, Seen, ready
from tests.support.full import this_week

EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
THREAD = f"/conversations/{sample_id('conversation', 'amelia-scan')}"
FORM = f"/consents/{sample_id('consent', 'amelia-genetic')}"
PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}"

MAIN_PAGES = {
    "amelia": (
        ("/", 390),
        (EPISODE, 390),
        (f"{EPISODE}/medication", 1280),
        ("/consents", 390),
        (f"{FORM}/sign", 1280),
        ("/conversations", 1280),
        (THREAD, 390),
        ("/notifications", 390),
        ("/notifications/settings", 1280),
        ("/me", 390),
        ("/care-team", 1280),
    ),
    "nora": (("/", 1280), ("/consents", 1280), (EPISODE, 1280), (f"{PROTOCOL}/edit", 1280), ("/open", 390)),
}


# ── everywhere ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", MAIN_PAGES)
def test_each_focus_stop_is_visible_and_in_page_order(visit: SignIn, name: str) -> None:
    """WCAG 2.2: 1.3.2 reading order, 2.4.3 focus order, 2.4.7 focus visible, 2.4.11 focus not obscured; half of the pages each week."""
    home = visit(name)
    faults: list[str] = []
    for path, width in this_week(MAIN_PAGES[name], 2):
        home.page.set_viewport_size({"width": width, "height": 844})
        is_read_in_visual_order(home.go(path), path)
        stops = Keys(home.page).all_stops()
        assert len(stops) > 3, f"{path}: {stops}"
        assert stops[0].name == "Skip to the content"
        where = f"{path} at {width}"
        faults += [f"{where}: no ring on {stop}" for stop in stops if not stop.ring]
        faults += [f"{where}: hidden {stop}" for stop in stops if not stop.seen]
        faults += [f"{where}: no name {stop}" for stop in stops if not stop.name]
        main = [stop for stop in stops if stop.inMain]
        faults += [
            f"{where}: {after} comes after {before}"
            for before, after in pairwise(main)
            if goes_back(before, after)
        ]
    assert not faults, "\n".join(faults)


def goes_back(before: Stop, after: Stop) -> bool:
    """Whether the second lies wholly above the first, and not in a later column."""
    return after.bottom <= before.top and after.left < before.right


def is_read_in_visual_order(seen: Seen, path: str) -> None:
    """Lines of text in the document's order never go back up, but into a later column."""
    assert not seen.page.evaluate(_OUT_OF_ORDER), path
    found = landmarks(seen.page)
    assert (found[:1], found[-2:]) == (["banner"], ["main", "contentinfo"]), path
    assert seen.main.get_by_role("heading").first.evaluate("(one) => one.tagName") == "H1"


def landmarks(page: Page) -> list[str]:
    """The landmarks of the page as a screen reader lists them, those within others left out."""
    lines = page.locator("body").aria_snapshot().splitlines()
    found = [re.match(r"^- (banner|navigation|main|contentinfo)\b", line) for line in lines]
    return [match[1] for match in found if match and match[1] != "navigation"]


_OUT_OF_ORDER = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  let before;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility() || parent.closest("svg, option, .visually-hidden, [data-sticky], .act-bar")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width < 2 || getComputedStyle(parent).clipPath !== "none") continue;
    if (before && box.bottom <= before.box.top + 1 && box.left < before.box.right - 1) {
      found.push(`"${node.data.trim().slice(0, 40)}" is read after "${before.node.data.trim().slice(0, 40)}"`);
    }
    before = { node, box };
  }
  return found;
}"""


def test_the_skip_link_is_the_first_stop_and_leads_to_the_content(visit: SignIn) -> None:
    for name in ("amelia", "nora"):
        page = visit(name).page
        keys = Keys(page)
        first = keys.tab()
        assert first and first.name == "Skip to the content" and first.ring and first.seen
        keys.press("Enter")
        here = keys.focus()
        assert here and here.id == "main"
        after = keys.tab()
        assert after and after.inMain


# ── journeys ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_form_can_be_signed_by_keyboard_alone(visit: SignIn) -> None:
    page = visit("amelia", width=390, height=844).page
    keys = Keys(page)
    keys.use(re.compile("^Read and sign"))
    page.wait_for_url("**/sign")
    title = page.locator(".paper h1, .paper h2").first.inner_text()
    keys.use("I have read the form")
    page.wait_for_url("**/sign/statements")
    for _ in page.get_by_role("checkbox").all():
        keys.press("Tab")
        while not page.evaluate("() => document.activeElement.matches('[type=checkbox]')"):
            keys.press("Tab")
        keys.press("Space")
    assert all(box.is_checked() for box in page.get_by_role("checkbox").all())
    keys.use("Continue")
    page.wait_for_url("**/sign/name")
    keys.to("Type your full name")
    page.keyboard.type("Amelia Hart")
    keys.press("Enter")
    Receipt(page, page.url).sees("Amelia Hart").sees(title)


def test_an_error_summary_takes_the_focus_and_links_to_its_field(visit: SignIn) -> None:
    """On a page that comes back, and on a part that htmx swaps in."""
    page = visit("daniel").page
    home = page.url
    page.goto(home + "me")
    ready(page)
    keys = Keys(page)
    keys.to(re.compile("^E-mail address"))
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("no address at all")
    keys.press("Enter")
    _summary_leads_to_its_field(page, keys)

    nora = visit("nora").page
    nora.goto(home + "open")
    ready(nora)
    keys = Keys(nora)
    keys.use("Open")
    _summary_leads_to_its_field(nora, keys)


def _summary_leads_to_its_field(page: Page, keys: Keys) -> None:
    expect(page.locator(".error-summary")).to_be_focused()
    link = keys.tab()
    assert link and link.tag == "a" and link.ring
    keys.press("Enter")
    field = keys.focus()
    assert field and field.tag in ("input", "textarea", "select")
    said = page.locator(f"#{field.id}").get_attribute("aria-describedby") or ""
    words = " ".join(page.locator(f"#{one}").inner_text() for one in said.split())
    assert link.name.rstrip(".") in words or words, "the field must be linked to its error"
    expect(page.locator(f"#{field.id}")).to_have_attribute("aria-invalid", "true")


# ── menus and dialogs ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "width", "menu", "inside"),
    [
        ("amelia", 1280, re.compile("Your menu"), "My details"),
        ("amelia", 390, "More", "Embryo storage"),
        ("nora", 1280, re.compile("Your menu"), "My details"),
    ],
    ids=["person's", "more", "staff's"],
)
def test_a_menu_closes_by_escape_and_returns_the_focus(
    visit: SignIn, name: str, width: int, menu: str | re.Pattern[str], inside: str
) -> None:
    page = visit(name, width=width, height=844).page
    keys = Keys(page)
    keys.use(menu)
    keys.to(inside)
    keys.press("Escape")
    back = keys.focus()
    assert back and back.tag == "summary"
    expect(page.get_by_role("link", name=inside)).to_have_count(0)


def test_the_staff_navigation_opens_over_a_narrow_page_and_closes_by_escape(visit: SignIn) -> None:
    page = visit("nora", width=390, height=844).page
    keys = Keys(page)
    keys.use("Sections")
    expect(page.get_by_role("navigation", name="Sections")).to_be_visible()
    keys.to("Protocols")
    keys.press("Escape")
    expect(page.get_by_role("navigation", name="Sections")).to_be_hidden()
    back = keys.focus()
    assert back and back.name == "Sections"


def test_a_dialog_traps_the_focus_and_returns_it(visit: SignIn) -> None:
    home = visit("amelia")
    page = home.go(THREAD).page
    keys = Keys(page)
    keys.use("Archive conversation")
    _stays_in_dialog_until_escape(page, keys, "archive-conversation")
    back = keys.focus()
    assert back and back.name == "Archive conversation" and back.ring

    keys.press("Enter")
    keys.use("Close")
    expect(page.locator("dialog[open]")).to_have_count(0)
    back = keys.focus()
    assert back and back.name == "Archive conversation"


def test_the_list_of_shortcuts_opens_by_question_mark_and_returns_the_focus(visit: SignIn) -> None:
    page = visit("nora").page
    keys = Keys(page)
    keys.to("Consents")
    keys.press("?")
    _stays_in_dialog_until_escape(page, keys, "shortcuts")
    back = keys.focus()
    assert back and back.name == "Consents"
    keys.press("g")
    keys.press("c")
    page.wait_for_url("**/consents")
    keys.press("/")
    expect(page.locator("#find")).to_be_focused()


def test_a_page_that_came_in_two_parts_lists_its_sections_once(visit: SignIn) -> None:
    page = visit("nora").page
    page.add_init_script("""document.onreadystatechange = () => {
      if (document.readyState !== "interactive") return;
      const first = document.createElement("nav");
      first.dataset.key = "c";
      first.append(Object.assign(document.createElement("span"), { textContent: "Consents" }));
      document.body.prepend(first);
    }""")
    page.goto(urljoin(page.url, "/consents"))
    page.keyboard.press("?")
    expect(page.locator("#shortcuts dd", has_text="Consents")).to_have_count(1)


def test_a_list_is_worked_through_by_single_keys(visit: SignIn) -> None:
    page = visit("victor").go("/consents?list=mine").page
    keys, rows = Keys(page), page.locator("#main .row-link")
    for key, row in (("j", 0), ("j", 1), ("k", 0), ("k", 0)):
        keys.press(key)
        expect(rows.nth(row)).to_be_focused()
    keys.press("Control+k")
    keys.press("Escape")
    expect(rows.first).to_be_focused()
    keys.press("?")
    page.get_by_text("Next row, row before").wait_for()
    expect(page.get_by_text("Next and back")).to_be_hidden()
    keys.press("Escape")
    page.set_viewport_size({"width": 1600, "height": 900})
    beside, first = page.locator("#record-beside"), page.url
    page.evaluate("document.activeElement.blur()")
    keys.press("s")
    rows.first.focus()
    for key, row in (("Enter", 0), ("j", 1)):
        keys.press(key)
        expect(beside.locator(".patient-banner-who")).to_contain_text(rows.nth(row).inner_text())
        expect(
            beside.locator(f"[href^='{urlsplit(str(rows.nth(row).get_attribute('href'))).path}/sign']").first
        ).to_be_visible()
        expect(rows.nth(row)).to_be_focused()
        expect(beside).to_have_accessible_name(rows.nth(row).inner_text())
        expect(page.locator("#results [aria-current=true]")).to_have_text(rows.nth(row).inner_text())
    held: list[Route] = []
    page.route("**/consents/*list=mine", lambda route: held.append(route))
    keys.press("j")
    expect(beside).to_have_attribute("aria-busy", "true")
    expect(beside.locator("*")).to_have_count(
        0
    )  # nothing of the row before, which somebody could take for this one's
    with page.expect_request("**/consents/*list=mine"):
        keys.press("k")
    page.wait_for_timeout(300)
    for answer in reversed(held):  # what comes late is of a row that was left
        answer.continue_()
        page.wait_for_timeout(300)
        expect(beside.locator(".patient-banner-who")).to_contain_text(rows.nth(1).inner_text())
    assert len(held) == 2
    page.unroute("**/consents/*list=mine")
    keys.press("j")
    expect(beside.locator(".patient-banner-who")).to_contain_text(rows.nth(2).inner_text())
    keys.press("Escape")
    expect(beside).to_have_count(0)
    expect(rows.nth(2)).to_be_focused()
    assert page.url == first, "nor was another row's form signed"
    page.set_viewport_size({"width": 1280, "height": 900})
    keys.press("Enter")
    page.wait_for_url(re.compile("/consents/.*list=mine"))
    opened = page.url
    keys.press("?")
    page.get_by_text("Next and back").wait_for()
    expect(page.get_by_text("Next row, row before")).to_be_hidden()
    keys.press("Escape")
    keys.press("n")
    page.wait_for_url(lambda url: url not in (first, opened))
    keys.press("p")
    page.wait_for_url(opened)
    keys.press("s")
    page.wait_for_url("**/sign?list=mine")
    keys.press("s")
    expect(page.locator("#declaration")).to_be_focused()
    page.reload()
    for key in ("Tab", "Tab", "Enter"):  # without single letters
        keys.press(key)
    expect(page.locator("#declaration")).to_be_focused()


def test_keyboard_shortcuts_can_be_switched_off(visit: SignIn) -> None:
    """WCAG 2.2, 2.1.4."""
    page = visit("nora").page
    keys = Keys(page)
    keys.press("?")
    keys.use("Use these keys in this browser", key="Space")
    keys.press("Escape")
    for path in ("/", "/consents"):
        page.goto(urljoin(page.url, path))
        keys.press("?")
        keys.press("/")
        keys.press("g")
        keys.press("p")
        keys.press("c")
        expect(page.locator("dialog[open]")).to_have_count(0)
        expect(page.locator("#find")).not_to_be_focused()
        expect(page).to_have_url(re.compile(f"{path}$"))
    page.get_by_role("button", name=re.compile("^Shortcuts")).click()
    keys.use("Use these keys in this browser", key="Space")
    keys.press("Escape")
    keys.press("g")
    keys.press("p")
    page.wait_for_url("**/protocols")


def _stays_in_dialog_until_escape(page: Page, keys: Keys, id_: str) -> None:
    expect(page.locator(f"dialog#{id_}")).to_be_visible()
    for _ in range(8):
        inside = page.evaluate(
            "(id) => document.activeElement === document.body || document.getElementById(id).contains(document.activeElement)",
            id_,
        )
        assert inside, keys.focus()
        keys.press("Tab")
    keys.press("Escape")
    expect(page.locator(f"dialog#{id_}")).to_be_hidden()


# ── what changes without a new page ─────────────────────────────────────────────────────────────────────


def test_archiving_a_message_is_announced_and_keeps_the_focus_nearby(visit: SignIn) -> None:
    home = visit("amelia")
    page = home.go(THREAD).page
    keys = Keys(page)
    thread = page.get_by_role("region", name="Messages in this conversation")
    expect(thread.locator("summary").first).to_be_visible()
    keys.use(re.compile("^More for .*message"))
    keys.use(re.compile("^Archive the message|^Archive your message|^Archive .*message"))
    told = page.get_by_role("status").filter(has_text="Message archived.")
    expect(told).to_be_visible()
    assert _is_within(page, "#thread")
    keys.to(re.compile("^Undo"))
    keys.press("Enter")
    expect(page.locator(".toast").filter(has_text="Message restored.")).to_be_visible()
    expect(page.locator("#said")).to_have_text("Message restored.")

    keys.to("Close")
    keys.press("Enter")
    expect(page.locator(".toast")).to_have_count(0)
    assert _is_within(page, "main"), keys.focus()


def test_marking_a_notification_as_read_is_announced_and_keeps_the_focus_in_the_list(visit: SignIn) -> None:
    home = visit("daniel")
    page = home.go("/notifications").page
    keys = Keys(page)
    menu = keys.to(re.compile("^More for"))
    keys.press("Enter")
    keys.use(re.compile("^Mark as read"))
    expect(page.locator("#said")).to_have_text(re.compile(r"Unread: \d"))
    here = keys.focus()
    assert here and here.name == menu.name, "the menu of the same notification"
    keys.use(re.compile("^Mark all as read"))
    expect(page.locator("#bell .badge")).to_have_count(0)
    assert _is_within(page, "#results"), keys.focus()


def test_doses_that_renew_themselves_keep_the_focus_and_what_is_unfolded(visit: SignIn) -> None:
    page = visit("amelia").go(f"{EPISODE}/medication").page
    doses = page.locator("#tonight")
    page.evaluate(
        """() => {
          const dose = document.querySelector("#tonight :is(.dose, .doses > li):has(form button)"), other = dose.cloneNode(true);
          other.id = "dose-other";
          for (const fold of other.querySelectorAll("details")) fold.id += "-other";
          dose.after(other);
          // The bell is renewed at the same time, and its answer may come in between.
          document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => {
            const target = document.querySelector("#bell");
            const bell = { ctx: { target, sourceElement: target } };
            if (ctx.target.id === "tonight") document.dispatchEvent(new CustomEvent("htmx:before:swap", { detail: bell }));
          });
        }"""
    )
    renewed = doses.evaluate("(doses) => doses.outerHTML").replace("<div", '<div hx-nonce="n"', 1)
    answer = {"content_type": "text/html", "headers": {"Content-Security-Policy": "script-src 'nonce-n'"}}
    page.route("**/doses?*", lambda route: route.fulfill(body=renewed, **answer))
    page.locator("#dose-other details").last.locator("summary").click()
    button = page.locator("#dose-other form button")
    button.focus()
    doses.evaluate("(doses) => (doses.dataset.before = '')")
    page.evaluate("() => document.dispatchEvent(new Event('portal:look'))")
    expect(page.locator("#tonight:not([data-before])")).to_be_visible()
    expect(button).to_be_focused()
    expect(page.locator("#dose-other details").last).to_have_attribute("open", "")
    without = renewed.replace('id="dose-other"', 'id="dose-third"')
    page.route("**/doses?*", lambda route: route.fulfill(body=without, **answer))
    page.evaluate("() => document.dispatchEvent(new Event('portal:look'))")
    expect(page.locator("#dose-third")).to_be_visible()
    expect(page.locator("h2:focus")).to_be_visible()


def test_a_filter_announces_its_count_and_keeps_the_focus(visit: SignIn) -> None:
    home = visit("nora")
    page = home.go("/consents?list=all").page
    keys = Keys(page)
    keys.to(re.compile("^Search by patient"))
    page.keyboard.type("Sunita")
    keys.press("Enter")
    expect(page.locator("#said")).to_have_text(re.compile(r"\d+ forms? · matching “Sunita”"))
    assert page.evaluate("() => document.activeElement.type") == "search"
    page.evaluate("() => { document.querySelector('#results').dataset.before = '' }")
    keys.use(re.compile("^All"))
    expect(page.locator("#results:not([data-before])")).to_be_visible()
    expect(page.locator("#results a:focus")).to_have_text(re.compile("^All"))
    expect(page.locator("#said")).not_to_be_empty()


def test_adding_and_removing_protocol_rows_moves_the_focus_to_the_row(visit: SignIn) -> None:
    home = visit("nora")
    page = home.go("/protocols/new").page
    keys = Keys(page)
    keys.use(re.compile("^Add a medication|^Add medication|^Add"))
    expect(page.locator("#rows fieldset").last).to_be_visible()
    assert _is_within(page, "#rows"), keys.focus()
    before = page.locator("#rows fieldset").count()
    keys.use(re.compile("^Remove"))
    expect(page.locator("#rows fieldset")).to_have_count(before - 1)
    # The last medicine was removed, so the focus is on the button that adds one.
    expect(page.locator("#add-medication")).to_be_focused()


def test_nothing_is_typed_into_rows_that_are_being_replaced(visit: SignIn) -> None:
    page = visit("nora").go(f"{PROTOCOL}/edit").page
    page.evaluate(
        """() => {
          const real = window.fetch;
          window.fetch = (...asked) => new Promise((done) => (window.answer = () => done(real(...asked))));
        }"""
    )
    page.locator("#add-medication").click()
    expect(page.locator("#medication-0-dose")).to_be_disabled()
    page.evaluate("() => window.answer()")
    expect(page.locator("#medication-0-dose")).to_be_enabled()


def _is_within(page: Page, selector: str) -> bool:
    return page.evaluate(
        "(selector) => document.activeElement !== document.body"
        " && Boolean(document.querySelector(selector).contains(document.activeElement))",
        selector,
    )
