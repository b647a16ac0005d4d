"""Acts for which a clinic asks for a strong sign-in: nothing is sent before, nothing typed is lost, and the receipt tells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from portal.config.strong_sign_in import Act, StrongSignIn
from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import (
    Clause,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
    Statement,
)
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.state.session_records import SessionRecord, record_name
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn, Visitor

STRONG = StrongSignIn(
    acr=("urn:phr",), amr=("hwk",), acts=frozenset({Act.ADMINISTRATION}), kinds=frozenset({"LegalParenthood"})
)
FORM = ConsentForm(
    id="c-1",
    title="Becoming a parent",
    kind=ConsentKind.LEGAL_PARENTHOOD,
    version="1",
    status=ConsentStatus.PENDING,
    language="en",
    body=(Clause(id="b-1", heading="What it means", text="You become a parent."),),
    statements=(Statement(id="s-1", text="I understand it."),),
    required_signers=(Signer(role=SignerRole.PATIENT, person_id="grace", name="Grace", order=1),),
    concurrency_stamp="1",
)


@pytest.fixture(autouse=True)
def strong(in_process: InProcess) -> Iterator[None]:
    with in_process.clinic(strong=STRONG):
        yield


def send(form: Any, **values: Any) -> Any:
    """Send a form and return the answer itself."""
    fields = [*((name, value) for name, value in form.fields() if name not in values), *values.items()]
    headers = {"Referer": form.page.url}
    return form.page.visitor.request(
        "POST", form.action, data=fields, headers=headers, follow=False, status=303
    )


def held(in_process: InProcess, visitor: Visitor) -> dict[str, Any]:
    """What the visitor's session holds."""
    cookie = visitor.session_id
    found = in_process.app.extensions["portal"].vault.get(record_name(cookie), SessionRecord)
    return found.value.data


def audited(in_process: InProcess, event: str) -> dict[str, Any]:
    return [line for line in in_process.audited() if line["audit"] == event][-1]


def test_a_kind_of_form_that_needs_it_is_signed_after_a_strong_sign_in_alone(
    in_process: InProcess, visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(READ_CONSENT, FORM)
    weak = visitor("grace", acr="urn:pwd", amr=("pwd",))
    page = weak.get("/consents/c-1/sign").form("/consents/c-1/sign/read").submit()
    answer = send(page.form("/consents/c-1/sign/statements"), statement="s-1")
    assert answer.headers["Location"] == "/sign-in?next=%2Fconsents%2Fc-1%2Fsign%2Fname&fresh=1"
    assert held(in_process, weak)["strength"] == {"acr": ["urn:phr"], "amr": ["hwk"]}
    assert fake_api.sent(SIGN_CONSENT) == []
    strong = visitor("grace", acr="urn:phr", amr=("pwd", "hwk"))
    page = strong.get("/consents/c-1/sign")
    assert page.heading == "Sign this form", "what was ticked is kept"
    signed = Signature(
        role=SignerRole.PATIENT, person_id="grace", name="Grace", method=SigningMethod.TYPED_NAME
    )
    fake_api.gives(SIGN_CONSENT, FORM)
    done = replace_form(signatures=(signed,), status=ConsentStatus.SIGNED)
    fake_api.gives(SIGN_CONSENT, done)
    send(page.form("/consents/c-1/sign/name"), signature="Grace")
    fake_api.gives(READ_CONSENT, done)
    receipt = strong.get("/consents/c-1/receipt")
    assert ("Signed in with", "password, passkey or security key (urn:phr)") in receipt.facts
    line = audited(in_process, "consent.sign")
    assert (line["outcome"], line["acr"], line["amr"]) == ("done", "urn:phr", ["pwd", "hwk"])


def replace_form(**changes: Any) -> ConsentForm:
    return msgspec.structs.replace(FORM, **changes)


def test_other_forms_are_signed_after_a_password(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(
        READ_CONSENT,
        replace_form(
            kind=ConsentKind.STORAGE,
            required_signers=(Signer(role=SignerRole.PATIENT, person_id="daniel", name="Daniel", order=1),),
        ),
    )
    page = visitor("daniel", acr="urn:pwd").get("/consents/c-1/sign").form("/consents/c-1/sign/read").submit()
    page = page.form("/consents/c-1/sign/statements").submit(check_all=True)
    assert page.heading == "Sign this form"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"acr": "urn:x", "amr": ("otp", "pwd", "mfa", "new")}, "one-time code, password, new (urn:x)"),
        ({"amr": ("pwd", "recovery", "rba")}, "password, recovery code"),
        ({"amr": ("user",)}, None),
        ({"acr": "urn:x", "amr": ()}, "urn:x"),
        ({}, None),
    ],
)
def test_the_receipt_says_what_the_api_keeps_of_others(
    visitor: SignIn, fake_api: FakeApi, told: dict[str, Any], words: str | None
) -> None:
    signed = Signature(role=SignerRole.PATIENT, person_id="someone", name="Grace", **told)
    fake_api.gives(READ_CONSENT, replace_form(signatures=(signed,), status=ConsentStatus.SIGNED))
    facts = dict(visitor("nora", "nurse").get("/consents/c-1/receipt").facts)
    assert facts.get("Signed in with") == words


def test_what_was_typed_is_kept_where_an_act_needs_it(
    in_process: InProcess, visitor: SignIn, fake_api: FakeApi
) -> None:
    ada = visitor("ada", "admin", acr="urn:pwd")
    form = ada.get("/emr-endpoints/e-1/remove").form("/emr-endpoints/e-1/remove")
    answer = send(form, typed="e-1")
    assert answer.headers["Location"].endswith("&fresh=1")
    assert held(in_process, ada)["strength"] == {"acr": ["urn:phr"], "amr": ["hwk"]}
    assert audited(in_process, "emr_endpoints.remove")["outcome"] == "step-up"
    assert fake_api.sent(DELETE_EMR_ENDPOINT) == []


def test_what_the_api_demands_is_asked_for(in_process: InProcess, visitor: SignIn, fake_api: FakeApi) -> None:
    """RFC 9470 §3, §4: its `acr_values`, whatever the clinic asks for; once they are met, it goes round no more."""
    challenge = 'Bearer error="insufficient_user_authentication", acr_values="urn:more urn:most"'
    fake_api.demands(DELETE_EMR_ENDPOINT, challenge)
    ada = visitor("ada", "admin", acr="urn:phr")
    answer = send(ada.get("/emr-endpoints/e-1/remove").form("/emr-endpoints/e-1/remove"), typed="e-1")
    assert answer.headers["Location"] == "/sign-in?next=%2Femr-endpoints%2Fe-1%2Fremove&fresh=1"
    assert held(in_process, ada)["strength"] == {"acr": ["urn:more", "urn:most"], "amr": []}
    assert len(fake_api.sent(DELETE_EMR_ENDPOINT)) == 1
    more = visitor("ada", "admin", acr="urn:more", amr=("hwk",))
    page = (
        more.get("/emr-endpoints/e-1/remove")
        .form("/emr-endpoints/e-1/remove")
        .submit(typed="e-1", status=None)
    )
    assert page.status in (403, 502, 503), "signing in once more wouldn't help"


@pytest.mark.parametrize("role", ["nurse", "patient"])
def test_who_needs_it_to_come_in_sees_no_page_without_it(
    in_process: InProcess, visitor: SignIn, role: str
) -> None:
    other = "patient" if role == "nurse" else "nurse"
    with in_process.clinic(strong=replace(STRONG, roles=frozenset({role}))):
        sent_back = visitor("nora", role, acr="urn:pwd", amr=("pwd",)).request(
            "GET", "/", status=303, follow=False
        )
        assert str(sent_back.headers["Location"]).startswith("/sign-in?")
        for who, how in ((role, "hwk"), (other, "pwd")):
            assert visitor("nora", who, acr="urn:pwd", amr=(how,)).get("/").status == 200
