"""A visit's place and preparation, on its pages and in its calendar file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import icalendar
import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.episodes import READ_EPISODE, Appointment, Episode, EpisodeStage
from portal.services.patients import Patient
from portal.services.protocols import ProtocolType
from portal.web import added_visits
from tests.support.fake_api import ZONE, FakeApi
from tests.support.visitor import SignIn, Visitor

SOON = datetime.now(UTC).replace(microsecond=0) + timedelta(days=2)
SCAN = Appointment(id="a-1", kind="MonitoringScan", start=SOON, location="Quayside, room 2", status="Booked")
ELSEWHERE = Appointment(id="a-2", kind="Talk", start=SOON, location="Hilltop", status="Cancelled")


def shows(fake_api: FakeApi, *visits: Appointment, **members: Any) -> None:
    patient = Patient(id="amelia", first_name="Amelia")
    episode = Episode(id="e-1", status=CareStatus.ACTIVE, patient=patient, appointments=visits, **members)
    fake_api.gives(READ_EPISODE, episode)


def events(visitor: Visitor) -> list[Any]:
    calendar: Any = icalendar.Calendar.from_ical(
        visitor.get("/episodes/e-1/appointments.ics").response.content
    )
    return list(calendar.walk("VEVENT"))


@pytest.mark.parametrize("path", ["/episodes/e-1", "/episodes/e-1/appointments"])
def test_a_visit_says_where_and_how_to_prepare(visitor: SignIn, fake_api: FakeApi, path: str) -> None:
    shows(fake_api, SCAN)
    page = visitor("amelia").get(path)
    assert "Riverside House 1 Quayside See it on a map" in page.words
    assert "Arrive 10 minutes early. Come with an empty bladder." in page.words
    assert "To change it, call 020 7946 0120" in page.words


def test_another_place_has_no_address(visitor: SignIn, fake_api: FakeApi) -> None:
    shows(fake_api, replace(ELSEWHERE, status="Booked"))
    words = visitor("amelia").get("/episodes/e-1/appointments").words
    assert "Hilltop" in words and "Quayside" not in words and "Arrive" not in words


@pytest.mark.parametrize(
    ("who", "path"),
    [
        (("amelia",), "/episodes"),
        (("amelia",), "/episodes/e-1"),
        (("nora", "nurse"), "/patients/amelia?episode=e-1"),
        (("nora", "nurse"), "/day-sheet?day=2026-11-25"),
    ],
)
def test_an_unconfirmed_visit_is_told_as_such_everywhere(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], who: tuple[str, ...], path: str
) -> None:
    at("25 08:00")
    today = replace(SCAN, start=datetime(2026, 11, 25, 10, tzinfo=ZONE))
    for status, is_told in (("Rescheduled", True), ("Booked", False)):
        shows(fake_api, replace(today, status=status))
        person = visitor(*who)
        person.get("/episodes/e-1")
        page = person.get(path).words
        assert "10:00" in page
        assert ("To be confirmed" in page) is is_told


def test_a_step_to_come_says_that_its_visit_is_to_be_confirmed(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 08:00")
    visit = replace(
        SCAN, kind="EggCollection", start=datetime(2026, 11, 27, 10, tzinfo=ZONE), status="Rescheduled"
    )
    shows(fake_api, visit, type=ProtocolType.ANTAGONIST, stage=EpisodeStage.STIMULATION)
    steps = [step.words for step in visitor("amelia").get("/episodes/e-1/timeline").select(".steps li")]
    assert ["To be confirmed" in step for step in steps if "10:00" in step] == [True]


@pytest.mark.parametrize(
    ("who", "path"),
    [
        (("amelia",), "/episodes/e-1/appointments"),
        (("nora", "nurse"), "/episodes/e-1"),
        (("nora", "nurse"), "/day-sheet?day=2026-11-25"),
    ],
)
def test_a_visit_that_is_over_is_not_to_be_confirmed(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], who: tuple[str, ...], path: str
) -> None:
    shows(fake_api, replace(SCAN, start=datetime(2026, 11, 25, 10, tzinfo=ZONE), status="Rescheduled"))
    for hour, is_told in (("10:20", True), ("10:40", False)):
        at(f"25 {hour}")
        person = visitor(*who)
        person.get("/episodes/e-1")
        page = person.get(path).words
        assert "10:00" in page and ("To be confirmed" in page) is is_told


@pytest.mark.parametrize(
    "end", [None, datetime(2026, 11, 28, tzinfo=ZONE), datetime(2026, 11, 28, 9, tzinfo=ZONE)]
)
def test_a_visit_without_a_usable_end_is_told_for_half_an_hour(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], end: datetime | None
) -> None:
    shows(fake_api, replace(SCAN, start=datetime(2026, 11, 28, 9, tzinfo=ZONE), end=end))
    for moment, is_told in (("28 08:00", True), ("28 09:29", True), ("28 09:30", False)):
        at(moment)
        words = visitor("amelia").get("/episodes/e-1/appointments").words
        assert ("No appointment is planned" not in words) is is_told, moment
    (event,) = events(visitor("amelia"))
    assert event.decoded("DTEND") - event.decoded("DTSTART") == timedelta(minutes=30)


def test_the_calendar_file_has_them_too_and_a_newer_one_counts(visitor: SignIn, fake_api: FakeApi) -> None:
    shows(fake_api, SCAN, ELSEWHERE)
    scan, elsewhere = events(visitor("amelia"))
    assert str(scan["LOCATION"]) == "Quayside, room 2, Riverside House, 1 Quayside"
    assert str(scan["DESCRIPTION"]).splitlines() == [
        "Arrive 10 minutes early.",
        "Come with an empty bladder.",
        "https://maps.example/quayside",
    ]
    assert (str(elsewhere["LOCATION"]), str(elsewhere["STATUS"])) == ("Hilltop", "CANCELLED")
    assert "DESCRIPTION" not in elsewhere
    assert int(scan["SEQUENCE"]) > 3_000_000
    assert str(scan["UID"]).startswith("a-1@")


def test_a_visit_that_changed_since_it_was_added_says_so(visitor: SignIn, fake_api: FakeApi) -> None:
    scan = replace(SCAN, id="added")
    shows(fake_api, scan)
    amelia = visitor("amelia")
    changed, removed = "changed since you added it", "Take it out of my calendar"
    assert changed not in amelia.get("/episodes/e-1/appointments").words
    events(amelia)
    assert changed not in amelia.get("/episodes/e-1/appointments").words
    shows(fake_api, replace(scan, start=SOON + timedelta(hours=1)))
    for path in ("/", "/episodes/e-1", "/episodes/e-1/appointments"):
        assert changed in amelia.get(path).words
    assert changed not in visitor("daniel").get("/episodes/e-1/appointments").words, "who has no file"
    events(amelia)
    assert changed not in amelia.get("/episodes/e-1/appointments").words
    shows(fake_api, replace(scan, status="Cancelled"))
    words = amelia.get("/episodes/e-1/appointments").words
    assert "Appointment cancelled" in words and removed in words and "earlier appointment" not in words


@pytest.mark.parametrize(
    ("change", "is_told"),
    [
        ({"kind": "Talk"}, True),
        ({"kind": "Monitoring scan"}, False),
        ({"status": "Tentative"}, True),
        ({"time_zone": "Asia/Tokyo"}, True),
    ],
)
def test_whatever_the_calendar_says_of_a_visit_is_compared(
    visitor: SignIn, fake_api: FakeApi, request: pytest.FixtureRequest, change: dict[str, str], is_told: bool
) -> None:
    scan = replace(SCAN, id=request.node.name)
    shows(fake_api, scan)
    events(visitor("amelia"))
    shows(fake_api, replace(scan, **change))
    words = visitor("amelia").get("/episodes/e-1/appointments").words
    assert ("changed since you added it" in words) is is_told


def test_a_visit_that_was_added_before_more_was_compared_is_unchanged(
    visitor: SignIn, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows(fake_api, replace(SCAN, id="former"))
    with monkeypatch.context() as former:
        former.setattr(added_visits, "_digest", added_visits._former_digest)
        events(visitor("amelia"))
    assert "changed since you" not in visitor("amelia").get("/episodes/e-1/appointments").words


@pytest.mark.parametrize("path", ["/", "/episodes/e-1", "/episodes/e-1/appointments"])
def test_a_visit_in_the_calendar_that_is_not_listed_any_more_is_told(
    visitor: SignIn, fake_api: FakeApi, path: str
) -> None:
    told = "In your calendar, but not listed here any more"
    amelia, talk = visitor("amelia"), replace(ELSEWHERE, status="Booked", start=SOON + timedelta(hours=1))
    shows(fake_api, SCAN, talk)
    events(amelia)
    for listed, is_told in (
        ((SCAN, talk), False),
        ((SCAN,), True),
        ((SCAN, replace(talk, status="Cancelled")), False),
        ((SCAN, replace(talk, id="a-9")), False),
    ):
        shows(fake_api, *listed)
        page = amelia.get(path)
        assert (told in page.words) is is_told, listed
    shows(fake_api, SCAN)
    notice, *_ = [one for one in amelia.get(path).select(".notice") if told in one.text_content()]
    assert f"{(SOON + timedelta(hours=1)).astimezone(ZONE):%H:%M}. If nobody" in notice.words
    assert told not in visitor("daniel").get(path).words, "only in the calendar of whoever added it"


def test_a_visit_that_is_over_or_was_never_added_is_not_missed(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    shows(fake_api, SCAN)
    assert "not listed here any more" not in amelia.get("/episodes/e-1/appointments").words
    shows(fake_api, replace(SCAN, start=SOON - timedelta(days=3)))
    events(amelia)
    shows(fake_api)
    assert "not listed here any more" not in amelia.get("/episodes/e-1/appointments").words
