"""Messages over HTTP: the inbox, the archive, a thread, and what each act changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from portal.careservice.ids import sample_id
from portal.web.plain_text import plain_text
from tests.support.stack import CareService, PortalThread, plan
from tests.support.visitor import Page, Visitor

SCAN = sample_id("conversation", "amelia-scan")
SMS = sample_id("conversation", "amelia-sms")
INJECTION = sample_id("conversation", "amelia-injection")
WELCOME = sample_id("conversation", "amelia-welcome")
DANIELS = sample_id("conversation", "daniel-sample")
GRACES = sample_id("conversation", "grace-storage")


@pytest.fixture(scope="module")
def amelia(portal: PortalThread) -> Visitor:
    return portal.sign_in("amelia")


@pytest.fixture(scope="module")
def nora(portal: PortalThread) -> Visitor:
    return portal.sign_in("nora")


def message(key: str) -> str:
    return sample_id("message", key)


def test_the_inbox_says_who_wrote_what_and_counts_what_is_unread(amelia: Visitor) -> None:
    page = amelia.get("/conversations")
    row = next(row for row in page.select("a.link-row") if "Text messages" in row.get_text())
    assert "data-unread" in row.attrs
    assert "1 unread" in row.get_text(" ", strip=True)
    assert "Colin Byrne" in row.get_text()
    assert "next scan tomorrow 09:30" in row.get_text()
    own = next(row for row in page.select("a.link-row") if "Bruising" in row.get_text())
    assert "data-unread" not in own.attrs
    assert "You: It’s bigger today" in own.get_text()


def test_the_inbox_shows_the_archived_ones_only_under_archived(amelia: Visitor) -> None:
    assert "Welcome to Riverside" not in amelia.get("/conversations").words
    archived = amelia.get("/conversations?archived=1").words
    assert "Welcome to Riverside" in archived
    assert "Bruising" not in archived


def test_searching_narrows_the_inbox_and_keeps_the_words_in_the_field(amelia: Visitor) -> None:
    page = amelia.get("/conversations?q=bruising")
    assert "1 conversation found for “bruising”" in page.words
    assert page.soup.select_one("#q")["value"] == "bruising"
    assert len(page.select("a.link-row")) == 1
    assert "No conversation has these words" in amelia.get("/conversations?q=zzzzz").words


def test_searching_with_htmx_brings_the_list_alone(amelia: Visitor) -> None:
    page = amelia.fragment("/conversations?q=bruising", "inbox")
    assert "<html" not in page.text
    assert [element["id"] for element in page.select("body > [id]")] == ["inbox"]
    form = amelia.get("/conversations").soup.select_one("form.search")
    assert form["hx-push-url"] == "true"


def test_a_page_number_out_of_range_or_nonsense_is_no_fault(amelia: Visitor) -> None:
    assert "nothing on this page" in amelia.get("/conversations?page=99").words
    assert "Bruising" in amelia.get("/conversations?page=zero").words


@pytest.mark.asvs("1.1.2", "1.2.1", "3.2.2")
def test_a_thread_shows_what_was_written_as_text_with_its_line_breaks(amelia: Visitor) -> None:
    page = amelia.get(f"/conversations/{INJECTION}")
    assert "<script>alert('no')</script> & it's \"only\" on the left." in page.words
    assert page.heading == "Bruising where I inject"


def test_a_thread_links_its_attachments_and_tells_the_channel(amelia: Visitor) -> None:
    page = amelia.get(f"/conversations/{SCAN}")
    assert page.link("Scan day 7.png") == f"/files/{sample_id('file', 'amelia-scan')}"
    assert "Portal" in page.select(".bubble")[0].get_text()


def test_a_thread_has_no_field_to_write_in_and_says_where_an_answer_goes(amelia: Visitor) -> None:
    page = amelia.get(f"/conversations/{SMS}")
    assert not page.select("main textarea")
    assert page.link("Reply by e-mail").startswith("mailto:reply+")
    assert page.link("Reply by text message") == "sms:+447700900321"


@pytest.fixture
def unverified(service: CareService) -> Iterator[None]:
    """The first message of a thread, as if it had come by a forged e-mail."""
    change = "UPDATE messages SET sender_verified = ? WHERE conversation_id = ?"
    with closing(sqlite3.connect(service.plan.data / "care.db")) as database:
        database.execute(change, (False, INJECTION))
        database.commit()
        yield
        database.execute(change, (None, INJECTION))
        database.commit()


def test_a_sender_that_was_not_verified_is_marked_with_what_to_do(
    unverified: None, amelia: Visitor, nora: Visitor
) -> None:
    for visitor, advice in (
        (nora, "Call that person on the number in their record"),
        (amelia, "call your clinic"),
    ):
        notice = (
            visitor.get(f"/conversations/{INJECTION}").select("#thread .notice")[0].get_text(" ", strip=True)
        )
        assert notice.startswith("This sender could not be verified") and advice in notice
        assert "could not be verified" not in visitor.get(f"/conversations/{SCAN}").words


def test_own_messages_stand_at_the_own_side(amelia: Visitor, nora: Visitor) -> None:
    for visitor, name in ((amelia, "You"), (nora, "Amelia Hart")):
        first = visitor.get(f"/conversations/{INJECTION}").select(".bubble")[0]
        assert ("data-mine" in first.attrs) == (name == "You")
        assert first.select_one("strong").get_text() == name


@pytest.mark.parametrize("path", ["", "/archive"])
def test_another_patients_conversation_is_the_same_as_none(amelia: Visitor, path: str) -> None:
    others = amelia.get(f"/conversations/{GRACES}{path}", status=404)
    none = amelia.get(f"/conversations/no-such-thing{path}", status=404)
    assert others.heading == none.heading == "We can’t find that"


@pytest.mark.parametrize(
    "act",
    [
        f"/conversations/{GRACES}/read",
        f"/conversations/{GRACES}/archive",
        f"/conversations/{SCAN}/messages/{message('grace-storage-0')}/archive",
        f"/conversations/{SCAN}/messages/no-such-thing/restore",
    ],
)
def test_another_patients_records_can_not_be_acted_on(amelia: Visitor, act: str) -> None:
    assert amelia.post(act, status=404).heading == "We can’t find that"


def test_an_archived_message_is_folded_away_and_undo_brings_it_back(amelia: Visitor) -> None:
    here = f"/conversations/{SMS}"
    put = f"{here}/messages/{message('amelia-sms-1')}/archive"
    page = amelia.get(here).form(put).submit()
    assert page.path == here
    assert "1 archived message" in page.words
    assert page.soup.select_one(f"details #message-{message('amelia-sms-1')}")
    toast = page.soup.select_one("#toasts .toast")
    assert "Message archived." in toast.get_text()
    page = page.form(toast.select_one("form")).submit()
    assert "Message restored." in page.soup.select_one("#toasts").get_text()
    assert "archived message" not in page.words


def test_archiving_a_message_twice_does_no_harm(amelia: Visitor) -> None:
    put = f"/conversations/{SMS}/messages/{message('amelia-sms-0')}/archive"
    for _ in range(2):
        assert "1 archived message" in amelia.post(put).words
    restored = amelia.post(put.replace("/archive", "/restore"))
    assert "archived message" not in restored.words


def test_archiving_with_htmx_brings_thread_and_toast_in_one_answer(amelia: Visitor) -> None:
    put = f"/conversations/{INJECTION}/messages/{message('amelia-injection-0')}/archive"
    page = amelia.fragment(put, "thread", data={})
    assert page.soup.select_one("#thread details")
    assert "Message archived." in page.soup.select_one('hx-partial[hx-target="#toasts"]').get_text()
    page = amelia.fragment(put.replace("/archive", "/restore"), "thread", data={})
    assert page.soup.select_one("#thread details") is None


def test_what_one_person_archives_others_keep(amelia: Visitor, nora: Visitor) -> None:
    put = f"/conversations/{INJECTION}/messages/{message('amelia-injection-1')}/archive"
    amelia.post(put)
    assert "archived message" not in nora.get(f"/conversations/{INJECTION}").words
    amelia.post(put.replace("/archive", "/restore"))


def test_opening_a_thread_with_htmx_reads_it_and_tells_bell_and_marks_at_once(portal: PortalThread) -> None:
    daniel = portal.sign_in("daniel")
    before = bell_of(daniel.get("/notifications"))
    page = daniel.get(f"/conversations/{DANIELS}")
    assert page.soup.select_one(".bubble[data-unread]")
    form = page.form(f"/conversations/{DANIELS}/read").element
    assert form["hx-trigger"] == "load, submit"
    answer = daniel.fragment(f"/conversations/{DANIELS}/read", "thread", data={})
    assert answer.soup.select_one("#thread") and not answer.soup.select_one("[data-unread]")
    assert "1 new message, now marked as read." in answer.words
    assert not answer.soup.select_one('[hx-trigger*="load"]')
    assert bell_of(answer) == before - 1
    assert bell_of(daniel.get("/conversations")) == before - 1
    assert "Mark as read" not in daniel.get(f"/conversations/{DANIELS}").words


def test_a_thread_is_marked_as_read_by_a_button_without_scripts(nora: Visitor) -> None:
    page = nora.get(f"/conversations/{INJECTION}")
    assert "2 new messages" in page.words
    page = page.form(f"/conversations/{INJECTION}/read").submit()
    assert "Marked as read." in page.soup.select_one("#toasts").get_text()
    assert "new messages" not in page.words


def test_staff_have_the_other_conversations_beside_the_thread_and_patients_do_not(
    amelia: Visitor, nora: Visitor
) -> None:
    page = nora.get(f"/conversations/{SCAN}")
    beside = page.select("nav.mail-list a.link-row")
    assert len(beside) > 3
    assert [row["href"] for row in beside if row.get("aria-current") == "page"] == [f"/conversations/{SCAN}"]
    assert nora.get(str(beside[-1]["href"])).status == 200
    assert not amelia.get(f"/conversations/{SCAN}").select("nav.mail-list")


def test_archiving_a_conversation_says_what_follows_first_and_promises_no_undo(portal: PortalThread) -> None:
    grace = portal.sign_in("grace")
    page = grace.get(f"/conversations/{GRACES}")
    assert page.link("Archive conversation") == f"/conversations/{GRACES}/archive"
    page = page.follow("Archive conversation")
    assert "It can’t be put back into the inbox by hand" in page.words
    page = page.form(f"/conversations/{GRACES}/archive").submit()
    assert page.path == "/conversations"
    toast = page.soup.select_one("#toasts .toast")
    assert "Conversation archived." in toast.get_text() and not toast.select_one("form")
    assert GRACES not in page.text
    assert GRACES in grace.get("/conversations?archived=1").text
    again = grace.post(f"/conversations/{GRACES}/archive")
    assert again.path == "/conversations"
    shown = grace.get(f"/conversations/{GRACES}")
    assert "Archived" in shown.words and "Archive conversation" not in shown.words


def test_reading_a_thread_is_audited_without_its_words(portal: PortalThread, amelia: Visitor) -> None:
    amelia.get(f"/conversations/{WELCOME}")
    written = "".join(file.read_text() for file in (portal.plan.data / "audit").iterdir())
    assert '"audit":"conversation.read","outcome":"done"' in written and WELCOME in written
    assert "Riverside Fertility" not in written and "Welcome" not in written


@pytest.fixture
def left_alone(tmp_path: Path) -> Iterator[Visitor]:
    """Amelia, signed in, when the care service then stops."""
    service = CareService(plan(tmp_path))
    portal = PortalThread(service.plan)
    visitor = portal.sign_in("amelia")
    service.stop()
    yield visitor
    portal.stop()


def test_a_stopped_care_service_is_told_in_words_and_never_as_an_empty_inbox(left_alone: Visitor) -> None:
    for path in ("/conversations", "/conversations?archived=1", f"/conversations/{SCAN}", "/notifications"):
        page = left_alone.get(path, status=503)
        assert page.heading == "This can’t be shown right now"
        assert "Your records are safe" in page.words
        assert "There are no" not in page.words
    assert left_alone.get("/me/devices").heading == "Signed-in devices"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("One\r\nTwo", "One\nTwo"),
        ("AMH < 5 and > 1, <3", "AMH < 5 and > 1, <3"),
        ("<script>alert(1)</script> as typed", "<script>alert(1)</script> as typed"),
        (
            "<p>Dear Amelia,</p><p>come at<br>9:30 &amp; fasting</p>",
            "Dear Amelia,\n\ncome at\n9:30 & fasting",
        ),
        ("<div><style>p{}</style><script>x()</script>Hello</div>", "Hello"),
        ("safe\u202egnp.exe", "safegnp.exe"),
    ],
)
def test_a_message_becomes_plain_text(body: str, shown: str) -> None:
    assert plain_text(body) == shown


def bell_of(page: Page) -> int:
    badge = page.soup.select_one("#bell .badge")
    return int(badge.get_text().split()[0]) if badge else 0
