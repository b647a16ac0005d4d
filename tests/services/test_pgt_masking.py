"""No embryo's sex is read out of a result unless it is disclosed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.endpoints import READ_PGT_RESULT
from portal.services.pgt_results import STRUCK, get_pgt_result, without_sex_chromosomes

GIVEAWAYS = [
    "46,XX", "46, XY", "46XX", "45,X", "47,XXY,+21", "47,XY,+21", "45,X0", "45,XO", "46,xx",
    "Monosomy X", "monosomy chrX", "trisomy of chromosome X", "del(X)(p22.3)", "dup(Xq28)", "Xp22.33q28",
    "Yp11.2", "+X", "-Y", "XX", "xy", "XXX", "seq(X)x1", "(X)x2", "chr y", "ChrX:", "x-chromosome", "Y chromosome", "Xp22.31(6,467,202-8,091,950)x1", "cromosoma X", "كروموسوم X",
    "male", "Female", "a girl", "BOYS", "SRY positive", "Turner syndrome", "masculino", "femenina", "varón",
    "niña", "ذكر", "الأنثى", "♀", "♂",
]  # fmt: skip

HARMLESS = [
    "Trisomy 21", "del(15)(q11.2q13)", "mosaic for 16 at 35 %", "X-linked ichthyosis", "fragile X", "Fragile X carrier",
    "y sin hallazgos; los resultados son normales", "Extra copies", "exon 5", "oxytocin", "Amale", "personal", "Euploid, day 5, grade 4AB",
    "chromosome 22", "PGT-A by NGS (lab 46)", "26 cells", "Segmental gain 1q",
]  # fmt: skip


@pytest.mark.parametrize("text", GIVEAWAYS)
def test_what_gives_a_sex_away_is_struck(text):
    struck = without_sex_chromosomes(f"Result: {text}, day 5.")
    assert STRUCK in struck
    assert not re.search(r"\b[XYxy]+\d?\b|XX|XY|male|girl|boy", struck, re.I)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_words_stay(text):
    assert without_sex_chromosomes(text) == text


@given(st.text())
def test_striking_twice_changes_nothing_more(text):
    once = without_sex_chromosomes(text)
    assert without_sex_chromosomes(once) == once


RESULT = {
    "id": "1",
    "embryoCode": "E1",
    "status": "Released",
    "sex": "Female",
    "comment": "46,XX. Transfer suggested.",
    "condition": "Haemophilia in a boy",
    "abnormalities": [
        {"chromosome": "X", "change": "Monosomy"},
        {"chromosome": "21", "change": "Trisomy, XX"},
        {"chromosome": "23", "change": "Loss"},
        {"chromosome": "chrXq", "change": "Loss"},
    ],
}


def test_an_undisclosed_sex_is_in_no_part_of_the_result(care):
    care.answers.append(RESULT)
    result = get_pgt_result(care, "1")
    assert result.sex is None
    assert result.comment == f"{STRUCK}. Transfer suggested."
    assert result.condition == f"Haemophilia in a {STRUCK}"
    assert [(a.chromosome, a.change) for a in result.abnormalities] == [
        (STRUCK, STRUCK),
        ("21", f"Trisomy, {STRUCK}"),
        (STRUCK, STRUCK),
        (STRUCK, STRUCK),
    ]
    assert care.calls[0].endpoint == READ_PGT_RESULT


def test_a_disclosed_sex_is_shown(care):
    care.answers.append({**RESULT, "sexDisclosed": True})
    result = get_pgt_result(care, "1")
    assert result.sex == "Female"
    assert result.comment == RESULT["comment"]
    assert result.abnormalities[0].chromosome == "X"
