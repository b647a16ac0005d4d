"""Messages that arrive while a page is open, and marking a thread as read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from portal.http import transport
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor
from tests.views.conversations.threads import DANIELS, INJECTION, SCAN


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many requests the portal has sent to the care service."""
    sent: list[Any] = []
    send = transport.send
    monkeypatch.setattr(transport, "send", lambda *given, **more: sent.append(given) or send(*given, **more))
    return lambda: len(sent)


def test_a_new_message_is_appended_to_an_open_thread_and_counted(
    portal: PortalThread, amelia: Visitor, arrive: Callable[[str, str], str]
) -> None:
    page = amelia.get(f"/conversations/{SCAN}")
    ask = str(page.tree.select_one("#news")["hx-get"])
    portal.clock.advance(16)
    amelia.get(ask, status=204)
    first = arrive(SCAN, "One more thing.")
    portal.clock.advance(16)
    added = amelia.fragment(ask, "news")
    end = added.tree.select_one('hx-partial[hx-target="#messages"][hx-swap="beforeend"]')
    assert [one["id"] for one in end.select(".bubble")] == [f"message-{first}"]
    assert added.tree.select_one("#jump [data-say]").text_content() == "1 new message"
    assert added.tree.select_one("#jump")["href"] == f"#message-{first}"
    arrive(SCAN, "And another.")
    portal.clock.advance(16)
    since = added.tree.select_one("#since")["value"]
    again = amelia.fragment(f"{added.tree.select_one('#news')['hx-get']}&since={since}", "news")
    assert len(again.select('hx-partial[hx-target="#messages"] .bubble')) == 1
    assert again.tree.select_one("#jump").words == "2 new messages"
    assert again.tree.select_one("#jump")["href"] == f"#message-{first}", "to the first new one"
    read = amelia.fragment(f"/conversations/{SCAN}/read", "news", data={"known": "x"})
    assert not read.tree.select_one("#jump")
    assert str(read.tree.select_one("#news")["hx-get"]).endswith("known=x")


def test_a_thread_is_fetched_only_when_new_and_once_for_all_tabs(
    portal: PortalThread, amelia: Visitor, arrive: Callable[[str, str], str], calls: Callable[[], int]
) -> None:
    scan = str(amelia.get(f"/conversations/{SCAN}").tree.select_one("#news")["hx-get"])
    other = str(amelia.get(f"/conversations/{INJECTION}").tree.select_one("#news")["hx-get"])
    inbox = str(amelia.get("/conversations").tree.select_one("#arrived")["hx-get"])
    tab = portal.sign_in("amelia")
    portal.clock.advance(16)
    asked = calls()
    for visitor in (amelia, tab) * 2:
        for path in (scan, other, inbox):
            visitor.get(path, status=204)
    assert calls() - asked == 1
    arrive(SCAN, "New.")
    portal.clock.advance(16)
    assert "There are new messages" in amelia.fragment(inbox, "arrived").text
    amelia.get(other, status=204)
    assert calls() - asked == 2
    amelia.fragment(scan, "news")
    assert calls() - asked == 3, "read for this tab alone"


def test_new_messages_of_another_person_are_not_revealed(
    portal: PortalThread, arrive: Callable[[str, str], str]
) -> None:
    grace = portal.sign_in("grace")
    grace.get("/conversations")
    arrive(SCAN, "For Amelia.")
    portal.clock.advance(16)
    grace.get(f"/conversations/{SCAN}/new?known=x", status=204)


def test_opening_a_thread_with_htmx_marks_it_read_and_updates_the_bell(portal: PortalThread) -> None:
    daniel = portal.sign_in("daniel")
    before = daniel.get("/notifications").bell
    page = daniel.get(f"/conversations/{DANIELS}")
    assert page.tree.select_one(".bubble[data-unread]")
    form = page.form(f"/conversations/{DANIELS}/read").element
    assert "hx-trigger" not in form.attrib, "htmx isn’t loaded for it"
    answer = daniel.fragment(f"/conversations/{DANIELS}/read", "read", data={})
    assert "1 new message, now marked as read." in answer.words
    assert not answer.select(".bubble"), "a menu among the messages may be open"
    assert not answer.tree.select_one('[hx-trigger*="load"]')
    assert answer.bell == before - 1
    assert daniel.get("/conversations").bell == before - 1
    assert "Mark as read" not in daniel.get(f"/conversations/{DANIELS}").words


def test_a_thread_is_marked_as_read_by_a_button_without_scripts(nora: Visitor) -> None:
    page = nora.get(f"/conversations/{INJECTION}")
    assert "2 new messages" in page.words
    page = page.form(f"/conversations/{INJECTION}/read").submit()
    assert "Marked as read." in page.tree.select_one("#toasts").text_content()
    assert "new messages" not in page.words
