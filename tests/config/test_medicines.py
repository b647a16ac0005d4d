"""Brand and strength of the medicines that a clinic hands out."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config.medicines import Medicine, product_of, read_medicines
from portal.config.settings import Settings
from tests.config.test_documented_keys import EXAMPLE, SECRETS
from tests.config.test_settings import environment

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
    read, faults = read_medicines(given, "m")
    assert ([one.product for one in read], faults) == (["B", "5 mg"], [])


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
    read, faults = read_medicines([entry, {"drug": "C", "brand": "D"}], "m")
    assert faults == ["m: entry 1 must have drug, and brand or strength or both (texts)"]
    assert [one.drug for one in read] == ["C"]


def test_a_medicine_has_one_product() -> None:
    given = [{"drug": "A", "brand": "B"}, {"drug": "a ", "brand": "C"}]
    read, faults = read_medicines(given, "m")
    assert [one.brand for one in read] == ["B"] and "a second time" in faults[0]
    assert read_medicines({}, "m") == ((), ["m: must be a list of tables with drug, brand, strength"])
