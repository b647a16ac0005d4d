"""Consent forms: creating, reading, signing in order, revoking, superseding, expiring."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import rfc8785

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import (
    CONSENTS,
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


def test_a_sequential_form_notifies_signers_in_turn_and_refuses_others(api: Api) -> None:
    made = created(api, signingOrder="Sequential")
    assert unread_about(api, "daniel", made) == []
    assert code(sign(api, "daniel", made, "Partner")) == "ClientelePortal:OutOfOrder"
    after = sign(api, "amelia", made).json()
    assert unread_about(api, "daniel", made) == ["ConsentRequested"]
    assert sign(api, "daniel", after, "Partner").json()["status"] == "Signed"


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


def test_a_reason_has_no_hidden_characters(api: Api) -> None:
    made = created(api)
    for hidden in (" ", "Gone\u202eback", "Bell\x07"):
        assert members(revoke(api, "amelia", made, reason=hidden)) == ["reason"]


def test_a_stale_stamp_revokes_nothing(api: Api) -> None:
    made = created(api)
    assert code(revoke(api, "nora", made, concurrencyStamp="old")) == "ClientelePortal:ConcurrencyConflict"
    assert revoke(api, "nora", made).json()["status"] == "Revoked"


def test_an_expiry_without_an_offset_is_utc(api: Api) -> None:
    made = api("nora", "POST", CONSENTS, form(expiresAt="2099-01-01T10:00:00")).json()
    assert made["expiresAt"] == "2099-01-01T10:00:00Z"


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


def test_parameters_are_named_in_any_case_and_words_are_no_patterns(api: Api) -> None:
    page = api.get("nora", CONSENTS, skipcount=10, maxresultcount=5, sorting="procedureDate")
    assert len(page["items"]) == 5
    assert api.get("nora", CONSENTS, Filter="100%_")["totalCount"] == 0


def test_a_filter_that_is_no_person_day_or_number_is_invalid(api: Api) -> None:
    for query in (
        {"WaitsFor": "victor"},
        {"DueFrom": "23.11.2026"},
        {"DueTo": "2026-02-30"},
        {"MaxResultCount": "²"},
    ):
        assert api("nora", "GET", CONSENTS, **query).status_code == 400, query


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


def test_a_form_of_a_treatment_may_be_about_its_partner(api: Api) -> None:
    his = {"patientId": patient("daniel"), "partnerId": None, "caseId": sample_id("case", "amelia")}
    made = created(api, **his, kind="GeneticTesting", requiredSigners=[signer("Patient", "daniel")])
    assert made["patientName"].startswith("Daniel")


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
