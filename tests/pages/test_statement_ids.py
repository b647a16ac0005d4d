"""Statements that an API numbers anew in each clause, so that ids repeat."""

from __future__ import annotations

from msgspec.structs import replace

from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import Signer, SignerRole, Statement
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

AMELIA = Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart")
STATEMENTS = tuple(
    Statement(id=id_, text=text)
    for id_, text in (("s", "I have read it."), ("s", "I agree."), ("t", "Enough time."))
)


def test_each_statement_has_a_tick_of_its_own(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_CONSENT, replace(FORM, required_signers=(AMELIA,), statements=STATEMENTS))
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("amelia").get("/consents/c-1/sign").form("/consents/c-1/sign/read").submit()
    values = [str(box["value"]) for box in page.select("input[name=statement]")]
    page = page.form("/consents/c-1/sign/statements").submit(statement=[values[0], values[2]])
    assert [link.words for link in page.select(".error-summary a")] == ["Tick “I agree.”"]
    assert [box["value"] for box in page.select("input[name=statement][checked]")] == [values[0], values[2]]
    page = page.form("/consents/c-1/sign/statements").submit(statement=values)
    page.form("/consents/c-1/sign/name").submit(signature="Amelia Hart", status=None)
    assert fake_api.sent(SIGN_CONSENT)[0].body["acknowledgedStatementIds"] == ["s", "t"]
