"""Which of a treatment's egg collections a plan leads to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from flask import Flask, g
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.episodes import Appointment, Episode
from portal.services.patients import Patient
from portal.views.episodes.egg_collection import collection_of, collection_of_plan


@pytest.fixture(autouse=True)
def clinic() -> Iterator[None]:
    with Flask("clinic").test_request_context():
        g.tenant = SimpleNamespace(time_zone=ZoneInfo("Europe/London"))
        yield


def visit(id_: str, month: int, day: int, **more: object) -> Appointment:
    start = datetime(2026, month, day, 8, tzinfo=UTC)
    return Appointment(
        **{"id": id_, "kind": "EggRetrieval", "start": start, "time_zone": "Europe/London", **more}
    )


EPISODE = Episode(
    id="e",
    status=CareStatus.ACTIVE,
    patient=Patient(id="p"),
    appointments=(
        visit("november", 11, 27),
        visit("march", 3, 2),
        visit("cancelled", 10, 1, status="Cancelled"),
        visit("scan", 9, 1, kind="MonitoringScan"),
    ),
)


@pytest.mark.parametrize(
    ("begins", "id_"),
    [
        (date(2026, 2, 20), "march"),
        (date(2026, 3, 2), "march"),
        (date(2026, 3, 3), "november"),
        (date(2026, 11, 28), None),
        (None, "march"),
    ],
    ids=str,
)
def test_a_plan_leads_to_the_first_collection_after_it_begins(begins: date | None, id_: str | None) -> None:
    found = collection_of_plan(EPISODE, begins)
    assert (found and found.id) == id_


@pytest.mark.parametrize(
    ("kind", "is_one"),
    [
        ("EggRetrieval", True),
        ("Oocyte pick-up", True),
        ("OPU", True),
        ("Punción folicular", True),
        ("سحب البويضات", True),
        ("Egg collection (OPU)", True),
        ("Oocyte retrieval – left", True),
        ("Egg pick-up, theatre 2", True),
        ("Punción folicular (izquierda)", True),
        ("Egg donor talk", False),
        ("Egg collection: consent talk", False),
        ("Egg retrieval follow-up", False),
        ("Punción folicular – revisión", False),
        ("EmbryoTransfer", False),
    ],
)
def test_an_egg_collection_is_known_by_what_clinics_call_it(kind: str, is_one: bool) -> None:
    found = collection_of(replace(EPISODE, appointments=(visit("one", 11, 27, kind=kind),)))
    assert (found is not None) is is_one
