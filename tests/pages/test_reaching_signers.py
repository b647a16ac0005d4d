"""How staff reach whom a form waits for, where the form names no treatment."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentStatus, Signer, SignerRole
from portal.services.conversations import LIST_CONVERSATIONS, ReplyAddress
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import AMELIA, DANIEL, EPISODE, FORM, TALK
from tests.support.builders import AMELIA as SIGNER
from tests.support.builders import consent
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, SignIn

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
    assert addresses(page) == [] and page.select(".waits")[0].words.endswith(
        "Hart: who has signed isn’t given"
    )


@pytest.mark.parametrize(
    ("waits", "is_called"),
    [("patients", True), ("partners", True), ("no-account", True), ("us", False), ("", False)],
)
def test_lists_of_people_to_call_have_each_ones_own_number(
    visitor: SignIn, fake_api: FakeApi, waits: str, is_called: bool
) -> None:
    daniel = replace(DANIEL, user_id="daniel", phone_number="+447700900182")
    signers = (*FORM.required_signers[:1], replace(FORM.required_signers[1], person_id="p-1"))
    signers += (Signer(role=SignerRole.PARTNER, person_id="daniel", name="Daniel Hart"),)
    fake_api.gives(
        READ_EPISODE, replace(EPISODE, patient=replace(AMELIA, phone_number="+447700900181"), partner=daniel)
    )
    fake_api.gives(LIST_CONSENTS, [replace(FORM, partner_id="p-2", required_signers=signers)])
    page = visitor("nora", "nurse").get(f"/consents?list=open&waits={waits}")
    called = [
        (one.words.split()[0], link["href"])
        for one in page.select(".wait")
        for link in one.select("a[href^=tel]")
    ]
    both = [("Amelia", "tel:+447700900181"), ("Daniel", "tel:+447700900182")]
    assert sorted(called) == (both if is_called else [])


def test_a_form_that_asks_a_person_again_says_why_it_waits(visitor: SignIn, fake_api: FakeApi) -> None:
    asked = replace(SIGNER, role=SignerRole.GAMETE_PROVIDER, order=2)
    form = consent(SIGNER, required_signers=(SIGNER, asked), status=ConsentStatus.PARTIALLY_SIGNED)
    fake_api.gives(READ_CONSENT, form)
    for reader in (visitor("nora", "nurse"), visitor("amelia")):
        words = reader.get("/consents/form").words
        assert "Amelia has signed in one role, and is asked as Gamete provider, too." in words
        assert "Your turn" not in words and "Amelia hasn’t signed yet" not in words
    fake_api.gives(LIST_CONSENTS, [form])
    nora = visitor("nora", "nurse")
    for waits, told in (("us", ["The clinic: Amelia has signed in another role"]), ("patients", [])):
        page = nora.get(f"/consents?list=open&waits={waits}")
        assert [one.words for one in page.select(".wait")] == told
