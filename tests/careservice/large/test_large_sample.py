"""Twenty clinics with twenty thousand patients: created in time, and their lists stay fast."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest
from sqlalchemy import func, select

from portal.careservice import database
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.patients import Patient
from portal.careservice.identity.tables import Person, Tenant
from portal.careservice.ids import sample_id
from portal.careservice.sample.people import PEOPLE
from tests.careservice.api.calls import CONSENTS
from tests.careservice.large.large_service import CONVERSATIONS, PROTOCOLS, Large


def test_the_large_sample_is_created_in_two_minutes_and_only_sample_people_can_sign_in(large: Large) -> None:
    assert large.seconds < 120
    with database.new_session(large.engine) as session:
        counts = {
            table: session.scalar(select(func.count()).select_from(table))
            for table in (Tenant, Patient, Person, ConsentForm)
        }
    assert counts[Tenant] == 20
    assert (counts[Patient] or 0) >= 20_000
    assert (counts[ConsentForm] or 0) >= 40_000
    assert counts[Person] == len(PEOPLE)


@pytest.mark.parametrize("who", ["nora", "amelia"])
@pytest.mark.parametrize(
    ("path", "query"),
    [
        (CONSENTS, {}),
        (CONSENTS, {"MaxResultCount": 25, "SkipCount": 1500}),
        (CONSENTS, {"Status": "Pending", "Sorting": "procedureDate"}),
        (
            CONSENTS,
            {"Status": "Pending", "WaitsFor": sample_id("person", "victor"), "Sorting": "procedureDate"},
        ),
        (CONSENTS, {"Status": "Pending", "DueFrom": "2026-11-01", "DueTo": "2026-11-30"}),
        (CONSENTS, {"Filter": "brzęcz"}),
        (CONSENTS, {"Sorting": "patientName desc"}),
        (PROTOCOLS, {}),
        (PROTOCOLS, {"Filter": "225", "Sorting": "name"}),
        (CONVERSATIONS, {}),
        (CONVERSATIONS, {"Filter": "dose"}),
        ("/api/app/notification", {}),
        ("/api/calendar/resources/physicians", {}),
    ],
)
def test_a_list_takes_50_ms_at_most(large: Large, who: str, path: str, query: dict[str, Any]) -> None:
    """Of what service and database compute."""
    assert 0 < median(large.computed(who, path, query, 7)) < 0.05
