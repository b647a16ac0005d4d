"""A typed name that fits the form, but not what the clinic's system has."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Amelai Hart", "The clinic’s system didn’t accept that name. Type this one: Amelia Hart"),
        ("Amelia Hart", "The clinic’s system has your name in another way. Please call the clinic."),
    ],
)
def test_a_patient_reads_what_to_do_about_a_name_that_is_not_accepted(
    visitor: SignIn, fake_api: FakeApi, typed: str, said: str
) -> None:
    misspelt = Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelai Hart")
    fake_api.gives(READ_CONSENT, replace(FORM, required_signers=(misspelt,), statements=()))
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.refuses(SIGN_CONSENT, 400, naming="signature")
    page = (
        visitor("amelia", name="Amelia Hart")
        .get("/consents/c-1/sign")
        .form("/consents/c-1/sign/read")
        .submit()
    )
    page = page.form("/consents/c-1/sign/name").submit(signature=typed)
    assert [link.words for link in page.select(".error-summary a")] == [said]
    assert page.select("input[name=signature]")[0]["value"] == typed
