"""Conversations and notifications: what is asked of the API, and empty answers."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services import conversations, notifications
from portal.services.conversations import ARCHIVE_MESSAGE, RESTORE_MESSAGE
from portal.services.errors import NotFound, Unavailable
from portal.services.notifications import Notification, NotificationSettings
from tests.services.calls import only_call

# conversations


def test_a_conversation_is_found_by_paging_through_the_list(care):
    pages = [[{"id": f"{n}-{m}"} for m in range(200)] for n in range(3)]
    care.answers.extend({"totalCount": 600, "items": page} for page in pages)
    assert conversations.get_conversation(care, "1-7").id == "1-7"
    assert [c.query["SkipCount"] for c in care.calls] == [0, 200]
    assert all(c.query["IncludeArchived"] for c in care.calls)


@pytest.mark.parametrize(
    "answer", [{"totalCount": 1, "items": [{"id": "1"}]}, [], {"totalCount": 5, "items": []}]
)
def test_a_conversation_that_is_not_in_the_list_is_not_found(care, answer):
    care.answers.append(answer)
    with pytest.raises(NotFound):
        conversations.get_conversation(care, "2")


def test_the_search_for_a_conversation_is_bounded(care):
    care.answers.extend({"totalCount": 10**9, "items": [{"id": "x"}] * 200} for _ in range(5))
    with pytest.raises(NotFound):
        conversations.get_conversation(care, "2")
    care.answers.append({"archivedCount": 0})
    care.answers.extend({"totalCount": 10**9, "items": [{"id": "x"}] * 200} for _ in range(10))
    with pytest.raises(Unavailable, match="it isn't archived"):  # it may be among those that weren't read
        conversations.archive_conversations(care, ["2"])


@pytest.mark.parametrize(
    ("act", "endpoint"),
    [(conversations.archive_message, ARCHIVE_MESSAGE), (conversations.restore_message, RESTORE_MESSAGE)],
)
@pytest.mark.parametrize("answer", [{"id": "m"}, None])
def test_a_message_is_archived_and_restored(care, act, endpoint, answer):
    care.answers.append(answer)
    message = act(care, "m")
    assert (message and message.id) == (answer and "m")
    assert (only_call(care).endpoint, only_call(care).ids) == (endpoint, {"messageId": "m"})


@pytest.mark.parametrize(("answer", "count"), [({"archivedCount": 2}, 2), ({}, None), (None, None)])
def test_conversations_are_archived(care, answer, count):
    archived = {"items": [{"id": "1", "isArchived": True}, {"id": "2", "isArchived": True}]}
    care.answers.extend([answer] if count else [answer, archived, archived])
    assert conversations.archive_conversations(care, ["1", "2"]) == count
    assert care.calls[0].body == {"conversationIds": ["1", "2"]}


@pytest.mark.parametrize("answer", [{}, {"archivedCount": 0}, None])
def test_conversations_that_are_still_there_are_not_archived(care, answer):
    care.answers.extend([answer, {"items": [{"id": "1"}]}])
    with pytest.raises(Unavailable) as caught:
        conversations.archive_conversations(care, ["1"])
    assert not caught.value.outcome_known


def test_a_conversation_that_stands_no_more_in_the_whole_list_is_archived(care):
    care.answers.extend([None, {"totalCount": 1, "items": [{"id": "2"}]}])
    assert conversations.archive_conversations(care, ["1"]) is None


def test_a_conversation_that_may_be_an_unreadable_one_is_not_said_to_be_archived(care):
    care.answers.extend([None, {"totalCount": 2, "items": [{"id": "2"}, {"messages": 5}]}])
    with pytest.raises(Unavailable) as caught:
        conversations.archive_conversations(care, ["1"])
    assert not caught.value.outcome_known


def test_a_conversation_that_may_stand_beyond_the_first_thousand_is_not_said_to_be_archived(care):
    pages = [[{"id": f"{page}-{number}"} for number in range(50)] for page in range(20)]
    care.answers.extend([None, *({"totalCount": 1001, "items": items} for items in pages)])
    with pytest.raises(Unavailable) as caught:
        conversations.archive_conversations(care, ["1"])
    assert not caught.value.outcome_known
    assert not care.answers


def test_an_unreadable_conversation_makes_no_other_be_read_twice(care):
    first = [{"id": f"a{n}"} for n in range(49)] + [{"messages": 5}]
    care.answers.extend({"totalCount": 51, "items": items} for items in (first, [{"id": "b"}]))
    assert conversations.get_conversation(care, "b").id == "b"
    assert [call.query["SkipCount"] for call in care.calls] == [0, 50]


# notifications


@pytest.mark.parametrize(
    ("answers", "unread"),
    [
        ([{"totalCount": 1, "items": [{"id": 1}], "unreadCount": 1}], 1),
        ([{"totalCount": 3, "items": [{"id": 1}]}], 3),
        ([{"totalCount": 1, "items": [{"id": 1}]}] * 2, 1),
        (
            [
                {"totalCount": 1, "items": [{"id": 1}]},
                {"totalCount": 2, "items": [{"id": 1}, {"id": 2}]},
                {"items": []},
            ],
            2,
        ),
        ([{"items": []}], 0),
        ([[{"id": 1}], [{"id": 1}, {"id": 2}, {"id": 3}]], 3),
        (
            [{"totalCount": 0, "items": [{"id": 1}]}, {"totalCount": 2, "items": [{"id": 1}, {"id": 2}]}, []],
            2,
        ),
    ],
    ids=["counted", "of several", "of one, asked again", "an own length", "none", "never counted", "too low"],
)
def test_unread_ones_are_counted_with_as_few_calls_as_the_api_allows(care, answers, unread):
    care.answers.extend(answers)
    assert notifications.count_unread(care) == unread
    assert len(care.calls) == len(answers)


@pytest.mark.parametrize(
    ("answer", "unread"), [({"updatedCount": 2, "unreadCount": 1}, 1), ({}, None), (None, None)]
)
def test_notifications_are_marked_as_read(care, answer, unread):
    care.answers.extend([answer, {"items": [], "totalCount": 0}, answer])
    assert notifications.set_read(care, ["1", "2"]).unread_count == unread
    assert notifications.set_all_read(care).unread_count == unread
    assert [c.body for c in care.calls if c.body] == [
        {"ids": ["1", "2"], "isRead": True},
        {"all": True, "isRead": True},
    ]


def test_unread_notifications_about_a_conversation_are_found():
    def notice(name, entity_id="c", entity_type="Conversation", is_read=False):
        return Notification(id=name, entity_type=entity_type, entity_id=entity_id, is_read=is_read)

    notices = [
        notice("1"),
        notice("2", is_read=True),
        notice("3", "d"),
        notice("4", entity_type="Episode"),
        notice("5"),
    ]
    assert notifications.ids_announcing(notices, "c") == ("1", "5")


SETTINGS = {
    "items": [{"type": "Consent", "email": True, "inApp": True, "locked": True}],
    "concurrencyStamp": "s",
}


@pytest.mark.parametrize("answers", [[SETTINGS], [None, SETTINGS]])
def test_settings_are_read_and_updated(care, answers):
    care.answers.extend([SETTINGS, *answers])
    settings = notifications.get_settings(care)
    assert settings.items[0].in_app
    saved = notifications.update_settings(care, replace(settings, language="es"))
    assert isinstance(saved, NotificationSettings)
    assert care.calls[1].body["language"] == "es"
    assert care.calls[1].body["items"][0]["inApp"] is True
    assert care.calls[1].body["concurrencyStamp"] == "s"
