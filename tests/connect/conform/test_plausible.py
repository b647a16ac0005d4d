"""What `conform` doubts of answers that can be read, and what it doesn't."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from portal.connect.conform.duties import DUTIES, unkept
from portal.connect.conform.judge import judge
from portal.connect.conform.learned import Learned
from portal.connect.conform.opposites import is_opposite
from portal.connect.conform.plausible import Doubt, doubts
from portal.connect.conform.proposal import Proposal
from portal.connect.conform.report import Report
from portal.connect.conform.walk import LIST_SIZE, Visit
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.named_records import records
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.episodes import READ_EPISODE
from portal.services.members import members_of
from portal.services.pgt_results import READ_PGT_RESULT
from portal.services.protocols import READ_PROTOCOL

FORM = {"id": "c1", "title": "Storage", "status": "Pending", "requiredSigners": [], "signatures": []}
PLAN = {"id": "p", "name": "A", "status": "Active"}


def visit(endpoint: Any, answer: object) -> Visit:
    return Visit(endpoint, endpoint.answer, 200, "", json.dumps(answer).encode(), "application/json", 0.0)


def doubted(*visits: Visit, dialect: str = "") -> dict[str, str]:
    return {one.about: one.settle for one in doubts(visits, parse_dialect(dialect))}


@pytest.mark.parametrize("none", ["1970-01-01T00:00:00Z", "0001-01-01", "9999-12-31", "01.01.0001", 0])
def test_dates_that_stand_for_none(none: object) -> None:
    found = doubted(visit(READ_CONSENT, {**FORM, "expiresAt": none}))
    assert found == {"ConsentForm.expiresAt": "a word for none? times.none"}
    assert doubted(visit(READ_CONSENT, {**FORM, "expiresAt": "2026-12-01T00:00:00Z", "version": 0})) == {}


def test_units_that_cannot_be_meant() -> None:
    result = {"id": "r", "embryoCode": "E", "testType": "PgtA", "status": "Released", "mosaicPercent": 0.345}
    day = {"date": "2026-11-20", "follicles": {"left": [1.6], "right": [16.5]}}
    episode = {"id": "e", "status": "Active", "monitoring": [day]}
    found = doubted(visit(READ_PGT_RESULT, result), visit(READ_EPISODE, episode))
    assert found == {
        "PgtResult.mosaicPercent": "convert: { times = 100 }",
        "Follicles.left": "convert: { times = 10 }",
    }
    text = 'convert = { "PgtResult.mosaicPercent" = { times = 100 }, "Follicles.left" = { times = 10 } }'
    assert doubted(visit(READ_PGT_RESULT, result), visit(READ_EPISODE, episode), dialect=text) == {}


def test_numbers_that_stand_for_none() -> None:
    rows = [{"drug": "Gonal-f", "startDay": 3, "endDay": 5, "dose": dose} for dose in (-1, 150)]
    found = doubted(visit(READ_PROTOCOL, {**PLAN, "medications": rows}))
    assert found == {"Medication.dose": "a word for none? values.no_number"}
    rows[0]["dose"] = None  # as a dialect that says so reads it
    assert doubted(visit(READ_PROTOCOL, {**PLAN, "medications": rows})) == {}


def test_days_from_zero_lengths_and_half_days() -> None:
    rows = [{"drug": "Gonal-f", "startDay": 0, "? DurationDays": 5, "time": "8:30 PM"}]
    found = doubted(visit(READ_PROTOCOL, {**PLAN, "medications": rows}))
    assert set(found) == {"Medication.startDay", "Medication.endDay", "time"}
    assert 'endDay = "DurationDays"' in found["Medication.endDay"]
    fine = [{"drug": "Gonal-f", "startDay": 5, "endDay": 5, "time": "20:30"}]
    before = [{**fine[0], "startDay": day} for day in (-7, 0)]
    for counted in (fine, before):
        assert doubted(visit(READ_PROTOCOL, {**PLAN, "medications": counted})) == {}
    for hour, about in (("20:30:00", set()), ("evening", {"Medication.time"})):
        row = {**fine[0], "time": None, "times": [hour]}
        assert set(doubted(visit(READ_PROTOCOL, {**PLAN, "medications": [row]}))) == about
    for days, about in ((1, set()), (0, {"Medication.everyDays"})):
        assert (
            set(doubted(visit(READ_PROTOCOL, {**PLAN, "medications": [{**fine[0], "everyDays": days}]})))
            == about
        )
    backwards = visit(READ_PROTOCOL, {**PLAN, "medications": [{**fine[0], "endDay": 1}]})
    assert "length_from" in doubted(backwards)["Medication.endDay"]
    called = '[members.Medication]\nendDay = "DurationDays"'
    assert (
        "length_from"
        in doubted(visit(READ_PROTOCOL, {**PLAN, "medications": fine}), dialect=called)["Medication.endDay"]
    )


def test_members_that_say_the_opposite() -> None:
    dialect = '[members.TimelineEvent]\nverified = "Preliminary"\n[members]\nisRead = "Unread"'
    found = doubted(dialect=dialect)
    assert found["TimelineEvent.verified"] == 'the opposite? verified = "!Preliminary"'
    assert found["isRead"] == 'the opposite? isRead = "!Unread"'
    assert doubted(dialect=dialect.replace('"Pre', '"!Pre').replace('"Un', '"!Un')) == {}
    assert is_opposite("sexDisclosed", "SexWithheld")
    assert not is_opposite("isActive", "Enabled")


def test_lists_that_are_cut_or_briefs_and_records_that_are_deleted() -> None:
    row = {"id": "c1", "title": "Storage", "status": "Pending"}
    rows = [{**row, "isDeleted": False}, {**row, "id": "c2", "isDeleted": True}]
    found = doubted(visit(LIST_CONSENTS, {"items": rows, "totalCount": 13}), visit(READ_CONSENT, FORM))
    assert found["GET /api/care/consent-forms"] == "lists.largest_page = 2?"
    assert found["ConsentForm.requiredSigners"].endswith("fixed_query")
    assert found["lists.deleted"] == 'deleted ones? { path = "isDeleted", … }'
    for items, total in (([FORM], 1), ([FORM] * LIST_SIZE, 30)):
        whole = {"items": items, "totalCount": total}
        assert doubted(visit(LIST_CONSENTS, whole), visit(READ_CONSENT, FORM)) == {}


def test_a_list_that_is_not_found_may_be_empty() -> None:
    told = json.dumps({"code": "X"}).encode()
    refused = replace(visit(LIST_CONSENTS, {}), status=404, body=told)
    assert doubted(refused) == {
        "GET /api/care/consent-forms": "a wrong address, or an empty list? lists.empty"
    }
    assert doubted(replace(refused, body=b"<html>")) == {}
    found = doubts([], parse_dialect(""), Learned(false_empty="it is"))
    assert [one.about for one in found] == ["lists.empty"]


def test_forms_that_a_whole_list_leaves_out() -> None:
    episode = {"id": "e", "status": "Active", "consentForms": [{"id": "c1"}, {"id": "c2"}]}
    listed = visit(LIST_CONSENTS, {"items": [FORM], "totalCount": 1})
    found = doubted(listed, visit(READ_EPISODE, episode))
    assert found["GET /api/care/consent-forms"].endswith("fixed_query")
    assert doubted(listed, visit(READ_EPISODE, {**episode, "consentForms": [{"id": "c1"}]})) == {}


def test_signers_by_record_contradictions_and_answers_that_say_whether_they_are_well() -> None:
    episode = {"id": "e", "status": "Active", "patient": {"id": "50011", "mrn": "M", "userId": "lena"}}
    form = {
        **FORM,
        "status": "Signed",
        "revokedAt": "2026-11-20T08:00:00Z",
        "requiredSigners": [{"role": "Patient", "personId": "50011"}],
    }
    found = doubted(
        visit(READ_EPISODE, episode),
        visit(READ_CONSENT, form),
        visit(LIST_CONSENTS, {"? ok": True, "items": [form], "totalCount": 1}),
    )
    assert set(found) == {"Signer.personId", "ConsentForm.status", "errors.success"}
    for status in ("Revoked", "superseded"):
        assert doubted(visit(READ_CONSENT, {**form, "status": status})) == {}


def test_doubts_are_duties_and_count_until_they_are_accepted() -> None:
    verdicts = judge([visit(READ_CONSENT, {**FORM, "version": 7})], as_patient=False)
    doubt = Doubt("Alert.until", "3 of 3 are 1970-01-01", "times.none")
    report = Report("riverside", "https://api.example", "staff", verdicts, Proposal(), doubts=(doubt,))
    assert report.status == 1
    assert report.duties[0] == "warnings may not be shown, or for too long (Alert.until)"
    assert "Duties that pages may not keep:" in report.text()
    assert "<li>warnings may not be shown" in report.html()
    of_lists = Doubt(
        "GET /x", "5 of 13 rows came", "lists.largest_page = 5?", "records may be missing from lists"
    )
    assert replace(report, doubts=(of_lists,)).duties[-1] == "records may be missing from lists (GET /x)"
    known = {f"{name}.{one.name}" for name, shape in records().items() for one in members_of(shape)}
    assert set(DUTIES) <= known
    assert list(unkept(["File.size"])) == []


def test_an_endpoint_is_as_slow_as_its_slowest_answer_and_it_is_told_why_none_came() -> None:
    well = visit(READ_CONSENT, FORM)
    visits = [
        *(replace(well, seconds=seconds) for seconds in (0.25, 0.5)),
        replace(well, status=None, why="no route"),
    ]
    (found,) = [one for one in judge(visits, as_patient=False) if one.statuses]
    assert (found.slowest, found.statuses) == (0.5, {"200": 2, "no route": 1})


def test_accepted_members_are_no_gaps_and_an_id_as_a_number_is_none() -> None:
    whole = {name.name: None for name in members_of(records()["ConsentForm"])} | FORM | {"id": 7}
    (found,) = [one for one in judge([visit(READ_CONSENT, whole)], as_patient=False) if one.statuses]
    assert not found.other_type
    less = {name: value for name, value in whole.items() if name != "fileId"}
    (found,) = [one for one in judge([visit(READ_CONSENT, less)], as_patient=False) if one.statuses]
    assert found.missing == ["ConsentForm.fileId"]
    accepted = judge(
        [visit(READ_CONSENT, less)], as_patient=False, accepted=frozenset({"ConsentForm.fileId"})
    )
    assert not next(one for one in accepted if one.statuses).missing
