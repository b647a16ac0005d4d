"""Every other journey of every role in a browser whose JavaScript is off (CARE_TEST_FULL=1).

`tests/views` sends the same forms without a browser at each run.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from playwright.sync_api import expect

from portal.careservice.ids import sample_id
from tests.browser.conftest import Person
from tests.browser.pages import Home, Seen
from tests.browser.steps import go_on, seen, told

AMELIAS, GRACES = sample_id("episode", "amelia-1"), sample_id("episode", "grace-2")
LEGACY = sample_id("emr-endpoint", "riverside-legacy")
INES, AGAIN = sample_id("prospect", "ines"), sample_id("prospect", "ines-again")
TOMASZ = sample_id("prospect", "tomasz")


def test_a_message_is_archived_and_restored_and_a_conversation_archived(person: Person) -> None:
    thread = person("amelia").messages().open(re.compile("After yesterday"))
    thread.archive_first()
    thread.is_told("Message archived.")
    thread.undo()
    thread.is_told("Message restored.")
    thread.follow("Archive conversation")
    asked = seen(thread)
    go_on(asked)
    told(asked, re.compile("Conversation archived"))
    asked.go("/conversations?archived=1").sees(re.compile("After yesterday"))


def test_notifications_are_opened_read_and_kept_unread(person: Person) -> None:
    home = person("daniel")
    notifications = home.notifications()
    _first_menu(notifications)
    notifications.press(re.compile("^Mark as read"))
    again = seen(notifications)
    _first_menu(again)
    again.press(re.compile("^Mark as unread"))
    again = seen(again)
    again.main.locator("button.link-row").first.click()
    assert "/notifications" not in seen(again).page.url
    home.go("/notifications").main.get_by_role("button", name="Mark all as read").click()
    expect(home.bell().locator(".badge")).to_have_count(0)


def _first_menu(notifications: Seen) -> None:
    notifications.main.locator(".notification summary").first.click()


def test_notification_settings_are_kept(person: Person) -> None:
    page = person("amelia").go("/notifications/settings")
    box = page.main.get_by_role("checkbox").and_(page.page.locator(":not(:disabled)")).last
    before = box.is_checked()
    box.set_checked(not before)
    saved = go_on(page)
    box = saved.main.get_by_role("checkbox").and_(saved.page.locator(":not(:disabled)")).last
    expect(box).to_be_checked(checked=not before)


def test_my_details_are_changed_and_a_conflicting_change_is_shown_beside_mine(person: Person) -> None:
    mine = person("amelia").go("/me")
    mine.page.locator("#phone_number").fill("+44 7700 900222")
    nora = person("nora")
    clinic = nora.go(f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}")
    clinic.page.locator("#phone_number").fill("+44 7700 900111")
    go_on(clinic)
    both = go_on(mine)
    both.sees("07700 900111").sees("07700 900222")
    both.main.locator("input[type=radio][value=mine]").first.check()
    go_on(both)
    expect(both.page.locator("#phone_number")).to_have_value("07700 900222")


def test_an_invalid_detail_is_reported_at_its_field(person: Person) -> None:
    page = person("daniel").go("/me")
    page.page.get_by_label("E-mail address").fill("no address")
    refused = go_on(page)
    expect(refused.page.locator(".error-summary")).to_be_visible()
    expect(refused.page.get_by_label("E-mail address")).to_have_value("no address")


def test_a_person_is_removed_from_my_record(person: Person) -> None:
    page = person("amelia").go("/me")
    page.follow(re.compile("Remove Margaret Hart|Remove.*Margaret"))
    done = go_on(seen(page))
    people = done.go("/me").main.locator("aside")
    expect(people.get_by_role("heading", name="People on your record")).to_be_visible()
    expect(people.get_by_text("Margaret Hart")).to_have_count(0)


def test_a_decision_about_an_embryo_is_recorded(person: Person) -> None:
    page = person("grace").go("/storage")
    page.follow(re.compile("GO-2"))
    embryo = seen(page)
    embryo.main.locator("a.link-row").first.click()
    asked = seen(embryo)
    asked.sees(re.compile("What happens if you do this", re.IGNORECASE))
    go_on(asked).sees("Your wish now")


def test_a_genetic_result_and_a_letter_are_read(person: Person) -> None:
    grace = person("grace")
    page = grace.go(f"/episodes/{GRACES}/embryos")
    page.main.locator("a[href*='/pgt-results/']").first.click()
    seen(page).sees(re.compile("euploid|mosaic|aneuploid", re.IGNORECASE))
    page = person("amelia").go(f"/episodes/{AMELIAS}/documents")
    page.main.locator("a[href$='/preview']").first.click()
    preview = seen(page)
    expect(preview.main.locator("img.preview, iframe.preview, .preview").first).to_be_visible()


def test_a_device_is_signed_out_from_another_and_then_all_of_them(person: Person) -> None:
    phone, laptop = person("maya"), person("maya")
    devices = laptop.go("/me/devices")
    other = devices.main.locator("li.task").filter(has_not_text="This device").first
    other.get_by_role("button", name=re.compile("^Sign out")).click()
    phone.page.reload()
    expect(phone.page.get_by_label("Password")).to_be_visible()
    person("maya")
    devices = laptop.go("/me/devices")
    devices.follow("Sign out everywhere")
    go_on(seen(devices))
    laptop.page.goto(laptop.origin + "/")
    expect(laptop.page.get_by_label("Password")).to_be_visible()


def test_a_nurse_creates_a_form_from_a_template_and_finds_it_by_filter(person: Person) -> None:
    nora = person("nora")
    page = nora.consents()
    page.follow("New consent form")
    page = seen(page)
    page.follow(re.compile("Consent to the storage of embryos"))
    page = seen(page)
    page.main.locator("input[name=episode]").fill(AMELIAS)
    page = go_on(page)
    page.main.locator("input[name=title]").fill("Storage, asked without scripts")
    page.main.get_by_label("Gamete provider").select_option(label="Amelia Hart")
    preview = go_on(page)
    preview.follow("Change something")
    changed = seen(preview)
    expect(changed.main.locator("input[name=title]")).to_have_value("Storage, asked without scripts")
    made = go_on(go_on(changed))
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Storage, asked without scripts")

    found = nora.go("/consents?list=all")
    found.main.get_by_role("searchbox").fill("asked without scripts")
    found.main.get_by_role("search").or_(found.main.locator("form.search")).get_by_role(
        "button"
    ).first.click()
    found = seen(found).sees("Storage, asked without scripts").sees(re.compile("1 form"))
    found.main.get_by_role("navigation", name="Status").get_by_role("link").nth(1).click()
    assert "status=" in found.page.url


def test_a_nurse_countersigns_as_witness(person: Person) -> None:
    victor = person("victor")
    page = _first_to_sign(victor).sees("I declare:")
    page.main.get_by_role("checkbox").check()
    page.page.get_by_label("Type your full name").fill("Victor Castellanos")
    page.press("Sign this form")
    seen(page).sees("Receipt").sees("Victor Castellanos").follow(re.compile("^Next: "))
    seen(page).sees("2 of 11")


def _first_to_sign(home: Home) -> Seen:
    """The first form of the worklist that this person may sign."""
    page = home.go("/")
    page.main.get_by_role("link", name=re.compile("sign", re.IGNORECASE)).first.click()
    return seen(page)


def test_an_embryologist_ships_an_embryo_out_after_retyping_its_code(person: Person) -> None:
    path = f"/storage/{sample_id('embryo', 'ZW-4')}?episode={sample_id('episode', 'zofia-1')}"
    page = person("elif").go(path)
    page.main.locator("[name=status][value=Discarded]").check()
    page.main.locator("[name=notes]").fill("As decided")
    asked = go_on(page)
    asked.main.locator("[name=code]").fill("GO-1")
    asked.main.locator("[name=record_number]").fill("RF-11000")
    wrong = go_on(asked)
    expect(wrong.page.locator(".error-summary")).to_be_visible()
    wrong.main.locator("[name=code]").fill("ZW-4")
    wrong.main.locator("[name=record_number]").fill("RF-11000")
    go_on(wrong)
    told(wrong, "Embryo ZW-4 · RF-11000 is saved.")


def test_a_coordinator_merges_two_enquiries_and_books(person: Person) -> None:
    colin = person("colin")
    page = colin.go(f"/prospects/{INES}/merge?merge={AGAIN}")
    page.main.locator("[name=email][value=merged]").check()
    receipt = go_on(go_on(page))
    assert receipt.page.url.split("?")[0].endswith("/merge/receipt")

    page = colin.go(_next_week(f"/prospects/{TOMASZ}/book"))
    page.main.locator("[name=window]").nth(2).check()
    receipt = go_on(page)
    receipt.sees("Europe/London")
    assert "/book/receipt" in receipt.page.url


def test_an_administrator_removes_a_connection_by_typing_its_name(person: Person) -> None:
    page = person("ada").go(f"/emr-endpoints/{LEGACY}/remove")
    typed = "Type the name of the connection"
    name = page.page.locator("main dd bdi").first.inner_text()
    page.page.get_by_label(typed).fill(name[:-1])
    wrong = go_on(page)
    expect(wrong.page.locator(".error-summary")).to_be_visible()
    wrong.page.get_by_label(typed).fill(name)
    removed = go_on(wrong)
    expect(removed.page.get_by_role("heading", level=1)).to_have_text("The connection is removed")


def test_a_folder_is_moved_and_a_case_moves_to_its_next_state(person: Person) -> None:
    nora = person("nora")
    page = nora.go(f"/directories/{sample_id('directory', 'amelia-letters')}/move?episode={AMELIAS}")
    page.main.locator("[type=radio]:not(:disabled):not(:checked)").first.check()
    go_on(page)
    told(page, re.compile("moved", re.IGNORECASE))


def test_a_pasted_id_or_link_opens_its_record(person: Person) -> None:
    page = person("nora").go("/open")
    page.page.get_by_label("Id or link").fill(AMELIAS)
    opened = go_on(page)
    assert AMELIAS in opened.page.url


def _next_week(path: str, weeks: int = 1) -> str:
    return f"{path}?from={(date.today() + timedelta(weeks=weeks)).isoformat()}"
