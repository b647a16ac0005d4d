"""A form that asks for two witnesses whom it doesn't name."""

from __future__ import annotations

from msgspec.structs import replace

from portal.services.consents import READ_CONSENT
from portal.services.consents.forms import ConsentStatus, Signature, Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

AMELIA = Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1)
WITNESS = Signer(role=SignerRole.WITNESS, order=2)


def test_the_second_witness_is_asked_once_the_first_has_signed(visitor: SignIn, fake_api: FakeApi) -> None:
    signed = tuple(
        Signature(role=role, person_id=id_, name=id_)
        for role, id_ in ((SignerRole.PATIENT, "amelia"), (SignerRole.WITNESS, "nora"))
    )
    form = replace(FORM, required_signers=(AMELIA, WITNESS, WITNESS), signatures=signed)
    fake_api.gives(READ_CONSENT, replace(form, status=ConsentStatus.PARTIALLY_SIGNED))
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("victor", "nurse").get("/consents/c-1/sign")
    rows = [row.words for row in page.follow(FORM.title).select(".signer")]
    assert ["Signed" in row.split() for row in rows] == [True, True, False]
