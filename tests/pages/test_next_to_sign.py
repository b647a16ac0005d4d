"""What a patient signs next, on the receipt: no other form waits only where all of them were read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentStatus, Signature, SignerRole
from tests.pages.test_patient_banner import FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

SIGNED = replace(
    FORM,
    status=ConsentStatus.SIGNED,
    signatures=(Signature(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart"),),
)
MANY = [replace(SIGNED, id=f"s-{number}") for number in range(120)]
UNREADABLE = {"id": "c-9", "status": "Pending"}


@pytest.mark.parametrize(
    ("forms", "words"),
    [
        ([], "No other form waits for your signature."),
        ([SIGNED, UNREADABLE], "There may be more forms than could be read here."),
        ([*MANY, replace(FORM, id="c-2")], "Next for you to sign"),
    ],
    ids=["none", "one unread", "beyond the first page"],
)
def test_no_other_form_waits_only_where_all_were_read(
    visitor: SignIn, fake_api: FakeApi, forms: list[Any], words: str
) -> None:
    def page_of(query: Mapping[str, str]) -> object:
        first = int(query.get("SkipCount", 0))
        there = forms[first : first + int(query["MaxResultCount"])]
        return {"totalCount": len(forms), "items": msgspec.to_builtins(there)}

    fake_api.gives(READ_CONSENT, SIGNED)
    fake_api.computes(LIST_CONSENTS, page_of)
    receipt = visitor("amelia").get("/consents/c-1/receipt")
    assert receipt.heading == "You’ve signed"
    (told,) = receipt.select("#next")
    assert words in told.words
