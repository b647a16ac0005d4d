"""Inline lists, in the order and with the separators of the language, and the numbers in them."""

from __future__ import annotations

import pytest
from flask import Flask, g

from portal.views.consents.labels import listed
from portal.web.doses import dose_number
from portal.web.filters import in_a_row, number


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Gonal-f, 225 IU"),
        ("es", "Gonal-f, 225 IU"),
        ("ar", "\u200f\u2068Gonal-f\u2069، \u2068225 IU\u2069"),
    ],
)
def test_inline_lists_use_the_separator_of_the_language(language: str, line: str) -> None:
    with Flask(__name__).app_context():
        g.language = language
        assert in_a_row(["Gonal-f", "225 IU"]) == line
        assert in_a_row([]) == ""


def test_an_inline_list_can_have_its_own_separator() -> None:
    assert in_a_row(["PDF", "787 bytes"], " · ") == "PDF · 787 bytes"


def test_a_zero_reads_the_same_whatever_zero_came_before() -> None:
    with Flask(__name__).app_context():
        g.language = "en"
        assert [number(zero) for zero in (-0.0, 0.0, 0)] == ["0"] * 3
        assert [dose_number(zero) for zero in (-0.0, 0.0, 0)] == ["0"] * 3


def test_a_name_that_runs_right_to_left_turns_no_line_around() -> None:
    with Flask(__name__).app_context():
        g.language = "en"
        assert in_a_row(["نور", "3 forms"], " · ") == "\u200e\u2068نور\u2069 · 3 forms"
        assert in_a_row(["نور"]) == "\u2068نور\u2069", "by itself it runs as it is written"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Amelia, Daniel and Nora"),
        ("es", "Amelia, Daniel y Nora"),
        ("ar", "\u200f\u2068Amelia\u2069، \u2068Daniel\u2069 و\u200f\u2068Nora\u2069"),
    ],
)
def test_the_last_name_follows_the_word_and(language: str, line: str) -> None:
    with Flask(__name__).app_context():
        g.language = language
        assert listed(["Amelia", "Daniel", "Nora"]) == line
