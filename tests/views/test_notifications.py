"""Notifications over HTTP: the list, opening, read and unread, the bell, and the settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.http import transport
from portal.services.notifications import Notification, NotificationCounts
from portal.views import notification_words, notifications
from tests.support.stack import CareService, PortalThread, plan
from tests.support.visitor import Form, Page, Visitor

SETTINGS = "/notifications/settings"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """How many calls to the list of notifications have gone out; they all go through."""
    sent: list[str] = []
    send = transport.send

    def counting(call: transport.Call, **options: Any) -> transport.Answer:
        if re.search(r"/api/app/notification\?", call.url):
            sent.append(call.url)
        return send(call, **options)

    monkeypatch.setattr(transport, "send", counting)
    yield lambda: len(sent)


def row(page: Page, words: str, index: int = 0) -> Any:
    return [one for one in page.select(".notification") if words in one.words][index]


def open_form(page: Page, words: str, index: int = 0) -> Form:
    return page.form(row(page, words, index).select_one("form"))


def test_the_list_is_filtered_by_unread_and_kind_and_paged(amelia: Visitor) -> None:
    assert len(amelia.get("/notifications").select(".notification")) == 12
    assert "Page 1 of 2" in amelia.get("/notifications").words
    unread = amelia.get("/notifications?unread=1")
    assert all("Unread:" in one.text_content() for one in unread.select(".notification"))
    messages = amelia.get("/notifications?type=MessageReceived")
    titles = [one.select_one(".link-title").text_content() for one in messages.select(".notification")]
    assert titles and all("You have a new message" in title for title in titles)
    assert messages.tree.select_one("#type option[selected]")["value"] == "MessageReceived"


def test_an_unknown_kind_is_not_an_error(amelia: Visitor) -> None:
    page = amelia.get("/notifications?type=SomethingNew")
    assert "Something new" in page.tree.select_one("#type option[selected]").text_content()


def test_opening_a_notification_marks_it_read_and_opens_its_record(portal: PortalThread) -> None:
    daniel = portal.sign_in("daniel")
    page = daniel.get("/notifications")
    before = page.bell
    opened = open_form(page, "You have a new message", 1).submit(status=None)
    assert opened.path == f"/conversations/{sample_id('conversation', 'daniel-sample')}"
    assert opened.bell == before - 1


def test_each_kind_opens_its_page_even_without_a_record_id(
    portal: PortalThread, amelia: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    about_records_alone = {"ProspectReceived", "EmrSyncFailed"}
    forms = [open_form(one.get("/notifications"), "") for one in (amelia, portal.sign_in("nora"))]
    monkeypatch.setattr(notifications, "set_read", lambda *_args, **_more: NotificationCounts())
    with portal.app.test_request_context():
        kinds = notification_words.known_kinds()  # pyright: ignore[reportPrivateUsage]
    for kind in sorted(kinds.keys() - about_records_alone):
        given = Notification(id="n", type=kind, is_read=True)
        monkeypatch.setattr(notifications, "_find", lambda *_args, given=given: (0, given))
        for form in forms:
            opened = form.submit()
            assert opened.status == 200
            assert opened.path != "/notifications", kind


def test_a_notification_of_an_unknown_kind_stays_in_the_list(
    amelia: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = amelia.get("/notifications")
    element = row(page, "A new sign-in")
    given = Notification(id=str(element["id"]).removeprefix("notification-"), type="SomethingElse")
    monkeypatch.setattr(notifications, "_find", lambda *_args: (0, given))
    monkeypatch.setattr(notifications, "set_read", lambda *_args, **_more: NotificationCounts())
    opened = open_form(page, "A new sign-in").submit()
    assert opened.path == "/notifications"
    assert opened.url.endswith(f"#{element['id']}")


def test_a_notification_on_a_later_page_can_be_opened(amelia: Visitor) -> None:
    element = amelia.get("/notifications?page=2").select(".notification")[-1]
    page = amelia.post(f"/notifications/{element['id'].removeprefix('notification-')}/open", status=None)
    assert page.path.startswith("/episodes/")


def test_opening_needs_a_post_and_another_persons_notification_is_not_found(
    amelia: Visitor, grace: Visitor
) -> None:
    element = grace.get("/notifications").select(".notification")[0]
    other = str(element["id"]).removeprefix("notification-")
    for act in ("open", "read", "unread"):
        assert amelia.get(f"/notifications/{other}/{act}", status=None).status in (404, 405)
        theirs = amelia.post(f"/notifications/{other}/{act}", status=404)
        none = amelia.post(f"/notifications/no-such-thing/{act}", status=404)
        assert theirs.heading == none.heading == "We can’t find that"


def test_marking_read_and_unread_updates_the_bell_at_once(amelia: Visitor) -> None:
    page = amelia.get("/notifications?unread=1")
    before = page.bell
    element = row(page, "A form is ready for you")
    toggle = element.select_one("form.button-form")
    read = page.form(toggle).submit()
    assert read.url.endswith("/notifications?unread=1")
    assert read.bell == before - 1
    assert not read.tree.select_one(f"[id={element['id']}]")
    unread = str(toggle["action"]).replace("/read", "/unread")
    answer = amelia.fragment(unread, "results", data={})
    assert "<html" not in answer.text and answer.tree.select_one("#results")
    assert answer.bell == before


def test_marking_all_read_updates_list_and_bell_in_one_response(portal: PortalThread) -> None:
    victor = portal.sign_in("victor")
    assert victor.get("/notifications?unread=1").bell > 0
    answer = victor.fragment("/notifications/read?unread=1", "results", data={})
    assert "You have read everything." in answer.words
    assert answer.tree.select_one('hx-partial[hx-target="#bell"] #bell') and answer.bell == 0
    assert "marked as read" in answer.tree.select_one('hx-partial[hx-target="#toasts"]').text_content()
    page = victor.get("/")
    assert page.bell == 0
    assert not page.tree.findtext(".//title").startswith("(")


def test_marking_all_of_a_kind_read_leaves_the_others(portal: PortalThread) -> None:
    nora = portal.sign_in("nora")
    before = nora.get("/notifications").bell
    page = nora.get("/notifications?unread=1&type=MessageReceived")
    of_kind = len(page.select(".notification"))
    assert 0 < of_kind < min(before, 12)
    answer = nora.fragment("/notifications/read?unread=1&type=MessageReceived", "results", data={})
    assert not answer.select(".notification") and answer.bell == before - of_kind


def test_marking_all_read_works_without_scripts(portal: PortalThread) -> None:
    elif_ = portal.sign_in("elif")
    page = elif_.get("/notifications")
    assert page.bell > 0
    page = page.form("/notifications/read").submit()
    assert page.bell == 0
    assert "Mark all as read" not in page.words


def test_a_page_uses_the_known_count_without_a_call(portal: PortalThread, calls: Callable[[], int]) -> None:
    nora = portal.sign_in("nora")
    count = nora.get("/notifications").bell
    asked = calls()
    page = nora.get("/me/devices")
    assert page.bell == count > 0
    assert page.tree.findtext(".//title").startswith(f"({count})")
    assert page.tree.select_one("#bell")["hx-get"] == f"/notifications/bell?known={count}"
    assert calls() == asked


def test_the_bell_count_is_per_person(portal: PortalThread) -> None:
    for name in ("colin", "grace"):
        visitor = portal.sign_in(name)
        unread = len(visitor.get("/notifications?unread=1").select(".notification"))
        assert visitor.get("/me/devices").bell == unread


def test_the_bell_shows_nothing_while_the_care_service_is_down(tmp_path: Path) -> None:
    service = CareService(plan(tmp_path))
    portal = PortalThread(service.plan)
    amelia = portal.sign_in("amelia")
    before = amelia.get("/notifications").bell
    service.stop()
    portal.clock.advance(16)
    assert amelia.get(f"/notifications/bell?known={before}", status=204).text == ""
    page = amelia.get("/notifications", status=503)
    assert "Your records are safe" in page.words and "no notifications" not in page.words
    assert page.bell == before
    assert amelia.get(SETTINGS, status=503).heading == "This can’t be shown right now"
    portal.stop()


# ── settings ────────────────────────────────────────────────────────────────────────────────────────────


def settings(visitor: Visitor) -> tuple[Page, Form]:
    page = visitor.get(SETTINGS)
    return page, page.form(SETTINGS)


def ways(page: Page, channel: str) -> set[str]:
    return {str(box["value"]) for box in page.select(f"input[name={channel}][checked]")}


def test_notification_choices_quiet_hours_and_language_are_saved(grace: Visitor) -> None:
    _, form = settings(grace)
    saved = form.submit(
        email=["ConsentRequested"], start="22:00", end="07:30", time_zone="Europe/Madrid", language="es"
    )
    assert "Your notification settings are saved." in saved.tree.select_one("#toasts").text_content()
    assert ways(saved, "email") == {"ConsentRequested", "ConsentRevoked", "AccountSecurity"}
    assert saved.tree.select_one("#start")["value"] == "22:00"
    assert saved.tree.select_one("#time_zone option[selected]")["value"] == "Europe/Madrid"
    assert saved.tree.select_one("#language option[selected]")["value"] == "es"
    again = saved.form(SETTINGS).submit(start="", end="", language="")
    assert again.tree.select_one("#end")["value"] == ""


def test_invalid_quiet_hours_are_linked_to_their_field_and_input_is_kept(grace: Visitor) -> None:
    _, form = settings(grace)
    page = form.submit(push=["ResultReleased"], start="25:00", end="", status=422)
    links = {link["href"]: link.text_content() for link in page.select(".error-summary a")}
    assert "Enter a time between 00:00 and 23:59" in links["#start"]
    assert "Enter when quiet hours end" in links["#end"]
    assert page.tree.select_one("#start")["value"] == "25:00"
    assert ways(page, "push") == {"ResultReleased", "ConsentRevoked", "AccountSecurity"}
    same = page.form(SETTINGS).submit(start="22:00", end="22:00", time_zone="Mars/Olympus", status=422)
    assert "must end at another time" in same.words and "Choose a time zone" in same.words


def test_changing_a_locked_kind_is_refused_with_an_explanation(grace: Visitor) -> None:
    _, form = settings(grace)
    page = form.submit(sms=["ConsentRevoked"], status=422)
    assert "“Consents withdrawn” can’t be changed: your clinic always sends these." in page.words
    assert page.tree.select_one('.error-summary a[href="#matrix"]')


def test_concurrent_changes_of_settings_are_both_shown_for_a_choice(grace: Visitor) -> None:
    _, mine = settings(grace)
    _, theirs = settings(grace)
    theirs.submit(email=["PaymentReceived"], start="21:00", end="06:00")
    page = mine.submit(email=["MessageReceived"], start="23:00", end="05:00", status=409)
    assert "changed meanwhile" in page.words
    table = page.tree.select_one("main table").words
    assert "23:00 to 05:00" in table and "21:00 to 06:00" in table
    assert ways(page, "email") == {"MessageReceived", "ConsentRevoked", "AccountSecurity"}
    saved = page.form(SETTINGS).submit()
    assert ways(saved, "email") == {"MessageReceived", "ConsentRevoked", "AccountSecurity"}
    assert saved.tree.select_one("#start")["value"] == "23:00"


def test_a_conflict_names_what_is_wrong_too_and_can_be_changed_in_every_field(grace: Visitor) -> None:
    settings(grace)[1].submit(push=[])
    _, mine = settings(grace)
    _, theirs = settings(grace)
    theirs.submit(push=["ResultReleased"], start="21:10", end="06:10")
    page = mine.submit(push=["ResultReleased"], start="23:10", end="", status=409)
    assert "23:10 to –" in page.tree.select_one("main table").words
    assert (
        "Enter when quiet hours end" in page.tree.select_one('.error-summary a[href="#end"]').text_content()
    )
    saved = page.form(SETTINGS).submit(push=[], end="05:10")
    assert ways(saved, "push") == {"ConsentRevoked", "AccountSecurity"}, "what both chose is taken back"
    assert saved.tree.select_one("#end")["value"] == "05:10"


def test_settings_that_were_never_so_are_compared_like_others(grace: Visitor) -> None:
    _, form = settings(grace)
    opened = '{"quiet_hours": "x", "kind-MessageReceived": "x"}'
    page = form.submit(
        opened=opened, seen="", start="20:20", end="05:20", email=["MessageReceived"], status=409
    )
    assert "20:20 to 05:20" in page.tree.select_one("main table").words


def test_staff_have_their_own_kinds_of_notifications(portal: PortalThread) -> None:
    assert "Enquiries" in portal.sign_in("colin").get(SETTINGS).words


def test_notifications_are_grouped_by_day_and_name_their_subject(amelia: Visitor) -> None:
    page = amelia.get("/notifications")
    days = [one.text_content() for one in page.select("#results h2")]
    assert days[0] in ("Today", "Yesterday"), "the newest may be from before midnight"
    assert len(days) == len(set(days)) > 1
    assert "After yesterday’s scan" in row(page, "You have a new message").text_content()
    assert "preimplantation genetic testing" in row(page, "A form is ready for you").text_content()
    assert "Open the portal" not in page.words


def test_notifications_to_staff_name_the_patient_of_a_form_or_message(portal: PortalThread) -> None:
    page = portal.sign_in("nora").get("/notifications")
    late = row(page, "A form is late").select_one(".notification-text")
    assert late.text_content() == "Sunita Patel · Consent to IVF with intracytoplasmic sperm injection (ICSI)"
    missed = row(page, "A visit was missed").select_one(".notification-text")
    assert missed.text_content() == "Siân Llewellyn didn’t come to yesterday’s scan.", (
        "its own text is more specific"
    )
    assert (
        "Amelia Hart · " in row(page, "A patient has written").select_one(".notification-text").text_content()
    )
