"""Messages over HTTP: the inbox, the archive, a thread, and archiving."""

from __future__ import annotations

import pytest

from portal.careservice.ids import sample_id
from portal.web.plain_text import plain_text
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.views.conversations.threads import GRACES, INJECTION, SCAN, SMS, WELCOME, in_records, message


def test_the_inbox_says_who_wrote_what_and_counts_what_is_unread(amelia: Visitor) -> None:
    page = amelia.get("/conversations")
    row = next(row for row in page.select("a.link-row") if "Text messages" in row.text_content())
    assert "data-unread" in row.attrib
    assert "1 unread" in row.words
    assert "Colin Byrne" in row.text_content()
    assert "next scan on " in row.text_content()
    own = next(row for row in page.select("a.link-row") if "Bruising" in row.text_content())
    assert "data-unread" not in own.attrib
    assert "You: It’s bigger today" in own.text_content()


def test_archived_conversations_are_listed_only_under_archived(amelia: Visitor) -> None:
    assert "Welcome to Riverside" not in amelia.get("/conversations").words
    archived = amelia.get("/conversations?archived=1").words
    assert "Welcome to Riverside" in archived
    assert "Bruising" not in archived


def test_searching_narrows_the_inbox_and_keeps_the_words_in_the_field(amelia: Visitor) -> None:
    page = amelia.get("/conversations?q=bruising")
    assert "1 conversation found for “bruising”" in page.words
    assert page.tree.select_one("#q")["value"] == "bruising"
    assert len(page.select("a.link-row")) == 1
    assert "No message contains these words" in amelia.get("/conversations?q=zzzzz").words


def test_searching_with_htmx_returns_only_the_list(amelia: Visitor) -> None:
    page = amelia.fragment("/conversations?q=bruising", "inbox")
    assert "<html" not in page.text
    assert [element["id"] for element in page.select("body > [id]")] == ["inbox"]
    form = amelia.get("/conversations").tree.select_one("form.search")
    assert form["hx-push-url"] == "true"


HOSTILE = "<script>alert('no')</script> & it's \"only\" on the left."


@pytest.mark.asvs("1.1.2", "1.2.1", "3.2.2")
def test_messages_are_shown_as_text_with_their_line_breaks(service: CareService, amelia: Visitor) -> None:
    with in_records(service) as records:
        records.execute(
            "UPDATE messages SET body = ? || body WHERE id = ?", (HOSTILE, message("amelia-injection-0"))
        )
    page = amelia.get(f"/conversations/{INJECTION}")
    assert HOSTILE in page.words
    assert page.heading == "Bruising where I inject"


@pytest.mark.parametrize(
    ("change", "back"),
    [
        (
            "UPDATE attachments SET size = 2000001 WHERE file_id = :file",
            "UPDATE attachments SET size = :size WHERE file_id = :file",
        ),
        (
            "UPDATE attachments SET media_type = 'image/svg+xml' WHERE file_id = :file",
            "UPDATE attachments SET media_type = 'image/png' WHERE file_id = :file",
        ),
        (
            "UPDATE messages SET sender_verified = 0 WHERE conversation_id = :thread",
            "UPDATE messages SET sender_verified = NULL WHERE conversation_id = :thread",
        ),
    ],
    ids=["large", "another kind", "of a doubtful sender"],
)
def test_a_large_or_doubtful_picture_is_only_linked(
    service: CareService, amelia: Visitor, change: str, back: str
) -> None:
    values = {"file": sample_id("file", "amelia-scan"), "thread": SCAN}
    with in_records(service) as records:
        ((size,),) = records.execute("SELECT size FROM attachments WHERE file_id = :file", values).fetchall()
        records.execute(change, values)
    page = amelia.get(f"/conversations/{SCAN}")
    with in_records(service) as records:
        records.execute(back, {**values, "size": size})
    assert not page.select("#messages img")
    assert page.link("Scan day 7.png")


@pytest.mark.parametrize("path", ["", "/archive"])
def test_another_patients_conversation_looks_like_a_missing_one(amelia: Visitor, path: str) -> None:
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
def test_another_patients_messages_cannot_be_changed(amelia: Visitor, act: str) -> None:
    assert amelia.post(act, status=404).heading == "We can’t find that"


def test_an_archived_message_is_folded_away_and_undo_brings_it_back(amelia: Visitor) -> None:
    here = f"/conversations/{SMS}"
    put = f"{here}/messages/{message('amelia-sms-1')}/archive"
    page = amelia.get(here).form(put).submit()
    assert page.path == here
    assert "1 archived message" in page.words
    assert page.tree.select_one(f"details #message-{message('amelia-sms-1')}")
    toast = page.tree.select_one("#toasts .toast")
    assert "Message archived." in toast.text_content()
    page = page.form(toast.select_one("form")).submit()
    assert "Message restored." in page.tree.select_one("#toasts").text_content()
    assert "archived message" not in page.words


def test_a_message_archived_twice_is_archived_once(amelia: Visitor) -> None:
    put = f"/conversations/{SMS}/messages/{message('amelia-sms-0')}/archive"
    for _ in range(2):
        assert "1 archived message" in amelia.post(put).words
    restored = amelia.post(put.replace("/archive", "/restore"))
    assert "archived message" not in restored.words


def test_archiving_with_htmx_returns_thread_and_toast_in_one_response(amelia: Visitor) -> None:
    put = f"/conversations/{INJECTION}/messages/{message('amelia-injection-0')}/archive"
    page = amelia.fragment(put, "thread", data={})
    assert page.tree.select_one("#thread details.fold")
    assert "Message archived." in page.tree.select_one('hx-partial[hx-target="#toasts"]').text_content()
    page = amelia.fragment(put.replace("/archive", "/restore"), "thread", data={})
    assert page.tree.select_one("#thread details.fold") is None


def test_archiving_affects_only_the_person_who_archives(amelia: Visitor, nora: Visitor) -> None:
    put = f"/conversations/{INJECTION}/messages/{message('amelia-injection-1')}/archive"
    amelia.post(put)
    assert "archived message" not in nora.get(f"/conversations/{INJECTION}").words
    amelia.post(put.replace("/archive", "/restore"))


def test_archiving_a_conversation_explains_what_follows_and_offers_undo(portal: PortalThread) -> None:
    grace = portal.sign_in("grace")
    page = grace.get(f"/conversations/{GRACES}")
    assert page.link("Archive conversation") == f"/conversations/{GRACES}/archive"
    page = page.follow("Archive conversation")
    assert "You can still read it under Archived, and put it back." in page.words
    page = page.form(f"/conversations/{GRACES}/archive").submit()
    assert page.path == "/conversations"
    toast = page.tree.select_one("#toasts .toast")
    assert "Conversation archived." in toast.text_content()
    assert not page.select(f'a[href*="{GRACES}"]')
    assert GRACES in grace.get("/conversations?archived=1").text
    again = grace.post(f"/conversations/{GRACES}/archive")
    assert again.path == "/conversations"
    shown = grace.get(f"/conversations/{GRACES}")
    assert "Archived" in shown.words and "Archive conversation" not in shown.words
    shown = grace.post(str(toast.select_one("form")["action"]))
    assert "The conversation is back in your inbox." in shown.text and "Archive conversation" in shown.words
    assert GRACES in grace.get("/conversations").text


def test_reading_a_thread_is_audited_without_its_text(portal: PortalThread, amelia: Visitor) -> None:
    amelia.get(f"/conversations/{WELCOME}")
    written = "".join(file.read_text() for file in (portal.plan.data / "audit").iterdir())
    assert '"audit":"conversation.read","outcome":"done"' in written and WELCOME in written
    assert "Riverside Fertility" not in written and "Welcome" not in written


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
