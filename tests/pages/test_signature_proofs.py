"""Where a clinic asks for a fresh sign-in for each signature, one proves one signature, and what was typed is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from portal.config.tenants import Side
from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import ConsentStatus, Signature, Signer, SignerRole, SigningMethod
from portal.state.session_records import Person
from portal.state.signature_proofs import SignatureProofs
from tests.pages.test_strong_sign_in import SignIn, replace_form, send
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor


def form_of(number: int, name: str = "ines", *, is_signed: bool = False) -> Any:
    signed = Signature(
        role=SignerRole.PATIENT, person_id=name, name=name.capitalize(), method=SigningMethod.TYPED_NAME
    )
    return replace_form(
        id=f"p-{number}",
        required_signers=(Signer(role=SignerRole.PATIENT, person_id=name, name=name.capitalize(), order=1),),
        signatures=(signed,) if is_signed else (),
        status=ConsentStatus.SIGNED if is_signed else ConsentStatus.PENDING,
    )


@pytest.fixture
def each(in_process: InProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tenants = in_process.app.extensions["portal"].settings.tenants
    for host, clinic in tenants.by_host.items():
        changed = replace(clinic, fresh_sign_in_for_each_signature=True)
        monkeypatch.setitem(tenants.by_host, host, changed)
    yield


def to_name(visitor: Visitor, fake_api: FakeApi, number: int) -> Any:
    """The answer to the last step before the name."""
    fake_api.gives(READ_CONSENT, form_of(number))
    page = visitor.get(f"/consents/p-{number}/sign").form(f"/consents/p-{number}/sign/read").submit()
    return send(page.form(f"/consents/p-{number}/sign/statements"), statement="s-1")


def sign(visitor: Visitor, fake_api: FakeApi, number: int) -> Any:
    """The answer to the name, typed on the last page."""
    fake_api.gives(READ_CONSENT, form_of(number))
    page = visitor.get(f"/consents/p-{number}/sign/name")
    assert page.heading == "Sign this form", page.heading
    fake_api.gives(SIGN_CONSENT, form_of(number, is_signed=True))
    return send(page.form(f"/consents/p-{number}/sign/name"), signature="Ines")


@pytest.mark.usefixtures("each")
def test_each_signature_needs_a_sign_in_of_its_own(visitor: SignIn, fake_api: FakeApi) -> None:
    first = visitor("ines")
    assert to_name(first, fake_api, 1).headers["Location"].endswith("/sign/name")
    assert to_name(first, fake_api, 2).headers["Location"].endswith("/sign/name"), "none is signed yet"
    assert sign(first, fake_api, 1).headers["Location"] == "/consents/p-1/receipt"
    fake_api.gives(READ_CONSENT, form_of(2))
    assert first.get("/consents/p-2/sign/name").heading != "Sign this form"
    assert to_name(first, fake_api, 3).headers["Location"].startswith("/sign-in?")
    again = visitor("ines", signed_in_ago=-1.0)
    page = again.get("/consents/p-2/sign")
    assert page.heading == "Sign this form", "what was ticked is kept"
    assert sign(again, fake_api, 2).headers["Location"] == "/consents/p-2/receipt"
    assert len(fake_api.sent(SIGN_CONSENT)) == 2


@pytest.mark.usefixtures("each")
def test_a_page_opened_before_the_other_was_signed_keeps_the_name(visitor: SignIn, fake_api: FakeApi) -> None:
    first = visitor("ines", signed_in_ago=10)
    for number in (4, 5):
        to_name(first, fake_api, number)
    fake_api.gives(READ_CONSENT, form_of(5))
    waits = first.get("/consents/p-5/sign/name")
    assert sign(first, fake_api, 4).headers["Location"] == "/consents/p-4/receipt"
    fake_api.gives(READ_CONSENT, form_of(5))
    answer = send(waits.form("/consents/p-5/sign/name"), signature="Ines")
    assert answer.headers["Location"].startswith("/sign-in?next=%2Fconsents%2Fp-5%2Fsign%2Fname&fresh=1")
    assert len(fake_api.sent(SIGN_CONSENT)) == 1
    page = visitor("ines", signed_in_ago=9).get("/consents/p-5/sign/name")
    (typed,) = page.select("input[name=signature]")
    assert typed["value"] == "Ines"


def test_a_sign_in_proves_one_operation_and_that_one_again(in_process: InProcess) -> None:
    """In whichever session: it is known by its person and time."""
    proofs = SignatureProofs(in_process.app.extensions["portal"].vault, in_process.clock)
    person = Person(
        sub="s",
        issuer="i",
        side=Side.PATIENT,
        roles=frozenset({"patient"}),
        auth_time=100.0,
        name="",
        given_name="",
    )
    assert proofs.is_free("riverside", person, "one")
    assert proofs.take("riverside", person, "one")
    assert proofs.take("riverside", person, "one"), "its answer was lost"
    assert not proofs.is_free("riverside", person, "two")
    assert not proofs.take("riverside", person, "two")
    for other in (
        msgspec.structs.replace(person, sub="t"),
        msgspec.structs.replace(person, issuer="j"),
        msgspec.structs.replace(person, auth_time=101.0),
    ):
        assert proofs.take("riverside", other, "two")
    assert proofs.take("harbour", person, "two")


def test_elsewhere_one_sign_in_serves_for_several(visitor: SignIn, fake_api: FakeApi) -> None:
    first = visitor("ines", signed_in_ago=30)
    for number in (7, 8):
        to_name(first, fake_api, number)
        assert sign(first, fake_api, number).headers["Location"] == f"/consents/p-{number}/receipt"


def test_a_signature_on_paper_tells_no_sign_in_of_one_begun_here(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_CONSENT, form_of(1))
    ines = visitor("ines", acr="urn:mfa", amr=("pwd", "otp"))
    to_name(ines, fake_api, 1)
    ines.get("/consents/p-1/sign/name").form("/consents/p-1/sign/name").submit(signature="Wrong")
    signed = form_of(1, is_signed=True)
    paper = msgspec.structs.replace(signed.signatures[0], method=SigningMethod.PAPER)
    fake_api.gives(READ_CONSENT, msgspec.structs.replace(signed, signatures=(paper,)))
    assert "urn:mfa" not in ines.get("/consents/p-1/receipt").words
