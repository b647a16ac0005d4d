"""Consent forms: creating, reading, signing in order, revoking, superseding, expiring."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import (
    AMELIA_EPISODE,
    CONSENTS,
    EPISODES,
    GRACE_EPISODE,
    Api,
    code,
    created,
    form,
    members,
    patient,
    person,
    revoke,
    sign,
    signature,
    signer,
)


def unread_about(api: Api, who: str, consent: dict[str, Any]) -> list[str]:
    items = api.get(who, "/api/app/notification", MaxResultCount=200)["items"]
    return [item["type"] for item in items if item["entityId"] == consent["id"]]


def test_a_new_form_is_pending_and_its_hash_covers_what_a_signer_reads(api: Api) -> None:
    made = created(api)
    assert made["status"] == "Pending"
    assert made["sentAt"]
    assert made["patientName"].startswith("Amelia")
    content = {key: made[key] for key in ("title", "kind", "version", "body", "statements")}
    assert made["contentHash"] == hashlib.sha256(rfc8785.dumps(content)).hexdigest()
    assert "summary" not in made["body"][1]
    assert made["creatorId"] == person("nora")


def test_a_form_in_any_order_notifies_all_signers_and_takes_effect_with_the_last_signature(api: Api) -> None:
    made = created(api)
    assert unread_about(api, "amelia", made) == unread_about(api, "daniel", made) == ["ConsentRequested"]
    first = sign(api, "daniel", made, "Partner").json()
    assert first["status"] == "PartiallySigned"
    assert first["effectiveAt"] is None
    assert first["signatures"][0]["personId"] == person("daniel")
    assert first["signatures"][0]["language"] == "en"
    second = sign(api, "amelia", first).json()
    assert second["status"] == "Signed"
    assert second["effectiveAt"]
    assert unread_about(api, "daniel", made)[0] == "ConsentCompleted"


def test_a_sequential_form_notifies_signers_in_turn_and_refuses_others(api: Api) -> None:
    made = created(api, signingOrder="Sequential")
    assert unread_about(api, "daniel", made) == []
    assert code(sign(api, "daniel", made, "Partner")) == "ClientelePortal:OutOfOrder"
    after = sign(api, "amelia", made).json()
    assert unread_about(api, "daniel", made) == ["ConsentRequested"]
    assert sign(api, "daniel", after, "Partner").json()["status"] == "Signed"


def test_a_second_signature_of_a_person_is_refused(api: Api) -> None:
    made = created(api)
    after = sign(api, "amelia", made).json()
    assert code(sign(api, "amelia", after)) == "ClientelePortal:AlreadySigned"
    assert code(sign(api, "amelia", made)) == "ClientelePortal:AlreadySigned"
    assert len(api.get("amelia", f"{CONSENTS}/{made['id']}")["signatures"]) == 1


def test_twenty_concurrent_signatures_count_once(api: Api) -> None:
    made = created(api)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: sign(api, "amelia", made), range(20)))
    assert sorted({answer.status_code for answer in answers}) == [200, 403]
    assert sum(answer.status_code == 200 for answer in answers) == 1


def test_only_named_signers_may_sign_and_only_in_their_role(api: Api) -> None:
    made = created(api)
    assert code(sign(api, "nora", made, "Clinician")) == "ClientelePortal:NotASigner"
    assert code(sign(api, "amelia", made, "Partner")) == "ClientelePortal:NotASigner"
    assert code(sign(api, "daniel", made, "Witness")) == "ClientelePortal:RoleNotYours"


def test_a_clinician_countersigns(api: Api) -> None:
    signers = [signer("Patient", "amelia"), signer("Partner", "daniel"), signer("Clinician", "victor", 2)]
    made = created(api, requiredSigners=signers)
    after = sign(api, "victor", made, "Clinician").json()
    assert after["status"] == "PartiallySigned"
    assert after["signatures"][0]["name"] == "Victor Castellanos"


def test_a_witness_may_not_sign_in_another_role(api: Api) -> None:
    twice = [signer("Patient", "amelia"), signer("Witness", "amelia", 2)]
    assert (
        code(api("nora", "POST", CONSENTS, form(requiredSigners=twice))) == "ClientelePortal:WitnessIsSigner"
    )


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"acknowledgedStatementIds": ["s1"]}, "acknowledgedStatementIds"),
        ({"acknowledgedStatementIds": []}, "acknowledgedStatementIds"),
        ({"acknowledgedStatementIds": ["s1", "s2", "s3"]}, "acknowledgedStatementIds"),
        ({"signature": "   "}, "signature"),
        ({"method": "Drawn"}, "method"),
        ({"method": 7}, "method"),
        ({"signerRole": "Nobody"}, "signerRole"),
        ({"contentHash": None}, "contentHash"),
        ({"concurrencyStamp": None}, "concurrencyStamp"),
    ],
)
def test_an_incomplete_signature_is_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    assert members(sign(api, "amelia", created(api), **changes)) == [member]


def test_a_signature_with_another_content_hash_is_refused(api: Api) -> None:
    made = created(api)
    assert code(sign(api, "amelia", made, contentHash="0" * 64)) == "ClientelePortal:ContentChanged"
    assert code(sign(api, "amelia", made, concurrencyStamp="old")) == "ClientelePortal:ConcurrencyConflict"


def test_enumerations_are_accepted_in_any_case_and_as_integers(api: Api) -> None:
    made = created(api, signingOrder=1)
    assert made["signingOrder"] == "Sequential"
    assert sign(api, "amelia", made, "patient", method=0).json()["status"] == "PartiallySigned"
    assert api.get("amelia", CONSENTS, Status="partially_signed")["totalCount"] >= 1
    assert api.get("amelia", CONSENTS, Status=2) == api.get("amelia", CONSENTS, Status="PartiallySigned")


def test_revoking_records_the_reason_and_notifies_everyone(api: Api) -> None:
    made = created(api)
    for hidden in (" ", "Gone\u202eback", "Bell\x07"):
        assert members(revoke(api, "amelia", made, reason=hidden)) == ["reason"]
    gone = revoke(api, "amelia", made).json()
    assert gone["status"] == "Revoked"
    assert gone["revokeReason"] == "I changed my mind."
    assert gone["revokedById"] == person("amelia")
    assert unread_about(api, "daniel", made)[0] == "ConsentRevoked"
    assert api.get("nora", f"{CONSENTS}/{made['id']}")["revokeReason"] == "I changed my mind."
    assert code(revoke(api, "amelia", gone)) == "ClientelePortal:FormRevoked"
    assert code(sign(api, "amelia", gone)) == "ClientelePortal:FormRevoked"


def test_a_stale_stamp_revokes_nothing(api: Api) -> None:
    made = created(api)
    assert code(revoke(api, "nora", made, concurrencyStamp="old")) == "ClientelePortal:ConcurrencyConflict"
    assert revoke(api, "nora", made).json()["status"] == "Revoked"


def test_a_new_version_supersedes_the_old_one(api: Api) -> None:
    old = created(api)
    new = created(api, version="2.0", supersedesId=old["id"])
    assert new["supersedesId"] == old["id"]
    before = api.get("amelia", f"{CONSENTS}/{old['id']}")
    assert before["status"] == "Superseded"
    assert before["supersededById"] == new["id"]
    assert code(sign(api, "amelia", before)) == "ClientelePortal:FormSuperseded"
    assert (
        code(api("nora", "POST", CONSENTS, form(supersedesId=old["id"]))) == "ClientelePortal:FormSuperseded"
    )


def test_a_pending_form_expires(api: Api) -> None:
    expired = api.get("amelia", f"{CONSENTS}/{sample_id('consent', 'amelia-research')}")
    assert expired["status"] == "Expired"
    assert code(sign(api, "amelia", expired)) == "ClientelePortal:FormExpired"
    assert code(revoke(api, "amelia", expired)) == "ClientelePortal:FormExpired"
    listed = api.get("amelia", CONSENTS, Status="Expired")["items"]
    assert [item["id"] for item in listed] == [expired["id"]]
    past = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    assert members(api("nora", "POST", CONSENTS, form(expiresAt=past))) == ["expiresAt"]


def test_an_expiry_without_an_offset_is_utc(api: Api) -> None:
    made = api("nora", "POST", CONSENTS, form(expiresAt="2099-01-01T10:00:00")).json()
    assert made["expiresAt"] == "2099-01-01T10:00:00Z"


def test_a_draft_cannot_be_signed(api: Api) -> None:
    draft = api.get("nora", f"{CONSENTS}/{sample_id('consent', 'amelia-disposition')}")
    assert draft["status"] == "Draft"
    assert code(sign(api, "amelia", draft)) == "ClientelePortal:FormNotSent"


def test_the_samples_include_every_state(api: Api) -> None:
    items = api.get("amelia", CONSENTS, MaxResultCount=1000, EpisodeId=AMELIA_EPISODE)["items"]
    assert {item["status"] for item in items} == {
        "Draft", "Pending", "PartiallySigned", "Signed", "Revoked", "Expired", "Superseded",
    }  # fmt: skip


def test_withdrawing_storage_puts_the_embryos_stored_under_it_on_hold(api: Api) -> None:
    storage = api.get("nora", f"{CONSENTS}/{sample_id('consent', 'zofia-storage-2')}")
    told = {"onBehalfOf": storage["requiredSigners"][0]["personId"], "toldBy": "Letter"}
    assert revoke(api, "nora", storage, **told).json()["status"] == "Revoked"
    episode = api.get("nora", f"{EPISODES}/{sample_id('episode', 'zofia-1')}")
    embryos = {embryo["embryoCode"]: embryo for embryo in episode["embryos"]}
    assert (embryos["ZW-3"]["status"], embryos["ZW-3"]["holdReason"]) == ("OnHold", "Consent withdrawn")
    assert embryos["ZW-1"]["holdReason"] is None


def test_lists_omit_the_body_and_a_single_form_includes_it(api: Api) -> None:
    made = created(api)
    listed = api.get("amelia", CONSENTS, MaxResultCount=1)["items"][0]
    assert "body" not in listed
    assert listed["statements"]
    assert api.get("amelia", f"{CONSENTS}/{made['id']}")["body"][0]["text"] == "The whole text."


def test_patients_see_their_own_and_those_naming_them_and_no_others(api: Api) -> None:
    mine = created(api, kind="Disclosure", requiredSigners=[signer("Patient", "amelia")], partnerId=None)
    assert api("daniel", "GET", f"{CONSENTS}/{mine['id']}").status_code == 404
    assert api("grace", "GET", f"{CONSENTS}/{mine['id']}").status_code == 404
    assert api("maya", "GET", f"{CONSENTS}/{mine['id']}").status_code == 404
    assert api("omar", "GET", f"{CONSENTS}/{mine['id']}").status_code == 404
    assert sign(api, "grace", mine).status_code == 404
    assert revoke(api, "omar", mine).status_code == 404
    for item in api.get("daniel", CONSENTS, MaxResultCount=1000)["items"]:
        named = [required["personId"] for required in item["requiredSigners"]]
        assert person("daniel") in named or item["patientId"] == patient("daniel")


def test_lists_are_filtered_sorted_and_paged(api: Api) -> None:
    everything = api.get("nora", CONSENTS, MaxResultCount=1000)
    assert everything["totalCount"] >= 50
    page = api.get("nora", CONSENTS, skipcount=10, maxresultcount=5, sorting="procedureDate")
    assert len(page["items"]) == 5
    found = api.get("nora", CONSENTS, Filter="katarzyna brzęcz")["items"]
    assert [item["patientName"] for item in found] == ["Katarzyna Brzęczyszczykiewicz"]
    assert api.get("nora", CONSENTS, Filter="100%_")["totalCount"] == 0
    dated = api.get("nora", CONSENTS, Sorting="procedureDate desc", MaxResultCount=30)["items"]
    dates = [item["procedureDate"] for item in dated]
    assert dates == sorted(dates, reverse=True)
    assert api.get("nora", CONSENTS, PatientId=patient("grace"), MaxResultCount=100)["totalCount"] >= 5


def test_a_list_is_narrowed_to_what_waits_for_a_person_and_to_days(api: Api) -> None:
    everything = api.get("nora", CONSENTS, MaxResultCount=1000)["items"]

    def found(**query: str) -> set[str]:
        page = api.get("nora", CONSENTS, MaxResultCount=1000, **query)
        assert page["totalCount"] == len(page["items"])
        return {item["id"] for item in page["items"]}

    victor = person("victor")
    waiting = {
        item["id"]
        for item in everything
        if item["status"] in ("Pending", "PartiallySigned")
        and victor in [signer["personId"] for signer in item["requiredSigners"]]
        and victor not in [signature["personId"] for signature in item["signatures"]]
    }
    assert found(WaitsFor=victor) == waiting
    dates = sorted(item["procedureDate"] for item in everything if item["procedureDate"])
    first, last = dates[3], dates[-3]
    assert found(DueFrom=first, DueTo=last) == {
        item["id"] for item in everything if item["procedureDate"] and first <= item["procedureDate"] <= last
    }
    assert 0 < len(found(WaitsFor=victor, DueTo=dates[len(dates) // 2])) < len(waiting)
    for query in ({"WaitsFor": "victor"}, {"DueFrom": "23.11.2026"}, {"DueTo": "2026-02-30"}):
        assert api("nora", "GET", CONSENTS, **query).status_code == 400, query


@pytest.mark.parametrize("who", ["amelia", "elif"])
def test_roles_without_permission_may_not_create_forms(api: Api, who: str) -> None:
    answer = api(who, "POST", CONSENTS, form())
    assert (answer.status_code, answer.content) == (403, b"")


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"patientId": sample_id("patient", "maya")}, "patientId"),
        ({"patientId": "nobody"}, "patientId"),
        ({"partnerId": sample_id("patient", "amelia")}, "partnerId"),
        ({"episodeId": GRACE_EPISODE}, "episodeId"),
        ({"title": ""}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"body": []}, "body"),
        ({"body": [{"id": "a", "heading": "b"}]}, "body[0].text"),
        ({"statements": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]}, "statements"),
        (
            {"body": [{"id": "a", "heading": "b", "text": "c"}, {"id": "a", "heading": "d", "text": "e"}]},
            "body",
        ),
        ({"caseId": sample_id("case", "grace")}, "caseId"),
        ({"requiredSigners": []}, "requiredSigners"),
        ({"requiredSigners": [signer("Patient", "amelia"), signer("Partner", "amelia")]}, "requiredSigners"),
        ({"signingOrder": 2}, "signingOrder"),
        ({"procedureDate": "tomorrow"}, "procedureDate"),
        ({"expiresAt": "0001-01-01T00:00:00+23:59"}, "expiresAt"),
        ({"supersedesId": "00000000-0000-0000-0000-000000000000"}, "supersedesId"),
    ],
)
def test_an_impossible_form_is_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    assert members(api("nora", "POST", CONSENTS, form(**changes))) == [member]


def test_a_missing_member_is_named(api: Api) -> None:
    body = form()
    del body["title"]
    assert members(api("nora", "POST", CONSENTS, body)) == ["title"]


def test_signing_twice_with_one_idempotency_key_signs_once(api: Api) -> None:
    made = created(api)
    path, body, headers = f"{CONSENTS}/{made['id']}/sign", signature(made), {"Idempotency-Key": made["id"]}
    first = api("amelia", "POST", path, body, headers=headers)
    again = api("amelia", "POST", path, body, headers=headers)
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    other = api("amelia", "POST", path, signature(made, signature="Other"), headers=headers)
    assert members(other) == ["Idempotency-Key"]
    assert code(api("daniel", "POST", path, body, headers=headers)) == "ClientelePortal:NotASigner"


def test_one_idempotency_key_in_parallel_creates_one_form(api: Api) -> None:
    body, headers = form(title="Once only"), {"Idempotency-Key": "in-parallel"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: api("nora", "POST", CONSENTS, body, headers=headers), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert api.get("nora", CONSENTS, Filter="Once only")["totalCount"] == 1
