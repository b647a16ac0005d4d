"""What is unread, what comes back, and what can't be archived; who reads and archives what else is in `ledger/`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session

from portal.careservice.domain.conversations import EMBEDDED, Message, MessageState
from portal.careservice.domain.enumerations import Channel, MessageSide
from portal.careservice.ids import new_id, sample_id
from tests.careservice.api.calls import Api, members
from tests.careservice.api.clinic import Clinic

CONVERSATIONS = "/api/messaging/getconversations"


def threads(api: Api, who: str, **query: Any) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in api.get(who, CONVERSATIONS, MaxResultCount=100, **query)["items"]}


def test_messages_from_patients_are_unread_for_staff(api: Api) -> None:
    thread = sample_id("conversation", "amelia-injection")
    assert threads(api, "victor")[thread]["unreadCount"] == 2
    assert threads(api, "elif")[thread]["unreadCount"] == 0


def test_what_staff_wrote_is_unread_for_patients_alone_and_nobodys_own_is(clinic: Clinic) -> None:
    def unread_again(session: Session) -> None:
        session.execute(delete(MessageState))

    clinic.change(unread_again)
    for who in ("victor", "nora", "amelia"):
        found = clinic.get(who, f"{CONVERSATIONS}?MaxResultCount=100")["items"]
        others = [
            [one for one in thread["messages"] if one["senderId"] != sample_id("person", who)]
            for thread in found
        ]
        sides = {"Inbound", "Outbound"} if who == "amelia" else {"Inbound"}
        assert [thread["unreadCount"] for thread in found] == [
            sum(one["side"] in sides for one in messages) for messages in others
        ]
        assert any(one["side"] == "Outbound" for messages in others for one in messages), (
            "which tells them apart"
        )


def test_an_archived_message_is_not_counted_as_unread(clinic: Clinic) -> None:
    def thread() -> dict[str, Any]:
        found = clinic.get("victor", f"{CONVERSATIONS}?MaxResultCount=100")["items"]
        return next(one for one in found if one["id"] == sample_id("conversation", "amelia-injection"))

    before = thread()
    waiting = next(one["id"] for one in before["messages"] if one["readAt"] is None)
    clinic("victor", "POST", f"/api/app/messaging/archive-message/{waiting}")
    assert thread()["unreadCount"] == before["unreadCount"] - 1


def test_a_list_holds_the_newest_messages_of_a_long_conversation(clinic: Clinic) -> None:
    thread = sample_id("conversation", "amelia-injection")

    def write(session: Session) -> None:
        session.add_all(
            Message(
                id=new_id(),
                conversation_id=thread,
                tenant_id=sample_id("tenant", "riverside"),
                sender_name="The clinic",
                side=MessageSide.OUTBOUND,
                channel=Channel.PORTAL,
                body=str(number),
                sent_at=clinic.moment + timedelta(minutes=number),
            )
            for number in range(EMBEDDED + 1)
        )

    clinic.change(write)
    found = clinic.get("amelia", f"{CONVERSATIONS}?MaxResultCount=100")["items"]
    told = next(one["messages"] for one in found if one["id"] == thread)
    assert [one["body"] for one in told] == [str(number) for number in range(1, EMBEDDED + 1)]


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
