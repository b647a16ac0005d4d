"""Template filters that do more than format."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from babel.dates import format_timedelta
from flask import Flask, g
from markupsafe import Markup

from portal.web import filters
from portal.web.filters import ago, breakable, clock_time, day, number, unbroken


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", ""),
        ("rFSH (follitropin alfa)", "rFSH (follitropin alfa)"),
        ("x" * 24, "x" * 24),
        ("x" * 25, "xxxxxxxxxxxx<wbr>xxxxxxxxxxxx<wbr>x"),
        ("ines.g@mail.example", "ines.<wbr>g<wbr>@mail.<wbr>example"),
        ("/api/care/fertility-protocols/{id}", "/<wbr>api/<wbr>care/<wbr>fertility-<wbr>protocols/<wbr>{id}"),
        ("a <b> " + "<" * 25, "a &lt;b&gt; " + "<wbr>".join(("&lt;" * 12, "&lt;" * 12, "&lt;"))),
    ],
)
def test_only_words_too_long_for_a_column_can_break(text: str, written: str) -> None:
    assert breakable(text) == written


def test_an_abbreviation_with_a_hyphen_stays_in_one_piece() -> None:
    assert unbroken("<Test> · PGT-A") == '&lt;Test&gt;\N{NO-BREAK SPACE}· <span class="nowrap">PGT-A</span>'
    assert unbroken("Wiśniewska-Grzegorzewska, R-4") == (
        'Wiśniewska-Grzegorzewska, <span class="nowrap">R-4</span>'
    )
    assert (
        unbroken("ABCDEF-123456 ABCDEFG-1 A-1-2")
        == '<span class="nowrap">ABCDEF-123456</span> ABCDEFG-1 A-1-2'
    )
    assert unbroken(Markup("<b>R-4</b>")) == "<b>R-4</b>"


@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_times_of_day_have_two_digit_hours(language: str) -> None:
    with Flask("filters").test_request_context():
        g.tenant, g.language = SimpleNamespace(time_zone=ZoneInfo("Europe/London")), language
        assert clock_time(datetime(2026, 11, 22, 7, 5, 59, tzinfo=UTC)) == "07:05"
        assert clock_time(datetime(2026, 11, 22, 19, 0, tzinfo=UTC)) == "19:00"


@pytest.mark.parametrize(("language", "written"), [("en", "-3"), ("es", "-3"), ("ar", "\u200e-3")])
def test_the_minus_of_a_day_before_the_first_stands_before_it(language: str, written: str) -> None:
    with Flask("filters").test_request_context():
        g.language = language
        assert (number(-3), number(3)) == (written, "3")


@pytest.mark.parametrize(
    ("on", "written"),
    [
        (date(2027, 1, 7), "Thu 7 Jan"),
        (date(2026, 7, 2), "Thu 2 Jul"),
        (date(2026, 7, 1), "Wed 1 Jul 2026"),
        (date(2027, 7, 1), "Thu 1 Jul"),
        (date(2027, 7, 2), "Fri 2 Jul 2027"),
    ],
)
def test_a_day_half_a_year_away_has_its_year(on: date, written: str) -> None:
    with Flask("filters").test_request_context():
        g.current_date, g.language = date(2026, 12, 31), "en"
        assert day(on) == written


@pytest.mark.parametrize("today", [date(2026, 12, 31), date(2027, 2, 28), date(2028, 2, 29)])
def test_no_two_days_are_written_alike_even_without_the_weekday(today: date) -> None:
    with Flask("filters").test_request_context():
        g.current_date, g.language = today, "en"
        around = [day(today + timedelta(days=days)).partition(" ")[2] for days in range(-800, 801)]
    assert len(set(around)) == len(around)


@pytest.mark.parametrize("language", ["en", "es", "ar"])
def test_how_long_ago_is_told_as_babel_tells_it(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(2026, 11, 22, 12, 0, 0, 300, tzinfo=UTC)
    monkeypatch.setattr(filters, "now", lambda: now)
    edges = [
        60,
        89,
        90,
        91,
        3239,
        3240,
        5400,
        9000,
        77759,
        77760,
        129600,
        544319,
        544320,
        2332800,
        28382400,
        10**9,
    ]
    with Flask("filters").test_request_context():
        g.language = language
        for seconds in (sign * (edge + by) for edge in edges for by in (-0.5, 0, 0.5, 1) for sign in (-1, 1)):
            if abs(seconds) >= 60:
                delta = timedelta(seconds=seconds)
                told = format_timedelta(
                    delta, add_direction=True, locale=filters.date_locale(), threshold=0.9
                )
                assert ago(now + delta) == told, seconds
        assert ago(now) == ago(now - timedelta(seconds=59.9)) == ago(now - timedelta(seconds=1))
        assert ago(now) != ago(now + timedelta(seconds=59.9)) == ago(now + timedelta(seconds=1))
