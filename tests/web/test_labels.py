"""What an embryo's grade and status are called, and how a medicine is taken."""

from __future__ import annotations

import pytest

from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.web.labels import embryo_status_name, embryo_status_term, grade_in_words, route_name


@pytest.mark.parametrize("grade", ["4AD", "3DB", "7AA", "AB", "4AB?"])
def test_a_grade_that_gardner_does_not_know_is_not_explained(grade: str) -> None:
    assert grade_in_words(grade, "Gardner") is None


@pytest.mark.parametrize(
    ("method", "word"), [("Vitrification", "Warmed"), ("", "Warmed"), ("Slow freeze", "Thawed")]
)
def test_a_vitrified_embryo_is_warmed_and_a_slowly_frozen_one_thawed(method: str, word: str) -> None:
    embryo = EmbryoStorage(id="1", embryo_code="GO-1", status=EmbryoStatus.THAWED, method=method)
    assert embryo_status_name(embryo) == embryo_status_term(embryo) == word


@pytest.mark.parametrize(
    ("route", "words"),
    [
        ("Subcutaneous", "Under the skin"),
        ("s.c.", "Under the skin"),
        ("IM", "Into a muscle"),
        ("PO", "By mouth"),
        ("p.v.", "Vaginally"),
        ("IT", "IT"),
        ("IVIG", "IVIG"),
        ("BUCCAL", "Buccal"),
        ("BuccalTablet", "Buccal tablet"),
    ],
)
def test_a_patient_reads_how_a_medicine_is_taken_also_where_the_api_abbreviates_it(
    route: str, words: str
) -> None:
    assert route_name(route) == words
