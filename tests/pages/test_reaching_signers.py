"""How staff reach whom a form waits for, where the form names no treatment."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentStatus
from portal.services.conversations import LIST_CONVERSATIONS, ReplyAddress
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import AMELIA, EPISODE, FORM, TALK
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, Visitor

SignIn = Callable[..., Visitor]

LIST = "/consents?list=open&waits=patients"


def addresses(page: Page) -> list[str]:
    return [str(link["href"]).partition("?")[0] for link in page.select("tbody a[href*=':']")]


def test_only_the_patients_own_number_is_called(visitor: SignIn, fake_api: FakeApi) -> None:
    clinics = ReplyAddress(email="reply+abc@riverside.example", sms="+447700900321")
    hers = replace(AMELIA, user_id="amelia", phone_number="+447700900182", email="amelia@mail.example")
    fake_api.gives(LIST_CONSENTS, [replace(FORM, episode_id=None)])
    fake_api.gives(LIST_CONVERSATIONS, [replace(TALK, reply_address=clinics)])
    fake_api.gives(READ_EPISODE, replace(EPISODE, patient=hers))
    nora = visitor("nora", "nurse")
    unknown = nora.get(LIST)
    assert addresses(unknown) == [] and "no number known" in unknown.words
    nora.get("/episodes/e-1")
    assert addresses(nora.get(LIST)) == ["tel:+447700900182", "mailto:amelia@mail.example"]
    untold = replace(FORM, episode_id=None, status=ConsentStatus.PARTIALLY_SIGNED)
    fake_api.gives(LIST_CONSENTS, [untold])
    page = nora.get(LIST)
    assert addresses(page) == [] and page.select(".waits")[0].words == "Not given", "who has signed"
