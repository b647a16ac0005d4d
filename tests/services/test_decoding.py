"""The care API’s answers are read in every accepted format, and records are written as the API spells them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from flask import Flask, g

from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentForm, ConsentStatus, SignerRole
from portal.services.decoding import Choice, PagedResult, decode, encode, fields_of
from portal.services.notifications import Notification
from portal.services.patients import Patient
from portal.services.pgt_results import PgtStatus
from portal.services.prospects import Booking
from portal.services.protocols import ProtocolDraft, ProtocolStatus
from portal.services.stamped_record import SET_BY_API
from portal.services.storage import EmbryoStatus, EmbryoStorage
from tests.services.sample_answers import FORM, NOTIFICATIONS, RECORD_TYPES, form, listed

# lists


@pytest.mark.parametrize(
    ("answer", "total"),
    [
        ({"totalCount": 12, "items": [FORM]}, 12),
        ({"totalCount": "12", "items": [FORM]}, 12),
        ({"totalCount": 12.0, "items": [FORM]}, 12),
        ({"totalCount": None, "items": [FORM]}, 1),
        ({"items": [FORM]}, 1),
        ([FORM], 1),
        ([], 0),
        ({"totalCount": 0, "items": None}, 0),
    ],
)
def test_a_list_is_read_in_every_accepted_format(answer, total):
    page = decode(json.dumps(answer).encode(), PagedResult[ConsentForm])
    assert page.total == total
    assert all(item.id == "c-1" for item in page.items)
    assert page.unread is None


def test_a_bare_array_may_follow_white_space():
    assert decode(b' \r\n\t[{"id":"1"}]', PagedResult[Notification]).items[0].id == "1"


def test_a_list_of_notifications_has_its_unread_count():
    page = decode(b'{"totalCount":9,"items":[],"unreadCount":4}', PagedResult[Notification])
    assert (page.total, page.unread) == (9, 4)


def test_null_items_are_skipped():
    assert [n.id for n in decode(b'[null,{"id":"1"}]', PagedResult[Notification]).items] == ["1"]


# single values


@pytest.mark.parametrize("given_id", [17, "17", 17.5, 2**70])
def test_ids_may_be_numbers(given_id):
    assert form(id=given_id).id == str(given_id)


@pytest.mark.parametrize(
    "status",
    [
        "PartiallySigned",
        "partiallySigned",
        "partially_signed",
        "PARTIALLY_SIGNED",
        2,
        "2",
        "partially-signed",
    ],
)
def test_enumerations_are_names_in_any_case_or_integers(status):
    assert form(status=status).status is ConsentStatus.PARTIALLY_SIGNED
    assert form(status=status).status.known


@pytest.mark.parametrize(("status", "text"), [("Archived", "Archived"), (99, "99"), (-1, "-1"), ("", "")])
def test_an_unknown_enumeration_value_stays_as_text(status, text):
    read = form(status=status).status
    assert isinstance(read, ConsentStatus)
    assert (read, str(read), f"{read}", read.known) == (text, text, text, False)
    assert encode({"status": read}) == json.dumps({"status": text}, separators=(",", ":")).encode()


@pytest.mark.parametrize("choice", [c for c in RECORD_TYPES if issubclass(c, Choice) and c is not Choice])
def test_every_enumeration_reads_numbers_and_names_in_any_case(choice):
    for number, member in enumerate(choice):
        assert choice(number) is member
        assert choice(member.value.lower()) is member
        assert choice(member.name) is member  # PARTIALLY_SIGNED
        assert member.known


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-11-27T09:30:00Z", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T09:30:00", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T09:30", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27 09:30:00z", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T11:30:00+02:00", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T04:00:00-05:30", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T11:30:00+0200", datetime(2026, 11, 27, 9, 30, tzinfo=UTC)),
        ("2026-11-27T09:30:00.5", datetime(2026, 11, 27, 9, 30, 0, 500_000, tzinfo=UTC)),
        ("2026-11-27T09:30:00.1234560Z", datetime(2026, 11, 27, 9, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-11-27T09:30:00.1234560", datetime(2026, 11, 27, 9, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-11-27", datetime(2026, 11, 27, tzinfo=UTC)),
        ("0001-01-01T00:00:00", None),
        ("0001-01-01T00:00:00+02:00", None),
        ("", None),
        (None, None),
    ],
)
def test_times_in_every_accepted_format_are_read_as_utc(text, instant):
    sent_at = form(sentAt=text).sent_at
    assert sent_at == instant
    assert sent_at is None or sent_at.tzinfo is UTC


@pytest.mark.parametrize("text", ["2026-12-01", "2026-12-01T00:00:00", "2026-12-01T23:30:00.0000000+02:00"])
def test_a_date_ignores_time_and_offset(text):
    assert form(procedureDate=text).procedure_date == date(2026, 12, 1)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-30T23:00:00Z", date(2026, 12, 1)),
        ("1990-06-30T22:00:00Z", date(1990, 7, 1)),
        ("2026-11-30T22:59:59Z", date(2026, 11, 30)),
        ("2026-12-01T00:00:00Z", date(2026, 12, 1)),
        ("2026-11-30T23:59:59Z", date(2026, 11, 30)),
        ("2026-12-01T12:00:00Z", date(2026, 12, 1)),
        ("2026-12-01T00:00:00-08:00", date(2026, 12, 1)),
        ("2026-11-30T23:30:00Z", None),
    ],
)
def test_an_instant_is_the_day_that_it_stands_for_in_the_clinics_zone(text, day):
    with Flask("x").test_request_context():
        g.tenant = SimpleNamespace(time_zone=ZoneInfo("Europe/Madrid"))
        assert form(procedureDate=text).procedure_date == day


def test_a_bare_day_of_an_instant_is_the_clinics_and_an_end_holds_through_it():
    body = b'{"id":"1","embryoCode":"E1","status":"Stored","cryopreservedAt":"2026-11-28","storageExpiresAt":"2026-11-28"}'
    with Flask("x").test_request_context():
        g.tenant = SimpleNamespace(time_zone=ZoneInfo("America/Los_Angeles"))
        read, embryo = form(sentAt="2026-11-28", expiresAt="2026-11-28"), decode(body, EmbryoStorage)
    assert read.sent_at == embryo.cryopreserved_at == datetime(2026, 11, 28, 8, tzinfo=UTC)
    assert read.expires_at == datetime(2026, 11, 29, 7, 59, 59, tzinfo=UTC)
    assert embryo.storage_expires_at == datetime(2026, 11, 28, 20, tzinfo=UTC), "so is its date in UTC"


def test_numbers_may_be_strings():
    read = decode(b'{"id":1,"embryoCode":2,"status":"stored","day":"5"}', EmbryoStorage)
    assert (read.day, read.embryo_code, read.status) == (5, "2", EmbryoStatus.STORED)
    patient = decode(b'{"id":1,"isActive":"false"}', Patient)
    assert patient.is_active is False


@pytest.mark.parametrize("word", ["null", "true", "1"])
def test_strings_that_look_like_other_values_stay_strings(word):
    assert form(patientName=word, revokeReason=word, sentAt="2026-11-27").revoke_reason == word


def test_a_null_counts_as_absent():
    read = form(
        signatures=None, statements=None, signingOrder=None, patientName=None, version=None, kind=None
    )
    assert read == form()


def test_unknown_members_are_ignored():
    assert form(extraProperties={"a": [1, 1e300, None]}, isDeleted=False) == form()


def test_a_record_mixing_all_accepted_formats_is_read():
    usual = form(
        kind="Storage",
        version="3",
        sentAt="2026-11-27T09:30:00Z",
        requiredSigners=[{"role": "Witness", "personId": "7", "name": "Nora", "order": 1}],
    )
    other = form(
        kind=1,
        version=3,
        sentAt="2026-11-27T10:30:00.0000000+01:00",
        requiredSigners=[{"role": "WITNESS", "personId": 7, "name": "Nora", "order": "1", "x": None}],
        signatures=None,
    )
    assert other == usual
    assert other.required_signers[0].role is SignerRole.WITNESS


# writing


def test_records_are_encoded_with_the_apis_names():
    draft = ProtocolDraft(
        name="Antagonist", status=ProtocolStatus.DRAFT, start_date=date(2026, 11, 27), physician_id="7"
    )
    written = json.loads(encode(draft))
    assert written["startDate"] == "2026-11-27"
    assert written["physicianId"] == "7"
    assert written["status"] == "Draft"


def test_instants_are_written_in_utc():
    at = datetime(2026, 11, 27, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    booking = Booking(booking_id="1", start=at)
    assert json.loads(encode(booking))["start"] == "2026-11-27T09:30:00Z"


def test_an_update_omits_the_members_that_only_the_api_sets():
    patient = decode(b'{"id":"1","firstName":"Amelia","concurrencyStamp":"s","creatorId":"9"}', Patient)
    members = fields_of(patient, without=SET_BY_API)
    assert members["concurrencyStamp"] == "s"
    assert members["firstName"] == "Amelia"
    assert not {"id", "creatorId", "creationTime"} & set(members)


# properties


def test_a_list_in_the_usual_format_takes_the_fast_path(monkeypatch):
    monkeypatch.setattr("portal.services.decoding._decode_forgivingly", lambda *_: pytest.fail("second look"))
    body = encode(
        {"totalCount": 1, "items": [{**FORM, "sentAt": "2026-11-27T09:30:00.1234567Z", "kind": "Storage"}]}
    )
    assert decode(body, PagedResult[ConsentForm]).total == 1


def test_a_status_is_read_by_its_own_enumeration_in_any_style():
    assert CareStatus("OnHold") is CareStatus.ON_HOLD
    assert PgtStatus("in_lab") is PgtStatus.IN_LAB


def test_a_byte_order_mark_is_accepted():
    assert decode(b"\xef\xbb\xbf" + listed(*NOTIFICATIONS), PagedResult[Notification]).total == 1
