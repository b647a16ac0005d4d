"""Which appointment's day a new form proposes as the date of the procedure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from flask import Flask, g

from portal.services.cases import CareStatus
from portal.services.episodes import Appointment, Episode
from portal.services.patients import Patient
from portal.views.consents.begin_draft import _next_procedure

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def clinic() -> Iterator[None]:
    with Flask("clinic").test_request_context():
        g.tenant = SimpleNamespace(time_zone=ZoneInfo("Europe/London"))
        g.current_date = NOW.date()
        yield


def visit(kind: str, days: int, status: str = "Confirmed") -> Appointment:
    return Appointment(
        id=f"{kind} {days}", kind=kind, start=NOW + timedelta(days=days), time_zone="UTC", status=status
    )


def proposed(*visits: Appointment) -> str:
    return _next_procedure(
        Episode(id="e", status=CareStatus.ACTIVE, patient=Patient(id="p"), appointments=visits)
    )


@pytest.mark.parametrize(
    "kind",
    [
        "EggRetrieval",
        "OPU",
        "Egg collection under sedation",
        "Embryo transfer",
        "Frozen embryo transfer (FET)",
        "Transferencia de embriones",
        "Punción folicular",
        "Punción folicular con sedación",
        "نقل الأجنة",
        "IUI",
        "Embryo thaw",
    ],
)
def test_a_procedure_is_known_by_what_clinics_call_it(kind: str) -> None:
    assert proposed(visit("Monitoring scan", 1), visit(kind, 3)) == "2026-11-28"


@pytest.mark.parametrize(
    "kind",
    ["Blood collection", "Semen sample collection", "Transfer of care", "Population screening", "Fetal scan"],
)
def test_what_only_sounds_like_one_is_none(kind: str) -> None:
    assert proposed(visit(kind, 3)) == ""


def test_the_first_that_is_not_over_and_not_cancelled_is_proposed() -> None:
    visits = [
        visit("Egg collection", -1),
        visit("Egg collection", 2, status="Cancelled"),
        visit("Embryo transfer", 9),
        visit("Egg collection", 4),
    ]
    assert proposed(*visits) == "2026-11-29"
    assert proposed(visit("Egg collection", 0)) == "2026-11-25", "today's too"
