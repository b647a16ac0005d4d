"""Undo of archiving a conversation: the care API puts it back when a message of it is restored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from portal.services.conversations import (
    ARCHIVE_CONVERSATIONS,
    LIST_CONVERSATIONS,
    RESTORE_MESSAGE,
    ArchivedCount,
    Channel,
    Conversation,
    Message,
    MessageSide,
)
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn


def message(id_: str, hour: int, *, is_archived: bool = False) -> Message:
    at = datetime(2026, 11, 24, hour, tzinfo=UTC)
    return Message(id=id_, side=MessageSide.INBOUND, channel=Channel.PORTAL, body="Hello", sent_at=at, is_archived=is_archived)  # fmt: skip


TALK = Conversation(
    id="t-1",
    subject="A scan",
    channel=Channel.PORTAL,
    is_archived=True,
    messages=(message("m-1", 8), message("m-2", 9), message("m-3", 10, is_archived=True)),
)


def test_undo_restores_its_newest_message_that_was_not_archived_by_itself(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(ARCHIVE_CONVERSATIONS, ArchivedCount(archived_count=1))
    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    nora = visitor("nora", "nurse")
    (undo,) = nora.post("/conversations/t-1/archive").select(".toast form")
    nora.post(str(undo["action"]))
    (sent,) = fake_api.sent(RESTORE_MESSAGE)
    assert sent.path.endswith("/m-2")


@pytest.mark.parametrize(
    ("talk", "words"),
    [
        (TALK, "The clinic’s system didn’t put it back into the inbox."),
        (replace(TALK, messages=()), "It has no message, so it can’t be put back into the inbox."),
    ],
)
def test_a_conversation_that_stays_archived_is_never_said_to_be_back(
    visitor: SignIn, fake_api: FakeApi, talk: Conversation, words: str
) -> None:
    fake_api.gives(LIST_CONVERSATIONS, [talk])
    page = visitor("nora", "nurse").post("/conversations/t-1/restore")
    assert words in page.text
    assert "back in your inbox" not in page.text


def test_what_cannot_be_read_after_restoring_is_said_neither_to_be_back_nor_refused(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    def restore(_ids: Mapping[str, str]) -> object:
        fake_api.refuses(LIST_CONVERSATIONS, 503)
        return msgspec.to_builtins(TALK.messages[1])

    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    fake_api.computes(RESTORE_MESSAGE, restore)
    nora = visitor("nora", "nurse")
    nora.request(
        "POST",
        "/conversations/t-1/restore",
        data={"csrf_token": nora.csrf_token()},
        status=None,
        follow=False,
    )
    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    page = nora.get("/conversations/t-1")
    assert "we can’t tell whether the conversation is back" in page.text
    assert "didn’t put it back" not in page.text and "back in your inbox" not in page.text
