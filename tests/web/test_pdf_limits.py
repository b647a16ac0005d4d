"""How many documents one person may have made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import consent
from tests.support.stack import CareService, PortalThread

SIGNED = f"{consent('amelia-treatment-2')}/receipt.pdf"
PLAN = f"/protocols/{sample_id('protocol', 'amelia')}/schedule.pdf"


@pytest.fixture
def strict(service: CareService) -> Iterator[PortalThread]:
    """A portal that makes one document an hour for each person."""
    running = PortalThread(service.plan, PORTAL_LIMIT_PRINTING="1 per hour")
    yield running
    running.stop()


def test_one_person_gets_so_many_in_a_time_and_others_get_theirs(strict: PortalThread) -> None:
    amelia, nora = strict.sign_in("amelia"), strict.sign_in("nora")
    amelia.request("GET", PLAN, status=200)
    page = amelia.request("GET", SIGNED, status=429)
    assert page.heading == "Too many tries"
    assert 3500 < int(page.headers["Retry-After"]) <= 3600
    nora.request("GET", PLAN, status=200)
