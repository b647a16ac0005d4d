"""What was ticked and typed while signing, and wasn't sent before the session ended."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import ConsentForm, Signer, SignerRole, Statement
from portal.services.episodes import READ_EPISODE
from portal.web.unsent import ONLY_KEEP
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn

AMELIA = Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1)
NORA = Signer(role=SignerRole.CLINICIAN, person_id="nora", name="Nora", order=2)
STATEMENT = Statement(id="statement-1", text="My embryos may be used after my death: no.")
OPPOSITE = replace(STATEMENT, text="My embryos may be used after my death: yes.")
AS_TICKED = replace(FORM, required_signers=(AMELIA, NORA), statements=(STATEMENT,))
CORRECTED = replace(AS_TICKED, statements=(OPPOSITE,))


@pytest.mark.parametrize(("now", "next_page"), [(AS_TICKED, "name"), (CORRECTED, "statements")])
def test_statements_ticked_for_an_earlier_text_are_asked_anew(
    visitor: SignIn, fake_api: FakeApi, now: ConsentForm, next_page: str
) -> None:
    fake_api.gives(READ_CONSENT, AS_TICKED)
    fake_api.gives(READ_EPISODE, EPISODE)
    amelia = visitor("amelia")
    page = amelia.get("/consents/c-1/sign").form("/consents/c-1/sign/read").submit()
    page.form("/consents/c-1/sign/statements").submit(check_all=True, status=None, **{ONLY_KEEP: ""})
    fake_api.gives(READ_CONSENT, now)
    page = amelia.get("/consents/c-1/sign")
    if now is CORRECTED:
        page = page.form("/consents/c-1/sign/read").submit()
    assert page.select(f"form[action$='/sign/{next_page}']")


@pytest.mark.parametrize("now", [AS_TICKED, CORRECTED])
def test_a_declaration_for_an_earlier_text_is_not_kept_and_none_is_noted_before_it_is_sent(
    visitor: SignIn, fake_api: FakeApi, in_process: InProcess, now: ConsentForm
) -> None:
    fake_api.gives(READ_CONSENT, AS_TICKED)
    fake_api.gives(READ_EPISODE, EPISODE)
    nora = visitor("nora", "nurse")
    page = nora.get("/consents/c-1/sign").form("/consents/c-1/sign/name")
    page.submit(check_all=True, status=None, signature="Nora", **{ONLY_KEEP: ""})
    fake_api.gives(READ_CONSENT, now)
    in_process.audited()
    page = nora.get("/consents/c-1/sign")
    assert bool(page.select("#declaration[checked]")) is (now is AS_TICKED)
    assert ("The form has changed" in page.words) is (now is CORRECTED)
    told = {(line["audit"], line["outcome"]) for line in in_process.audited()}
    assert "consent.declare" not in {event for event, _ in told}
    assert (("consent.sign", "changed") in told) is (now is CORRECTED)
    page.form("/consents/c-1/sign/name").submit(status=None)
    assert bool(fake_api.sent(SIGN_CONSENT)) is (now is AS_TICKED)
