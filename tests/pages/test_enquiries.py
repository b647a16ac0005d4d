"""The list of enquiries: all that notifications and messages tell of, whose answer waits first, and each under its own name."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from portal.services import capabilities
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Message, MessageSide
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.services.physicians import LIST_PHYSICIANS, Physician, WorkingHours
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

NOW = datetime.fromtimestamp(time.time(), UTC)


def news(name: str, days_ago: float, *, is_read: bool = False, **data: str) -> Notification:
    """The notification of an enquiry by this name, whose id is the name."""
    return Notification(
        id=f"n-{name}",
        type="ProspectReceived",
        title="A new enquiry",
        entity_type="Prospect",
        entity_id=name,
        is_read=is_read,
        data={"firstName": name, "lastName": "Reis", **data},
        creation_time=NOW - timedelta(days=days_ago),
    )


def talk(name: str, days_ago: float) -> Conversation:
    """A conversation with an enquirer, whose last message waits for an answer."""
    at = NOW - timedelta(days=days_ago)
    message = Message(id="w-1", sender_name=name, side=MessageSide.INBOUND, body="May I ask?", sent_at=at)
    return Conversation(
        id=f"m-{name}", subject="Question", prospect_id=name, last_message_at=at, messages=(message,)
    )


def rows(page: Page) -> list[str]:
    return [row.words for row in page.select("main tbody tr")]


def rail(page: Page) -> str:
    return page.select("nav.rail [href='/prospects']")[0].words


@pytest.fixture
def colin(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.gives(LIST_CONVERSATIONS, [])
    return visitor("colin", "coordinator")


def test_those_that_wait_for_an_answer_come_first_then_the_latest(colin: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_NOTIFICATIONS, [news("Bea", 3), news("Ines", 1, is_read=True)])
    patients = msgspec.structs.replace(talk("Pia", 2), patient_id="p-1")
    fake_api.gives(LIST_CONVERSATIONS, [talk("Noor", 5), talk("Ruth", 4), patients])
    assert [row.split()[0] for row in rows(colin.get("/prospects"))] == ["Ruth", "Noor", "Ines", "Bea"]


def test_an_enquiry_waits_although_its_message_has_no_time(colin: Visitor, fake_api: FakeApi) -> None:
    timeless = msgspec.structs.replace(talk("Noor", 5).messages[0], sent_at=None)
    fake_api.gives(LIST_NOTIFICATIONS, [news("Bea", 3)])
    fake_api.gives(
        LIST_CONVERSATIONS,
        [msgspec.structs.replace(talk("Noor", 5), last_message_at=None, messages=(timeless,))],
    )
    noor, bea = rows(colin.get("/prospects"))
    assert noor.startswith("Noor") and "Waits for an answer" in noor and "Waits" not in bea


def test_an_enquiry_waits_whichever_of_its_conversations_does(colin: Visitor, fake_api: FakeApi) -> None:
    answered = [
        msgspec.structs.replace(talk("Noor", ago), id=f"m-{ago}", messages=()) for ago in (0.1, 0.2, 0.3)
    ]
    fake_api.gives(LIST_CONVERSATIONS, [*answered, talk("Noor", 5), talk("Ruth", 4)])
    page = colin.get("/prospects")
    assert all("Waits for an answer" in row for row in rows(page)) and len(rows(page)) == 2
    assert page.select("main tbody a[href='/conversations/m-Noor']")


def test_new_ones_behind_many_other_notifications_are_listed_as_home_counts_them(
    colin: Visitor, fake_api: FakeApi
) -> None:
    others = [
        Notification(id=f"o-{number}", type="Payment", title="Paid", is_read=True) for number in range(100)
    ]

    def answer(query: dict[str, str]) -> dict[str, Any]:
        items = [news("Bea", 3), news("Ines", 4)] if query.get("IsRead") == "false" else others
        return {"totalCount": 2 if len(items) == 2 else 400, "items": msgspec.to_builtins(items)}

    fake_api.computes(LIST_NOTIFICATIONS, answer)
    colin.get("/")
    assert rail(colin.get("/help")).endswith("2 new")
    listed = colin.get("/prospects")
    assert [row.split()[0] for row in rows(listed)] == ["Bea", "Ines"]
    assert rail(listed).endswith("2 new") and rail(colin.get("/help")).endswith("2 new")


def test_an_enquiry_behind_many_other_notifications_opens_with_its_name(
    colin: Visitor, fake_api: FakeApi
) -> None:
    others = [
        Notification(id=f"o-{number}", type="Payment", title="Paid", is_read=True) for number in range(250)
    ]
    everything = [*others, news("Bea", 90, is_read=True)]
    asked: list[int] = []

    def answer(query: dict[str, str]) -> dict[str, Any]:
        asked.append(int(query.get("SkipCount", 0)))
        at, most = int(query.get("SkipCount", 0)), int(query.get("MaxResultCount", 20))
        return {"totalCount": len(everything), "items": msgspec.to_builtins(everything[at : at + most])}

    fake_api.computes(LIST_NOTIFICATIONS, answer)
    assert "Bea Reis" in colin.get("/prospects/Bea/book").words
    assert sorted(asked) == [0, 100, 200]


def test_a_name_opens_its_own_enquiry_and_both_of_a_pair_are_audited(
    colin: Visitor, fake_api: FakeApi, in_process: InProcess
) -> None:
    pair = {"mergeId": "Old", "mergeFirstName": "Old", "mergeLastName": "Reis"}
    again = news("New", 1, **pair)
    fake_api.gives(LIST_NOTIFICATIONS, [again, news("Old", 3, is_read=True)])
    in_process.audited()
    page = colin.get("/prospects")
    assert [("New Reis" in row, "Old Reis" in row) for row in rows(page)] == [(True, True), (False, True)]
    assert [form["action"] for form in page.select("main tbody form")] == ["/notifications/n-New/open"]
    assert page.select("main tbody a.row-link")[0]["href"] == "/prospects/Old/book"
    fake_api.gives(LIST_NOTIFICATIONS, [again])
    in_process.audited()
    assert len(rows(colin.get("/prospects"))) == 1
    shown = [len(line["ids"]) for line in in_process.audited() if line["audit"] == "prospect.list"]
    assert shown == [2], "the other one's name is shown too"


def test_an_unread_notification_marks_its_enquiry_behind_others_about_it(
    colin: Visitor, fake_api: FakeApi
) -> None:
    read = [msgspec.structs.replace(news("Bea", day, is_read=True), id=f"r-{day}") for day in (1, 2, 3, 4)]
    fake_api.gives(LIST_NOTIFICATIONS, [*read, news("Bea", 5)])
    page = colin.get("/prospects")
    assert "New" in rows(page)[0]
    assert page.select("main tbody form")[0]["action"] == "/notifications/n-Bea/open"


@pytest.mark.parametrize("module", [LIST_NOTIFICATIONS, LIST_CONVERSATIONS])
def test_a_list_that_the_clinic_does_not_use_is_not_called_lost(
    colin: Visitor, fake_api: FakeApi, in_process: InProcess, module: Any
) -> None:
    fake_api.gives(LIST_NOTIFICATIONS, [news("Bea", 3)])
    fake_api.gives(LIST_CONVERSATIONS, [talk("Ruth", 4)])
    fake_api.refuses(module, 501)
    page = colin.get("/prospects")
    in_process.clock.advance(capabilities.SECONDS)
    assert len(rows(page)) == 1 and "right now" not in page.words
    fake_api.refuses(module, 500)
    assert "Some enquiries can’t be shown right now." in colin.get("/prospects").words


def test_who_is_free_first_is_proposed(colin: Visitor, fake_api: FakeApi, at: Callable[[str], None]) -> None:
    """Of three: one is free on Friday, one on Wednesday, and one not at all."""
    at("23 08:00")
    hours = {"Adams": 5, "Baker": 3, "Chen": None}
    fake_api.gives(
        LIST_PHYSICIANS,
        [
            Physician(
                id=name,
                name=name,
                working_hours=()
                if day is None
                else (WorkingHours(day_of_week=day, start="09:00", end="12:00"),),
            )
            for name, day in hours.items()
        ],
    )
    page = colin.get("/prospects/Bea/book")
    assert [one["value"] for one in page.select("main input[type=hidden][name=physician]")] == ["Baker"]


def test_the_kind_of_appointment_stays_when_another_week_or_physician_is_looked_at(
    colin: Visitor, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("23 08:00")
    hours = (WorkingHours(day_of_week=3, start="09:00", end="12:00"),)
    fake_api.gives(
        LIST_PHYSICIANS, [Physician(id=name, name=name, working_hours=hours) for name in ("Ng", "Li")]
    )
    page = colin.get("/prospects/Bea/book")
    for link in ("Consultation by video", "Later", "Li"):
        (href,) = (one["href"] for one in page.select("#week a") if one.words == link)
        page = colin.get(str(href))
        assert page.select("form input[name=type]")[0]["value"] == "VideoConsultation", link
        assert "Kind of appointment: Consultation by video" in page.words
    again = page.form("/prospects/Bea/book").submit(status=422)
    assert again.select("form input[name=type]")[0]["value"] == "VideoConsultation"
    odd = colin.get("/prospects/Bea/book?type=Odd")
    assert odd.select("form input[name=type]")[0]["value"] == "InitialConsultation"


def test_times_are_in_the_time_zone_of_their_own_season(
    colin: Visitor, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("23 08:00")
    hours = tuple(WorkingHours(day_of_week=day, start="09:00", end="12:00") for day in (1, 3))
    fake_api.gives(LIST_PHYSICIANS, [Physician(id="Baker", name="Baker", working_hours=hours)])
    for asked, zone in (
        ("2026-11-30", "Pacific Standard Time"),
        ("2027-04-05", "Pacific Daylight Time"),
        ("2027-03-10", "Pacific Standard Time"),
        ("2027-03-10&day=2027-03-15", "Pacific Daylight Time"),
    ):
        assert f"clinic’s: {zone} (" in colin.get(f"/prospects/Bea/book?from={asked}").words, asked


@pytest.mark.parametrize(
    ("moment", "days", "opens"),
    [
        ("27 11:00", (1, 3, 5), "Mon 23 Nov"),
        ("27 22:30", (1, 3, 5), "Mon 30 Nov"),
        ("28 12:00", (1, 3, 5), "Mon 30 Nov"),
        ("28 10:00", (1, 6), "Mon 23 Nov"),
        ("28 22:30", (1, 6), "Mon 30 Nov"),
        ("28 12:00", (), "Mon 23 Nov"),
        ("25 12:00", (1,), "Mon 23 Nov"),
    ],
)
def test_the_care_team_opens_on_a_week_in_which_somebody_still_works(
    colin: Visitor,
    fake_api: FakeApi,
    at: Callable[[str], None],
    moment: str,
    days: tuple[int, ...],
    opens: str,
) -> None:
    at(moment)
    hours = tuple(WorkingHours(day_of_week=day, start="09:00", end="12:00") for day in days)
    fake_api.gives(LIST_PHYSICIANS, [Physician(id="Baker", name="Baker", working_hours=hours)])
    page = colin.get("/care-team")
    assert page.select("#results h2")[0].words.startswith(opens)
    assert ("Next free: Mon 30 Nov" in page.words) is (opens == "Mon 30 Nov")
    assert colin.get("/care-team?week=2026-W48").select("#results h2")[0].words.startswith("Mon 23 Nov")
