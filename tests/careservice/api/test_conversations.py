"""Conversations, messages and their notifications."""

from __future__ import annotations

from typing import Any

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import Api, members

CONVERSATIONS = "/api/messaging/getconversations"
NOTIFICATIONS = "/api/app/notification"


def threads(api: Api, who: str, **query: Any) -> dict[str, dict[str, Any]]:
    return {item["id"]: item for item in api.get(who, CONVERSATIONS, MaxResultCount=100, **query)["items"]}


def thread(name: str) -> str:
    return sample_id("conversation", name)


def test_patients_see_their_own_conversations_and_staff_the_clinics(api: Api) -> None:
    hers = threads(api, "amelia", IncludeArchived=True)
    his = threads(api, "daniel", IncludeArchived=True)
    assert thread("amelia-injection") in hers
    assert thread("amelia-injection") not in his
    assert thread("amelia-scan") in hers and thread("amelia-scan") in his
    assert hers.keys() | his.keys() <= threads(api, "nora", IncludeArchived=True).keys()
    assert threads(api, "omar").keys() == {thread("maya-scan")}


def test_a_thread_holds_its_messages_oldest_first_with_attachments(api: Api) -> None:
    found = threads(api, "daniel")[thread("amelia-scan")]
    assert [message["side"] for message in found["messages"]] == ["Outbound", "Inbound", "Outbound"]
    sent = [message["sentAt"] for message in found["messages"]]
    assert sent == sorted(sent)
    assert found["lastMessageAt"] == sent[-1]
    assert {file["mediaType"] for file in found["messages"][-1]["attachments"]} == {
        "image/png",
        "application/pdf",
    }
    assert found["replyAddress"]["email"].endswith("@riverside.example")


def test_reading_the_notification_reads_the_messages_of_that_person_alone(api: Api) -> None:
    name = thread("amelia-scan")
    assert threads(api, "daniel")[name]["unreadCount"] == 1
    items = api.get("daniel", NOTIFICATIONS, Type="MessageReceived", MaxResultCount=100)["items"]
    ids = [item["id"] for item in items if item["entityId"] == name]
    before = threads(api, "amelia")[name]["unreadCount"]
    answer = api("daniel", "PUT", NOTIFICATIONS, {"ids": ids, "isRead": True})
    assert answer.json()["updatedCount"] == 1
    read = threads(api, "daniel")[name]
    assert read["unreadCount"] == 0
    assert all(message["readAt"] for message in read["messages"])
    assert threads(api, "amelia")[name]["unreadCount"] == before


def test_messages_from_patients_are_unread_for_staff(api: Api) -> None:
    assert threads(api, "victor")[thread("amelia-injection")]["unreadCount"] == 2
    assert threads(api, "elif")[thread("amelia-injection")]["unreadCount"] == 0


def test_a_message_is_archived_and_restored_for_one_person(api: Api) -> None:
    message = sample_id("message", "grace-results-0")
    for _ in range(2):
        answer = api("grace", "POST", f"/api/app/messaging/archive-message/{message}")
        assert answer.json()["isArchived"] is True
    assert threads(api, "grace")[thread("grace-results")]["messages"][0]["isArchived"] is True
    assert threads(api, "nora")[thread("grace-results")]["messages"][0]["isArchived"] is False
    for _ in range(2):
        answer = api("grace", "POST", f"/api/app/messaging/restore-message/{message}")
        assert answer.json()["isArchived"] is False


def test_archived_conversations_show_only_when_asked_for(api: Api) -> None:
    name = thread("grace-results")
    for _ in range(2):
        answer = api("elif", "POST", "/api/messaging/archive", {"conversationIds": [name]})
        assert answer.json() == {"archivedCount": 1}
    assert name not in threads(api, "elif")
    assert threads(api, "elif", includearchived="TRUE")[name]["isArchived"] is True
    assert name in threads(api, "nora")
    api("elif", "POST", f"/api/app/messaging/restore-message/{sample_id('message', 'grace-results-0')}")
    assert name in threads(api, "elif")


def test_another_persons_conversation_is_not_found(api: Api) -> None:
    message = sample_id("message", "amelia-injection-0")
    for who in ("daniel", "grace", "omar"):
        assert api(who, "POST", f"/api/app/messaging/archive-message/{message}").status_code == 404
        body = {"conversationIds": [thread("amelia-injection")]}
        assert api(who, "POST", "/api/messaging/archive", body).status_code == 404
    assert members(api("amelia", "POST", "/api/messaging/archive", {"conversationIds": []})) == [
        "conversationIds"
    ]
    assert members(api("amelia", "POST", "/api/messaging/archive", {"conversationIds": ["x"]})) == [
        "conversationIds[0]"
    ]


def test_conversations_are_searched_by_their_messages(api: Api) -> None:
    assert threads(api, "nora", Filter="bruises").keys() == {thread("amelia-injection")}
    assert threads(api, "nora", Filter="storage of go-3").keys() == {thread("grace-storage")}
