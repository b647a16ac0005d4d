"""Doses in protocols: hours and intervals, the trigger's hour, and what was given stays as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.careservice.api.calls import GRACE_EPISODE, Api, code, members
from tests.careservice.api.test_records import PROTOCOLS, editable, patient, plan
from tests.careservice.families import Families

TODAY = datetime.now(UTC).date()


def row(**changes: Any) -> dict[str, Any]:
    return {**plan()["medications"][0], **changes}


def test_times_and_time_complete_each_other(api: Api) -> None:
    for given, time, times in (
        ({"time": "20:00"}, "20:00", ["20:00"]),
        ({"time": None, "times": ["08:00", "20:00"]}, "08:00", ["08:00", "20:00"]),
        ({"time": None}, None, []),
    ):
        made = api("victor", "POST", PROTOCOLS, plan(medications=[row(**given)])).json()["medications"][0]
        assert (made["time"], made["times"], made["everyDays"], made["isTrigger"]) == (time, times, 1, False)
        assert isinstance(made["dose"], int | float)


@pytest.mark.parametrize("days", [1, 100])
def test_a_dose_may_be_taken_each_day_to_each_hundredth(api: Api, days: int) -> None:
    made = api("victor", "POST", PROTOCOLS, plan(medications=[row(everyDays=days)])).json()
    assert made["medications"][0]["everyDays"] == days


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"times": ["20:00", "08:00"], "time": None}, "times"),
        ({"times": ["08:00", "08:00"], "time": None}, "times"),
        ({"times": ["08:00"], "time": "09:00"}, "times"),
        ({"times": ["8:00"]}, "times[0]"),
        ({"times": ["20:00\n"]}, "times[0]"),
        ({"times": ["0٨:00"]}, "times[0]"),
        ({"everyDays": 0}, "everyDays"),
        ({"everyDays": 101}, "everyDays"),
        ({"startDay": 5, "endDay": None, "lastDoseDay": 4}, "lastDoseDay"),
        ({"dose": "5,000"}, "dose"),
        ({"id": "m" * 37}, "id"),
    ],
)
def test_impossible_doses_are_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    assert members(api("victor", "POST", PROTOCOLS, plan(medications=[row(**changes)]))) == [
        f"medications[0].{member}"
    ]


def test_no_protocol_is_active_without_the_hour_of_its_trigger(api: Api) -> None:
    trigger = row(isTrigger=True, time=None)
    active = plan(medications=[trigger], status="Active")
    assert code(api("victor", "POST", PROTOCOLS, active)) == "ClientelePortal:TriggerWithoutTime"
    made = api("victor", "POST", PROTOCOLS, plan(medications=[trigger], status="Draft")).json()
    path = f"{PROTOCOLS}/{made['id']}"
    moved = editable(made, status="Active")
    assert code(api("victor", "PUT", path, moved)) == "ClientelePortal:TriggerWithoutTime"
    moved["medications"] = [{**made["medications"][0], "time": "21:00"}]
    assert api("victor", "PUT", path, moved).status_code == 200


@pytest.mark.parametrize("status", ["Active", "OnHold"])
def test_a_dose_already_taken_stays_and_a_new_one_begins_a_row(api: Api, status: str) -> None:
    begun = (TODAY - timedelta(days=3)).isoformat()
    made = api(
        "victor",
        "POST",
        PROTOCOLS,
        plan(medications=[row(startDay=1, endDay=None)], status="Active", startDate=begun),
    ).json()
    path, old = f"{PROTOCOLS}/{made['id']}", made["medications"][0]
    if status != made["status"]:
        made = api("victor", "PUT", path, editable(made, status=status)).json()
    for changes in (
        {"medications": [{**old, "dose": old["dose"] + 25}]},
        {"medications": [{**old, "unit": "mL"}]},
        {"medications": [{**old, "startDay": 2}]},
        {"medications": [{**old, "times": [old["time"], "23:30"]}]},
        {"medications": []},
        {"startDate": TODAY.isoformat()},
        {"patientId": patient("joseph"), "episodeId": None},
        {"patientId": None, "episodeId": None},
        {"medications": [old, {**old, "id": None, "drug": "Cetrorelix", "startDay": 3}]},
        {"medications": [old, {**old, "id": "mine", "startDay": 3, "endDay": None}]},
    ):
        refused = api("victor", "PUT", path, editable(made, **changes))
        assert code(refused) == "ClientelePortal:DosesAlreadyTaken", changes
    split = [{**old, "endDay": 2}, {**old, "id": None, "startDay": 4, "dose": old["dose"] + 25}]
    made = api("victor", "PUT", path, editable(made, medications=split)).json()
    over, going = made["medications"]
    for longer in (3, 9, None):
        refused = api("victor", "PUT", path, editable(made, medications=[{**over, "endDay": longer}, going]))
        assert code(refused) == "ClientelePortal:DosesAlreadyTaken", longer


def test_an_episode_has_the_plan_that_its_patient_follows(api: Api) -> None:
    """Not a draft that is made meanwhile, nor the partner's."""
    address = f"/api/patient-portal/episodes/{GRACE_EPISODE}"
    episode = api("nora", "GET", address).json()
    before = episode["protocol"]["id"]
    plans = {"Active": "grace", "Draft": "grace", "OnHold": "grace", "partner": "joseph"}
    made: dict[str, str] = {}
    for name, who in plans.items():
        of = plan(
            patientId=patient(who), episodeId=episode["id"], status="Draft", startDate=TODAY.isoformat()
        )
        one = api("victor", "POST", PROTOCOLS, of).json()
        for status in {"Draft": [], "OnHold": ["Active", "OnHold"]}.get(name, ["Active"]):
            one = api("victor", "PUT", f"{PROTOCOLS}/{one['id']}", {**one, "status": status}).json()
        made[name] = one["id"]
    assert before not in made.values()
    assert api("nora", "GET", address).json()["protocol"]["id"] == made["Active"]


def test_a_plan_that_was_carried_out_comes_before_a_later_one_that_was_cancelled(
    api: Api, families: Families
) -> None:
    family, made = families.add("grace"), list[str]()
    of = {"patientId": family.patient, "episodeId": family.episode, "startDate": TODAY.isoformat()}
    for status in ("Completed", "Cancelled"):
        one = api("victor", "POST", PROTOCOLS, plan(**of, status="Active")).json()
        made.append(
            api("victor", "PUT", f"{PROTOCOLS}/{one['id']}", editable(one, status=status)).json()["id"]
        )
    assert api.get("nora", f"/api/patient-portal/episodes/{family.episode}")["protocol"]["id"] == made[0]


@pytest.mark.parametrize("hers", ["Draft", "Cancelled", "Completed"])
def test_an_episode_has_the_plan_that_the_partner_follows_while_its_patient_follows_none(
    api: Api, families: Families, hers: str
) -> None:
    """The partner may be the one who gives the eggs."""
    family = families.add("grace", "daniel")
    of = {"episodeId": family.episode, "status": "Active", "startDate": TODAY.isoformat()}
    his = api("victor", "POST", PROTOCOLS, plan(**of, patientId=family.partner)).json()
    made = api("victor", "POST", PROTOCOLS, plan(**of | {"status": "Draft"}, patientId=family.patient)).json()
    for status in {"Draft": [], "Completed": ["Active", "Completed"]}.get(hers, [hers]):
        made = api("victor", "PUT", f"{PROTOCOLS}/{made['id']}", editable(made, status=status)).json()
    followed = api.get("daniel", f"/api/patient-portal/episodes/{family.episode}")["protocol"]
    assert (made["status"], followed["id"]) == (hers, his["id"])
