"""Embryos in storage, and the results of their genetic tests."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import (
    CONSENTS,
    EPISODES,
    GRACE_EPISODE,
    Api,
    code,
    members,
)

ZOFIA_EPISODE = sample_id("episode", "zofia-1")


def embryo(api: Api, who: str, name: str, episode: str = ZOFIA_EPISODE) -> dict[str, Any]:
    found = api.get(who, f"{EPISODES}/{episode}")["embryos"]
    return next(item for item in found if item["embryoCode"] == name)


def put(api: Api, who: str, record: dict[str, Any], **changes: Any) -> Any:
    wanted = {
        key: record.get(key) for key in ("status", "location", "storageExpiresAt", "disposition", "notes")
    }
    body = {**wanted, "concurrencyStamp": record["concurrencyStamp"], **changes}
    return api(who, "PUT", f"/api/care/embryo-storage/{record['id']}", body)


def test_an_illegal_move_of_an_embryo_is_refused(api: Api) -> None:
    record = embryo(api, "elif", "ZW-2")
    assert code(put(api, "elif", record, status="Transferred")) == "ClientelePortal:IllegalTransition"
    for status in ("Stored", "OnHold", "Reserved", "OnHold", "Stored", "Reserved"):
        record = put(api, "elif", record, status=status).json()
        assert record["status"] == status
    gone = embryo(api, "elif", "GO-5", GRACE_EPISODE)
    assert code(put(api, "elif", gone, status="Stored")) == "ClientelePortal:IllegalTransition"
    later = put(api, "elif", record, storageExpiresAt="2099-01-01T10:00:00").json()
    assert later["storageExpiresAt"] == "2099-01-01T10:00:00Z"
    assert put(api, "nora", record, status="Stored").content == b""


def test_the_samples_include_embryos_that_cannot_be_moved_and_one_that_can(api: Api) -> None:
    alone = embryo(api, "elif", "ZW-5")
    assert code(put(api, "elif", alone, status="Donated")) == "ClientelePortal:SecondPersonMissing"
    taken_back = embryo(api, "elif", "ZW-6")
    assert (taken_back["status"], taken_back["disposition"]) == ("OnHold", "Undecided")
    assert code(put(api, "elif", taken_back, status="Stored")) == "ClientelePortal:OnHold"
    decided = embryo(api, "elif", "ZW-4")
    assert put(api, "elif", decided, status="Discarded", location=None).json()["status"] == "Discarded"
    renewal = api.get("grace", f"{CONSENTS}/{sample_id('consent', 'grace-renewal')}")
    assert renewal["requiredSigners"][1]["personId"] == sample_id("patient", "joseph")


def test_patients_may_change_only_the_disposition(api: Api) -> None:
    record = embryo(api, "grace", "GO-2", GRACE_EPISODE)
    assert code(put(api, "grace", record, status="Reserved")) == "ClientelePortal:FieldNotYours"
    assert code(put(api, "grace", record, storageExpiresAt="2090-01-01")) == "ClientelePortal:FieldNotYours"
    changed = put(api, "grace", record, disposition=0).json()
    assert (changed["disposition"], changed["location"]) == ("Undecided", None)
    assert embryo(api, "elif", "GO-2", GRACE_EPISODE)["location"]["tank"] == "T4"
    assert code(put(api, "grace", record, disposition=1)) == "ClientelePortal:ConcurrencyConflict"
    assert put(api, "amelia", changed, disposition=1).status_code == 404
    only = {"disposition": "ContinueStorage", "concurrencyStamp": changed["concurrencyStamp"]}
    assert api("grace", "PUT", f"/api/care/embryo-storage/{changed['id']}", only).status_code == 200


@pytest.mark.parametrize(("length", "status"), [(10_000, 200), (10_001, 400)])
def test_notes_have_at_most_10000_characters(api: Api, length: int, status: int) -> None:
    record = embryo(api, "elif", "GO-2", GRACE_EPISODE)
    answer = put(api, "elif", record, notes="n" * length)
    assert answer.status_code == status, answer.text
    if status == 400:
        assert members(answer) == ["notes"]


# Genetic tests


def result_path(name: str) -> str:
    return f"/api/care/pgt-results/{sample_id('pgt-result', name)}"


@pytest.mark.parametrize("who", ["grace", "elif", "nora"])
def test_sex_and_sex_chromosomes_are_never_returned(api: Api, who: str) -> None:
    for name in ("GO-2", "GO-4", "GO-5"):
        result = api.get(who, result_path(name))
        assert (result["sex"], result["sexDisclosed"]) == (None, False)
        assert not {"comment", "condition"} & result.keys()
        assert not any(found["chromosome"] in ("X", "Y") for found in result["abnormalities"])
    assert api.get(who, result_path("GO-4"))["mosaicPercent"] == 32


def test_a_result_is_not_found_before_its_release(api: Api) -> None:
    assert api("grace", "GET", result_path("GO-6")).status_code == 404
    assert api.get("elif", result_path("GO-6"))["status"] == "Reported"
    assert api("amelia", "GET", result_path("GO-1")).status_code == 404
    assert api("omar", "GET", result_path("GO-1")).status_code == 404
