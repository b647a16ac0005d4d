"""What is unread, what comes back, and what can't be archived; who reads and archives what else is in `ledger/`."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import Api, members

CONVERSATIONS = "/api/messaging/getconversations"


def threads(api: Api, who: str, **query: Any) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in api.get(who, CONVERSATIONS, MaxResultCount=100, **query)["items"]}


def test_messages_from_patients_are_unread_for_staff(api: Api) -> None:
    thread = sample_id("conversation", "amelia-injection")
    assert threads(api, "victor")[thread]["unreadCount"] == 2
    assert threads(api, "elif")[thread]["unreadCount"] == 0


def test_a_restored_message_brings_its_archived_conversation_back(api: Api) -> None:
    thread = sample_id("conversation", "grace-results")
    api("elif", "POST", "/api/messaging/archive", {"conversationIds": [thread]})
    assert thread not in threads(api, "elif")
    assert threads(api, "elif", includearchived="TRUE")[thread]["isArchived"] is True
    api("elif", "POST", f"/api/app/messaging/restore-message/{sample_id('message', 'grace-results-0')}")
    assert thread in threads(api, "elif")


@pytest.mark.parametrize(("ids", "member"), [([], "conversationIds"), (["x"], "conversationIds[0]")])
def test_conversations_without_ids_are_invalid(api: Api, ids: list[str], member: str) -> None:
    answer = api("amelia", "POST", "/api/messaging/archive", {"conversationIds": ids})
    assert members(answer) == [member]
