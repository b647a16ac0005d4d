"""Physicians' calendars, windows that can't be booked, and which values two merged enquiries keep; the rest is in `ledger/`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.domain.enumerations import ProspectStatus
from portal.careservice.domain.physicians import Physician
from portal.careservice.domain.prospects import Prospect
from portal.careservice.identity.tables import Client
from portal.careservice.identity.tokens import access_token
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import Api, code, members, patient
from tests.careservice.api.clinic import Clinic

PHYSICIANS = "/api/calendar/resources/physicians"


def free_window(api: Api, physician: str, hour: int) -> dict[str, Any]:
    """A half hour of a working day that nothing takes yet."""
    found = api.get("colin", PHYSICIANS, MaxResultCount=100)["items"]
    record = next(item for item in found if item["id"] == sample_id("physician", physician))
    zone = ZoneInfo(record["timeZone"])
    days = {hours["dayOfWeek"] for hours in record["workingHours"]}
    start = datetime.now(zone).replace(hour=hour, minute=0, second=0, microsecond=0) + timedelta(days=30)
    while start.strftime("%A") not in days:
        start += timedelta(days=1)
    return {
        "physicianId": record["id"],
        "locationId": record["locationId"],
        "start": start.astimezone(UTC).isoformat(),
        "end": (start + timedelta(minutes=30)).astimezone(UTC).isoformat(),
        "timeZone": record["timeZone"],
        "appointmentType": "First consultation",
    }


def book(api: Api, who: str, window: dict[str, Any], prospect: str = "noor", **query: Any) -> Any:
    return api(
        who, "POST", f"/api/prospect/records/{sample_id('prospect', prospect)}/book-window", window, **query
    )


def test_a_window_in_no_known_zone_or_of_nobody_is_invalid(api: Api) -> None:
    window = free_window(api, "leila", 15)
    assert members(book(api, "nora", {**window, "end": window["start"]})) == ["end"]
    assert members(book(api, "nora", {**window, "timeZone": "Mars/Base"})) == ["timeZone"]
    assert members(book(api, "nora", {**window, "physicianId": "x"})) == ["physicianId"]


def test_windows_follow_one_another_from_the_first_to_the_last_hour_of_work(api: Api) -> None:
    window = free_window(api, "leila", 9)
    start = datetime.fromisoformat(window["start"])
    for minutes, refused in (
        (-1, "OutsideWorkingHours"),
        (0, ""),
        (30, ""),
        (31, "SlotTaken"),
        (180, ""),
        (181, "OutsideWorkingHours"),
    ):
        begin, over = (start + timedelta(minutes=minutes + more) for more in (0, 30))
        answer = book(api, "nora", {**window, "start": begin.isoformat(), "end": over.isoformat()})
        assert (code(answer) if refused else "ClientelePortal:") == f"ClientelePortal:{refused}", minutes
        assert (answer.status_code == 200) is not bool(refused)


def merge(api: Api, who: str, one: str, other: str, body: Any = None) -> Any:
    first, second = sample_id("prospect", one), sample_id("prospect", other)
    return api(who, "POST", f"/api/prospect/records/{first}/merge/{second}", body)


def test_merging_two_prospects_leaves_one(api: Api) -> None:
    assert code(merge(api, "ada", "ines", "ines")) == "ClientelePortal:SameRecord"
    assert members(merge(api, "ada", "ines", "ines-again", {"fieldChoices": {"shoeSize": "merged"}}))
    assert merge(api, "victor", "ines", "ines-again").content == b""
    answer = merge(
        api,
        "ada",
        "ines",
        "ines-again",
        {"fieldChoices": {"email": sample_id("prospect", "ines-again").upper()}},
    )
    survivor = answer.json()
    assert (survivor["firstName"], survivor["email"]) == ("Inês", "ines.goncalves@mail.example")
    assert survivor["phoneNumber"] == "+447700900411"
    assert code(merge(api, "ada", "ines", "ines-again")) == "ClientelePortal:AlreadyMerged"
    assert code(merge(api, "ada", "ines-again", "ruth")) == "ClientelePortal:AlreadyMerged"


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (ProspectStatus.NEW, ProspectStatus.WINDOW_BOOKED, "WindowBooked"),
        (ProspectStatus.LOST, ProspectStatus.NEW, "New"),
        (ProspectStatus.QUALIFIED, ProspectStatus.CONVERTED, "Converted"),
    ],
)
def test_a_merged_prospect_is_as_far_as_either_was(
    clinic: Clinic, turn: int, one: ProspectStatus, other: ProspectStatus, merged: str
) -> None:
    """One who was lost and asks anew isn't lost."""
    pair = [sample_id("prospect", name) for name in ("ines", "ines-again")]

    def set_both(session: Session) -> None:
        for id_, status in zip(pair[::turn], (one, other), strict=True):
            session.get_one(Prospect, id_).status = status
        session.get_one(Prospect, pair[1]).patient_id = patient("grace")

    clinic.change(set_both)
    answer = clinic("ada", "POST", f"/api/prospect/records/{pair[0]}/merge/{pair[1]}")
    assert (answer.json["status"], answer.json["patientId"]) == (merged, patient("grace"))


def test_enquiries_of_two_patients_are_not_merged(clinic: Clinic) -> None:
    pair = [sample_id("prospect", name) for name in ("ines", "ines-again")]

    def convert(session: Session) -> None:
        for id_, name in zip(pair, ("grace", "amelia"), strict=True):
            session.get_one(Prospect, id_).patient_id = patient(name)

    clinic.change(convert)
    answer = clinic("ada", "POST", f"/api/prospect/records/{pair[0]}/merge/{pair[1]}")
    assert answer.json["error"]["code"] == "ClientelePortal:TwoPatients"


def test_one_key_at_two_addresses_is_two_acts(clinic: Clinic) -> None:
    for one, other in (("ines", "ines-again"), ("noor", "ruth")):
        first, second = sample_id("prospect", one), sample_id("prospect", other)
        path = f"/api/prospect/records/{first}/merge/{second}"
        assert clinic("ada", "POST", path, Idempotency_Key="one").json["id"] == first


def test_a_link_books_again_once_the_visit_is_over_and_nobody_with_who_takes_none(clinic: Clinic) -> None:
    def book_by_link(weeks: int) -> Any:
        day = clinic.moment + timedelta(days=7 * weeks - clinic.moment.weekday())
        window = {
            "physicianId": sample_id("physician", "leila"),
            "start": f"{day:%Y-%m-%d}T12:00:00",
            "end": f"{day:%Y-%m-%d}T12:30:00",
            "timeZone": "Europe/London",
            "appointmentType": "First consultation",
        }
        path = f"/api/prospect/records/{sample_id('prospect', 'noor')}/book-window?__tenant=riverside"
        return clinic.call(service_token(clinic), "POST", path, window)

    assert book_by_link(5).status_code == 200
    assert book_by_link(6).json["error"]["code"] == "ClientelePortal:AlreadyBooked"
    clinic.moment += timedelta(days=42)
    assert book_by_link(5).status_code == 200
    clinic.moment += timedelta(days=42)
    clinic.change(lambda session: session.execute(update(Physician).values(is_active=False)))
    assert book_by_link(5).json["error"]["code"] == "ClientelePortal:PhysicianNotAvailable"


def service_token(clinic: Clinic) -> str:
    with clinic.app.app_context(), database.new_session(database.engine()) as session:
        client = session.get_one(Client, "riverside-service")
        token = access_token(session, client, "ClientelePortal", None, None)
        session.commit()
        return token
