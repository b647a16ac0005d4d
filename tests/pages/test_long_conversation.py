"""A conversation of more messages than its page shows: each is read on one of its parts, the unread ones on the first."""

from __future__ import annotations

import pytest

from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Message
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn


@pytest.mark.parametrize(
    ("count", "unread", "parts"),
    [(100, 0, [50, 50]), (120, 0, [50, 50, 20]), (120, 70, [70, 50]), (260, 250, [200, 50, 10])],
)
def test_each_message_stands_on_one_part(
    visitor: SignIn, fake_api: FakeApi, count: int, unread: int, parts: list[int]
) -> None:
    messages = tuple(Message(id=f"m-{number}", body="x") for number in range(count))
    fake_api.gives(LIST_CONVERSATIONS, [Conversation(id="t-1", unread_count=unread, messages=messages)])
    amelia, read, address = visitor("amelia"), list[list[str]](), "/conversations/t-1"
    while address:
        page = amelia.get(address)
        read.insert(0, [one["id"].removeprefix("message-") for one in page.select("[id^='message-']")])
        address = next((link["href"] for link in page.select("#thread > p a[href*='before=']")), "")
    assert [len(part) for part in reversed(read)] == parts
    assert [id_ for part in read for id_ in part] == [message.id for message in messages]
