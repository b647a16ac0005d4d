"""A patient's papers: what is made anew of a treatment says whose it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from portal.services.episodes import Appointment
from portal.services.patients import Patient
from tests.pages.test_tonight import episode, shows
from tests.support.fake_api import ZONE, FakeApi
from tests.support.visitor import Visitor


@pytest.mark.parametrize(
    ("sub", "visits", "medicines"),
    [("amelia", "My visits", "My medicines"), ("daniel", "Millie’s visits", "Millie’s medicines")],
)
def test_a_partner_reads_whose_medicines_and_visits_they_are(
    visitor: Callable[..., Visitor],
    fake_api: FakeApi,
    at: Callable[[str], None],
    sub: str,
    visits: str,
    medicines: str,
) -> None:
    scan = Appointment(id="a-1", kind="Scan", start=datetime(2026, 11, 26, 9, tzinfo=ZONE))
    daniel = Patient(id="daniel-patient", user_id="daniel", first_name="Daniel")
    shows(fake_api, replace(episode(appointments=(scan,)), partner=daniel))
    person = visitor(sub)
    at("25 12:00")
    words = person.get("/papers").words.translate({0x2068: None, 0x2069: None})
    assert visits in words and words.count(medicines) >= 2
    assert ("My visits" in words, "My medicines" in words) == (sub == "amelia", sub == "amelia")
