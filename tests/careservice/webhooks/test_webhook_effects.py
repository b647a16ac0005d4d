"""The effects of inbound text messages, e-mails and payments."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from portal.careservice.domain.inbound.payments import _later
from portal.careservice.ids import new_id, sample_id
from portal.careservice.webhooks.sender import PATHS
from portal.careservice.webhooks.sender import main as send
from tests.careservice.api.calls import GRACE_EPISODE
from tests.careservice.webhooks.conftest import SECRETS_OF

GRACES = sample_id("embryo", "GO-3")
CONVERSATION = "/api/messaging/getconversations"


def reply_address(key: str) -> str:
    return f"reply+{sample_id('conversation', key)[:8]}@riverside.example"


def test_a_text_message_is_added_to_its_senders_newest_conversation(hooks: Any) -> None:
    newest = hooks.conversations("amelia")[0]
    unread = hooks.conversations("nora")
    before = len(hooks.notifications("nora", "MessageReceived"))
    answer = hooks.sms(From="+44 (7700) 900-182", Body="May I come later?\r\n\x07Thanks").json()
    thread = hooks.conversation_of("amelia", answer["id"])
    assert thread["id"] == newest["id"]
    message = hooks.message("amelia", answer["id"])
    assert (message["body"], message["side"], message["channel"]) == (
        "May I come later?\nThanks",
        "Inbound",
        "Sms",
    )
    assert (message["senderName"], message["senderId"]) == ("Amelia Hart", sample_id("person", "amelia"))
    assert hooks.conversations("nora")[0]["id"] == thread["id"]
    assert len(unread) == len(hooks.conversations("nora"))
    told = hooks.notifications("nora", "MessageReceived")
    assert len(told) == before + 1
    assert (told[0]["entityType"], told[0]["entityId"]) == ("Conversation", thread["id"])
    assert hooks.notifications("omar", "MessageReceived") == [
        other for other in hooks.notifications("omar", "MessageReceived") if other["entityId"] != thread["id"]
    ]


@pytest.mark.parametrize("number", ["+447700900182", "07700900182", "+44 (7700) 900-182"])
def test_a_number_in_national_format_matches_its_owner(hooks: Any, number: str) -> None:
    answer = hooks.sms(From=number, Body="From home").json()
    assert hooks.message("amelia", answer["id"])["senderId"] == sample_id("person", "amelia")


def test_reading_the_notification_marks_an_inbound_message_as_read(hooks: Any) -> None:
    answer = hooks.sms(Body="Unread until opened").json()
    assert hooks.message("nora", answer["id"])["readAt"] is None
    notice = hooks.notifications("nora", "MessageReceived")[0]
    hooks.api("nora", "PUT", "/api/app/notification", {"ids": [notice["id"]], "isRead": True})
    assert hooks.message("nora", answer["id"])["readAt"] is not None


def test_reading_an_earlier_notification_leaves_a_later_message_unread(hooks: Any) -> None:
    first, second = (hooks.sms(Body=words).json()["id"] for words in ("The first", "I have a bad pain"))

    def read(id_: str) -> None:
        hooks.api("nora", "PUT", "/api/app/notification", {"ids": [id_], "isRead": True})

    later, earlier = hooks.notifications("nora", "MessageReceived")[:2]
    read(earlier["id"])
    assert hooks.message("nora", first)["readAt"] is not None
    assert hooks.message("nora", second)["readAt"] is None
    read(later["id"])
    assert hooks.message("nora", second)["readAt"] is not None


def test_an_archived_conversation_comes_back_with_a_new_message(hooks: Any) -> None:
    newest = hooks.conversations("amelia")[0]
    hooks.api("nora", "POST", "/api/messaging/archive", {"conversationIds": [newest["id"]]})
    hooks.sms(Body="Back again")
    found = hooks.api.get("nora", CONVERSATION)["items"]
    assert found[0]["id"] == newest["id"]


def test_a_text_from_an_unknown_number_creates_an_enquiry(hooks: Any) -> None:
    number = "+447700900633"
    first = hooks.sms(From=number, Body="Do you freeze eggs?").json()
    thread = hooks.conversation_of("colin", first["id"])
    assert (thread["patientId"], thread["replyAddress"]["sms"]) == (None, "+447700900321")
    notice = next(
        found
        for found in hooks.notifications("colin", "ProspectReceived")
        if found["entityId"] == thread["prospectId"]
    )
    assert notice["entityType"] == "Prospect"
    second = hooks.sms(From=number, Body="Hello?").json()
    assert hooks.conversation_of("colin", second["id"])["id"] == thread["id"]
    merged = hooks.api(
        "colin",
        "POST",
        f"/api/prospect/records/{sample_id('prospect', 'tomasz')}/merge/{thread['prospectId']}",
    ).json()
    assert merged["status"] == "Qualified"
    third = hooks.sms(From=number, Body="Still there?").json()
    assert third["accepted"] is True


def test_a_stranger_is_no_enquiry_under_a_name_that_somebody_has(hooks: Any) -> None:
    first, second = "first@elsewhere.example", "second@elsewhere.example"
    for name, address, kept in (("amelia HART", first, first), ("Mia Sanz", second, "Mia Sanz")):
        answer = hooks.email(**{"from": f"{name} <{address}>"}).json()
        assert hooks.message("colin", answer["id"])["senderName"] == kept
        told = hooks.notifications("colin", "ProspectReceived")[0]["data"]
        assert f"{told.get('firstName', '')} {told['lastName']}".strip() == kept


def test_pictures_that_were_not_received_are_mentioned_in_the_message(hooks: Any) -> None:
    answer = hooks.sms(Body="", NumMedia="2").json()
    assert hooks.message("amelia", answer["id"])["body"] == "[Pictures not received: 2]"


def test_a_message_to_no_clinics_address_has_no_effect(hooks: Any) -> None:
    nothing = {"accepted": False, "id": None}
    assert hooks.sms(To="+15550100").json() == nothing
    assert hooks.email(to="someone@nowhere.example").json() == nothing
    assert hooks.payment(payment(account="acct_nobody")).json() == nothing


def test_a_clinic_gets_only_messages_addressed_to_it(hooks: Any) -> None:
    answer = hooks.sms(From="+447700900182", To="+447700900322", Body="To the other clinic").json()
    assert hooks.conversation_of("omar", answer["id"])["prospectId"]
    assert all(
        message["id"] != answer["id"]
        for thread in hooks.conversations("nora")
        for message in thread["messages"]
    )


def test_an_email_to_a_reply_address_is_added_to_its_conversation(hooks: Any) -> None:
    wanted = sample_id("conversation", "amelia-injection")
    answer = hooks.email(to=f"Clinic <{reply_address('amelia-injection').upper()}>").json()
    assert hooks.conversation_of("nora", answer["id"])["id"] == wanted


def test_a_strangers_reply_to_a_patients_conversation_is_seen_by_staff_alone(hooks: Any) -> None:
    stranger = hooks.email(
        to="x@nowhere.example",
        envelope=f'{{"to": ["{reply_address("amelia-injection")}"], "from": "sister@elsewhere.example"}}',
        **{"from": "Amelia Hart <sister@elsewhere.example>"},
    ).json()
    message = hooks.message("nora", stranger["id"])
    assert (message["senderName"], message["senderId"]) == ("sister@elsewhere.example", None)
    thread = hooks.conversation_of("nora", stranger["id"])
    assert thread["possibleSenders"] == [{"id": sample_id("patient", "amelia"), "name": "Amelia Hart"}]
    assert all(one["id"] != thread["id"] for one in hooks.conversations("amelia"))


def test_an_email_is_added_to_the_conversation_it_replies_to(hooks: Any) -> None:
    threads = hooks.conversations("amelia")
    oldest = threads[-1]
    message_id = oldest["messages"][0]["id"]
    answer = hooks.email(headers=f"Subject: x\nIn-Reply-To: <{message_id}@riverside.example>\n").json()
    assert hooks.conversation_of("amelia", answer["id"])["id"] == oldest["id"]
    assert hooks.message("amelia", answer["id"])["body"].startswith("A question\n\n"), "else nobody reads it"
    for before, is_told in (("RE: aw: Re[2]: ", False), ("Scan: ", True)):
        again = hooks.email(
            headers=f"In-Reply-To: <{message_id}@riverside.example>", subject=f"{before}{oldest['subject']}"
        ).json()
        assert (oldest["subject"] in hooks.message("amelia", again["id"])["body"]) is is_told
    foreign = hooks.email(
        headers=f"In-Reply-To: <{message_id}@riverside.example>", **{"from": "grace@riverside.example"}
    ).json()
    assert hooks.conversation_of("grace", foreign["id"])["id"] != oldest["id"]


def test_an_email_is_matched_by_the_message_id_it_replies_to(hooks: Any) -> None:
    outer, sender = f"{new_id()}@mail.example", {"from": f"New Person <{new_id()}@mail.example>"}
    first = hooks.email(headers=f"Message-ID: <{outer}>", subject="IVF", **sender).json()
    thread = hooks.conversation_of("colin", first["id"])
    assert thread["subject"] == "IVF"
    assert thread["replyAddress"]["email"] == f"hello+{thread['id'].replace('-', '')}@riverside.example"
    second = hooks.email(headers=f"References: <a@b> <{outer}>", **sender).json()
    assert hooks.conversation_of("colin", second["id"])["id"] == thread["id"]
    third = hooks.email(to=thread["replyAddress"]["email"], **sender).json()
    assert hooks.conversation_of("colin", third["id"])["id"] == thread["id"]


def test_html_is_reduced_to_its_text(hooks: Any) -> None:
    html = (
        "<html><head><title>no</title><style>p{}</style></head><body><p>Dear&nbsp;clinic &lt;3</p>"
        "<script>alert(1)</script><div onclick='x()'>2 &amp; 3<br>4</div><svg><text>no</text></svg>"
        "<img src=x onerror=y()><script>never closed"
    )
    answer = hooks.email(html=html, text="", subject="").json()
    assert hooks.message("nora", answer["id"])["body"] == "Dear clinic <3\n\n2 & 3\n4"


def test_attachments_become_files_for_those_who_see_the_conversation(hooks: Any) -> None:
    content = bytes(range(256)) * 40
    answer = hooks.email(
        [
            ("../../scan results \x01.png", "image/png", content),
            ("page.html", "text/html", b"<script>x</script>"),
            ("odd", "not a type", b""),
        ]
    ).json()
    attached = hooks.message("amelia", answer["id"])["attachments"]
    assert [(one["name"], one["mediaType"], one["size"]) for one in attached] == [
        ("scan results .png", "image/png", len(content)),
        ("page.html", "text/html", 18),
        ("odd", "application/octet-stream", 0),
    ]
    path = "/api/file-management/file-descriptor/content"
    read = hooks.api("amelia", "GET", path, id=attached[0]["fileId"])
    assert read.content == content
    assert read.headers["Content-Disposition"].startswith("attachment")
    assert hooks.api("grace", "GET", path, id=attached[0]["fileId"]).status_code == 404
    assert hooks.api("omar", "GET", path, id=attached[0]["fileId"]).status_code == 404


def test_who_was_merged_goes_on_in_the_same_conversation(hooks: Any) -> None:
    """Not as a new enquiry, which would be merged again."""
    numbers = "+447700900611", "+447700900612"
    threads = [
        hooks.conversation_of("nora", hooks.sms(From=number, Body="Hello").json()["id"]) for number in numbers
    ]
    survivor, merged = (thread["prospectId"] for thread in threads)
    path = f"/api/prospect/records/{survivor}/merge/{merged}"
    assert hooks.api("colin", "POST", path).json()["phoneNumber"] == numbers[0]
    again = hooks.conversation_of("nora", hooks.sms(From=numbers[1], Body="Again").json()["id"])
    assert (again["id"], again["prospectId"]) == (threads[1]["id"], survivor)
    assert {one["senderId"] for one in again["messages"]} == {survivor}


def payment(**changes: Any) -> dict[str, Any]:
    metadata = {"purpose": "storage", "patientId": sample_id("patient", "grace"), "months": "12"}
    return {
        "id": f"evt_{new_id()}",
        "type": changes.get("type", "payment.succeeded"),
        "created": int(time.time()),
        "account": changes.get("account", "acct_riverside"),
        "data": {
            "object": {
                "id": changes.get("payment_id", f"pay_{new_id()}"),
                "amount": 36000,
                "currency": "GBP",
                "status": "succeeded",
                "metadata": {**metadata, **changes.get("metadata", {})},
            }
        },
    }


def expiries(hooks: Any) -> dict[str, str | None]:
    embryos = hooks.api.get("elif", f"/api/patient-portal/episodes/{GRACE_EPISODE}")["embryos"]
    return {embryo["id"]: embryo["storageExpiresAt"] for embryo in embryos}


def test_a_payment_for_storage_extends_it_once(hooks: Any) -> None:
    before = expiries(hooks)
    embryo = next(identity for identity, until in before.items() if until)
    told = {who: len(hooks.notifications(who, "PaymentReceived")) for who in ("grace", "colin", "amelia")}
    event = payment(metadata={"embryoStorageIds": embryo}, payment_id=f"pay_{new_id()}")
    assert hooks.payment(event).json() == {"accepted": True, "id": event["data"]["object"]["id"]}
    after = expiries(hooks)
    until = before[embryo] or ""
    assert (after[embryo] or "")[:4] == str(int(until[:4]) + 1)
    assert {key: value for key, value in after.items() if key != embryo} == {
        key: value for key, value in before.items() if key != embryo
    }
    now_told = {who: len(hooks.notifications(who, "PaymentReceived")) for who in told}
    assert now_told == {"grace": told["grace"] + 1, "colin": told["colin"] + 1, "amelia": told["amelia"]}
    assert hooks.notifications("grace", "PaymentReceived")[0]["data"]["episodeId"] == GRACE_EPISODE
    assert hooks.payment(event).json()["accepted"] is False
    assert expiries(hooks) == after


def test_a_partner_pays_for_the_couples_embryos(hooks: Any) -> None:
    before = expiries(hooks)
    told = len(hooks.notifications("grace", "PaymentReceived"))
    joseph = sample_id("patient", "joseph").upper()
    event = payment(metadata={"patientId": joseph, "embryoStorageIds": None, "months": None})
    assert hooks.payment(event).json()["accepted"]
    after = expiries(hooks)
    assert {int(after[id_][:4]) - int(until[:4]) for id_, until in before.items() if until} == {1}
    assert len(hooks.notifications("grace", "PaymentReceived")) == told + 1


def test_a_failed_payment_is_reported_and_may_succeed_later(hooks: Any) -> None:
    before, payment_id = expiries(hooks), f"pay_{new_id()}"
    told = len(hooks.notifications("grace", "PaymentFailed"))
    for is_new in (True, False):
        failed = hooks.payment(payment(type="payment.failed", payment_id=payment_id))
        assert failed.json()["accepted"] is is_new
    assert expiries(hooks) == before
    assert len(hooks.notifications("grace", "PaymentFailed")) == told + 1
    assert hooks.payment(payment(payment_id=payment_id)).json()["accepted"] is True
    assert expiries(hooks) != before


def test_a_payment_for_another_clinics_embryo_has_no_effect(hooks: Any) -> None:
    before = expiries(hooks)
    assert hooks.payment(payment(account="acct_harbour")).status_code == 200
    assert expiries(hooks) == before


@pytest.mark.parametrize(
    "body", [{"id": "e", "type": "refund.created"}, {"id": "e", "type": "x", "data": {"object": 1}}]
)
def test_an_unknown_kind_of_event_has_no_effect(hooks: Any, body: dict[str, Any]) -> None:
    answer = hooks.payment(body)
    assert (answer.status_code, answer.json()) == (200, {"accepted": False, "id": None})


@pytest.mark.parametrize(
    ("before", "months", "after"),
    [
        ("2026-11-23", 1, "2026-12-23"),
        ("2026-11-30", 2, "2027-01-30"),
        ("2026-12-31", 1, "2027-01-31"),
        ("2026-01-31", 11, "2026-12-31"),
        ("2027-02-28", 12, "2028-02-28"),
        ("2028-02-29", 12, "2029-02-28"),
        ("2027-08-31", 6, "2028-02-29"),
        ("9998-12-31", 12, "9999-12-31"),
    ],
)
def test_storage_is_paid_to_the_same_day_of_a_month_or_its_last(before: str, months: int, after: str) -> None:
    assert _later(datetime.fromisoformat(before), months) == datetime.fromisoformat(after)


@pytest.mark.parametrize(
    ("metadata", "extended"),
    [
        *(({"months": months}, 0) for months in ("0", "-1", "1.5", "121", "x", "²")),
        ({"embryoStorageIds": sample_id("embryo", "nobody")}, 0),
        ({"embryoStorageIds": [GRACES, sample_id("embryo", "nobody")]}, 1),
    ],
    ids=str,
)
def test_staff_learn_of_a_payment_that_is_not_applied_whole(
    hooks: Any, metadata: dict[str, Any], extended: int
) -> None:
    before, told = expiries(hooks), len(hooks.notifications("colin", "PaymentReceived"))
    event = payment(metadata=metadata)
    assert hooks.payment(event).json()["accepted"] is True
    after = expiries(hooks)
    assert sum(after[id_] != before[id_] for id_ in before) == extended
    new, *others = hooks.notifications("colin", "PaymentReceived")
    assert len(others) == told and event["data"]["object"]["id"] in new["body"]
    assert (
        new["severity"] == "Warning"
        and hooks.notifications("grace", "PaymentReceived")[0]["severity"] == "Success"
    )


@pytest.mark.parametrize("write", [list, json.dumps, ", ".join], ids=["a list", "JSON", "commas"])
def test_a_payment_names_embryos_in_any_way(hooks: Any, write: Callable[[list[str]], Any]) -> None:
    before = expiries(hooks)
    named = [id_ for id_, until in before.items() if until][:2]
    hooks.payment(payment(metadata={"embryoStorageIds": write(named)}))
    after = expiries(hooks)
    assert {id_ for id_ in before if after[id_] != before[id_]} == set(named)
    assert hooks.notifications("colin", "PaymentReceived")[0]["severity"] == "Success"


@pytest.mark.parametrize("kind", ["sms", "email", "payment"])
def test_the_send_command_posts_signed_samples(
    hooks: Any, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status = send(["--to", hooks.base_url, "--secret", SECRETS_OF[PATHS[kind]][-1], "--times", "2", kind])
    first, second = capsys.readouterr().out.splitlines()
    assert status == 0
    assert first == second
    assert first.startswith('200 {"accepted":true')


def test_the_send_command_reports_failures(hooks: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert send(["--to", hooks.base_url, "--secret", "whsec_" + "A" * 43, "sms"]) == 1
    assert capsys.readouterr().out == "401\n"
    assert send(["--to", hooks.base_url, "--secret", "short", "sms"]) == 2
    assert send(["--to", "http://127.0.0.1:1", "--secret", SECRETS_OF["/smsinbound"][-1], "sms"]) == 1
