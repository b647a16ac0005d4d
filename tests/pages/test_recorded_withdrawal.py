"""A withdrawal that staff record: the name typed is compared with the form's, as far as the form has one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from portal.services.consents import READ_CONSENT, REVOKE_CONSENT
from portal.services.consents.forms import ConsentStatus, Signature, SignerRole, ToldBy
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

TOLD = {"who": "amelia", "told_by": "Telephone", "told_on": "2020-01-02", "told_time": "10:00"}


@pytest.mark.parametrize(
    ("signed_as", "patient_name", "typed", "asks", "sends"),
    [
        ("", "", "", False, True),
        ("", "Amelia Hart", "Amelia Hart", True, True),
        ("", "Amelia Hart", "Grace Okafor", True, False),
        ("Mel Hart", "Amelia Hart", "Mel Hart", True, True),
    ],
    ids=["no name", "the patient's", "another's", "the signature's"],
)
def test_a_signer_without_a_name_is_known_by_what_the_form_has(
    visitor: SignIn, fake_api: FakeApi, signed_as: str, patient_name: str, typed: str, asks: bool, sends: bool
) -> None:
    signer = replace(FORM.required_signers[1], name="")
    signature = Signature(role=SignerRole.PATIENT, person_id="amelia", name=signed_as)
    nameless = replace(signer, role=SignerRole.PARTNER, person_id="daniel")
    signers = (signer, nameless)
    form = replace(FORM, status=ConsentStatus.SIGNED, patient_name=patient_name, required_signers=signers)
    fake_api.gives(READ_CONSENT, replace(form, signatures=(signature,)))
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("nora", "nurse").get("/consents/c-1/revoke")
    assert bool(page.select("input[name=name]")) == asks
    page.form("/consents/c-1/revoke").submit(**TOLD, name=typed, status=None)
    assert bool(fake_api.sent(REVOKE_CONSENT)) == sends


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        *(("who", ""), ("who", "victor"), ("told_by", ""), ("told_by", "Fax"), ("name", ""), ("name", "Mel Hart")),
        *(("told_on", "soon"), ("told_on", "2100-01-01"), ("told_time", "")),
    ],
)  # fmt: skip
def test_what_staff_left_out_or_mistook_is_asked_for_at_its_field(
    visitor: SignIn, fake_api: FakeApi, field: str, typed: str
) -> None:
    signature = Signature(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart")
    fake_api.gives(READ_CONSENT, replace(FORM, status=ConsentStatus.SIGNED, signatures=(signature,)))
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("nora", "nurse").get("/consents/c-1/revoke").form("/consents/c-1/revoke")
    page = page.submit(**TOLD | {"name": "Amelia Hart", field: typed}, status=422)
    assert [fault["href"] for fault in page.select(".error-summary a")] == [f"#{field}"]
    assert not fake_api.sent(REVOKE_CONSENT)


@pytest.mark.parametrize(
    ("sub", "role", "heading", "by"),
    [
        ("nora", "nurse", "Amelia Hart declined to sign this form", "Amelia Hart"),
        ("amelia", None, "You declined to sign this form", "You"),
    ],
)
def test_a_recorded_refusal_is_the_signers_not_the_writers(
    visitor: SignIn, fake_api: FakeApi, sub: str, role: str | None, heading: str, by: str
) -> None:
    recorded = {"revoked_by_id": "nora", "on_behalf_of": "amelia", "told_by": ToldBy.TELEPHONE}
    fake_api.gives(READ_CONSENT, replace(FORM, status=ConsentStatus.REVOKED, **recorded))
    fake_api.gives(READ_EPISODE, EPISODE)
    person = visitor(sub, role) if role else visitor(sub)
    page = person.get("/consents/c-1/revoke")
    assert page.heading == heading and ("By", by) in page.facts
    assert ("Reason" in dict(page.facts)) is (role is not None)
    assert "injections" not in page.words, "a form that never was in force asks for no medicines"
    assert heading in person.get("/consents/c-1").words


def test_a_second_post_that_fails_does_not_say_that_nothing_was_changed(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(READ_CONSENT, FORM)
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(REVOKE_CONSENT, replace(FORM, status=ConsentStatus.REVOKED))
    form = visitor("nora", "nurse").get("/consents/c-1/revoke").form("/consents/c-1/revoke")
    fake_api.refuses(READ_CONSENT, 503)
    assert "Nothing was changed." in form.submit(reason="A mistake", status=503).words
    fake_api.gives(READ_CONSENT, FORM)
    form.submit(reason="A mistake", status=None)
    assert fake_api.sent(REVOKE_CONSENT)
    fake_api.refuses(READ_CONSENT, 503)
    again = form.submit(reason="A mistake", status=503).words
    assert "Nothing was changed" not in again and "is kept" not in again


def test_a_form_signed_meanwhile_is_no_longer_cancelled(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_CONSENT, FORM)
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.refuses(REVOKE_CONSENT, 409)
    page = visitor("nora", "nurse").get("/consents/c-1/revoke")
    assert "Nobody of the patient’s side has signed it yet" in page.words
    signed = {"role": "Patient", "personId": "amelia", "name": "Amelia Hart"}
    read: list[str] = []

    def meanwhile(path: str, answer: Any) -> Any:
        read.append(path)
        is_later = read.count("/api/care/consent-forms/c-1") > 1
        return answer | {"status": "PartiallySigned", "signatures": [signed]} if is_later else answer

    fake_api.change = meanwhile
    again = page.form("/consents/c-1/revoke").submit(status=409)
    assert "Someone changed this form meanwhile" in again.words
    assert "Record that a signer has withdrawn?" in again.words
    assert "Nobody of the patient’s side has signed it yet" not in again.words
