"""The receipt: in which order signatures stand, and what comparing one with the text of now says."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentStatus, Signature, SignerRole
from portal.services.rules.consent_text import content_hash
from tests.pages.test_patient_banner import FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

AMELIAS = Signature(
    role=SignerRole.PATIENT,
    person_id="amelia",
    name="Amelia Hart",
    signed_at=datetime(2026, 11, 2, tzinfo=UTC),
)
DANIELS = replace(
    AMELIAS,
    role=SignerRole.PARTNER,
    person_id="daniel",
    name="Daniel Hart",
    signed_at=datetime(2026, 11, 1, tzinfo=UTC),
)
SIGNED = replace(FORM, status=ConsentStatus.SIGNED, signatures=(AMELIAS, DANIELS))


@pytest.mark.parametrize(
    ("sub", "role", "names"), [("amelia", "patient", "Amelia Daniel"), ("nora", "nurse", "Daniel Amelia")]
)
def test_ones_own_signature_stands_first_then_they_stand_by_time(
    visitor: SignIn, fake_api: FakeApi, sub: str, role: str, names: str
) -> None:
    fake_api.gives(READ_CONSENT, SIGNED)
    page = visitor(sub, role).get("/consents/c-1/receipt")
    assert [one.words.split()[0] for one in page.select(".signature h3")] == names.split()


def test_a_receipt_of_one_of_two_signatures_says_so(visitor: SignIn, fake_api: FakeApi) -> None:
    form = replace(FORM, status=ConsentStatus.PARTIALLY_SIGNED, signatures=(AMELIAS,))
    fake_api.gives(READ_CONSENT, form)
    assert "Signed so far: 1 of 2." in visitor("nora", "nurse").get("/consents/c-1/receipt").words


OURS = content_hash(SIGNED)


@pytest.mark.parametrize(
    ("forms", "signatures", "said"),
    [
        (OURS, OURS, "Matches"),
        (OURS, "another", "Does not match"),
        ("theirs", OURS, "Matches"),
        ("theirs", "theirs", "As recorded"),
        ("theirs", "another", "Does not match"),
        (OURS, "", "Not compared"),
    ],
)
def test_a_signature_of_another_text_is_never_said_to_be_as_recorded(
    visitor: SignIn, fake_api: FakeApi, forms: str, signatures: str, said: str
) -> None:
    signature = replace(AMELIAS, content_hash=signatures)
    fake_api.gives(READ_CONSENT, replace(SIGNED, content_hash=forms, signatures=(signature,)))
    fake_api.gives(LIST_CONSENTS, [])
    page = visitor("amelia").get("/consents/c-1/receipt?verify=1")
    assert [tag.words for tag in page.select("#verification .checks .tag")] == [said]
