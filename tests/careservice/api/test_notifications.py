"""Notifications and their settings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.careservice.api.calls import Api, code, created, members, signer

NOTIFICATIONS = "/api/app/notification"
SETTINGS = "/api/app/notification/settings"


def test_the_newest_come_first_with_the_count_of_unread(api: Api) -> None:
    page = api.get("amelia", NOTIFICATIONS, MaxResultCount=1000)
    times = [item["creationTime"] for item in page["items"]]
    assert times == sorted(times, reverse=True)
    assert page["totalCount"] >= 24
    assert page["unreadCount"] == sum(not item["isRead"] for item in page["items"])
    assert {item["severity"] for item in page["items"]} == {"Info", "Success", "Warning", "Urgent"}


def test_notifications_are_filtered_by_state_and_type(api: Api) -> None:
    unread = api.get("amelia", NOTIFICATIONS, IsRead="false", MaxResultCount=100)
    assert unread["totalCount"] == unread["unreadCount"]
    assert not any(item["isRead"] for item in unread["items"])
    kinds = api.get("amelia", NOTIFICATIONS, Type="AppointmentReminder", MaxResultCount=100)["items"]
    assert {item["type"] for item in kinds} == {"AppointmentReminder"}


def test_single_notifications_are_marked_read_and_unread(api: Api) -> None:
    created(api)
    newest = api.get("daniel", NOTIFICATIONS)["items"][0]
    body = {"ids": [newest["id"]], "isRead": True}
    first = api("daniel", "PUT", NOTIFICATIONS, body).json()
    assert first["updatedCount"] == 1
    again = api("daniel", "PUT", NOTIFICATIONS, body).json()
    assert again == {"updatedCount": 0, "unreadCount": first["unreadCount"]}
    back = api("daniel", "PUT", NOTIFICATIONS, {**body, "isRead": False}).json()
    assert back["unreadCount"] == first["unreadCount"] + 1


def test_all_notifications_of_one_person_are_marked_read_at_once(api: Api) -> None:
    others = api.get("nora", NOTIFICATIONS)["unreadCount"]
    answer = api("colin", "PUT", NOTIFICATIONS, {"all": True, "isRead": True}).json()
    assert answer["unreadCount"] == 0
    assert api.get("nora", NOTIFICATIONS)["unreadCount"] == others


def test_another_persons_notification_is_not_found(api: Api) -> None:
    theirs = api.get("nora", NOTIFICATIONS)["items"][0]["id"]
    assert api("amelia", "PUT", NOTIFICATIONS, {"ids": [theirs], "isRead": True}).status_code == 404


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({"isRead": True}, "ids"),
        ({"ids": [], "all": True, "isRead": True}, "ids"),
        ({"all": True}, "isRead"),
        ({"ids": ["x"], "isRead": True}, "ids[0]"),
        ({"ids": "x", "isRead": True}, "ids"),
    ],
)
def test_an_incomplete_change_of_notifications_is_invalid(
    api: Api, body: dict[str, Any], member: str
) -> None:
    assert members(api("amelia", "PUT", NOTIFICATIONS, body))[0] == member


def test_settings_are_stored_per_person_and_guarded_by_a_stamp(api: Api) -> None:
    before = api.get("victor", SETTINGS)
    items = before["items"]
    changed = next(item for item in items if item["type"] == "MessageReceived")
    changed["email"] = False
    quiet = {"start": "22:00", "end": "06:30", "timeZone": "Europe/London"}
    body = {
        "items": items, "quietHours": quiet, "language": "es", "concurrencyStamp": before["concurrencyStamp"],
    }  # fmt: skip
    after = api("victor", "PUT", SETTINGS, body).json()
    assert after["quietHours"] == quiet
    assert next(item for item in after["items"] if item["type"] == "MessageReceived")["email"] is False
    assert api.get("victor", SETTINGS) == after
    assert code(api("victor", "PUT", SETTINGS, body)) == "ClientelePortal:ConcurrencyConflict"
    created(
        api, kind="Disclosure", requiredSigners=[signer("Patient", "amelia"), signer("Clinician", "victor")]
    )
    assert api.get("victor", NOTIFICATIONS)["items"][0]["title"] == "Tienes un formulario disponible"


@pytest.mark.parametrize("kind", ["AccountSecurity", "ConsentRevoked", "NoSuchKind", "ProspectReceived"])
def test_locked_and_unknown_kinds_are_invalid(api: Api, kind: str) -> None:
    stamp = api.get("grace", SETTINGS)["concurrencyStamp"]
    item = {"type": kind, "email": False, "sms": False, "push": False, "inApp": False, "locked": False}
    answer = api("grace", "PUT", SETTINGS, {"items": [item], "concurrencyStamp": stamp})
    assert members(answer) == ["items[0].type"]


def test_staff_have_their_own_kinds_of_notifications(api: Api) -> None:
    kinds = {item["type"] for item in api.get("nora", SETTINGS)["items"]}
    assert kinds - {item["type"] for item in api.get("grace", SETTINGS)["items"]} == {
        "ProspectReceived", "EmrSyncFailed", "SharingEnded",
    }  # fmt: skip
