"""Whom a conversation is told to be with, where several take part."""

from __future__ import annotations

from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Participant
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

DOCTOR = Participant(id="victor", name="Dr Victor", role="physician")
AMELIA = Participant(id="amelia", name="Amelia Hart", role="Patient")
NURSE = Participant(id="nora", name="Nora", role="nurse")
TALK = Conversation(id="t-1", subject="Your results", participants=(DOCTOR, AMELIA, NURSE))


def test_staff_are_told_of_the_patient_before_their_colleagues(visitor: SignIn, fake_api: FakeApi) -> None:
    told = Notification(id="n-1", type="MessageReceived", title="A message", entity_type="Conversation", entity_id="t-1")  # fmt: skip
    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    fake_api.gives(LIST_NOTIFICATIONS, [told])
    nora = visitor("nora", "nurse")
    assert "Amelia Hart · Your results" in nora.get("/notifications").words
    assert "Amelia Hart, Dr Victor" in nora.get("/conversations?all=1").words
    nora.get("/conversations/t-1")
    assert "Amelia Hart" in nora.get("/find").select("#found .hits .hit-main")[0].words


def test_a_patient_is_told_of_the_clinics_people_in_their_order(visitor: SignIn, fake_api: FakeApi) -> None:
    partner = Participant(id="daniel", name="Daniel Hart", role="Patient")
    fake_api.gives(LIST_CONVERSATIONS, [Conversation(id="t-1", participants=(DOCTOR, AMELIA, partner))])
    assert "Dr Victor, Daniel Hart" in visitor("amelia").get("/conversations").words
