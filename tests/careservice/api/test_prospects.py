"""Physicians' calendars, windows that can't be booked, and which values two merged enquiries keep; the rest is in `ledger/`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.orm import Session

from portal.careservice.domain.enumerations import ProspectStatus
from portal.careservice.domain.prospects import Prospect
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import Api, code, members
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
        api, "ada", "ines", "ines-again", {"fieldChoices": {"email": sample_id("prospect", "ines-again")}}
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

    clinic.change(set_both)
    answer = clinic("ada", "POST", f"/api/prospect/records/{pair[0]}/merge/{pair[1]}")
    assert answer.json["status"] == merged
