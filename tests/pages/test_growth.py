"""A clinic that has grown a hundredfold: what a page reads and sends has an end."""

from __future__ import annotations

import gc
import io
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from werkzeug.test import create_environ, run_wsgi_app

from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signer, SignerRole
from portal.services.conversations import (
    ARCHIVE_MESSAGE,
    LIST_CONVERSATIONS,
    Conversation,
    Message,
    MessageSide,
)
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.services.protocols import LIST_PROTOCOLS
from tests.support.fake_api import ZONE, FakeApi, samples
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

Query = Mapping[str, str]

_FEW, _MANY = 200, 20_000
"""How many patients; one in twenty has a form that waits, one in four has written."""
_RECORDS, _SIZE = 1_300, 32_000
"""The most records that a page reads, and its most bytes of HTML."""
_TREATMENTS, _MESSAGES = 10, 2_000


@dataclass(frozen=True, slots=True)
class Cost:
    """What a page costs: calls of the API, records that came with them, and bytes of HTML."""

    calls: int
    records: int
    size: int


def cost(visitor: Visitor, api: FakeApi, path: str) -> Cost:
    visitor.get(path)  # what is kept from then on isn't read again
    api.calls.clear()
    api.told.clear()
    size = len(visitor.get(path).text.encode())
    records = sum(len(told["items"]) if "items" in told else 1 for told in api.told)
    return Cost(len(api.calls), records, size)


def paged(count: int, record: Callable[[int], object]) -> Callable[[Query], object]:
    """The API's answers about so many records: those of the page that a query asks for."""

    def answer(query: Query) -> object:
        skip, most = int(query.get("SkipCount", 0)), int(query.get("MaxResultCount", 10))
        shown = [msgspec.to_builtins(record(number)) for number in range(skip, min(skip + most, count))]
        return {"totalCount": count, "items": shown}

    return answer


def form(number: int, **members: Any) -> ConsentForm:
    signer = Signer(role=SignerRole.PATIENT, person_id=f"p-{number}", name=f"Patient {number}", order=1)
    return ConsentForm(
        id=f"c-{number}",
        title="Consent to IVF",
        status=ConsentStatus.PENDING,
        patient_id=f"p-{number}",
        patient_name=f"Patient {number}",
        required_signers=(signer,),
        procedure_date=datetime.now(ZONE).date() + timedelta(days=number // 10),
        **members,
    )


def talk(number: int, messages: int = 1) -> Conversation:
    at = datetime.now(ZONE) - timedelta(minutes=number)
    return Conversation(
        id=f"t-{number}",
        subject=f"Question {number}",
        patient_id=f"p-{number}",
        last_message_at=at,
        messages=tuple(
            Message(id=f"m-{number}-{n}", body=f"Word {n}", side=MessageSide.INBOUND, sent_at=at - timedelta(hours=n))
            for n in range(messages)
        ),
    )  # fmt: skip


def clinic(patients: int) -> dict[AnyEndpoint, Callable[[Query], object]]:
    waiting = [msgspec.to_builtins(form(number)) for number in range(patients // 20)]
    plan = samples(LIST_PROTOCOLS)["items"][0]

    def forms(query: Query) -> object:
        first, last = query.get("DueFrom", ""), query.get("DueTo", "9999")
        found = [
            one
            for one in waiting
            if query.get("Status") in (None, "Pending") and first <= one["procedureDate"] <= last
        ]
        return paged(len(found), lambda number: found[number])(query)

    return {
        LIST_CONSENTS: forms,
        LIST_CONVERSATIONS: paged(patients // 4, talk),
        LIST_NOTIFICATIONS: paged(
            patients // 4, lambda number: Notification(id=f"n-{number}", type="MessageReceived", title="News")
        ),
        LIST_PROTOCOLS: paged(patients // 10, lambda number: {**plan, "id": f"l-{number}"}),
    }


PATHS = (
    *("/", "/consents?list=open", "/consents?list=week", "/conversations", "/conversations?all=1"),
    *("/conversations/t-1", "/notifications", "/protocols", "/patients/p-1", "/day-sheet"),
)


@pytest.mark.parametrize("path", PATHS)
def test_a_page_of_a_clinic_of_20000_patients_costs_hardly_more_than_of_one_of_200(
    visitor: SignIn, fake_api: FakeApi, path: str
) -> None:
    costs: dict[int, Cost] = {}
    for patients in (_FEW, _MANY):
        for row, answer in clinic(patients).items():
            fake_api.computes(row, answer)
        costs[patients] = cost(visitor("nora", "nurse"), fake_api, path)
    few, many = costs[_FEW], costs[_MANY]
    assert many.calls <= few.calls + 2, costs
    assert many.records <= _RECORDS, costs
    assert many.size <= _SIZE, costs


@pytest.mark.parametrize("path", ["/", "/episodes", "/papers", "/storage", "/care-team"])
def test_a_person_with_ten_treatments_waits_for_no_more_than_a_page_shows(
    visitor: SignIn, fake_api: FakeApi, path: str
) -> None:
    fake_api.computes(
        LIST_CONSENTS, paged(_TREATMENTS, lambda number: form(number, episode_id=f"e-{number}"))
    )
    found = cost(visitor("amelia"), fake_api, path)
    # Four lists, which name two treatments more.
    assert found.calls <= _TREATMENTS + 6, found


def test_what_happened_to_a_connection_is_found_among_a_hundred_notifications(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    def told(number: int) -> Notification:
        entity = "EmrEndpoint" if number == 60 else "ConsentForm"
        return Notification(id=f"n-{number}", type="EmrSyncFailed", entity_type=entity, entity_id="m-1",
                            data={"endpointName": "Laboratory"})  # fmt: skip

    fake_api.computes(LIST_NOTIFICATIONS, paged(100, told))
    page = visitor("ada", "admin").get("/emr-endpoints/m-1/remove")
    assert "Laboratory" in page.words


def test_a_conversation_of_2000_messages_comes_in_parts(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.computes(LIST_CONVERSATIONS, paged(1, lambda number: talk(number, _MESSAGES)))
    amelia = visitor("amelia")
    newest = amelia.get("/conversations/t-0")
    before = newest.follow("Earlier messages")
    oldest = amelia.get(f"/conversations/t-0?before=m-0-{_MESSAGES - 30}")
    assert [*shown(oldest), *shown(before), *shown(newest)] == [
        f"message-m-0-{n}" for n in (*range(1999, 1970, -1), *range(99, -1, -1))
    ]
    assert newest.select("#news")
    assert not before.select("#news")
    assert before.link("Newest messages") == oldest.link("Newest messages") == "/conversations/t-0"
    assert "Newest messages" not in newest.words
    assert "Earlier messages" not in oldest.words
    assert len(newest.text.encode()) < 120_000


@pytest.mark.parametrize("count", [49, 50])
def test_a_conversation_may_have_earlier_messages_than_the_api_gives(
    visitor: SignIn, fake_api: FakeApi, count: int
) -> None:
    fake_api.computes(LIST_CONVERSATIONS, paged(1, lambda number: talk(number, count)))
    words = visitor("amelia").get("/conversations/t-0").words
    assert ("There may be earlier messages." in words) is (count == 50)


def test_a_part_of_a_conversation_stays_when_one_of_its_messages_is_archived(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.computes(LIST_CONVERSATIONS, paged(1, lambda number: talk(number, _MESSAGES)))
    fake_api.gives(ARCHIVE_MESSAGE, {**samples(ARCHIVE_MESSAGE), "isArchived": True})
    amelia = visitor("amelia")
    before = amelia.get("/conversations/t-0").follow("Earlier messages")
    (form,) = before.select("#message-m-0-60 form[action*='/archive']")
    after = amelia.post(str(form["action"]))
    assert shown(after) == shown(before)


def test_only_what_is_shown_is_marked_as_read(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.computes(
        LIST_CONVERSATIONS,
        paged(1, lambda number: msgspec.structs.replace(talk(number, _MESSAGES), unread_count=70)),
    )
    newest = visitor("amelia").get("/conversations/t-0")
    assert len(shown(newest)) == 70, "each that is new"
    assert newest.select("#read")
    before = newest.follow("Earlier messages")
    assert len(shown(before)) == 50
    assert not before.select("#read")


def shown(page: Page) -> list[str]:
    """The ids of the messages on the page."""
    return [str(one["id"]) for one in page.select("#messages [id^=message-m]")]


@pytest.mark.parametrize("roles", [("patient",), ("nurse",)])
@pytest.mark.parametrize("path", ["/", "/consents", "/conversations", "/help"])
def test_a_request_leaves_nothing_to_the_garbage_collector(
    visitor: SignIn, in_process: InProcess, roles: tuple[str, ...], path: str
) -> None:
    """Its body and records would stay in memory for hundreds of pages."""
    who = visitor("vera", *roles)
    who.get(path, status=None)
    body = io.BytesIO(b"some")
    environ = create_environ(path, "http://riverside.localhost", input_stream=body, environ_base={})
    environ["HTTP_COOKIE"] = "; ".join(f"{one.name}={one.value}" for one in who.http.cookies)
    remains = weakref.ref(body)
    gc.disable()
    try:
        pieces, status, _headers = run_wsgi_app(in_process.app, environ, buffered=True)
        assert status[:3] == "200" and b"".join(pieces)
        del body, environ, pieces
        assert remains() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("count", "is_cut"), [(100, False), (101, True)])
def test_papers_say_that_messages_beyond_those_read_may_have_more(
    visitor: SignIn, fake_api: FakeApi, count: int, is_cut: bool
) -> None:
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.computes(
        LIST_CONVERSATIONS, paged(count, lambda number: Conversation(id=f"t-{number}", subject="Scan"))
    )
    words = visitor("amelia").get("/papers").words
    assert ("There may be older ones that could not be read here." in words) is is_cut
