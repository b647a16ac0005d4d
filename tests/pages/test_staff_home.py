"""Staff's home: how much a form presses, and where a notification leads."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import (
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
)
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Message, MessageSide, Participant
from portal.services.notifications import LIST_NOTIFICATIONS, Notification, Severity
from portal.views.waiting_conversations import MOST
from tests.support.fake_api import ZONE, FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn


def form(days: int) -> ConsentForm:
    """A form that waits for its patient, for a procedure in so many days at the clinic."""
    day = datetime.now(ZONE).date()
    return ConsentForm(
        id=f"c-{days}",
        title="Consent to IVF",
        status=ConsentStatus.PENDING,
        patient_id="p-1",
        patient_name="Amelia Hart",
        required_signers=(Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1),),
        procedure_date=day + timedelta(days=days),
    )


def test_a_notification_leads_to_what_it_is_about(visitor: SignIn, fake_api: FakeApi) -> None:
    about = Notification(
        id="n-1",
        type="ProspectReceived",
        title="A new enquiry",
        severity=Severity.URGENT,
        entity_type="Prospect",
        entity_id="e-1",
    )
    fake_api.gives(LIST_NOTIFICATIONS, [about])
    colin = visitor("colin", "coordinator")
    (row,) = colin.get("/").select("#news li form")
    assert row.words.startswith("A new enquiry")
    sent = colin.post(str(row["action"]))
    assert sent.path == "/prospects/e-1/book"


# ── what is theirs ──────────────────────────────────────────────────────────────────────────────────────


def duties(page: Page) -> dict[str, tuple[str, str]]:
    """Each of the first page's counted links: its count and address, by its words."""
    return {
        link.select("span")[-1].text_content(): (
            "".join(count.words for count in link.select(".duty-count")),
            str(link["href"]),
        )
        for link in page.select(".duties a")
    }


def test_whom_to_call_until_friday_is_one_click_with_number_and_mail(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    clinicians = (Signer(role=SignerRole.CLINICIAN, person_id="victor", name="Victor", order=1),)
    staffs = replace(form(0), id="staffs", required_signers=clinicians)
    fake_api.gives(LIST_CONSENTS, [form(-40), form(0), form(30), staffs])
    nora = visitor("nora", "nurse")
    count, href = duties(nora.get("/"))["Missing until Friday: whom to call"]
    assert count == "1"
    rows = nora.get(href).select("tbody tr")
    assert [row["id"] for row in rows] == ["form-c-0"]


def test_what_expired_unsigned_stays_on_the_list_while_it_is_needed_and_nothing_is_in_its_place(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    def expired(id_: str, title: str, days: int, **changed: object) -> ConsentForm:
        one = replace(form(days), id=id_, title=title, status=ConsentStatus.EXPIRED)
        return replace(one, **changed)

    signed = replace(form(30), id="signed", title="ICSI", status=ConsentStatus.SIGNED, signatures=())
    fake_api.gives(
        LIST_CONSENTS,
        [
            expired("today", "IVF", 0),
            expired("week", "Sedation", 7),
            expired("late", "Scan", -1),
            expired("later", "Freezing", 80),
            expired("sent-anew", "Icsi", 0),
            expired("anothers", "ICSI", 0, patient_id="p-2"),
            expired("replaced", "Transfer", 0),
            expired("by-another", "Donation", 0, superseded_by_id="elsewhere"),
            replace(form(30), id="new", title="Transfer, second edition", supersedes_id="replaced"),
            signed,
        ],
    )
    nora = visitor("nora", "nurse")
    count, href = duties(nora.get("/"))["Missing until Friday: whom to call"]
    page = nora.get("/consents?list=open")
    rows = {str(row["id"]): row for row in page.select("tbody tr")}
    assert rows.keys() == {"form-today", "form-week", "form-later", "form-anothers", "form-new"}
    assert rows["form-today"].select(".tag")[0].words == "Expired"
    assert "Amelia Hart" in rows["form-today"].select(".waits")[0].words
    assert not rows["form-today"].select(".row-actions a")
    assert [row["id"] for row in nora.get(href).select("tbody tr")][:2] == ["form-anothers", "form-today"]
    assert int(count) >= 2


def test_enquiries_are_counted_and_lead_to_their_list(visitor: SignIn, fake_api: FakeApi) -> None:
    details = {"firstName": "Ines", "lastName": "Reis", "phoneNumber": "+441632960411", "mergeId": "e-9"}
    about = [
        Notification(
            id=f"n-{number}",
            type="ProspectReceived",
            title="A new enquiry",
            entity_type="Prospect",
            entity_id=f"e-{number // 2}",
            is_read=number > 3,
            data=details,
        )
        for number in range(6)
    ]
    fake_api.gives(LIST_NOTIFICATIONS, [*about, Notification(id="m", type="Other", title="Something else")])
    colin = visitor("colin", "coordinator")
    count, href = duties(colin.get("/"))["New enquiries"]
    assert (count, href) == ("2", "/prospects"), "each once, and those alone that nobody has read of"
    assert beside(colin.get("/help"), href) == "2 new", "known without another call"
    page = colin.get(href)
    rows = [row.words for row in page.select("main tbody tr")]
    assert [("New" in row, "01632 960411" in row) for row in rows] == [
        (True, True),
        (True, True),
        (False, True),
    ]
    assert page.link("Compare") == "/prospects/e-0/merge?merge=e-9"
    (first, *_others) = page.select("main tbody form")
    assert colin.post(str(first["action"])).path == "/prospects/e-0/merge"
    assert beside(colin.get("/help"), href) == "", "one of them was opened, so they are counted anew"
    assert page.select("nav.rail [href='/patients']")
    for name, role in (("victor", "physician"), ("elif", "embryologist")):
        frame = visitor(name, role).get("/help")
        assert frame.select("nav.rail [href='/patients']"), "patients are for everybody"
        assert not frame.select("nav.rail [href='/prospects']"), f"a {role} books for no enquiry"


@pytest.mark.parametrize(
    ("types", "query"), [(["PgtReleased"] * 2, "&type=PgtReleased"), (["PgtReleased", "PgtAmended"], "")]
)
def test_results_that_came_are_counted_and_all_of_them_listed(
    visitor: SignIn, fake_api: FakeApi, types: list[str], query: str
) -> None:
    about = [
        Notification(id=f"n-{number}", type=type_, title="A result", entity_type="PGTResult", entity_id="r")
        for number, type_ in enumerate(types)
    ]
    fake_api.gives(LIST_NOTIFICATIONS, about)
    home = visitor("elif", "embryologist").get("/")
    assert duties(home)["Genetic results that came"] == ("2", f"/notifications?unread=1{query}")


def test_what_was_withdrawn_is_told_for_eight_weeks(visitor: SignIn, fake_api: FakeApi) -> None:
    ended = [
        replace(
            form(0),
            id=f"ended-{days}",
            status=ConsentStatus.REVOKED,
            kind=ConsentKind.TREATMENT,
            revoked_at=datetime.now(ZONE) - timedelta(days=days),
        )
        for days in (55, 57)
    ]
    fake_api.gives(LIST_CONSENTS, ended)
    told = visitor("nora", "nurse").get("/").select("#withdrawn li a")
    assert [link["href"] for link in told] == ["/consents/ended-55"]


@pytest.mark.parametrize(
    ("anew", "is_told"),
    [
        ({}, False),
        ({"episode_id": "another"}, True),
        ({"title": "Another"}, True),
        ({"kind": ConsentKind.RESEARCH}, True),
        (
            {
                "signatures": (
                    Signature(role=SignerRole.PATIENT, signed_at=datetime(2020, 1, 1, tzinfo=ZONE)),
                )
            },
            True,
        ),
        ({"signatures": ()}, True),
    ],
    ids=str,
)
def test_what_was_signed_anew_is_no_longer_told_as_withdrawn(
    visitor: SignIn, fake_api: FakeApi, anew: dict[str, Any], is_told: bool
) -> None:
    then = datetime.now(ZONE) - timedelta(days=2)
    old = replace(form(0), status=ConsentStatus.REVOKED, kind=ConsentKind.TREATMENT, revoked_at=then)
    by = Signature(role=SignerRole.PATIENT, signed_at=then + timedelta(days=1))
    new = replace(old, id="new", status=ConsentStatus.SIGNED, revoked_at=None, signatures=(by,))
    fake_api.gives(LIST_CONSENTS, [old, replace(new, **anew)])
    assert bool(visitor("nora", "nurse").get("/").select("#withdrawn li a")) is is_told


# ── what is counted beside the sections ─────────────────────────────────────────────────────────────────


def talk(number: int, *people: str) -> Conversation:
    """A conversation of these people, whose last message waits for an answer."""
    message = Message(
        id=f"m-{number}", side=MessageSide.INBOUND, body="May I ask?", sent_at=datetime.now(ZONE)
    )
    return Conversation(
        id=f"t-{number}",
        subject=f"Question {number}",
        participants=tuple(Participant(id=person, name=person.title()) for person in people),
        messages=(message,),
    )


def beside(page: Page, href: str) -> str:
    """What stands beside a section of the frame."""
    links = page.select(f"nav.rail a[href='{href}']")
    assert len(links) == 1, page.words
    return " ".join(badge.words for badge in links[0].select(".badge"))


def test_what_was_read_is_counted_beside_its_section_until_it_is_old(
    visitor: SignIn, fake_api: FakeApi, in_process: InProcess
) -> None:
    fake_api.gives(LIST_CONVERSATIONS, [talk(1), talk(2)])
    nora, colin = visitor("nora", "nurse"), visitor("colin", "coordinator")
    nora.get("/")
    calls = len(fake_api.calls)
    assert beside(nora.get("/help"), "/conversations") == "2 without an answer"
    assert len(fake_api.calls) == calls
    assert beside(colin.get("/help"), "/conversations") == ""
    in_process.clock.advance(301)
    assert beside(nora.get("/help"), "/conversations") == ""


def test_their_own_of_the_messages_that_wait_are_those_in_which_they_are_named(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(LIST_CONVERSATIONS, [talk(1, "amelia"), talk(2, "grace", "nora")])
    nora = visitor("nora", "nurse")
    everybodys = nora.get("/conversations")
    assert "Question 1" in everybodys.words and "Question 2" in everybodys.words
    own = everybodys.follow("Mine")
    assert "Question 2" in own.words and "Question 1" not in own.words


@pytest.mark.parametrize("missing", ["side", "words", "messages"])
def test_messages_are_not_called_answered_by_an_api_that_does_not_tell_whose_they_are(
    visitor: SignIn, fake_api: FakeApi, missing: str
) -> None:
    message = {"id": "m-1", "body": "I have a fever.", "sentAt": "2026-11-20T12:00:00Z"}
    talk = {"id": "t-1", "subject": "Fever", "messages": [message]}
    if missing == "messages":
        del talk["messages"]
    if missing == "words":
        message["side"] = "Incoming"
    fake_api.gives(LIST_CONVERSATIONS, [talk])
    nora = visitor("nora", "nurse")
    for path in ("/", "/conversations", "/conversations?mine=1"):
        words = nora.get(path).words
        assert "which of them wait for an answer isn’t known here" in words, path
        assert "answered" not in words and "none of your" not in words.lower(), path


@pytest.mark.parametrize(
    "left_out", [{}, {"unreadCount": 1}], ids=["by an unknown word", "without its messages"]
)
def test_a_conversation_of_which_nobody_knows_who_wrote_is_not_called_answered(
    visitor: SignIn, fake_api: FakeApi, left_out: dict[str, int]
) -> None:
    sent: dict[str, Any] = {"id": "m-1", "side": "Outbound", "sentAt": "2026-11-20T12:00:00Z"}
    unknown = {"id": "t-2", **(left_out or {"messages": [{**sent, "id": "m-2", "side": "Incoming"}]})}
    fake_api.gives(LIST_CONVERSATIONS, [{"id": "t-1", "messages": [sent]}, unknown])
    nora = visitor("nora", "nurse")
    for path in ("/", "/conversations"):
        words = nora.get(path).words
        assert "Whether 1 conversation waits for an answer isn’t known" in words, path
        assert "Every conversation has been answered" not in words, path
    fake_api.gives(LIST_CONVERSATIONS, [msgspec.to_builtins(talk(1)), unknown])
    for path in ("/", "/conversations"):
        words = nora.get(path).words
        assert "Question 1" in words and "Whether 1 conversation waits" in words, path


@pytest.mark.parametrize("sorts", [True, False])
def test_the_newest_conversations_are_those_of_a_list_in_another_order_only_where_it_can_be_sorted(
    visitor: SignIn, fake_api: FakeApi, sorts: bool
) -> None:
    def answered(number: int) -> dict[str, Any]:
        at = (datetime(2026, 1, 1, tzinfo=ZONE) + timedelta(hours=number)).isoformat()
        sent = {"id": f"m-{number}", "side": "Outbound", "sentAt": at}
        return {"id": f"t-{number}", "lastMessageAt": at, "messages": [sent]}

    asks = {**msgspec.to_builtins(talk(999)), "lastMessageAt": "2026-11-20T12:00:00Z"}
    oldest_first = [*map(answered, range(MOST)), asks]

    def listed(query: Mapping[str, str]) -> object:
        is_sorted = sorts and query.get("Sorting") == "lastMessageAt desc"
        items = oldest_first[::-1] if is_sorted else oldest_first
        begin = int(query["SkipCount"])
        return {"totalCount": len(items), "items": items[begin : begin + int(query["MaxResultCount"])]}

    fake_api.computes(LIST_CONVERSATIONS, listed)
    nora = visitor("nora", "nurse")
    for path in ("/", "/conversations"):
        words = nora.get(path).words
        assert ("Question 999" in words) is sorts, path
        assert (f"Looked through: {MOST}, and newer ones may wait." in words) is not sorts, path
        assert "have been answered" not in words, path
