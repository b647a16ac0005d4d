"""Where opening a notification leads, and when it counts as read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Message
from portal.services.notifications import LIST_NOTIFICATIONS, UPDATE_NOTIFICATIONS, Notification
from portal.web.record_links import KINDS
from tests.support.fake_api import FakeApi, sample, samples
from tests.support.visitor import Page, SignIn, Visitor


def opened(visitor: Visitor, fake_api: FakeApi, **members: str) -> Page:
    told = Notification(id="n-1", title="News", body="Text 4705 1668 to the clinic", **members)
    fake_api.gives(LIST_NOTIFICATIONS, [told])
    return visitor.post("/notifications/n-1/open", status=None)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
@pytest.mark.parametrize("roles", [("patient",), ("embryologist",), ("physician",), ("nurse",)])
def test_it_leads_nobody_to_a_page_that_refuses_them(
    visitor: SignIn, fake_api: FakeApi, roles: tuple[str, ...], kind: str
) -> None:
    page = opened(visitor("somebody", *roles), fake_api, entity_type=kind, entity_id="x-1")
    assert page.status != 403


def test_the_code_that_confirms_a_contact_detail_is_read_in_the_list(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    amelia = visitor("amelia")
    page = opened(amelia, fake_api, type="AccountSecurity", entity_type="Patient", entity_id="amelia-patient")
    assert page.url.endswith("/notifications?page=1#notification-n-1") and "4705 1668" in page.words
    page = opened(amelia, fake_api, type="AccountSecurity")
    assert page.url.endswith("/me/devices")


@pytest.mark.parametrize("is_readable", [True, False])
def test_one_that_cannot_be_opened_stays_unread(
    visitor: SignIn, fake_api: FakeApi, is_readable: bool
) -> None:
    amelia = visitor("amelia")
    id_ = samples(LIST_NOTIFICATIONS)["items"][0]["id"]
    token = amelia.csrf_token()
    if not is_readable:
        fake_api.refuses(LIST_NOTIFICATIONS, 503)
    amelia.post(f"/notifications/{id_}/open", {"csrf_token": token}, status=200 if is_readable else 503)
    assert bool(fake_api.sent(UPDATE_NOTIFICATIONS)) is is_readable


def test_a_message_that_the_page_does_not_show_stays_unread(visitor: SignIn, fake_api: FakeApi) -> None:
    def holds(count: int) -> None:
        sent = [datetime(2026, 11, 27, 9, minute, tzinfo=UTC) for minute in range(count)]
        messages = tuple(
            sample(Message, id=f"m-{place}", sender_id="nora", is_archived=False, read_at=None, sent_at=at)
            for place, at in enumerate(sent)
        )
        fake_api.gives(
            LIST_CONVERSATIONS,
            [sample(Conversation, id="t-1", unread_count=count, is_archived=False, messages=messages)],
        )
        fake_api.gives(
            LIST_NOTIFICATIONS,
            [
                Notification(
                    id=f"n-{place}",
                    entity_type="Conversation",
                    entity_id="t-1",
                    creation_time=at + timedelta(seconds=2),
                )
                for place, at in enumerate(sent)
            ],
        )

    holds(1)
    form = visitor("amelia").get("/conversations/t-1").form("/conversations/t-1/read")
    holds(2)
    form.submit()
    assert [call.body["ids"] for call in fake_api.sent(UPDATE_NOTIFICATIONS)] == [["n-0"]]


@pytest.mark.parametrize("kind", ["", "MessageReceived"])
def test_one_that_came_after_the_page_stays_unread(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], kind: str
) -> None:
    def told(name: str, day: int) -> Notification:
        return Notification(
            id=name,
            title="News",
            type="MessageReceived",
            is_read=False,
            creation_time=datetime(2026, 11, day, 9, tzinfo=UTC),
        )

    nora = visitor("nora", "nurse")
    at("20 09:00")  # an hour before the API's clock
    fake_api.gives(LIST_NOTIFICATIONS, [told("seen", 20)])
    button = nora.get(f"/notifications?type={kind}").form("/notifications/read")
    fake_api.gives(LIST_NOTIFICATIONS, [told("later", 29), told("seen", 20)])
    button.submit()
    assert [call.body for call in fake_api.sent(UPDATE_NOTIFICATIONS)] == [{"ids": ["seen"], "isRead": True}]
    fake_api.gives(LIST_NOTIFICATIONS, [told("later", 29)])
    assert not button.submit().select(".toast")


def test_home_counts_at_the_bell_what_the_api_counts(visitor: SignIn, fake_api: FakeApi) -> None:
    told = {"totalCount": 1, "unreadCount": 7, "items": [{"id": "n-1", "title": "News"}]}
    fake_api.computes(LIST_NOTIFICATIONS, lambda _query: told)
    assert "7" in visitor("amelia").get("/").select("#bell")[0].words
