"""Where a conversation is answered: a patient writes to its reply address, from which the clinic's own messages wouldn't come back."""

from __future__ import annotations

from msgspec.structs import replace

from portal.services.conversations import LIST_CONVERSATIONS, ReplyAddress
from tests.pages.test_patient_banner import TALK
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn


def test_only_patients_are_sent_to_the_reply_address(visitor: SignIn, fake_api: FakeApi) -> None:
    address = ReplyAddress(email="reply+abc@riverside.example", sms="+447700900321")
    stranger = replace(TALK, id="m-2", patient_id=None, reply_address=address)
    fake_api.gives(LIST_CONVERSATIONS, [replace(TALK, reply_address=address), stranger])
    hers = visitor("amelia").get("/conversations/m-1").select(".reply")[0]
    assert [link["href"] for link in hers.select(".act-bar a")] == [
        "mailto:reply+abc@riverside.example",
        "sms:+447700900321",
    ]
    nora = visitor("nora", "nurse")
    for id_, reached in (("m-1", ["/patients/p-1?episode=e-1"]), ("m-2", [])):
        reply = nora.get(f"/conversations/{id_}").select(".reply")[0]
        assert "The portal sends no messages." in reply.words
        assert "reply+abc" not in reply.words and "900321" not in reply.words
        links = [str(link["href"]) for link in reply.select("a")]
        assert [href for href in links if not href.startswith("/episodes/")] == reached
