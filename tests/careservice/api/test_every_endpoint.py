"""What all endpoints share: tokens, clinics, errors, paging, ETags, correlation, bad input."""

from __future__ import annotations

from typing import Any

import pytest
import requests

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, EPISODES, Api, created, form, members

PHYSICIANS = "/api/calendar/resources/physicians"
NOTIFICATIONS = "/api/app/notification"
LISTS = (
    CONSENTS,
    "/api/care/fertility-protocols",
    PHYSICIANS,
    "/api/messaging/getconversations",
    NOTIFICATIONS,
)
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer x", "Basic YTpi", "Bearer a.b.c"])
def test_without_a_valid_token_the_response_is_an_empty_401(api: Api, header: str | None) -> None:
    answer = api(None, "GET", CONSENTS, headers={} if header is None else {"Authorization": header})
    assert (answer.status_code, answer.content) == (401, b"")
    has_token = header in ("Bearer x", "Bearer a.b.c")
    assert answer.headers["WWW-Authenticate"] == ('Bearer error="invalid_token"' if has_token else "Bearer")


def test_the_token_is_checked_first(api: Api) -> None:
    assert api(None, "GET", f"{CONSENTS}/not-an-id").status_code == 401
    assert api(None, "POST", CONSENTS, raw=b"{").status_code == 401


@pytest.mark.parametrize("path", LISTS)
def test_reads_carry_a_strong_etag_and_answer_304(api: Api, path: str) -> None:
    first = api("nora", "GET", path)
    etag = first.headers["ETag"]
    assert not etag.startswith("W/")
    assert first.headers["Vary"] == "Authorization", "a shared cache must not give it to anybody else"
    wanted = "private, max-age=300" if path == PHYSICIANS else "private, no-cache"
    assert first.headers["Cache-Control"] == wanted
    again = api("nora", "GET", path, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == etag
    assert api("nora", "GET", path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_an_etag_changes_with_the_record(api: Api) -> None:
    before = api("amelia", "GET", CONSENTS).headers["ETag"]
    created(api)
    assert api("amelia", "GET", CONSENTS, headers={"If-None-Match": before}).status_code == 200


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize(
    ("query", "member"),
    [
        ({"MaxResultCount": 0}, "MaxResultCount"),
        ({"maxResultCount": 1001}, "MaxResultCount"),
        ({"MaxResultCount": "ten"}, "MaxResultCount"),
        ({"SkipCount": -1}, "SkipCount"),
        ({"SkipCount": 99999999999}, "SkipCount"),
        ({"Sorting": "nothing"}, "Sorting"),
        ({"Sorting": "title sideways"}, "Sorting"),
        ({"Filter": "a\0b"}, "Filter"),
    ],
)
def test_paging_out_of_range_is_invalid(api: Api, path: str, query: dict[str, Any], member: str) -> None:
    assert members(api("nora", "GET", path, **query)) == [member]


@pytest.mark.parametrize("path", LISTS)
def test_lists_return_ten_by_default_and_may_be_skipped_past_their_end(api: Api, path: str) -> None:
    page = api.get("nora", path)
    assert len(page["items"]) == min(10, page["totalCount"])
    beyond = api.get("nora", path, SkipCount=2_000_000_000, MaxResultCount=1000)
    assert (beyond["items"], beyond["totalCount"]) == ([], page["totalCount"])


def test_a_token_of_one_clinic_finds_nothing_of_another(api: Api) -> None:
    id_ = sample_id("tenant", "riverside")
    for own in ("riverside", id_, id_.upper()):
        assert api("amelia", "GET", CONSENTS, __tenant=own).status_code == 200
    for other in ("harbour", sample_id("tenant", "harbour"), "nowhere"):
        answer = api("amelia", "GET", CONSENTS, __tenant=other)
        assert (answer.status_code, answer.content) == (403, b"")


def test_a_service_client_can_read_only_its_clinics_physicians(api: Api) -> None:
    assert api("riverside-service", "GET", PHYSICIANS, __tenant="riverside").status_code == 200
    for path in (CONSENTS, NOTIFICATIONS, f"{EPISODES}/{AMELIA_EPISODE}"):
        answer = api("riverside-service", "GET", path, __tenant="riverside")
        assert (answer.status_code, answer.content) == (403, b"")
    assert api("riverside-service", "GET", PHYSICIANS, __tenant="harbour").status_code == 403
    assert api("riverside-service", "GET", PHYSICIANS).status_code == 403


def test_a_module_that_the_clinic_does_not_use_is_not_offered(api: Api) -> None:
    answer = api("omar", "GET", PHYSICIANS)
    assert answer.status_code == 501
    assert answer.json()["error"]["message"]


def test_the_correlation_id_is_accepted_or_generated(api: Api) -> None:
    given = api("nora", "GET", CONSENTS, headers={"X-Correlation-Id": "abc-123"})
    assert given.headers["X-Correlation-Id"] == "abc-123"
    made = api("nora", "GET", CONSENTS, headers={"X-Correlation-Id": "bad id"})
    assert made.headers["X-Correlation-Id"] not in ("", "bad id")
    assert api(None, "GET", CONSENTS).headers["X-Correlation-Id"]


def test_messages_are_in_the_requested_language(api: Api) -> None:
    path = f"{CONSENTS}/{NOBODY}"
    texts = {
        language: api("nora", "GET", path, headers={"Accept-Language": language}).json()["error"]["message"]
        for language in ("en", "es-MX", "ar", "fi")
    }
    assert len(set(texts.values())) == 3
    assert texts["fi"] == texts["en"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{CONSENTS}/x"),
        ("GET", f"{CONSENTS}/{NOBODY}0"),
        ("GET", f"{CONSENTS}/{{{NOBODY}}}"),
        ("POST", f"{CONSENTS}/x/sign"),
        ("GET", f"{EPISODES}/1"),
        ("GET", "/api/care/fertility-protocols/x"),
        ("GET", "/api/care/pgt-results/x%00"),
        ("DELETE", "/api/care/relationships/x"),
        ("POST", "/api/app/messaging/archive-message/x"),
        ("GET", "/api/file-management/file-descriptor/content?id=x"),
        ("GET", "/api/file-management/file-descriptor/content"),
        ("GET", f"{CONSENTS}?PatientId=x"),
        ("GET", f"{CONSENTS}?Status=unknown"),
        ("GET", f"{CONSENTS}?Status=99"),
        ("GET", f"{NOTIFICATIONS}?IsRead=perhaps"),
        ("GET", f"{PHYSICIANS}?From=yesterday"),
        ("GET", f"{PHYSICIANS}?From=9999-12-31"),
    ],
)
def test_malformed_values_are_invalid(api: Api, method: str, path: str) -> None:
    assert members(api("nora", method, path))


@pytest.mark.parametrize(
    ("raw", "media_type"),
    [
        (b"{", "application/json"),
        (b"", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b'"\\ud800"', "application/json"),
        (b"[" * 100_000, "application/json"),
        (b"null", "application/json"),
        (b"[]", "application/json"),
        (b"{}", "text/plain"),
        (b"a=b", "application/x-www-form-urlencoded"),
        (b"{}", None),
        (b" " * (1024 * 1024 + 1), "application/json"),
    ],
)
def test_a_body_that_is_not_json_is_invalid(api: Api, raw: bytes, media_type: str | None) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    assert members(api("nora", "POST", CONSENTS, raw=raw, headers=headers))


def test_a_body_in_chunks_is_bounded_too(api: Api) -> None:
    headers = {"Authorization": f"Bearer {api.token('nora')}", "Content-Type": "application/json"}
    chunks = iter([b"{}", *[b" " * 65536] * 17])
    answer = requests.post(api.base_url + CONSENTS, data=chunks, headers=headers, timeout=10)
    assert members(answer) == ["$"]


def test_unknown_members_are_ignored(api: Api) -> None:
    assert api("nora", "POST", CONSENTS, form(more="than asked")).status_code == 200


def test_unknown_addresses_and_methods_return_the_usual_error_body(api: Api) -> None:
    assert api("nora", "GET", "/api/care/nothing").json()["error"]["message"]
    wrong = api("nora", "DELETE", CONSENTS)
    assert wrong.status_code == 405
    assert wrong.json()["error"]["message"]


def test_cross_origin_calls_are_refused(api: Api) -> None:
    answer = api("nora", "GET", CONSENTS, headers={"Origin": "https://elsewhere.example"})
    assert not any(name.casefold().startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("key", ["", "with space", "x" * 201])
def test_an_idempotency_key_of_the_wrong_format_is_invalid(api: Api, key: str) -> None:
    assert members(api("nora", "POST", CONSENTS, form(), headers={"Idempotency-Key": key})) == [
        "Idempotency-Key"
    ]
