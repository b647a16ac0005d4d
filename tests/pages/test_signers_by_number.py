"""An API that names the signers of forms by their patient record: whose turn it is, and what isn't known."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT, REVOKE_CONSENT
from portal.services.consents.forms import (
    ConsentForm,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
)
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.patients import Patient
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

LENA = Patient(id="50011", user_id="lena", mrn="M 11", first_name="Lena", last_name="Keller")
MATS = Patient(id="50012", user_id="mats", mrn="M 12", first_name="Mats", last_name="Keller")
SIGNERS = (
    Signer(role=SignerRole.PATIENT, person_id="50011", name="Lena Keller", order=1),
    Signer(role=SignerRole.PARTNER, person_id="50012", name="Mats Keller", order=1),
)
FORM: ConsentForm = sample(
    ConsentForm,
    id="f1",
    title="Freezing",
    status=ConsentStatus.PENDING,
    patient_id="50011",
    partner_id="50012",
    episode_id="e1",
    required_signers=SIGNERS,
    signatures=(),
    revoked_at=None,
    expires_at=None,
    revoked_by_id=None,
    on_behalf_of=None,
)


@pytest.fixture
def api(fake_api: FakeApi) -> FakeApi:
    fake_api.gives(LIST_CONSENTS, [FORM])
    fake_api.gives(READ_CONSENT, FORM)
    fake_api.gives(READ_EPISODE, sample(Episode, id="e1", patient=LENA, partner=MATS))
    return fake_api


@pytest.fixture
def portal(tmp_path: Path) -> InProcess:
    return InProcess(
        tmp_path, Clock(lambda: NOW.timestamp()), dialect='[values]\nsigners = "Patient.id"\nids = "number"\n'
    )


@pytest.fixture
def lena(portal: InProcess, api: FakeApi) -> Visitor:
    return portal.visitor("lena", "patient", name="Lena Keller")


def test_a_signer_of_record_who_has_an_account_is_asked_to_sign(lena: Visitor, api: FakeApi) -> None:
    assert "Your turn 1" in lena.get("/consents").words
    page = lena.get("/consents/f1")
    assert "Lena Keller (you)" in page.words
    assert "no account" not in page.words
    signed = Signature(
        role=SignerRole.PATIENT,
        person_id="50011",
        name="Lena Keller",
        signed_at=NOW,
        method=SigningMethod.TYPED_NAME,
    )
    half = replace(FORM, signatures=(signed,), status=ConsentStatus.PARTIALLY_SIGNED)
    api.gives(READ_CONSENT, half)
    assert "Mats Keller hasn’t signed yet" in lena.get("/consents/f1").words


@pytest.mark.parametrize(
    "by", [{"revoked_by_id": "50011"}, {"revoked_by_id": "nora", "on_behalf_of": "50011"}]
)
def test_who_ended_a_form_is_told_that_it_was_they(lena: Visitor, api: FakeApi, by: dict[str, str]) -> None:
    api.gives(READ_CONSENT, replace(FORM, status=ConsentStatus.REVOKED, **by))
    assert ("By", "You") in lena.get("/consents/f1/revoke").facts


def test_whose_account_it_is_may_come_with_the_sign_in(portal: InProcess, api: FakeApi) -> None:
    api.refuses(READ_EPISODE, 403)
    person = portal.visitor("mats", "patient", name="Mats Keller", record="50012")
    assert "Mats Keller (you)" in person.get("/consents/f1").words


def test_where_it_is_not_known_who_is_asked_pages_say_so(lena: Visitor, api: FakeApi) -> None:
    api.refuses(READ_EPISODE, 403)
    api.gives(READ_CONSENT, FORM)
    page = lena.get("/consents/f1")
    assert "doesn’t say whether this form asks you" in page.words
    assert "doesn’t ask for your signature" not in page.words
    assert "no account" not in page.words
    assert "Some details can’t be shown." in page.words, "and no record is left out"
    assert "Nothing to sign right now" not in lena.get("/consents").words
    assert "Nothing needs" not in lena.get("/").words


def test_staff_see_no_signer_as_one_without_an_account(portal: InProcess, api: FakeApi) -> None:
    nurse = portal.visitor("nora", "nurse", name="Nora")
    for path in ("/consents", "/consents/f1", "/"):
        words = nurse.get(path).words
        assert "no account" not in words, path
        assert "(record)" not in nurse.get(path).text, path
    api.refuses(READ_EPISODE, 403)
    waits = "Forms of people without an account"
    assert waits in nurse.get("/").words
    assert f"0 {waits}" not in nurse.get("/").words
    words = nurse.get("/consents?list=open&waits=no-account").words
    assert "doesn’t say of everybody whether they have an account" in words
    assert "Nothing waits here" not in words and "isn’t complete" not in words
    words = nurse.get("/consents?list=mine&waits=no-account").words
    assert "Nothing waits here" in words and "doesn’t say of everybody" not in words
    api.gives(LIST_CONSENTS, [FORM, replace(FORM, id="f2", status=ConsentStatus("Held"))])
    words = nurse.get("/consents?list=open&waits=no-account").words
    assert "doesn’t say of everybody" in words and "isn’t complete" in words


def test_acts_name_people_as_the_api_does(portal: InProcess, api: FakeApi) -> None:
    signed = tuple(
        Signature(
            role=one.role,
            person_id=one.person_id,
            name=one.name,
            signed_at=NOW,
            method=SigningMethod.TYPED_NAME,
        )
        for one in SIGNERS
    )
    api.gives(READ_CONSENT, replace(FORM, signatures=signed, status=ConsentStatus.SIGNED))
    nurse = portal.visitor("nora", "nurse", name="Nora")
    form = nurse.get("/consents/f1/revoke").form("/consents/f1/revoke")
    assert "lena" in [one["value"] for one in form.element.select("select[name=who] option, input[name=who]")]
    form.submit(
        status=None,
        who="lena",
        told_by="Telephone",
        told_on="2026-11-23",
        told_time="10:00",
        name="Lena Keller",
    )
    (sent,) = api.sent(REVOKE_CONSENT)
    assert sent.body["onBehalfOf"] == 50011
