"""A form copied for other people: its text names none of those it was for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from portal.services.consents import READ_CONSENT
from portal.services.consents.forms import Clause, ConsentKind
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import AMELIA, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]

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


@pytest.mark.parametrize("has_partner", [True, False])
def test_a_template_that_names_the_partner_is_for_treatments_with_one(
    visitor: SignIn, fake_api: FakeApi, has_partner: bool
) -> None:
    fake_api.gives(READ_EPISODE, EPISODE if has_partner else ANOTHER)
    page = visitor("nora", "nurse").get("/consents/new?template=legal-parenthood-woman&episode=e-1")
    sent = page.form("/consents/new/fill").submit(status=422)
    assert ("names the partner, and none is known here" in sent.words) is not has_partner
