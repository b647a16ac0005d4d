"""The medication plan as a PDF and as a calendar file."""

from __future__ import annotations

import io
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import msgspec
import pytest
from pypdf import PdfReader

from portal.careservice.ids import sample_id
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.views.protocols.schedule import calendar_of, events_of
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

PLAN = f"/protocols/{sample_id('protocol', 'amelia')}"
EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
LONDON = ZoneInfo("Europe/London")


def events(file: bytes) -> list[Any]:
    return list(icalendar.Calendar.from_ical(file).walk("VEVENT"))


def calendar(visitor: Visitor) -> bytes:
    answer = visitor.http.get(f"{visitor.origin}{PLAN}/schedule.ics")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/calendar; charset=utf-8"
    return answer.content


def test_the_plan_has_a_line_with_a_box_for_each_dose(amelia: Visitor) -> None:
    answer = amelia.http.get(f"{amelia.origin}{PLAN}/schedule.pdf")
    document = PdfReader(io.BytesIO(answer.content))
    words = " ".join(" ".join(page.extract_text() for page in document.pages).split())
    assert document.trailer["/Root"]["/MarkInfo"]["/Marked"]
    assert "/AcroForm" not in document.trailer["/Root"], "a plan isn't sealed"
    assert "Day by day" in words
    assert "Until trigger" in words
    assert words.count("rFSH (follitropin alfa)") == 1 + 9, "none on the evening of the trigger"
    assert words.count("no medicine") == 1, "between trigger and egg collection"
    assert "08:00 Cetrorelix" in words.replace("\u2068", "").replace("\u2069", "")


def test_patients_read_the_brand_and_strength_that_the_clinic_hands_out(amelia: Visitor) -> None:
    told = "Follisample 300 IU pen"
    for address in ("/", EPISODE, f"{EPISODE}/medication", PLAN):
        page = amelia.get(address)
        assert told in page.words, address
        assert not any("300" in dose.text_content() for dose in page.select("strong")), "it isn't the dose"
    document = PdfReader(io.BytesIO(amelia.http.get(f"{amelia.origin}{PLAN}/schedule.pdf").content))
    words = " ".join(" ".join(page.extract_text() for page in document.pages).split())
    assert told in re.sub("[\u2066-\u2069]", "", words)


@pytest.mark.parametrize("name", ["amelia", "nora"])
def test_protocol_and_episode_link_to_pdf_and_calendar(portal: PortalThread, name: str) -> None:
    visitor = portal.sign_in(name)
    for path in (PLAN, f"{EPISODE}/medication"):
        links = {link["href"] for link in visitor.get(path).select("main a[href]")}
        assert {f"{PLAN}/schedule.pdf", f"{PLAN}/schedule.ics"} <= links, path


def test_a_plan_is_visible_only_to_those_it_is_shared_with(portal: PortalThread) -> None:
    daniel = portal.sign_in("daniel")
    assert not daniel.get(f"{EPISODE}/medication").select('main a[href*="schedule"]'), (
        "only Amelia may see the schedule"
    )
    assert daniel.get(f"{PLAN}/schedule.pdf").headers["Content-Type"] == "application/pdf"
    grace = portal.sign_in("grace")
    grace.get(f"{PLAN}/schedule.pdf", status=404)
    grace.get(f"{PLAN}/schedule.ics", status=404)


def test_the_calendar_names_no_medicine_and_links_to_the_plan(amelia: Visitor) -> None:
    file = calendar(amelia)
    for secret in (b"rFSH", b"follitropin", b"Cetrorelix", b"Progesterone", b"Amelia", b"IU"):
        assert secret not in file
    for event in events(file):
        assert re.fullmatch(r"Medicine, \d\d:\d\d", event["SUMMARY"])
        assert event["CLASS"] == "PRIVATE"
        assert event["URL"] == amelia.origin + PLAN
    assert len(events(file)) == 6, "one for each hour of a row"


def test_an_alarm_at_each_dose_has_only_the_neutral_title(amelia: Visitor) -> None:
    for event in events(calendar(amelia)):
        (alarm,) = event.walk("VALARM")
        assert (alarm["ACTION"], alarm["DESCRIPTION"]) == ("DISPLAY", event["SUMMARY"])
        assert alarm["TRIGGER"].dt == timedelta(), "the alarm is at the dose's time"


def test_medicines_are_named_only_in_the_calendar_that_asks_for_it(amelia: Visitor) -> None:
    answer = amelia.http.get(f"{amelia.origin}{PLAN}/schedule.ics?names=1")
    titles = {str(event["SUMMARY"]) for event in events(answer.content)}
    assert "Cetrorelix 0.25\N{NO-BREAK SPACE}mg, 08:00" in titles
    told = [str(event["DESCRIPTION"]) for event in events(answer.content)]
    assert any(text.startswith("Follisample 300 IU pen\n") for text in told), "what the clinic hands out"
    assert b"Follisample" not in calendar(amelia)
    assert amelia.get(f"{EPISODE}/medication").select(f'a[href="{PLAN}/schedule.ics?names=1"]')


def test_importing_the_calendar_again_updates_its_entries(amelia: Visitor) -> None:
    first, second = ([event["UID"] for event in events(calendar(amelia))] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def plan(*medications: Medication, start: date) -> Protocol:
    return Protocol(id="p", name="n", status=ProtocolStatus.ACTIVE, start_date=start, medications=medications)


def written(protocol: Protocol) -> bytes:
    return calendar_of(
        protocol,
        None,
        zone=LONDON,
        clinic="c",
        made_at=datetime(2026, 10, 1, tzinfo=UTC),
        address="https://clinic.example/p",
    )


def test_times_keep_the_clinics_local_hour_across_dst() -> None:
    evening = Medication(id="m", drug="d", start_day=1, end_day=4, time="21:30")
    (event,) = events(written(plan(evening, start=date(2026, 10, 23))))
    start = event["DTSTART"].dt
    assert event["DTSTART"].params["TZID"] == "Europe/London"
    assert (start.time(), start.utcoffset()) == (time(21, 30), timedelta(hours=1))
    assert event["RRULE"] == {"FREQ": ["DAILY"], "COUNT": [4], "INTERVAL": [1]}
    zone = next(
        iter(icalendar.Calendar.from_ical(written(plan(evening, start=date(2026, 10, 23)))).walk("VTIMEZONE"))
    )
    assert zone.to_tz().utcoffset(datetime(2026, 10, 26, 21, 30)) == timedelta(0)
    assert zone.to_tz().utcoffset(datetime(2026, 10, 24, 21, 30)) == timedelta(hours=1)


@pytest.mark.parametrize("id_", [None, "row"])
def test_two_doses_of_a_medicine_at_one_hour_are_two_entries(id_: str | None) -> None:
    row = Medication(id=id_, drug="FSH", dose=150, unit="IU", start_day=1, end_day=3, time="19:00")
    rows = (row, msgspec.structs.replace(row, dose=75))
    uids = [str(event["UID"]) for event in events(written(plan(*rows, start=date(2026, 10, 1))))]
    assert len(uids) == len(set(uids)) == 2
    assert events_of(plan(*rows, start=date(2026, 10, 1)), None, "c", date(2026, 10, 1)) == tuple(uids)
    assert uids[:1] == list(events_of(plan(row, start=date(2026, 10, 1)), None, "c", date(2026, 10, 1)))


def test_a_dose_without_a_time_is_an_all_day_entry() -> None:
    for said in (None, "in the evening", "25:00"):
        (event,) = events(
            written(plan(Medication(id="m", drug="d", start_day=3, time=said), start=date(2026, 10, 1)))
        )
        assert event["DTSTART"].dt == date(2026, 10, 3)
        assert "DTEND" not in event
