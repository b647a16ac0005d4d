"""Doses in words, at each number at which a language goes on another way."""

from __future__ import annotations

from decimal import Decimal

import pytest

from portal.i18n import number_words

WORDS = [
    ("0", "zero", "cero", "صفر"),
    ("19", "nineteen", "diecinueve", "تسعة عشر"),
    ("20", "twenty", "veinte", "عشرون"),
    ("21", "twenty-one", "veintiuno", "واحد وعشرون"),
    ("29", "twenty-nine", "veintinueve", "تسعة وعشرون"),
    ("30", "thirty", "treinta", "ثلاثون"),
    ("31", "thirty-one", "treinta y uno", "واحد وثلاثون"),
    ("99", "ninety-nine", "noventa y nueve", "تسعة وتسعون"),
    ("100", "one hundred", "cien", "مئة"),
    ("101", "one hundred and one", "ciento uno", "مئة وواحد"),
    ("225", "two hundred and twenty-five", "doscientos veinticinco", "مئتان وخمسة وعشرون"),
    ("1000", "one thousand", "mil", "ألف"),
    ("1001", "one thousand and one", "mil uno", "ألف وواحد"),
    ("1100", "one thousand one hundred", "mil cien", "ألف ومئة"),
    ("2000", "two thousand", "dos mil", "ألفان"),
    ("10000", "ten thousand", "diez mil", "عشرة آلاف"),
    ("11000", "eleven thousand", "once mil", "أحد عشر ألف"),
    ("21000", "twenty-one thousand", "veintiún mil", "واحد وعشرون ألف"),
    ("31000", "thirty-one thousand", "treinta y un mil", "واحد وثلاثون ألف"),
    ("2.25", "two point two five", "dos coma dos cinco", "اثنان فاصلة اثنان خمسة"),
    ("150.50", "one hundred and fifty point five", "ciento cincuenta coma cinco", "مئة وخمسون فاصلة خمسة"),
]


@pytest.mark.parametrize(("number", "english", "spanish", "arabic"), WORDS)
def test_a_number_is_written_in_the_readers_language(
    monkeypatch: pytest.MonkeyPatch, number: str, english: str, spanish: str, arabic: str
) -> None:
    for language, words in (("en", english), ("es", spanish), ("ar", arabic)):
        monkeypatch.setattr(number_words, "language", lambda language=language: language)
        assert number_words.in_words(Decimal(number)) == words


@pytest.mark.parametrize("number", ["1000000000", "0.0000000001"])
def test_what_is_too_long_to_be_read_stays_in_digits(number: str) -> None:
    assert number_words.in_words(Decimal(number)) == number


@pytest.mark.parametrize("number", ["999999999", "0.000000001"])
def test_nine_digits_are_still_read(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setattr(number_words, "language", lambda: "en")
    assert number_words.in_words(Decimal(number)) != number
