"""A clinic's own choices in the protocol form, and every fault in them."""

from __future__ import annotations

import tomllib

import pytest

from portal.config.protocol_choices import ProtocolChoices
from portal.config.table import NOWHERE, read_table

WHERE = "tenants.riverside.protocol_choices"


def read(toml: str) -> tuple[ProtocolChoices | None, list[str]]:
    try:
        return read_table(ProtocolChoices, tomllib.loads(toml), NOWHERE, "protocol choices"), []
    except ValueError as error:
        return None, [f"{WHERE}{fault}" for fault in error.args]


def test_a_clinics_own_choices_follow_the_portals() -> None:
    choices, faults = read('units = ["ampoule", " puff "]\nchecks = ["Hysteroscopy"]')
    assert choices is not None and faults == []
    assert choices.units == (*ProtocolChoices().units, "ampoule", "puff")
    assert choices.checks[-1] == "Hysteroscopy"
    assert choices.drugs == ProtocolChoices().drugs
    assert read("") == (ProtocolChoices(), [])


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("drug = []", "drug: isn't a setting of protocol choices; is drugs meant?"),
        ("medicines = []", "medicines: isn't a setting of protocol choices"),
        ('units = "ampoule"', "units: must be a list of strings"),
        ('units = ["ampoule", ""]', "units: entry 2 must be one line of 1 to 200 characters"),
        ("units = [3]", "units: entry 1 must be one line of 1 to 200 characters"),
        ('drugs = ["two\\nlines"]', "drugs: entry 1 must be one line"),
        (f'drugs = ["{"x" * 201}"]', "drugs: entry 1 must be one line"),
        ('units = ["iu"]', "units: 'iu' is already listed"),
        ('routes = ["Rectal", "rectal"]', "routes: 'rectal' is already listed"),
        (f"units = {[str(n) for n in range(201)]}", "units: must have at most 200 entries"),
    ],
)
def test_each_fault_of_protocol_choices_is_reported(toml: str, said: str) -> None:
    _choices, faults = read(toml)
    assert len(faults) == 1
    assert f"{WHERE}.{said}" in faults[0]
