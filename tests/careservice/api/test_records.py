"""Patients, cases, protocols, folders and files: stale stamps, impossible values, parts of files; the rest is in `ledger/`."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, EPISODES, GRACE_EPISODE, Api, code, members, patient
from tests.careservice.families import Families

FILE = "/api/file-management/file-descriptor/content"
MOVE = "/api/document-management/directory-descriptor/move"
PROTOCOLS = "/api/care/fertility-protocols"
AUDIT = ("id", "creationTime", "creatorId", "lastModificationTime", "lastModifierId")
ZOFIA_EPISODE = sample_id("episode", "zofia-1")


def editable(record: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in AUDIT} | changes


# Patients


def own_record(api: Api, who: str, episode: str) -> dict[str, Any]:
    return api.get(who, f"{EPISODES}/{episode}")["patient"]


def test_patients_may_change_only_their_contact_fields(api: Api) -> None:
    record = own_record(api, "amelia", AMELIA_EPISODE)
    path = f"/api/care/patients/{record['id']}"
    changed = api(
        "amelia", "PUT", path, editable(record, phoneNumber="+44 7700 900999", preferredChannel=1)
    ).json()
    assert (changed["phoneNumber"], changed["preferredChannel"]) == ("+447700900999", "Email")
    assert changed["concurrencyStamp"] != record["concurrencyStamp"]
    assert code(api("amelia", "PUT", path, editable(record))) == "ClientelePortal:ConcurrencyConflict"
    assert (
        code(api("amelia", "PUT", path, editable(changed, lastName="Other")))
        == "ClientelePortal:FieldNotYours"
    )
    staff = api("nora", "PUT", path, editable(changed, preferredName="Mel"))
    assert staff.json()["preferredName"] == "Mel"
    assert api("daniel", "PUT", path, editable(changed)).status_code == 404
    assert api("omar", "PUT", path, editable(changed)).status_code == 404
    assert api("elif", "PUT", path, editable(changed)).content == b""


def test_a_patient_without_a_date_of_birth_is_invalid(api: Api) -> None:
    record = own_record(api, "grace", GRACE_EPISODE)
    path = f"/api/care/patients/{record['id']}"
    assert members(api("grace", "PUT", path, editable(record, dateOfBirth="someday"))) == ["dateOfBirth"]
    assert members(api("grace", "PUT", path, editable(record, address={"line1": "x"}))) == ["address.city"]


@pytest.mark.parametrize(
    "typed", ["07700 900777", "+44 (0)7700 900777", "0044 7700 900777", "(07700) 900-777", "+447700900777"]
)
def test_telephone_numbers_are_stored_in_one_format(api: Api, typed: str) -> None:
    record = own_record(api, "grace", GRACE_EPISODE)
    contact = {"name": "C", "phoneNumber": typed, "relation": "Sister"}
    body = editable(record, phoneNumber=typed, emergencyContact=contact)
    changed = api("grace", "PUT", f"/api/care/patients/{record['id']}", body).json()
    assert changed["phoneNumber"] == changed["emergencyContact"]["phoneNumber"] == "+447700900777"


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"phoneNumber": "ring me"}, "phoneNumber"),
        ({"phoneNumber": "123"}, "phoneNumber"),
        (
            {"emergencyContact": {"name": "C", "phoneNumber": "x", "relation": "y"}},
            "emergencyContact.phoneNumber",
        ),
        ({"dateOfBirth": (datetime.now(UTC) + timedelta(days=2)).date().isoformat()}, "dateOfBirth"),
    ],
)
def test_impossible_values_of_a_patient_are_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    record = own_record(api, "grace", GRACE_EPISODE)
    answer = api("nora", "PUT", f"/api/care/patients/{record['id']}", editable(record, **changes))
    assert members(answer) == [member]


# Cases


def test_a_case_keeps_its_physician(api: Api, families: Families) -> None:
    case = api.get("nora", f"{EPISODES}/{AMELIA_EPISODE}")["case"]
    path = f"/api/care/cases/{case['id']}"
    sent = editable(case, physicianId=case["physicianId"].upper())
    case = api("nora", "PUT", path, sent).json()
    assert case["physicianId"] == sent["physicianId"].lower()
    left_out = editable(case)
    del left_out["physicianId"]
    assert members(api("nora", "PUT", path, left_out)) == ["physicianId"]
    assert members(api("nora", "PUT", path, editable(case, physicianId=None))) == ["physicianId"]
    without = api.get("nora", f"{EPISODES}/{families.add('grace').episode}")["case"]
    kept = api("nora", "PUT", f"/api/care/cases/{without['id']}", editable(without, physicianId=None))
    assert kept.json()["physicianId"] is None


def test_an_illegal_move_of_a_case_is_refused(api: Api) -> None:
    path = f"/api/care/cases/{sample_id('case', 'zofia')}"
    case = api.get("nora", f"{EPISODES}/{ZOFIA_EPISODE}")["case"]
    assert (
        code(api("nora", "PUT", path, editable(case, status="Finished")))
        == "ClientelePortal:IllegalTransition"
    )
    active = api("nora", "PUT", path, editable(case, status=2)).json()
    assert active["status"] == "Active"
    assert code(api("nora", "PUT", path, editable(case))) == "ClientelePortal:ConcurrencyConflict"
    held = api("nora", "PUT", path, editable(active, status="OnHold")).json()
    done = api("nora", "PUT", path, editable(held, status="Finished", closedReason="Complete")).json()
    assert (active["closedAt"], held["closedAt"]) == (None, None)
    assert done["closedAt"] and done["closedReason"] == "Complete"
    assert (
        code(api("nora", "PUT", path, editable(done, status="Active"))) == "ClientelePortal:IllegalTransition"
    )
    assert members(api("nora", "PUT", path, editable(done, physicianId="x"))) == ["physicianId"]
    erroneous = api("nora", "PUT", path, editable(done, status="EnteredInError")).json()
    assert erroneous["closedAt"] == done["closedAt"]
    assert api("amelia", "PUT", path, editable(erroneous)).content == b""
    assert api("omar", "PUT", path, editable(done)).status_code == 404


# Protocols


def plan(**changes: Any) -> dict[str, Any]:
    return {
        "name": "PPOS", "type": "Ppos", "status": "Draft", "patientId": patient("grace"),
        "medications": [{
            "drug": "rFSH", "drugClass": "Gonadotropin", "dose": 150, "unit": "IU", "route": "Subcutaneous",
            "startDay": 1, "endDay": 10, "time": "19:00",
        }],
        "monitoring": [{"day": 5, "kind": "Scan"}],
        **changes,
    }  # fmt: skip


def test_a_protocol_is_created_read_changed_and_ended(api: Api) -> None:
    made = api("victor", "POST", PROTOCOLS, plan()).json()
    assert made["medications"][0]["id"]
    path = f"{PROTOCOLS}/{made['id']}"
    assert api.get("grace", path) == made
    assert api("amelia", "GET", path).status_code == 404
    assert api("omar", "GET", path).status_code == 404
    active = api("nora", "PUT", path, editable(made, status="Active", name="PPOS 150")).json()
    assert active["name"] == "PPOS 150"
    assert code(api("nora", "PUT", path, editable(made))) == "ClientelePortal:ConcurrencyConflict"
    assert (
        code(api("nora", "PUT", path, editable(active, status="Draft")))
        == "ClientelePortal:IllegalTransition"
    )
    done = api("nora", "PUT", path, editable(active, status="Completed")).json()
    assert code(api("nora", "PUT", path, editable(done, name="x"))) == "ClientelePortal:IllegalTransition"
    assert made["id"] in {item["id"] for item in api.get("grace", PROTOCOLS, Type="ppos")["items"]}


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"type": "Guess"}, "type"),
        ({"medications": [{"drug": "x"}]}, "medications[0].drugClass"),
        ({"patientId": sample_id("patient", "maya")}, "patientId"),
        ({"episodeId": AMELIA_EPISODE}, "episodeId"),
        ({"patientId": None, "episodeId": ZOFIA_EPISODE}, "episodeId"),
        ({"startDate": "2026-02-30"}, "startDate"),
        ({"monitoring": [{"day": "five", "kind": "Scan"}]}, "monitoring[0].day"),
    ],
)
def test_an_impossible_protocol_is_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    assert members(api("victor", "POST", PROTOCOLS, plan(**changes))) == [member]


def test_a_course_does_not_end_before_it_begins(api: Api) -> None:
    medication = {**plan()["medications"][0], "startDay": 5, "endDay": 4}
    assert members(api("victor", "POST", PROTOCOLS, plan(medications=[medication]))) == [
        "medications[0].endDay"
    ]


# Folders and files


def folder(api: Api, name: str) -> dict[str, Any]:
    found = api.get("nora", f"{EPISODES}/{GRACE_EPISODE}")["documents"]["directories"]
    return next(item for item in found if item["name"] == name)


def move(api: Api, who: str, directory: dict[str, Any], parent: str | None) -> Any:
    body = {"id": directory["id"], "newParentId": parent, "concurrencyStamp": directory["concurrencyStamp"]}
    return api(who, "POST", MOVE, body)


def test_a_folder_that_was_moved_meanwhile_is_not_moved(api: Api) -> None:
    letters, earlier = folder(api, "Letters"), folder(api, "Earlier letters")
    moved = move(api, "nora", earlier, None)
    assert code(move(api, "nora", earlier, letters["id"])) == "ClientelePortal:ConcurrencyConflict"
    assert move(api, "nora", moved.json(), letters["id"]).json()["parentId"] == letters["id"]


def test_a_file_is_served_whole_in_ranges_and_as_304_when_unchanged(api: Api) -> None:
    file = next(
        file
        for file in api.get("amelia", f"{EPISODES}/{AMELIA_EPISODE}")["documents"]["files"]
        if file["name"].startswith("Analiza")
    )
    whole = api("amelia", "GET", FILE, id=file["id"])
    assert whole.content.startswith(b"%PDF-") and len(whole.content) == file["size"]
    assert whole.headers["Content-Type"] == "application/pdf"
    assert whole.headers["Accept-Ranges"] == "bytes"
    assert (
        "filename*=UTF-8''Analiza%20nasienia%20%E2%80%93%20Za%C5%BC" in whole.headers["Content-Disposition"]
    )
    assert whole.headers["ETag"] == f'"{hashlib.sha256(whole.content).hexdigest()}"'
    part = api("amelia", "GET", FILE, id=file["id"], headers={"Range": "bytes=5-9"})
    assert (part.status_code, part.content) == (206, whole.content[5:10])
    assert part.headers["Content-Range"] == f"bytes 5-9/{file['size']}"
    assert api("amelia", "GET", FILE, id=file["id"], headers={"Range": "bytes=9999999-"}).status_code == 416
    same = api("amelia", "GET", FILE, id=file["id"], headers={"If-None-Match": whole.headers["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
