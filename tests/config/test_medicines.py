"""Brand and strength of the medicines that a clinic hands out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.config.medicines import Medicine, product_of
from portal.config.settings import Settings
from portal.config.table import NOWHERE, settings_of
from portal.config.tenants import Tenant
from tests.config.test_documented_keys import EXAMPLE, SECRETS
from tests.config.test_settings import environment


def read(given: object) -> tuple[tuple[Medicine, ...], list[str]]:
    medicines: Any = settings_of(Tenant)["medicines"].parse
    try:
        return medicines(given, NOWHERE), []
    except ValueError as error:
        return (), list(error.args)


ALFA = Medicine("rFSH (follitropin alfa)", "Follisample", "300 IU pen")


@pytest.mark.parametrize(
    ("drug", "product"),
    [
        ("rFSH (follitropin alfa)", "Follisample 300 IU pen"),
        (" RFSH  (Follitropin Alfa) ", "Follisample 300 IU pen"),
        ("follitropin alfa", ""),
        ("rFSH (follitropin alfa) biosimilar", ""),
        ("", ""),
    ],
)
def test_a_product_is_that_of_the_whole_name(drug: str, product: str) -> None:
    assert product_of([ALFA], drug) == product


def test_the_documented_medicine_is_read(tmp_path: Path) -> None:
    clinic = Settings.from_env(environment(tmp_path, EXAMPLE, **SECRETS)).tenants.by_key["riverside"]
    assert clinic.medicines == (ALFA,)


def test_brand_or_strength_may_be_left_out() -> None:
    given = [{"drug": "A", "brand": "B"}, {"drug": "C", "strength": "5 mg"}]
    medicines, faults = read(given)
    assert ([one.product for one in medicines], faults) == (["B", "5 mg"], [])


@pytest.mark.parametrize(
    "entry",
    [
        "A",
        {"drug": "A"},
        {"brand": "B"},
        {"drug": " ", "brand": "B"},
        {"drug": "A", "brand": 5},
        {"drug": "A", "brand": "B", "pen": "300"},
        {"drug": "A", "brand": "B\u202e"},
        {"drug": "A", "brand": "B" * 200},
    ],
)
def test_what_cannot_be_told_is_refused_in_words(entry: object) -> None:
    _medicines, faults = read([entry, {"drug": "C", "brand": "D"}])
    assert faults == ["entry 1 must have drug, and brand or strength or both (texts)"]


def test_a_medicine_has_one_product() -> None:
    given = [{"drug": "A", "brand": "B"}, {"drug": "a ", "brand": "C"}]
    _medicines, faults = read(given)
    assert "a second time" in faults[0]
    assert read({}) == ((), ["must be a list of tables with drug, brand, strength"])
