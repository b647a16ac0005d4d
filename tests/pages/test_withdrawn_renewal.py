"""After a withdrawal: embryos are said to be on hold only where the consent had been in force."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from portal.services.consents import READ_CONSENT
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

HERS = Signature(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart")
HIS = Signature(role=SignerRole.PARTNER, person_id="daniel", name="Daniel Hart")
WITHDRAWN = replace(
    FORM,
    kind=ConsentKind.STORAGE_RENEWAL,
    status=ConsentStatus.REVOKED,
    embryo_storage_ids=("s-1",),
    revoked_by_id="amelia",
    required_signers=(
        Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart"),
        Signer(role=SignerRole.PARTNER, person_id="daniel", name="Daniel Hart"),
    ),
)


@pytest.mark.parametrize(
    ("signatures", "effective_at", "was_in_force"),
    [((HERS,), None, False), ((HERS, HIS), None, True), ((HERS,), datetime(2026, 11, 1, tzinfo=UTC), True)],
)
def test_embryos_are_on_hold_after_a_consent_that_was_in_force(
    visitor: SignIn,
    fake_api: FakeApi,
    signatures: tuple[Signature, ...],
    effective_at: datetime | None,
    was_in_force: bool,
) -> None:
    fake_api.gives(READ_CONSENT, replace(WITHDRAWN, signatures=signatures, effective_at=effective_at))
    fake_api.gives(READ_EPISODE, EPISODE)
    words = visitor("amelia").get("/consents/c-1/revoke").words
    assert ("are on hold" in words) is was_in_force
