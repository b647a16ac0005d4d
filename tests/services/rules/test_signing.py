"""Who may sign a form."""

from __future__ import annotations

from portal.services.consents.forms import Signature, SignerRole
from portal.services.rules.signing import has_signed
from tests.support.builders import consent, person


def test_a_lost_signing_is_resolved_from_the_signatures() -> None:
    form = consent(signatures=(Signature(role=SignerRole.PATIENT, person_id="amelia"),))
    assert has_signed(form, person("amelia"))
    assert has_signed(form, person("amelia"), SignerRole.PATIENT)
    assert not has_signed(form, person("amelia"), SignerRole.WITNESS)
    assert not has_signed(form, person("daniel"))
