"""The work lists by whom a form waits for: a list isn't said to be empty where that isn't told."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentKind, Signer, SignerRole
from tests.pages.test_patient_banner import FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

OWN = replace(FORM, kind=ConsentKind.STORAGE)


@pytest.mark.parametrize("waits", ["patients", "partners", "us"])
def test_a_form_that_names_no_signers_may_belong_to_any_list(
    visitor: SignIn, fake_api: FakeApi, waits: str
) -> None:
    fake_api.gives(LIST_CONSENTS, [replace(OWN, required_signers=())])
    nora = visitor("nora", "nurse")
    words = nora.get(f"/consents?list=open&waits={waits}").words
    assert "doesn’t say of every form who signs it" in words and "Nothing waits here" not in words
    assert "Nothing waits here" in nora.get(f"/consents?list=open&waits={waits}&kind=Treatment").words


@pytest.mark.parametrize(
    ("role", "name", "is_partners"),
    [
        (SignerRole.GAMETE_PROVIDER, "Daniel Hart", True),
        (SignerRole.GAMETE_PROVIDER, "Amelia Hart", False),
        (SignerRole.DONOR, "Olga Berg", False),
        (SignerRole.PARTNER, "Amelia Hart", True),
    ],
)
def test_partners_are_found_by_the_forms_of_their_own(
    visitor: SignIn, fake_api: FakeApi, role: SignerRole, name: str, is_partners: bool
) -> None:
    signers = (Signer(role=SignerRole.CLINICIAN, name="Victor"), Signer(role=role, name=name))
    fake_api.gives(LIST_CONSENTS, [replace(OWN, required_signers=signers)])
    page = visitor("nora", "nurse").get("/consents?list=open&waits=partners")
    assert ("Nothing waits here" in page.words) is not is_partners


def test_a_patients_list_has_no_form_of_another_whatever_the_api_gives(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(LIST_CONSENTS, [OWN, replace(OWN, id="c-2", patient_id="p-9", patient_name="Ines Berg")])
    page = visitor("nora", "nurse").get("/consents?list=open&patient=p-1")
    assert [row.words for row in page.select("tbody th")] == ["Amelia Hart Consent to IVF"]
