"""Names are sorted as in a dictionary of the reader's language."""

from __future__ import annotations

import pytest

from portal.i18n.collation import sort_key


@pytest.mark.parametrize(
    ("language", "in_order"),
    [
        ("en", ["Afghanistan", "Åland Islands", "Albania", "Côte d’Ivoire", "Croatia", "Curaçao", "Cyprus"]),
        ("en", ["Congo - Brazzaville", "Congolese", "Guinea", "Guinea-Bissau", "Guineas", "Łódź", "Ludlow"]),
        ("es", ["Nuevo", "Nuñez", "Núñez", "Nuo", "nuzco", "Ñandú", "Oaxaca"]),
        ("es", ["Catar", "Chad", "Chequia", "Chile", "China", "Chipre", "Colombia", "Zambia"]),
        (
            "ar",
            ["أذربيجان", "إسبانيا", "البحرين", "ألمانيا", "أوكرانيا", "آيسلندا", "بوليفيا", "تركيا", "Wales"],
        ),
        ("ar", ["مكة الكبرى", "مكتب", "منى", "ميناء"]),
    ],
)
def test_names_are_sorted_in_dictionary_order(language: str, in_order: list[str]) -> None:
    backwards = in_order[::-1]
    assert sorted(backwards, key=lambda word: sort_key(word, language)) == in_order


def test_accents_only_break_ties() -> None:
    words = ["resume", "résumé", "resumes", "Resume"]
    assert sorted(words, key=lambda word: sort_key(word, "en")) == ["resume", "Resume", "résumé", "resumes"]
