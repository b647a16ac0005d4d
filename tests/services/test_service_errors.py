"""Every unsuccessful response becomes an error that a page can explain."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.config.strong_sign_in import Strength
from portal.services import errors, failures
from portal.services.adapter import PLAIN
from portal.services.consents import LIST_CONSENTS, READ_CONSENT, SIGN_CONSENT
from portal.services.conversations import ARCHIVE_MESSAGE
from portal.services.demand import Demand
from portal.services.episodes import READ_EPISODE
from portal.services.failures import from_answer, retry_seconds
from portal.services.files import READ_FILE_CONTENT
from portal.services.patients import UPDATE_PATIENT
from portal.services.physicians import LIST_PHYSICIANS
from portal.services.prospects import BOOK_WINDOW, MERGE_PROSPECTS
from portal.services.relationships import DELETE_RELATIONSHIP

STEP_UP = 'Bearer error="insufficient_user_authentication"'
CANARY = "Amelia Hart 07700 900123"


def abp(code=None, faults=(), **others):
    error = {
        "code": code,
        "message": CANARY,
        "details": CANARY,
        "data": {"name": CANARY},
        "validationErrors": [{"message": CANARY, "members": members} for members in faults],
    }
    return json.dumps({"error": {**error, **others}}).encode()


def answer(status, body=b"", media_type="application/json", endpoint=READ_CONSENT, retry_after=None):
    return from_answer(status, body, media_type, endpoint=endpoint, retry_after=retry_after)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (200, errors.BadResponse),
        (302, errors.BadResponse),
        (308, errors.BadResponse),
        (400, errors.NotFound),
        (401, errors.TokenRefused),
        (403, errors.NotAllowed),
        (404, errors.NotFound),
        (405, errors.NotTaken),
        (415, errors.NotTaken),
        (428, errors.NotTaken),
        (408, errors.Unavailable),
        (409, errors.Conflict),
        (410, errors.NotFound),
        (412, errors.Conflict),
        (418, errors.BadResponse),
        (429, errors.Unavailable),
        (500, errors.Unavailable),
        (501, errors.NotOffered),
        (502, errors.Unavailable),
        (503, errors.Unavailable),
        (504, errors.Unavailable),
        (599, errors.Unavailable),
    ],
)
@pytest.mark.parametrize(
    ("body", "media_type"),
    [(b"", ""), (b"<html><h1>Sorry</h1></html>", "text/html; charset=utf-8"), (b"{", "application/json")],
    ids=["empty", "html", "broken"],
)
def test_an_error_without_a_readable_body_is_classified_by_its_status(status, error, body, media_type):
    assert type(answer(status, body, media_type)) is error


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (abp("ClientelePortal:OutOfOrder"), "OutOfOrder"),
        (abp("OutOfOrder"), "OutOfOrder"),
        (abp("Clientele:Consent:OutOfOrder"), "OutOfOrder"),
        (
            b'{"type": "about:blank", "title": "Forbidden", "code": "ClientelePortal:OutOfOrder"}',
            "OutOfOrder",
        ),
        (b'{"error": "slot_taken", "error_description": "x"}', "slot_taken"),
    ],
)
def test_a_403_with_a_code_is_a_rule_that_refused(body, code):
    error = answer(403, body, endpoint=SIGN_CONSENT)
    assert isinstance(error, errors.Refused)
    assert error.code == code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        abp(None),
        abp(""),
        abp("Volo.Authorization:010001"),
        b'{"error": "insufficient_scope"}',
        b'{"title": "Forbidden", "status": 403}',
        b"[]",
        b"null",
    ],
)
def test_a_403_without_a_rules_code_is_a_missing_permission(body):
    assert type(answer(403, body)) is errors.NotAllowed


@pytest.mark.parametrize("code", ["ClientelePortal:ConcurrencyConflict", "Volo.Abp:DbConcurrencyConflict"])
def test_a_403_about_the_stamp_is_a_conflict(code):
    assert type(answer(403, abp(code), endpoint=UPDATE_PATIENT)) is errors.Conflict


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (abp(faults=[["phoneNumber"], ["address.postalCode"]]), {"phone_number", "address.postal_code"}),
        (abp(faults=[["RequiredSigners[0].PersonId"]]), {"required_signers.0.person_id"}),
        (b'{"title": "x", "errors": {"PhoneNumber": ["The ..."]}}', {"phone_number"}),
        (b'{"errors": [{"detail": "x", "pointer": "#/address/postalCode"}]}', {"address.postal_code"}),
        (b'{"error": "invalid_request"}', set()),
        (b'{"error": {"validationErrors": [{"members": null}, {"members": [7, null, ""]}, 3]}}', set()),
        (b"", set()),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_invalid_members_have_the_portals_names(status, body, fields):
    error = answer(status, body, endpoint=UPDATE_PATIENT)
    assert isinstance(error, errors.Invalid)
    assert dict(error.fields) == {name: ["invalid"] for name in fields}


@pytest.mark.parametrize("endpoint", [READ_CONSENT, READ_FILE_CONTENT, DELETE_RELATIONSHIP])
def test_a_400_for_a_call_that_sends_only_an_id_is_not_found(endpoint):
    assert type(answer(400, abp(), endpoint=endpoint)) is errors.NotFound


@pytest.mark.parametrize(
    ("endpoint", "member"),
    [(SIGN_CONSENT, "id"), (ARCHIVE_MESSAGE, "messageId"), (MERGE_PROSPECTS, "MergeId")],
)
def test_a_400_that_names_only_the_id_is_not_found(endpoint, member):
    assert type(answer(400, abp(faults=[[member]]), endpoint=endpoint)) is errors.NotFound


def test_a_400_for_a_list_is_an_invalid_request():
    assert type(answer(400, abp(faults=[["Sorting"]]), endpoint=LIST_CONSENTS)) is errors.Invalid


@pytest.mark.parametrize(
    ("endpoint", "about_record"),
    [(LIST_PHYSICIANS, False), (LIST_CONSENTS, False), (UPDATE_PATIENT, True), (READ_EPISODE, True)],
)
def test_a_501_is_about_the_record_when_the_address_names_one(endpoint, about_record):
    error = answer(501, endpoint=endpoint)
    assert isinstance(error, errors.NotOffered)
    assert error.about_record is about_record


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_kept_in_seconds(status):
    assert answer(status, retry_after="7").retry_after == 7.0
    assert answer(status, retry_after=None).retry_after is None


@pytest.mark.parametrize(
    ("status", "endpoint", "known"),
    [
        (500, READ_CONSENT, True),
        (500, SIGN_CONSENT, False),
        (503, SIGN_CONSENT, False),
        (504, BOOK_WINDOW, False),
        (408, BOOK_WINDOW, False),
        (429, BOOK_WINDOW, True),
    ],
)
def test_a_change_that_failed_in_transit_has_an_unknown_outcome(status, endpoint, known):
    assert answer(status, endpoint=endpoint).outcome_known is known


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Fri, 27 Nov 2026 09:30:30 GMT", 30.0),
        ("Fri, 27 Nov 2026 09:00:00 GMT", 0.0),
        ("Fri, 27 Nov 2026 09:30:30 -0000", 30.0),
        ("-5", None),
        ("soon", None),
        ("9" * 5000, None),
        ("١٢", None),
        (f"Fri, 27 Nov {'2' * 5000} 09:30:30 GMT", None),
        ("Fri, 27 Nov 99999 09:30:30 GMT", None),
        ("Fri, 27 Nov 2026 09:30:30 +9999999999999", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header, seconds):
    assert retry_seconds(header, datetime(2026, 11, 27, 9, 30, tzinfo=UTC)) == seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 429, 500, 501, 503])
@pytest.mark.parametrize("endpoint", [READ_CONSENT, UPDATE_PATIENT, LIST_CONSENTS])
@pytest.mark.asvs("16.5.1")
def test_no_error_contains_the_apis_own_text(status, endpoint):
    for body in (abp("ClientelePortal:Rule", faults=[["title"]]), abp(faults=[["title"]]), CANARY.encode()):
        error = answer(status, body, endpoint=endpoint)
        assert CANARY not in f"{error!r} {error} {vars(error)}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "code", "validationErrors", "members", "x"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.integers(100, 999), st.binary() | json_values.map(lambda v: json.dumps(v).encode()), st.text())
def test_any_answer_becomes_some_error(status, body, retry_after):
    for endpoint in (READ_CONSENT, SIGN_CONSENT, LIST_PHYSICIANS):
        error = from_answer(status, body, "application/json", endpoint=endpoint, retry_after=retry_after)
        assert isinstance(error, errors.CareError)


def test_a_body_nested_too_deeply_counts_as_none():
    assert type(answer(403, b"[" * 100_000)) is errors.NotAllowed


@pytest.mark.parametrize(
    ("challenge", "demand"),
    [
        ('Bearer error="insufficient_user_authentication", max_age="300"', Demand(300)),
        ("Bearer realm=care,max_age=60,error=insufficient_user_authentication", Demand(60)),
        ('DPoP algs="ES256", Bearer error="insufficient_user_authentication"', Demand(0)),
        ('Bearer error="insufficient_user_authentication", max_age="' + "9" * 5000 + '"', Demand(0)),
        (
            f'{STEP_UP}, acr_values="urn:a https://b.example/c"',
            Demand(strength=Strength(acr=("urn:a", "https://b.example/c"))),
        ),
        (f"{STEP_UP}, acr_values=phr, max_age=60", Demand(60, strength=Strength(acr=("phr",)))),
        (f'{STEP_UP}, acr_values="", max_age=60', Demand(60)),
        (f'{STEP_UP}, acr_values="a\\"b"', Demand(0)),
        (f'{STEP_UP}, acr_values="{"a" * 2000}"', Demand(0)),
        ('Bearer error="invalid_token", acr_values="phr"', None),
        ('Bearer error="invalid_token", error_description="insufficient_user_authentication"', None),
        ('Bearer error="insufficient_user_authentication_of_another_kind"', None),
        ("", None),
        (None, None),
    ],
)
def test_a_challenge_for_another_sign_in_says_how_fresh_and_how_strong(challenge, demand):
    assert failures.step_up(challenge) == demand
    error = from_answer(401, b"", "application/json", endpoint=SIGN_CONSENT, challenge=challenge)
    assert isinstance(error, errors.TokenRefused if demand is None else errors.StepUpNeeded)


@pytest.mark.parametrize(
    ("body", "is_well"),
    [
        *(
            (f'{{"id": 1, "{name}": {value}}}', False)
            for name in ("ok", "success", "Succeeded", "isSuccess", "is_success", "isSuccessful")
            for value in ("false", '"false"', '"False"', "0", '"0"', '"no"')
        ),
        *((f'{{"success": {value}}}', True) for value in ("true", "null", '"partly"', "1")),
        *(
            (f'{{"error": {value}}}', False)
            for value in (
                "true",
                "5",
                '"Not found"',
                '{"code": "X"}',
                '{"Code": 404}',
                '{"message": "Refused"}',
            )
        ),
        *(
            (f'{{"error": {value}}}', True)
            for value in ("false", "null", "0", '""', '" "', "{}", "[]", '{"code": null, "details": null}')
        ),
        *(
            (f'{{"id": 1, "error": {{"code": {code}, "message": "{message}"}}}}', True)
            for code in ('"0"', "0", '"000"', '"200"')
            for message in (
                "",
                "Fine",
                "No error",
                "NO_ERRORS",
                "The operation was completed successfully.",
                "200 OK",
            )
        ),
        *(
            (f'{{"error": {{"code": {code}, "message": "{message}"}}}}', None)
            for code in ('"0"', "0", '"OK"')
            for message in ("Refused", "Not done", "No success", "No call has been performed", "0 successful")
        ),
        *((f'{{"error": {value}}}', None) for value in ('{"code": "X", "message": "Success"}', '{"at": 1}')),
        *(
            (f'{{"errors": {value}}}', said)
            for value, said in (('["X"]', None), ('{"X": 1}', None), ("[ ]", True))
        ),
        ('{"success": true, "error": {"code": "X"}}', None),
        ('{"success": true, "error": {"code": "0", "message": "Refused"}}', None),
        ('{"success": false, "error": {"code": "0", "message": "Refused"}}', False),
        *(
            (f'{{"error": "{word}"}}', True)
            for word in ("0", "200", "FALSE", "no", "none", "null", "ok", "Success")
        ),
        ('{"data": {"success": false}}', True),
        ('[{"success": false}]', True),
        ("", True),
        ("success: false", True),
    ],
)
def test_what_a_successful_answer_says_of_itself(body: str, is_well: bool | None) -> None:
    assert PLAIN.is_well(body.encode()) is is_well
