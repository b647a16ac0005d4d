"""The care team's week: working and busy hours, in the named time zone; cached copies show their time."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from portal.views.care_team_week import first_day_of
from tests.support.stack import CareService, PortalThread, plan


def a_working_week(visitor) -> str:
    """The address of a week in which there are hours and busy times to see."""
    page = visitor.get("/care-team")
    return page.link("Later")


def drawn(section) -> list[tuple[float, float]]:
    """From which hour to which each block of the drawing goes, day by day, read off the drawing's own scale."""
    hours = {
        int(label.text_content()): float(label["y"]) - 4
        for label in section.select("svg text[text-anchor=end]")
    }
    first, last = min(hours), max(hours)
    an_hour = (hours[last] - hours[first]) / (last - first)
    blocks = section.select("rect.week-works, rect.week-busy")
    tops = [float(block["y"]) - 0.5 for block in blocks]
    bottoms = [float(block["y"]) + float(block["height"]) + 0.5 for block in blocks]
    return [
        (
            round(first + (top - hours[first]) / an_hour, 1),
            round(first + (bottom - hours[first]) / an_hour, 1),
        )
        for top, bottom in zip(tops, bottoms, strict=True)
    ]


def written(section) -> list[tuple[float, float]]:
    """The same, read off the table."""
    found = re.findall(r"(\d\d):(\d\d)–(\d\d):(\d\d)", section.select_one("table").words)
    return [(round(int(a) + int(b) / 60, 1), round(int(c) + int(d) / 60, 1)) for a, b, c, d in found]


def test_drawing_and_table_show_the_same_hours(nora):
    sections = nora.get(a_working_week(nora)).select("section.week-of:has(table)")
    assert len(sections) > 1
    for section in sections:
        assert written(section)
        assert drawn(section) == written(section)


def test_an_invalid_or_distant_week_shows_this_week(nora):
    now = nora.get("/care-team").select("h2")[0].text_content()
    for odd in ("2026-W99", "0000-W01", "9999-W01", "x", "2026-11-16"):
        assert nora.get(f"/care-team?week={odd}").select("h2")[0].text_content() == now


@pytest.mark.parametrize(
    ("weekday", "begins"),
    [(0, "2026-11-16"), (5, "2026-11-21"), (6, "2026-11-22")],
    ids=["Monday", "Saturday", "Sunday"],
)
def test_a_week_begins_on_the_weekday_of_the_clinics_country(weekday, begins):
    """On Sunday 22 November 2026; each week has one name, that of its Monday."""
    first = first_day_of("", date(2026, 11, 22), weekday)
    assert first.isoformat() == begins
    with_monday = first + timedelta(days=-first.weekday() % 7)
    year, number, _weekday = with_monday.isocalendar()
    assert first_day_of(f"{year}-W{number:02}", date(2026, 11, 22), weekday) == first


def test_filters_by_name_and_place_are_in_the_url(nora):
    page = nora.get("/care-team")
    places = [option["value"] for option in page.select("#location option") if option["value"]]
    found = page.form("/care-team").submit(location=places[0], q="")
    everybody = len(page.select("section.week-of"))
    assert 0 < len(found.select("section.week-of")) < everybody
    assert f"location={places[0]}" in found.link("Later")
    one = page.form("/care-team").submit(q="victor")
    assert [h.text_content() for h in one.select("h3")] == ["Dr Victor Castellanos"]
    assert "Nobody matches" in nora.get("/care-team?q=nobody-at-all").words
    gone = nora.get("/care-team?location=gone")
    assert len(gone.select("section.week-of")) == everybody and "location=" not in gone.link("Later")
    assert "No physician is listed at that place any more" in gone.words


def test_filters_return_fragments_to_htmx(nora):
    part = nora.fragment("/care-team?q=victor", "results")
    assert part.tree.select_one("#results")
    assert not part.select("h1")


def test_filters_and_zones_make_no_further_calls(nora, portal, monkeypatch):
    nora.get("/care-team")
    called: list[str] = []
    from portal.http import transport

    real = transport.send
    monkeypatch.setattr(
        transport, "send", lambda call, **more: (called.append(call.url), real(call, **more))[1]
    )
    for address in ("/care-team?q=victor", "/care-team?zone=Asia/Dubai", "/care-team"):
        nora.get(address)
    assert [url for url in called if "physicians" in url] == []


def test_an_older_copy_shows_its_time_and_a_missing_one_is_explained(tmp_path: Path, monkeypatch):
    service = CareService(plan(tmp_path))
    portal = PortalThread(service.plan)
    try:
        victor = portal.sign_in("victor")
        victor.get("/care-team")
        later = datetime.now(UTC) + timedelta(minutes=6)
        for module in ("policy.actions", "policy.expiration", "models.response"):
            monkeypatch.setattr(f"requests_cache.{module}.utcnow", lambda: later)
        service.stop()
        page = victor.get("/care-team")
        notice = page.select(".notice")[0].words
        assert re.search(r"As of \d\d:\d\d", notice)
        assert "isn’t answering" in notice
        assert page.select("section.week-of")
        other = victor.get(
            "/care-team?week=" + parse_qs(urlsplit(page.link("Later")).query)["week"][0], status=503
        )
        assert "can’t be shown right now" in other.words
    finally:
        portal.stop()
        service.stop()
