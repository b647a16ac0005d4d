"""Where visits take place and how to prepare for them, from the tenants file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.config.settings import Settings
from portal.config.table import NOWHERE, settings_of
from portal.config.tenants import Tenant
from portal.config.visits import Place, place_of
from tests.config.test_documented_keys import EXAMPLE, SECRETS
from tests.config.test_settings import environment

QUAYSIDE = Place("Quayside", ("1 Quayside",))
THEATRE = Place("Quayside, theatre", ("2 Quayside",))


def faults_of(key: str, entry: object) -> list[str]:
    parse: Any = settings_of(Tenant)[key].parse
    try:
        parse([entry], NOWHERE)
    except ValueError as error:
        return list(error.args)
    return []


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("Quayside", QUAYSIDE),
        ("quayside, room 2", QUAYSIDE),
        ("Quayside, theatre", THEATRE),
        ("Quayside, theatre 2", THEATRE),
        ("Quaysides", None),
        ("Hilltop", None),
        ("", None),
        (None, None),
    ],
)
def test_an_address_is_that_of_the_visits_own_place(location: str | None, place: Place | None) -> None:
    assert place_of((QUAYSIDE, THEATRE), location) == place


def test_the_documented_places_and_visits_are_read(tmp_path: Path) -> None:
    clinic = Settings.from_env(environment(tmp_path, EXAMPLE, **SECRETS)).tenants.by_key["riverside"]
    assert clinic.places[0].address == ("Riverside House", "1 Quayside")
    assert clinic.visits[0].arrive_minutes == 10 and clinic.visits[0].prepare["en"]


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("places", {"location": "Quayside"}),
        ("places", {"address": "1 Quayside"}),
        ("places", {"location": "Quayside", "address": "1 Quayside", "map": "http://maps.example"}),
        ("visits", {"kind": "Scan"}),
        ("visits", {"kind": "Scan", "arrive_minutes": -1}),
        ("visits", {"kind": "Scan", "arrive_minutes": True}),
        ("visits", {"kind": "Scan", "prepare": "Come early."}),
        ("visits", {"arrive_minutes": 10}),
    ],
)
def test_what_cannot_be_told_is_refused(key: str, entry: object) -> None:
    assert [fault.startswith("entry 1 must have") for fault in faults_of(key, entry)] == [True]
