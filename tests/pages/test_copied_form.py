"""A form copied for other people: its text names none of those it was for."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services.consents import CREATE_CONSENT, LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import Clause, ConsentKind, Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from portal.services.storage import EmbryoStatus, EmbryoStorage
from tests.pages.test_patient_banner import AMELIA, DANIEL, EMBRYO, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

ANOTHER = replace(EPISODE, id="e-2", patient=replace(AMELIA, id="p-3", first_name="Ines"), partner=None)


@pytest.mark.parametrize(("episode_id", "status"), [("e-1", 200), ("e-2", 403)])
def test_a_text_with_the_names_of_its_people_is_copied_for_them_alone(
    visitor: SignIn, fake_api: FakeApi, episode_id: str, status: int
) -> None:
    clause = Clause(id="c", heading="Consent", text="I, Amelia Hart, agree.")
    fake_api.gives(READ_CONSENT, replace(FORM, kind=ConsentKind.GENETIC_TESTING, body=(clause,)))
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(READ_EPISODE, ANOTHER, id_="e-2")
    page = visitor("nora", "nurse").get(f"/consents/new?copy=c-1&episode={episode_id}", status=status)
    assert ("names Amelia Hart, whom the new one isn’t about" in page.words) is (status == 403)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("I, AMELIA HART, agree.", 403),
        ("I, Amelia\u00a0Hart, agree.", 403),
        ("I, Amelia\nHart, agree.", 403),
        ("Hart, Amelia: RF-10482", 403),
        ("My heart, Amelia Hartley.", 200),
    ],
)
def test_a_name_is_found_however_it_is_written(
    visitor: SignIn, fake_api: FakeApi, text: str, status: int
) -> None:
    clause = Clause(id="c", heading="Consent", text=text)
    fake_api.gives(READ_CONSENT, replace(FORM, kind=ConsentKind.GENETIC_TESTING, body=(clause,)))
    fake_api.gives(READ_EPISODE, ANOTHER, id_="e-2")
    page = visitor("nora", "nurse").get("/consents/new?copy=c-1&episode=e-2", status=status)
    assert ("names Amelia Hart" in page.words) is (status == 403)


@pytest.mark.parametrize("has_partner", [True, False])
def test_a_template_that_names_the_partner_is_for_treatments_with_one(
    visitor: SignIn, fake_api: FakeApi, has_partner: bool
) -> None:
    fake_api.gives(READ_EPISODE, EPISODE if has_partner else ANOTHER)
    page = visitor("nora", "nurse").get("/consents/new?template=legal-parenthood-woman&episode=e-1")
    sent = page.form("/consents/new/fill").submit(status=422)
    assert ("names the partner, and none is known here" in sent.words) is not has_partner


SIGNERS = (
    Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1),
    Signer(role=SignerRole.PARTNER, person_id="daniel", name="Daniel Hart", order=1),
)
COUPLE = replace(
    EPISODE, patient=replace(AMELIA, user_id="amelia"), partner=replace(DANIEL, user_id="daniel")
)


@pytest.mark.parametrize(("owner", "other"), [("p-1", "p-2"), ("p-2", "p-1")])
def test_the_treatment_form_that_an_embryo_lacks_names_it(
    visitor: SignIn, fake_api: FakeApi, owner: str, other: str
) -> None:
    gone = replace(EMBRYO, id="s-2", patient_id=owner, status=EmbryoStatus.TRANSFERRED)
    embryos = (replace(EMBRYO, patient_id=owner), gone, replace(EMBRYO, id="s-3", patient_id=other))
    fake_api.gives(READ_EPISODE, replace(COUPLE, embryos=embryos))
    fake_api.gives(LIST_CONSENTS, [])
    staff = visitor("elif", "physician")
    page = staff.get("/storage/s-1?episode=e-1")
    page = staff.get(page.select("a[href*='template=treatment']")[0]["href"])
    assert [box["value"] for box in page.select("input[name=embryo]")] == ["s-1"], "here, and of that patient"
    page = page.form("/consents/new/fill").submit(**{"signer-2": "elif"})
    page.form("/consents/new").submit(status=None)
    body = fake_api.sent(CREATE_CONSENT)[0].body
    assert (body["patientId"], body["partnerId"], body["embryoStorageIds"]) == (owner, other, ["s-1"])


@pytest.mark.parametrize(
    ("named", "embryo", "left_out"),
    [
        (("s-1",), EMBRYO, "AH-1"),
        ((), replace(EMBRYO, consent_form_id="c-1"), "AH-1"),
        (("s-1",), None, "s-1"),
        (("s-1",), replace(EMBRYO, status=EmbryoStatus.TRANSFERRED), ""),
    ],
)
@pytest.mark.parametrize("kind", [ConsentKind.TREATMENT, ConsentKind.STORAGE_RENEWAL])
def test_embryos_that_a_replacing_copy_leaves_out_are_named_before_it_is_sent(
    visitor: SignIn,
    fake_api: FakeApi,
    kind: ConsentKind,
    named: tuple[str, ...],
    embryo: EmbryoStorage | None,
    left_out: str,
) -> None:
    form = replace(
        FORM, version="1", kind=kind, partner_id="p-2", embryo_storage_ids=named, required_signers=SIGNERS
    )
    fake_api.gives(READ_CONSENT, form)
    fake_api.gives(LIST_CONSENTS, [form])
    fake_api.gives(READ_EPISODE, replace(COUPLE, embryos=(embryo,) if embryo else ()))
    page = visitor("nora", "nurse").get("/consents/new?copy=c-1").form("/consents/new/fill")
    words = page.submit(replaces="c-1", embryo=[], **{"signer-2": "nora"}).words
    assert (f"Not named any more: {left_out}" in words) is bool(left_out)


def test_the_partners_own_form_is_copied_for_the_partner(visitor: SignIn, fake_api: FakeApi) -> None:
    own = replace(
        FORM,
        version="1",
        kind=ConsentKind.GENETIC_TESTING,
        patient_id=DANIEL.id,
        patient_name="Daniel Hart",
        required_signers=(Signer(role=SignerRole.PATIENT, person_id="daniel", name="Daniel Hart"),),
    )
    fake_api.gives(READ_CONSENT, own)
    fake_api.gives(LIST_CONSENTS, [own])
    partner = replace(DANIEL, user_id="daniel")
    fake_api.gives(READ_EPISODE, replace(EPISODE, partner=partner))
    page = visitor("nora", "nurse").get("/consents/new?copy=c-1")
    page.form("/consents/new/fill").submit(replaces="c-1").form("/consents/new").submit(status=None)
    (sent,) = fake_api.sent(CREATE_CONSENT)
    assert [sent.body["patientId"], sent.body["partnerId"], sent.body["supersedesId"]] == [
        "p-2",
        "p-1",
        "c-1",
    ]
    assert [signer["personId"] for signer in sent.body["requiredSigners"]] == ["daniel"]


def test_a_copy_of_the_partners_own_form_names_the_partners_embryos(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    theirs = replace(EMBRYO, id="s-2", embryo_code="DH-1", patient_id=DANIEL.id)
    own = replace(
        FORM,
        version="1",
        kind=ConsentKind.STORAGE_RENEWAL,
        patient_id=DANIEL.id,
        patient_name="Daniel Hart",
        partner_id=AMELIA.id,
        embryo_storage_ids=("s-2",),
        required_signers=(
            Signer(role=SignerRole.PATIENT, person_id="daniel", name="Daniel Hart", order=1),
            Signer(role=SignerRole.PARTNER, person_id="amelia", name="Amelia Hart", order=1),
        ),
    )
    fake_api.gives(READ_CONSENT, own)
    fake_api.gives(LIST_CONSENTS, [own])
    fake_api.gives(READ_EPISODE, replace(COUPLE, embryos=(EMBRYO, theirs)))
    page = visitor("nora", "nurse").get("/consents/new?copy=c-1")
    assert [label.words for label in page.select("#embryos .choice")] == ["DH-1 · RF-10483"]
    page.form("/consents/new/fill").submit(replaces="c-1").form("/consents/new").submit(status=None)
    (sent,) = fake_api.sent(CREATE_CONSENT)
    assert (sent.body["patientId"], sent.body["embryoStorageIds"]) == ("p-2", ["s-2"])
