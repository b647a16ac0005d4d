"""An appointment's time is told by the clock at its place, and by the clinic's where that differs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

import icalendar
import pytest
from flask import Flask, g
from msgspec.structs import replace

from portal.services.episodes import Appointment
from portal.views.episodes import view
from portal.web.calendar_file import appointments_calendar
from portal.web.visit_times import visit_time
from tests.careservice.api.calls import AMELIA_EPISODE
from tests.support.stack import ROOT, PortalThread

AT = datetime(2026, 11, 27, 14, 15, tzinfo=UTC)


@pytest.fixture
def madrid() -> Iterator[None]:
    """A page of a clinic in Madrid."""
    with Flask("times").test_request_context():
        g.tenant, g.language = (
            SimpleNamespace(time_zone=ZoneInfo("Europe/Madrid"), places=(), visits=()),
            "en",
        )
        g.current_date = AT.date()
        yield


def visit(zone: str | None, at: datetime = AT, minutes: int = 30) -> Appointment:
    return Appointment(id="a", start=at, end=at + timedelta(minutes=minutes), time_zone=zone)


@pytest.mark.usefixtures("madrid")
@pytest.mark.parametrize(
    ("zone", "style", "told"),
    [
        ("Europe/London", "moment", "Fri 27 Nov, 14:15 London time · 15:15 clinic time"),
        ("Europe/London", "time", "14:15 London time · 15:15 clinic time"),
        ("Europe/London", "span", "Fri 27 Nov, 14:15–14:45 London time · 15:15–15:45 clinic time"),
        ("Europe/Madrid", "moment", "Fri 27 Nov, 15:15"),
        ("Europe/Madrid", "span", "Fri 27 Nov, 15:15–15:45 clinic time"),
        ("Europe/Paris", "time", "15:15"),  # another zone whose clocks agree
        (None, "moment", "Fri 27 Nov, 15:15"),
        ("Europe/Atlantis", "moment", "Fri 27 Nov, 15:15"),
        ("Pacific/Auckland", "moment", "Sat 28 Nov, 03:15 Auckland time · Fri 27 Nov, 15:15 clinic time"),
        ("Pacific/Auckland", "time", "Sat 28 Nov, 03:15 Auckland time · Fri 27 Nov, 15:15 clinic time"),
    ],
)
def test_both_clocks_are_told_where_they_differ(zone: str | None, style: str, told: str) -> None:
    assert visit_time(visit(zone), style) == told


@pytest.mark.usefixtures("madrid")
def test_a_visit_that_ends_on_a_later_day_says_so() -> None:
    night = visit("Europe/London", minutes=20 * 60)
    assert visit_time(night, "span") == (
        "Fri 27 Nov, 14:15 – Sat 28 Nov, 10:15 London time · 15:15 – Sat 28 Nov, 11:15 clinic time"
    )
    assert visit_time(night) == visit_time(visit("Europe/London"))


@pytest.mark.usefixtures("madrid")
@pytest.mark.parametrize(
    ("language", "told"), [("es", "vie, 27 nov, 14:15, hora de Londres"), ("ar", "بتوقيت لندن")]
)
def test_places_have_their_names_in_the_readers_language(language: str, told: str) -> None:
    g.language = language
    assert told in visit_time(visit("Europe/London"))


@pytest.mark.usefixtures("madrid")
def test_a_calendar_file_keeps_the_instant_in_the_appointments_zone() -> None:
    file = appointments_calendar([visit("Europe/London"), visit(None)], clinic="c", made_at=AT)
    events: list[Any] = cast("Any", icalendar.Calendar.from_ical(file)).walk("VEVENT")
    assert [str(event["dtstart"].params["tzid"]) for event in events] == ["Europe/London", "Europe/Madrid"]
    assert all(event.decoded("dtstart") == AT for event in events)
    assert b"TZID:Europe/London" in file and b"TZID:Europe/Madrid" in file
    assert "14:15 London time · 15:15 clinic time" in events[0].walk("VALARM")[0]["description"]


@pytest.mark.parametrize("name", ["amelia", "nora"])
def test_every_page_tells_both_clocks(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    visitor = portal.sign_in(name)
    named = view.named

    def in_new_york(one: Appointment) -> Appointment:
        return replace(named(one), time_zone="America/New_York")

    monkeypatch.setattr(view, "named", in_new_york)
    pages = [f"/episodes/{AMELIA_EPISODE}{tab}" for tab in ("", "/timeline", "/appointments")]
    for address in [*pages, *["/"] * (name == "amelia")]:
        words = visitor.get(address).words
        assert re.search(r"\d\d:\d\d(–\d\d:\d\d)? New York time · .{0,12}\d\d:\d\d", words), address


def test_no_page_writes_an_appointments_time_by_itself() -> None:
    """`booking` and `prospects` have visits of their own, in the clinic's zone by construction."""
    own = {"booking", "prospects"}
    for file in (ROOT / "templates").rglob("*.html"):
        if file.parent.name in own:
            continue
        times = re.findall(
            r"(?:visit|appointment|upcoming\[0\])\.(?:start|end)\b(?!\|countdown).*", file.read_text()
        )
        assert not times, f"{file.name}: use visit|visit_time for {times}"
