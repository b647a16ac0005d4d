"""Conversations waiting for the clinic: counted, longest wait first, with a note on what the list covers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from portal.services import decoding
from portal.services.records.conversations import Conversation, Message, MessageSide
from portal.views import waiting_conversations
from portal.views.waiting_conversations import waiting_since
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

START = datetime(2026, 11, 20, 9, tzinfo=UTC)
IN, OUT = MessageSide.INBOUND, MessageSide.OUTBOUND


def talk(*sides: MessageSide | None, id_: str = "c", archived: bool = False, late: int = 0) -> Conversation:
    messages = [
        Message(id=f"{id_}-{n}", side=side, body=f"{id_} says {n}", sent_at=START + timedelta(hours=n + late))
        for n, side in enumerate(sides)
    ]
    return Conversation(
        id=id_, subject=f"About {id_}", is_archived=archived, messages=tuple(reversed(messages))
    )


@pytest.mark.parametrize(
    ("conversation", "hours"),
    [
        (talk(IN), 0),
        (talk(IN, OUT), None),
        (talk(IN, OUT, IN, IN), 2),
        (talk(OUT, IN, None), 1),
        (talk(OUT), None),
        (talk(None), None),
        (talk(), None),
        (talk(IN, archived=True), None),
    ],
)
def test_a_conversation_waits_since_the_first_message_without_an_answer(
    conversation: Conversation, hours: int | None
) -> None:
    assert waiting_since(conversation) == (None if hours is None else START + timedelta(hours=hours))


def given(monkeypatch: pytest.MonkeyPatch, *talks: Conversation, total: int | None = None) -> None:
    def listed(_care: object, *, limit: int, **_more: object) -> decoding.Page[Conversation]:
        assert limit == waiting_conversations.MOST
        return decoding.Page(items=talks, total_count=len(talks) if total is None else total)

    monkeypatch.setattr(waiting_conversations, "list_conversations", listed)


def test_the_longest_waiting_conversation_comes_first_with_its_last_message(
    nora: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    given(monkeypatch, talk(IN, id_="new", late=5), talk(IN, OUT, id_="done"), talk(OUT, IN, IN, id_="old"))
    page = nora.get("/conversations")
    assert [row.get_text() for row in page.select(".link-title bdi")] == ["About old", "About new"]
    assert "2 conversations wait for an answer, the longest first" in page.words
    assert "old says 2" in page.words
    assert page.soup.select_one("[aria-current]:-soup-contains('Waiting for us (2)')")


def test_the_waiting_list_states_what_it_covers(nora: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, talk(IN), total=900)
    assert "Looked through: the newest 1." in nora.get("/conversations").words
    given(monkeypatch, talk(IN, OUT), total=900)
    assert "The newest 1 conversations have been answered." in nora.get("/conversations").words
    given(monkeypatch)
    assert "Every conversation has been answered." in nora.get("/conversations").words


def test_the_count_matches_the_list_and_all_conversations_are_one_click_away(nora: Visitor) -> None:
    page = nora.get("/conversations")
    shown = len(page.select(".link-row"))
    assert page.link(f"Waiting for us ({shown})") == "/conversations"
    everything = page.follow("All")
    assert len(everything.select(".link-row")) > shown
    found = everything.form("/conversations").submit(q="scan")
    assert "found for “scan”" in found.words


def test_patients_have_the_inbox_without_waiting_lists(portal: PortalThread) -> None:
    assert "Waiting for us" not in portal.sign_in("amelia").get("/conversations").words
