"""The list of protocols: whose each one is."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec.structs import replace

from portal.services.protocols import LIST_PROTOCOLS, Protocol, ProtocolStatus
from tests.support.fake_api import ZONE, FakeApi
from tests.support.visitor import SignIn


def test_each_row_begins_with_the_patient_and_the_day_of_the_plan(visitor: SignIn, fake_api: FakeApi) -> None:
    today = datetime.now(ZONE).date()
    plan = Protocol(id="b", name="Standard, 225 IU", status=ProtocolStatus.ACTIVE, patient_id="p-2")
    hers = replace(plan, id="a", patient_name="Amelia Hart", start_date=today - timedelta(days=7))
    fake_api.gives(LIST_PROTOCOLS, [hers, plan, replace(plan, id="c", patient_id=None)])
    page = visitor("victor", "physician").get("/protocols")
    heads = [row.words for row in page.select("tbody th")]
    assert heads == [
        "Amelia Hart Standard, 225 IU",
        "Patient’s name not given Standard, 225 IU",
        "The clinic’s own Standard, 225 IU",
    ]
    (day, *others) = [cell.words for cell in page.select('td[data-label="Day 1"]')]
    assert day.endswith("today day 8") and others == ["–", "–"]
