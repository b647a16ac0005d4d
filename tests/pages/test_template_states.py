"""What a patient has of each template: this treatment's forms, of each of a couple; and a new one in place of an old one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from portal.services.consents import CREATE_CONSENT, LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm, ConsentKind, ConsentStatus, Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from tests.pages.test_bundle import SOURCES, forms_on, pgt
from tests.pages.test_patient_banner import AMELIA, DANIEL, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn, Visitor

STORAGE = replace(
    FORM,
    title="Consent to the storage of embryos made with my eggs or sperm",
    kind=ConsentKind.STORAGE,
    status=ConsentStatus.SIGNED,
    effective_at=datetime(2026, 11, 25, 12, tzinfo=UTC),
    required_signers=(Signer(role=SignerRole.GAMETE_PROVIDER, person_id="amelia", name="Amelia Hart"),),
)
HIS = replace(
    STORAGE,
    id="c-2",
    required_signers=(Signer(role=SignerRole.GAMETE_PROVIDER, person_id="daniel", name="Daniel Hart"),),
)
RENEWAL = replace(
    STORAGE,
    title="Renewal of consent to embryo storage",
    kind=ConsentKind.STORAGE_RENEWAL,
    embryo_storage_ids=("s-1",),
    required_signers=(Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart"),),
)
SENT = replace(RENEWAL, status=ConsentStatus.PENDING, sent_at=datetime(2026, 11, 25, 12, tzinfo=UTC))
PGT_SIGNED = replace(pgt(ConsentStatus.SIGNED), effective_at=datetime(2026, 11, 25, 12, tzinfo=UTC))


@pytest.fixture
def nora(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    couple = {"patient": replace(AMELIA, user_id="amelia"), "partner": replace(DANIEL, user_id="daniel")}
    fake_api.gives(READ_EPISODE, replace(EPISODE, **couple))
    return visitor("nora", "nurse")


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (PGT_SIGNED, "signed Wed 25 Nov Version"),
        (replace(PGT_SIGNED, episode_id="e-0"), "signed Wed 25 Nov, for another treatment Version"),
        (STORAGE, "Amelia Hart: signed Wed 25 Nov · Daniel Hart: never sent Version"),
        (SENT, "sent Wed 25 Nov, waits for Amelia Hart Version"),
        (replace(SENT, required_signers=()), "Unsigned Version"),
        (replace(SENT, status=ConsentStatus.PARTIALLY_SIGNED), "Partly signed Version"),
    ],
    ids=["this treatment's", "another's", "hers alone", "open", "signers untold", "signatures untold"],
)
def test_it_is_said_whose_and_for_which_treatment(
    nora: Visitor, fake_api: FakeApi, form: ConsentForm, words: str
) -> None:
    fake_api.gives(LIST_CONSENTS, [form])
    assert words in forms_on(nora.get(SOURCES))[form.title]


def test_a_form_that_replaces_another_has_its_embryos(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [RENEWAL])
    fake_api.gives(READ_CONSENT, RENEWAL)
    page = nora.get(SOURCES).follow("Replace it").form("/consents/new/fill").submit(replaces="c-1")
    page.form("/consents/new").submit(status=None)
    (sent,) = fake_api.sent(CREATE_CONSENT)
    assert [sent.body["supersedesId"], sent.body["embryoStorageIds"]] == ["c-1", ["s-1"]]


@pytest.mark.parametrize("forms", [(STORAGE,), (STORAGE, HIS)], ids=["hers", "one of each"])
def test_each_of_a_couple_has_their_own_form_replaced(
    nora: Visitor, fake_api: FakeApi, forms: tuple[ConsentForm, ...]
) -> None:
    fake_api.gives(LIST_CONSENTS, forms)
    for form in forms:
        fake_api.gives(READ_CONSENT, form, id_=form.id)
    (row,) = (one for one in nora.get(SOURCES).select(".bundle > li") if STORAGE.title in one.words)
    links = [link for link in row.select("a") if "Replace it" in link.words]
    for link, form in zip(links, forms, strict=True):
        assert form.required_signers[0].name in link.words
        page = nora.get(link["href"])
        assert page.select("#replaces")[0]["value"] == form.id
        chosen = [option["value"] for option in page.select("select[name^=signer-] option[selected]")]
        assert form.required_signers[0].person_id in chosen
    assert ("Change before sending" in row.words) is (len(forms) == 1)
