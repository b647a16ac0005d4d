"""Brand and strength of the medicines that a clinic hands out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.config.medicines import Medicine, medicine_of
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
    found = medicine_of([ALFA], drug)
    assert (found.product if found else "") == product


def test_the_documented_medicine_is_read(tmp_path: Path) -> None:
    clinic = Settings.from_env(environment(tmp_path, EXAMPLE, **SECRETS)).tenants.by_key["riverside"]
    (found,) = clinic.medicines
    assert (found.drug, found.product) == (ALFA.drug, ALFA.product)
    assert found.missed["en"] and found.how["en"] and found.guide.startswith("https://")


def test_all_but_the_name_and_one_more_may_be_left_out() -> None:
    given = [
        {"drug": "A", "brand": "B"},
        {"drug": "C", "strength": "5 mg"},
        {"drug": "D", "missed": {"en": "Call."}},
    ]
    medicines, faults = read(given)
    assert ([one.product for one in medicines], faults) == (["B", "5 mg", ""], [])


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
        {"drug": "A", "missed": "Call us."},
        {"drug": "A", "missed": {"en": ""}},
        {"drug": "A", "how": {"en": "B" * 2000}},
        {"drug": "A", "guide": "http://elsewhere.example"},
    ],
)
def test_what_cannot_be_told_is_refused_in_words(entry: object) -> None:
    _medicines, faults = read([entry, {"drug": "C", "brand": "D"}])
    assert faults == ["entry 1 must have drug, and at least one of the others"]


def test_a_medicine_has_one_product() -> None:
    given = [{"drug": "A", "brand": "B"}, {"drug": "a ", "brand": "C"}]
    _medicines, faults = read(given)
    assert "a second time" in faults[0]
    assert read({}) == ((), ["must be a list of tables with drug, brand, strength, how, missed, guide"])
