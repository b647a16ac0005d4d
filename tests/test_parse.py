"""Parsing of text from people and URLs: bounded, and never raising."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal import parse

HOSTILE = ["", " ", "9" * 5000, "١٢", "²", "\0", "1\0", "-1", "+1", "1e9", "0x10", "１２", "None", "\ud800"]


@pytest.mark.parametrize("text", [None, *HOSTILE])
def test_an_invalid_page_number_is_the_first_page(text: str | None) -> None:
    assert parse.page_number(text) == 1


def test_all_unicode_spaces_are_stripped_from_page_numbers() -> None:
    assert parse.whole_number("\x1f 7\x1c\u2003") == 7


def test_a_page_number_has_an_upper_bound() -> None:
    assert (parse.page_number("10000"), parse.page_number("10001"), parse.page_number(" 7 ")) == (
        10_000,
        1,
        7,
    )


@pytest.mark.parametrize(
    "text", ["2026-02-30", "0000-01-01", "2026-1-1", "2026-11-22T00:00", "20261122", *HOSTILE]
)
def test_an_invalid_date_is_none(text: str) -> None:
    assert parse.calendar_date(text) is None


def test_a_valid_date_is_parsed() -> None:
    assert parse.calendar_date(" 2026-11-22 ") == date(2026, 11, 22)


@pytest.mark.parametrize(
    "text", ["2026-02-30", "2026-11-22T25:00", "2026-11-22T00:00:00." + "0" * 40, *HOSTILE]
)
def test_an_invalid_instant_is_none(text: str) -> None:
    assert parse.instant(text) is None


def test_an_instant_with_a_zone_is_aware() -> None:
    assert parse.instant(" 2026-11-22T10:00Z ") == datetime(2026, 11, 22, 10, tzinfo=UTC)
    assert parse.instant("2026-11-22") == datetime(2026, 11, 22)


@pytest.mark.parametrize(
    ("text", "value"), [("0,25", Decimal("0.25")), ("150", Decimal(150)), ("1.5", Decimal("1.5"))]
)
def test_an_amount_accepts_a_point_or_a_comma(text: str, value: Decimal) -> None:
    assert parse.amount(text) == value


@pytest.mark.parametrize(
    "text", ["1,2,3", ".5", "NaN", "inf", "1.2345678", *[h for h in HOSTILE if h.strip()]]
)
def test_an_invalid_amount_is_none(text: str) -> None:
    assert parse.amount(text) is None


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "x" * 129, "a\nb", "a\u202eb", "\0"])
def test_an_invalid_id_is_none(text: str) -> None:
    assert parse.record_id(text) is None


def test_a_valid_id_is_unchanged() -> None:
    assert parse.record_id(" 7f~ü:(1) ".replace(" ", "")) == "7f~ü:(1)"


@pytest.mark.parametrize("hidden", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x07", "\0", "\u2028", "\u00ad"])
def test_invisible_characters_are_removed_from_a_line(hidden: str) -> None:
    assert parse.line(f"Ame{hidden}lia  Stone\r\n", longest=80) == "Amelia Stone"
    assert hidden not in parse.paragraphs(f"One{hidden}\r\n\r\ntwo  ", longest=80)


def test_zero_width_joiners_are_kept() -> None:
    assert parse.line("می\u200cخواهم", longest=20) == "می\u200cخواهم"


def test_line_breaks_of_a_text_are_kept() -> None:
    assert parse.paragraphs("One\r\n\r\ntwo  \rthree\n", longest=80) == "One\n\ntwo\nthree"


@given(st.text())
def test_parsing_never_raises(text: str) -> None:
    parse.page_number(text), parse.amount(text), parse.calendar_date(text), parse.record_id(text)
    assert len(parse.line(text, longest=10)) <= 10
    assert len(parse.paragraphs(text, longest=10)) <= 10


@pytest.mark.parametrize("text", [None, *HOSTILE])
def test_an_invalid_number_of_bytes_is_none(text: str | None) -> None:
    assert parse.byte_count(text) is None


def test_a_number_of_bytes_may_be_large() -> None:
    assert (parse.byte_count("0"), parse.byte_count("5368709120")) == (0, 5_368_709_120)


@pytest.mark.parametrize(
    "text",
    [
        None,
        *HOSTILE,
        f"Sun, 22 Nov {'2' * 5000} 12:00:00 GMT",
        f"Sun, {'2' * 5000}",
        "Sun, 22 Nov 99999 12:00:00 GMT",
        "Sun, 22 Nov 2026 25:00:00 GMT",
        "Sun, 22 Nov 2026 12:00:00 +99999999",
    ],
)
def test_an_invalid_header_date_is_none(text: str | None) -> None:
    assert parse.http_date(text) is None


def test_a_header_date_without_a_zone_is_utc() -> None:
    noon = datetime(2026, 11, 22, 12, tzinfo=UTC)
    for text in (
        "Sun, 22 Nov 2026 12:00:00 GMT",
        "Sun, 22 Nov 2026 12:00:00 -0000",
        "22 Nov 2026 13:00 +0100",
    ):
        assert parse.http_date(text) == noon


@given(st.text(max_size=60))
def test_parsing_a_header_date_never_raises(text: str) -> None:
    parse.http_date(text)
