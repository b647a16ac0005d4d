"""A patient's papers: what is made anew of a treatment says whose it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import LIST_CONVERSATIONS, Attachment, Conversation, Message, MessageSide
from portal.services.episodes import Appointment
from portal.services.patients import Patient
from portal.services.protocols import ProtocolStatus
from tests.pages.test_tonight import PLAN, episode, shows
from tests.support.fake_api import ZONE, FakeApi
from tests.support.visitor import SignIn


@pytest.mark.parametrize(
    ("sub", "visits", "medicines"),
    [("amelia", "My visits", "My medicines"), ("daniel", "Millie’s visits", "Millie’s medicines")],
)
def test_a_partner_reads_whose_medicines_and_visits_they_are(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], sub: str, visits: str, medicines: str
) -> None:
    scan = Appointment(id="a-1", kind="Scan", start=datetime(2026, 11, 26, 9, tzinfo=ZONE))
    daniel = Patient(id="daniel-patient", user_id="daniel", first_name="Daniel")
    shows(fake_api, replace(episode(appointments=(scan,)), partner=daniel))
    person = visitor(sub)
    at("25 12:00")
    words = person.get("/papers").words.translate({0x2068: None, 0x2069: None})
    assert visits in words and words.count(medicines) >= 2
    assert ("My visits" in words, "My medicines" in words) == (sub == "amelia", sub == "amelia")


def test_no_paper_is_made_of_a_plan_that_isnt_followed_or_of_a_form_that_waits(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 12:00")
    shows(fake_api, episode(replace(PLAN, status=ProtocolStatus.ON_HOLD)))
    fake_api.gives(LIST_CONSENTS, [ConsentForm(id="c-1", title="Storage", status=ConsentStatus.PENDING)])
    words = visitor("amelia").get("/papers").words
    assert "Storage" not in words and "As they are today" not in words


LETTER = Message(id="m-1", attachments=(Attachment(file_id="f-1", name="Letter.pdf"),))


@pytest.mark.parametrize(
    ("side", "sender", "is_listed"),
    [
        (MessageSide.OUTBOUND, "nora", True),
        (MessageSide("Other"), "nora", True),
        (None, None, True),
        (None, "amelia", False),
        (MessageSide.INBOUND, "daniel", False),
    ],
)
def test_a_file_is_listed_unless_the_patients_side_sent_it(
    visitor: SignIn, fake_api: FakeApi, side: MessageSide | None, sender: str | None, is_listed: bool
) -> None:
    letter = replace(LETTER, side=side, sender_id=sender)
    fake_api.gives(LIST_CONVERSATIONS, [Conversation(id="t-1", messages=(letter,))])
    assert ("Letter.pdf" in visitor("amelia").get("/papers").words) is is_listed


@pytest.mark.parametrize("count", [49, 50])
def test_a_conversation_may_have_older_files_than_its_newest_fifty_messages(
    visitor: SignIn, fake_api: FakeApi, count: int
) -> None:
    messages = tuple(Message(id=f"m-{number}") for number in range(count))
    fake_api.gives(LIST_CONVERSATIONS, [Conversation(id="t-1", messages=messages)])
    assert ("There may be older ones" in visitor("amelia").get("/papers").words) is (count == 50)
