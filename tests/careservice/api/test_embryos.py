"""Embryos in storage, and the results of their genetic tests."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import EPISODES, GRACE_EPISODE, Api, code, members

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


def test_an_end_of_storage_without_an_offset_is_utc(api: Api) -> None:
    later = put(api, "elif", embryo(api, "elif", "ZW-2"), storageExpiresAt="2099-01-01T10:00:00").json()
    assert later["storageExpiresAt"] == "2099-01-01T10:00:00Z"


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
