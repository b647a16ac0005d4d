"""Each key by which an API may differ: how values are read, how they are sent, and where the key doesn't fit."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import DialectError, parse_dialect
from portal.services import decoding
from portal.services.cases import UPDATE_CASE, Case, CaseChange
from portal.services.consents import CREATE_CONSENT, LIST_CONSENTS, READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import PagedResult
from portal.services.episodes import READ_EPISODE, Episode, MonitoringDay, TimelineEvent
from portal.services.errors import BadResponse, NotFound
from portal.services.files import File
from portal.services.notifications import LIST_NOTIFICATIONS, UPDATE_NOTIFICATIONS, Notification, QuietHours
from portal.services.patients import UPDATE_PATIENT, Patient
from portal.services.pgt_results import PgtResult
from portal.services.prospects import BOOK_WINDOW
from portal.services.protocols import LIST_PROTOCOLS, UPDATE_PROTOCOL, Medication, Protocol, ProtocolStatus

PATIENT = {"id": "p1", "mrn": "M 1"}
ROW = {"drug": "Gonal-f", "startDay": 1}
PLAN = {"id": "p", "name": "Antagonist", "status": "Active"}
FORM = {"id": "c1", "title": "Storage", "status": "Pending"}


def dialect(text: str) -> Dialect:
    return Dialect(parse_dialect(text))


def read(text: str, answer: Any, into: Any, language: str = "") -> Any:
    return decoding.decode(json.dumps(answer).encode(), into, dialect(text).translation(into, language))


def faults(text: str) -> str:
    with pytest.raises(DialectError) as refused:
        parse_dialect(text)
    return "\n".join(refused.value.faults)


def changed(text: str, endpoint: Any, record: Any, before: Any, answer: Any, **how: Any) -> Any:
    """What is sent to change `before`, which was read from `answer`, to `record`."""
    came = [(how.pop("came_as", endpoint.answer), json.dumps(answer).encode())]
    return json.loads(dialect(text).sent(endpoint, record, before, {"id": before.id}, came, **how)[0])


def test_an_exclamation_mark_says_the_opposite() -> None:
    text = '[members.TimelineEvent]\nverified = "!Preliminary"'
    for theirs, ours in ((True, False), (False, True), (1, False), ("false", True)):
        event = read(text, {"id": "t", "at": "2026-11-20T08:00:00Z", "Preliminary": theirs}, TimelineEvent)
        assert event.verified is ours
    assert "true or false" in faults('[members.Patient]\nmrn = "!Number"')


def test_a_parameter_by_the_name_of_an_opposite_asks_for_the_opposite() -> None:
    text = '[members.Notification]\nisRead = "!isNew"\n[query]\nIsRead = "{}"'
    for name, sent in (("isNew", True), ("seen", False)):
        assert dialect(text.format(name)).query(LIST_NOTIFICATIONS, {"IsRead": False}) == {name: sent}
    for member, name in (("isNew", "IsNew"), ("is_new", "isNew"), ("state.isNew", "is_new")):
        in_style = text.replace("!isNew", f"!{member}").format(name)
        assert dialect(in_style).query(LIST_NOTIFICATIONS, {"IsRead": False}) == {name: True}


def test_each_list_may_have_a_name_of_its_own_and_none_where_its_count_is_nought() -> None:
    text = '[lists]\nitems = { ConsentForm = "_embedded.forms", Protocol = "_embedded.plans" }\ntotal = "page.total"'
    told = {"_embedded": {"forms": [FORM]}, "page": {"total": 1}}
    assert read(text, told, PagedResult[ConsentForm]).items[0].id == "c1"
    assert read(text, {"_embedded": {"plans": [PLAN]}}, PagedResult[Protocol]).items[0].id == "p"
    assert read(text, {"page": {"total": 0}}, PagedResult[ConsentForm]).listed.is_whole
    for untold in ({"page": {"total": 1}}, {"_embedded": {"plans": []}}, {}):
        with pytest.raises(BadResponse):
            read(text, untold, PagedResult[ConsentForm])
    assert "isn't a record of a list" in faults('[lists]\nitems = { Episode = "x" }')


def test_an_opposite_is_sent_as_such() -> None:
    sent = dialect('[members]\nisRead = "!Unread"').sent(UPDATE_NOTIFICATIONS, {"all": True, "isRead": True})
    assert json.loads(sent[0]) == {"all": True, "Unread": False}


def test_units_are_converted_by_a_factor() -> None:
    per_cent = '[convert]\n"PgtResult.mosaicPercent" = { times = 100 }'
    result = {
        "id": "r",
        "embryoCode": "E 1",
        "testType": "PgtA",
        "status": "Released",
        "mosaicPercent": 0.345,
    }
    assert read(per_cent, result, PgtResult).mosaic_percent == 34.5
    millimetres = '[convert]\n"Follicles.left" = { times = 10 }'
    day = {"date": "2026-11-20", "follicles": {"left": [1.6, 1.75], "right": [16]}}
    follicles = read(millimetres, day, MonitoringDay).follicles
    assert (follicles.left, follicles.right) == ((16, 17.5), (16,))
    for told in (2.5, "2.5"):
        assert read('[convert]\n"File.size" = { times = 1000 }', {"id": "f", "size": told}, File).size == 2500
    assert "which ConsentForm.title isn't" in faults('[convert]\n"ConsentForm.title" = { times = 10 }')
    assert "other than 0" in faults('[convert]\n"File.size" = { times = 0 }')


def test_days_may_count_from_zero_and_a_medicine_may_have_a_length() -> None:
    text = """
[members.Medication]
endDay = "DurationDays"
[convert]
"Medication.startDay" = { plus = 1 }
"Medication.endDay" = { length_from = "startDay" }
"""
    for first, length in ((4, "5"), ("4", 5.0), (4.0, 5)):
        row = read(text, {"drug": "Gonal-f", "startDay": first, "DurationDays": length}, Medication)
        assert (row.start_day, row.end_day) == (5, 9)
    assert read(text, {"drug": "Gonal-f", "startDay": 4}, Medication).end_day is None
    plan = Protocol(id="p", name="A", status="Active", medications=(row,))  # type: ignore[arg-type]
    (sent,) = json.loads(dialect(text).sent(UPDATE_PROTOCOL, plan)[0])["medications"]
    assert (sent["startDay"], sent["DurationDays"]) == (4, 5)
    assert "isn't a member" in faults('[convert]\n"Medication.endDay" = { length_from = "begin" }')


def test_hours_of_half_a_day_are_read_and_sent() -> None:
    text = '[convert]\n"Medication.time" = { clock = 12 }'
    for theirs, ours in (("8:05 PM", "20:05"), ("12:30 am", "00:30"), ("12:00 PM", "12:00")):
        row = read(text, {**ROW, "time": theirs}, Medication)
        assert row.time == ours
    plan = Protocol(
        id="p", name="A", status="Active", medications=(Medication(drug="x", start_day=1, time="20:05"),)
    )  # type: ignore[arg-type]
    assert json.loads(dialect(text).sent(UPDATE_PROTOCOL, plan)[0])["medications"][0]["time"] == "8:05 PM"
    assert "clock must be 12" in faults('[convert]\n"Medication.time" = { clock = 24 }')


def test_one_member_may_have_a_time_format_of_its_own_and_a_list_of_formats_is_tried_in_order() -> None:
    several = '[times]\ninstants = ["epoch_ms", "iso", "dd.MM.yyyy HH:mm"]\nzone = "Europe/Berlin"'
    for theirs in (1795593600000, "2026-11-25T08:00:00Z", "25.11.2026 09:00"):
        form = read(several, {**FORM, "sentAt": theirs}, ConsentForm)
        assert str(form.sent_at) == "2026-11-25 08:00:00+00:00", theirs
    own = '[convert]\n"ConsentForm.sentAt" = { form = "dd.MM.yyyy HH:mm" }\n[times]\nzone = "W. Europe Standard Time"'
    form = read(own, {**FORM, "sentAt": "25.11.2026 09:00", "expiresAt": "2026-11-26T08:00:00Z"}, ConsentForm)
    assert str(form.sent_at) == "2026-11-25 08:00:00+00:00"
    assert str(form.expires_at) == "2026-11-26 08:00:00+00:00"
    for dates in ('"epoch_ms"', '"dd.MM.yyyy HH:mm"'):
        form = read(
            f'[times]\ninstants = {dates}\nzone = "Europe/Berlin"',
            {**FORM, "sentAt": "2026-11-25T09:00"},
            ConsentForm,
        )
        assert str(form.sent_at) == "2026-11-25 08:00:00+00:00", (
            "one without a zone is in theirs in ISO 8601 too"
        )
    form = read(own, {**FORM, "sentAt": "2026-11-25T09:00"}, ConsentForm)
    assert str(form.sent_at) == "2026-11-25 08:00:00+00:00"
    assert "a pattern that fits it" in faults('[convert]\n"ConsentForm.sentAt" = { form = "dd.MM.yyyy" }')


def test_a_decimal_comma_is_read_and_sent_and_separators_of_thousands_are_not_guessed() -> None:
    text = '[values]\nnumbers = "comma"'
    assert read(text, {**ROW, "dose": "0,25"}, Medication).dose == 0.25
    assert (
        read(text, {**PLAN, "medications": [{**ROW, "dose": "1.250,5"}]}, Protocol).medications[0].dose
        is None
    )
    sent = dialect(text).sent(UPDATE_PROTOCOL, {"medications": [{"drug": "x", "startDay": 1, "dose": 0.25}]})
    assert json.loads(sent[0])["medications"][0]["dose"] == "0,25"


def test_one_member_may_hold_both_names() -> None:
    text = '[names]\npeople = "last, first"\n[members.Patient]\nfirstName = "Name"\nlastName = "Name"'
    came = {"id": "p1", "Name": "KELLER, Lena", "preferredName": "Lena"}
    patient = read(text, came, Patient)
    assert (patient.first_name, patient.last_name) == ("Lena", "KELLER")
    body = {"firstName": "Lena", "lastName": "KELLER", "preferredName": "Leni"}
    sent = json.loads(dialect(text).sent(UPDATE_PATIENT, body)[0])
    assert sent == {"Name": "KELLER, Lena", "preferredName": "Leni"}
    for first in ("Lena", "Leni"):
        sent = changed(text, UPDATE_PATIENT, replace(patient, first_name=first), patient, came)
        assert sent["Name"] == f"KELLER, {first}"
    assert "both called" in faults('[members.Patient]\nfirstName = "Name"\nlastName = "Name"')


def test_texts_by_language_are_read_in_the_readers() -> None:
    text = '[values]\nby_language = { en = "En", es = "Es" }'
    came = {**FORM, "title": {"En": "Storage", "De": "Lagerung", "Es": None}}
    titles = [read(text, came, ConsentForm, language).title for language in ("en", "es", "ar")]
    assert titles == ["Storage"] * 3
    assert read(text, {**FORM, "title": {"De": "Lagerung"}}, ConsentForm, "en").title == "Lagerung"
    assert "no language of the portal" in faults('[values]\nby_language = { xx = "Xx" }')


def test_ids_are_sent_as_numbers_where_they_are() -> None:
    text = '[values]\nids = "number"'
    sent = json.loads(dialect(text).sent(UPDATE_NOTIFICATIONS, {"ids": ["2002", "a1", "007"]})[0])
    assert sent["ids"] == [2002, "a1", "007"]


def test_whole_addresses_and_methods_are_replaced() -> None:
    text = """
base_path = "/v3"
[addresses]
"/api/care" = "/clinical"
"/api/care/consent-forms/{id}/sign" = "/consentForms/{id}/signatures"
"PUT /api/care/cases/{id}" = "/cases/{id}/edit"
[methods]
PUT = "PATCH"
"PUT /api/care/cases/{id}" = "POST"
"""
    api = dialect(text)
    assert api.template(SIGN_CONSENT) == "/v3/consentForms/{id}/signatures"
    assert api.template(UPDATE_CASE) == "/v3/cases/{id}/edit"
    assert api.template(READ_CONSENT) == "/v3/clinical/consent-forms/{id}"
    assert (api.method(UPDATE_CASE), api.method(UPDATE_PATIENT)) == ("POST", "PATCH")
    assert (api.method(READ_CONSENT), api.method(SIGN_CONSENT)) == ("GET", "POST")
    assert "same ids" in faults('[addresses]\n"/api/care/consent-forms/{id}/sign" = "/signatures"')
    assert "must be one of POST" in faults('[methods]\nPUT = "GET"')
    assert "a read is either GET or posted" in faults('[methods]\nGET = "PUT"')
    assert "neither GET, POST, PUT, DELETE nor a call" in faults('[methods]\nGOT = "POST"')


def test_a_posted_read_has_its_parameters_in_the_body() -> None:
    text = '[methods]\nGET = "POST"\n[envelopes]\nsent = "In"\n[query]\nFilter = "Word"'
    api = dialect(text)
    assert api.method(READ_CONSENT) == "POST"
    sent = api.posted(LIST_CONSENTS, {"Filter": "x", "SkipCount": 0, "Status": None})
    assert json.loads(sent or b"") == {"In": {"Word": "x", "SkipCount": 0}}
    assert dialect("").posted(LIST_CONSENTS, {"Filter": "x"}) is None


PEOPLE = """
[members.Patient]
firstName = "name.0.given.0"
lastName = "name.0.family"
email = "telecom.system=email.value"
phoneNumber = "telecom.system=phone.value"
"""


def test_paths_lead_into_lists_by_place_and_by_another_member() -> None:
    telecom = [{"system": "fax", "value": "1"}, {"system": "phone", "value": "2", "use": "home"}]
    came = {**PATIENT, "name": [{"given": ["Lena", "M."], "family": "Roth"}], "telecom": telecom}
    before = read(PEOPLE, came, Patient)
    assert (before.first_name, before.last_name, before.email, before.phone_number) == (
        "Lena",
        "Roth",
        None,
        "2",
    )
    members = {name: getattr(before, name) for name in before.__struct_fields__}
    after = Patient(**{**members, "first_name": "Leni", "email": "l@example.org", "phone_number": "3"})
    sent = changed(PEOPLE + '[methods]\nPUT = "PATCH"', UPDATE_PATIENT, after, before, came)
    assert sent == {
        "name": [{"given": ["Leni", "M."], "family": "Roth"}],
        "telecom": [
            {"system": "fax", "value": "1"},
            {"system": "phone", "value": "3", "use": "home"},
            {"system": "email", "value": "l@example.org"},
        ],
    }, "a list that is sent replaces the whole"
    assert "within Conversation.subject" in faults('[members]\npatientId = "subject.reference"')


def test_ids_come_within_references() -> None:
    text = '[convert]\npatientId = { reference = "Patient/" }\n"Case.physicianId" = { reference = "" }'
    case = {
        "id": "1",
        "status": "Active",
        "patientId": "https://x.example/Patient/7",
        "physicianId": "Doctor/3",
    }
    came = read(text, case, Case)
    assert (came.patient_id, came.physician_id) == ("7", "3")
    for other in ("Group/7", "OtherPatient/7"):
        assert read(text, {**FORM, "patientId": other}, ConsentForm).patient_id == other, "nobody's"
    assert read(text, {**FORM, "patientId": "Patient/7"}, ConsentForm).patient_id == "7"
    (sent, _headers) = dialect(text).sent(CREATE_CONSENT, {"patientId": "7"})
    assert json.loads(sent) == {"patientId": "Patient/7"}
    assert "reference is for an id" in faults('[convert]\ntitle = { reference = "x/" }')
    assert "isn't a member" in faults("[convert]\npatientid = { plus = 1 }")


def test_time_zones_may_have_the_names_of_windows() -> None:
    text = '[values]\nzones = "windows"'
    assert (
        read(text, {"start": "22:00", "timeZone": "W. Europe Standard Time"}, QuietHours).time_zone
        == "Europe/Berlin"
    )
    for ours, theirs in (("Europe/Oslo", "W. Europe Standard Time"), ("UTC", "UTC"), ("Nowhere", "Nowhere")):
        (sent, _headers) = dialect(text).sent(BOOK_WINDOW, {"timeZone": ours})
        assert json.loads(sent) == {"timeZone": theirs}


def test_records_may_be_enclosed_in_the_items_of_a_list() -> None:
    text = '[lists]\nitems = "entry"\nrecord = "resource"\ntotal = "total"\ndeleted = "gone"'
    rows = [{"resource": FORM}, {"resource": {**FORM, "id": "c2", "gone": True}}, {"search": {}}]
    page = read(text, {"entry": rows, "total": 3}, PagedResult[ConsentForm])
    assert [one.id for one in page.items] == ["c1"]
    assert (page.deleted, len(page.unreadable)) == (1, 1)


def test_a_patch_has_only_what_was_changed_and_the_stamp() -> None:
    came = {**PATIENT, "email": "a@example.org", "preferredName": "Al", "concurrencyStamp": "v1"}
    before = read("", came, Patient)
    after = Patient(
        **{name: getattr(before, name) for name in before.__struct_fields__} | {"preferred_name": "B"}
    )
    sent = changed('[methods]\nPUT = "PATCH"', UPDATE_PATIENT, after, before, came)
    assert sent == {"preferredName": "B", "concurrencyStamp": "v1"}


def test_parameters_that_every_read_or_one_read_must_have() -> None:
    text = '[fixed_query]\nscope = "all"\n[fixed_query."GET /api/care/consent-forms"]\nview = "full"'
    asked = dialect(text).query(LIST_CONSENTS, {"Filter": "x"})
    assert asked == {"scope": "all", "view": "full", "Filter": "x"}
    assert dialect(text).query(READ_EPISODE, None) == {"scope": "all"}
    assert "named as a read" in faults('[fixed_query."PUT /api/care/cases/{id}"]\nx = "y"')


def test_a_list_may_be_sorted_by_other_names() -> None:
    text = '[lists]\nsorting = "-field"\nsort_names = { "ConsentForm.title" = "headline" }\n[members]\ntitle = "Headline.En"'
    assert dialect(text).query(LIST_CONSENTS, {"Sorting": "title desc"}) == {"Sorting": "-headline"}
    assert dialect(text).query(LIST_PROTOCOLS, {"Sorting": "name"}) == {"Sorting": "name"}
    assert "isn't a member" in faults('[lists]\nsort_names = { "ConsentForm.titel" = "x" }')


def test_records_may_be_counted_from_one() -> None:
    text = '[lists]\nfirst_record = 1\n[query]\nSkipCount = "startIndex"\nMaxResultCount = "count"'
    for skip, sent in ((0, 1), (25, 26)):
        asked = dialect(text).query(LIST_CONSENTS, {"SkipCount": skip, "MaxResultCount": 25})
        assert asked == {"startIndex": sent, "count": 25}


def test_days_may_come_as_numbers_of_their_digits() -> None:
    text = '[times]\ndays = "yyyyMMdd"\nnone = [0]'
    for told, day in ((20261125, date(2026, 11, 25)), ("20261125", date(2026, 11, 25)), (0, None), (7, None)):
        assert read(text, {**FORM, "procedureDate": told}, ConsentForm).procedure_date == day
    assert read('[times]\nzone = "Asia/Tokyo"', {**FORM, "sentAt": 20261125}, ConsentForm).sent_at is None


def test_a_number_lacks_the_zeros_that_its_digits_begin_with() -> None:
    for told, day in ((1112026, date(2026, 11, 1)), (11012026, date(2026, 1, 11)), (112026, None)):
        form = {**FORM, "procedureDate": told}
        assert read('[times]\ndays = "ddMMyyyy"', form, ConsentForm).procedure_date == day


def test_a_number_that_is_no_day_of_one_form_may_be_one_of_another() -> None:
    text = '[times]\ndays = ["yyyyMMdd", "epoch_s"]'
    form = {**FORM, "procedureDate": 1_795_564_800}
    assert read(text, form, ConsentForm).procedure_date == date(2026, 11, 25)


def test_deleted_records_are_left_out_and_counted_apart() -> None:
    text = '[lists]\ndeleted = { path = "Deleted", value = "Y" }\ntotal = "count"\nitems = "rows"'
    rows = [{**FORM, "Deleted": "N"}, {**FORM, "id": "c2", "Deleted": "y"}, {**FORM, "id": "c3"}]
    page = read(text, {"rows": rows, "count": 3}, PagedResult[ConsentForm])
    assert [one.id for one in page.items] == ["c1", "c3"]
    assert (page.received, page.count.number, page.listed.is_whole) == (3, 2, True)
    plan = {**PLAN, "medications": [{**ROW, "Deleted": "Y"}, {**ROW, "drug": "Cetrotide"}]}
    assert [one.drug for one in read(text, plan, Protocol).medications] == ["Cetrotide"]
    with pytest.raises(NotFound):
        read(text, {**FORM, "Deleted": "Y"}, ConsentForm)


def test_a_deleted_record_within_another_is_none() -> None:
    text = '[lists]\ndeleted = { path = "Deleted", value = "Y" }'
    gone = {"Deleted": "Y"}
    episode = {"id": "e", "status": "Active", "patient": PATIENT, "partner": {**PATIENT, **gone}}
    assert read(text, {**episode, "patient": {**PATIENT, "Deleted": "N"}}, Episode).partner is None
    assert read("", episode, Episode).partner is not None
    marked = read(text, {**episode, "patient": {**PATIENT, **gone}, "documents": gone}, Episode)
    assert marked.patient.id == "p1", "an episode can't be without one"
    news = {"id": "n", "title": "Perhaps the same person", "data": {"mergeId": "s-2", **gone}}
    assert read(text, news, Notification).data == {}


def test_an_empty_list_is_told_from_a_wrong_address() -> None:
    told = dialect('[lists]\nempty = [204, "NO-ROWS"]\n[errors]\ncode = "why.code"\nsuccess = "ok"')
    none, other = (json.dumps({"ok": False, "why": {"code": one}}).encode() for one in ("NO-ROWS", "NO-SUCH"))
    assert told.is_empty_list(204, b"")
    assert told.is_empty_list(404, none)
    assert told.is_empty_list(200, none)
    for status, body in ((404, b""), (404, other), (404, b"<html>"), (200, b""), (200, b'{"ok": true}')):
        assert not told.is_empty_list(status, body), (status, body)
    assert not dialect("").is_empty_list(404, none)
    assert not dialect("").is_empty_list(204, b"")
    assert "a wrong address answers 404 too" in faults("[lists]\nempty = [404]")
    assert "204 and error codes" in faults("[lists]\nempty = [500]")
    assert "errors.code" in faults('[lists]\nempty = ["NO-ROWS"]')


def test_bodies_may_have_several_envelopes() -> None:
    sent = dialect('[envelopes]\nsent = ["a", "b"]').sent(UPDATE_NOTIFICATIONS, {"all": True})
    assert json.loads(sent[0]) == {"a": {"b": {"all": True}}}


@pytest.mark.parametrize("told", ["n/a", "N/A ", "\tn/a", "\xa0N/A"])
def test_a_word_for_none_may_be_in_any_case_with_space_around_it(told: str) -> None:
    event = read('[values]\nnone = ["n/a"]', {"id": "e1", "note": told}, TimelineEvent)
    assert event.note is None


def test_a_number_may_stand_for_none() -> None:
    text = '[values]\nno_number = [-1]\nnumbers = "text"\n[convert]\n"Medication.endDay" = { length_from = "startDay" }'
    for nothing in (-1, -1.0, "-1"):
        row = read(text, {**ROW, "startDay": 3, "endDay": nothing, "dose": nothing}, Medication)
        assert (row.start_day, row.end_day, row.dose) == (3, None, None)
    assert read(text, {**ROW, "startDay": "-1"}, Medication).start_day == -1, "it isn't missing"
    assert "must be a list" in faults("[values]\nno_number = -1")


def test_a_change_leaves_everything_else_as_it_came() -> None:
    text = """
[names]
members = "PascalCase"
[members]
concurrencyStamp = "RowVersion"
[enumerations.CareStatus]
Active = ["RUN", "ACTIVE"]
[times]
none = [0]
[values]
by_language = { en = "En", es = "Es" }
"""
    came = {
        "Id": 7,
        "Status": "ACTIVE",
        "Title": {"En": "IVF", "De": "Kinderwunsch"},
        "PhysicianId": 31,
        "Diagnosis": None,
        "RowVersion": 125,
    }
    older = {**came, "Title": {"En": "IVF"}, "RowVersion": 124}
    before = read(text, came, Case, "en")
    body = {
        "title": "IVF 2",
        "status": "Active",
        "physicianId": "31",
        "coordinatorId": None,
        "diagnosis": None,
        "notes": None,
        "closedReason": None,
        "concurrencyStamp": "125",
    }
    change = CaseChange(
        title="IVF", status=before.status, physician_id="31", coordinator_id=None, diagnosis=None, notes=None,
        closed_reason=None, concurrency_stamp="125",
    )  # fmt: skip
    (sent, _headers) = dialect(text).sent(
        UPDATE_CASE,
        body,
        change,
        {"id": "7"},
        [(Case, json.dumps(case).encode()) for case in (older, came)],
        "en",
    )
    assert json.loads(sent) == {
        "Status": "ACTIVE",
        "Title": {"En": "IVF 2", "De": "Kinderwunsch"},
        "PhysicianId": 31,
        "Diagnosis": None,
        "RowVersion": 125,
    }


def test_rows_that_were_not_changed_go_back_as_they_came() -> None:
    text = '[values]\nnumbers = "comma"\n[times]\nnone = ["0001-01-01"]'
    came = {
        **PLAN,
        "startDate": "0001-01-01",
        "concurrencyStamp": "v1",
        "medications": [
            {"id": "m1", "drug": "Gonal-f", "startDay": "01", "dose": "150,00", "brand": "x"},
            {"id": "m2", "drug": "Cetrotide", "startDay": "5", "dose": "0,250"},
        ],
    }
    before = read(text, came, Protocol)
    first, second = before.medications
    rows = (
        first,
        replace(second, instructions="Evenings"),
        Medication(drug="Ovitrelle", start_day=11, dose=0.5),
    )
    after = replace(before, medications=rows)
    sent = changed(text, UPDATE_PROTOCOL, after, before, came)
    assert sent["startDate"] == "0001-01-01"
    assert sent["medications"] == [
        {"id": "m1", "drug": "Gonal-f", "startDay": "01", "dose": "150,00", "brand": "x"},
        {"id": "m2", "drug": "Cetrotide", "startDay": "5", "dose": "0,250", "instructions": "Evenings"},
        {"drug": "Ovitrelle", "startDay": "11", "dose": "0,5"},
    ]
    assert set(sent) == {"id", "name", "status", "startDate", "concurrencyStamp", "medications"}
    twice = [{"drug": "Gonal-f", "startDay": 1, "brand": brand} for brand in ("x", "y")]
    alike = {**came, "medications": twice}
    before = read(text, alike, Protocol)
    after = replace(before, medications=(*before.medications, Medication(drug="Ovitrelle", start_day=11)))
    sent = changed(text, UPDATE_PROTOCOL, after, before, alike)
    assert sent["medications"][:2] == twice, "each of two rows that say the same keeps its own"
    came["medications"] = [
        {"drug": drug, "startDay": 1, "brand": brand}
        for drug, brand in (("Gonal-f", "x"), ("Cetrotide", "y"))
    ]
    before = read(text, came, Protocol)
    after = replace(before, medications=before.medications[1:])
    assert changed(text, UPDATE_PROTOCOL, after, before, came)["medications"] == came["medications"][1:]
    later = replace(
        before,
        medications=(replace(before.medications[1], start_day=5), Medication(drug="Ovitrelle", start_day=11)),
    )
    assert changed(text, UPDATE_PROTOCOL, later, before, came)["medications"] == [
        {"drug": "Cetrotide", "startDay": "5", "brand": "y"},
        {"drug": "Ovitrelle", "startDay": "11"},
    ], "what is kept of a row that was removed isn't laid over another"


def test_a_record_within_another_is_found_among_what_came() -> None:
    episode = {"id": "e1", "patient": {"id": "p1", "mrn": "M 1", "phoneNumber": "0331 2750"}}
    before = read("", {"id": "p1", "mrn": "M 1", "phoneNumber": "0331 2750"}, Patient)
    after = Patient(id="p1", mrn="M 1", phone_number="0331 2750", preferred_name="Leni")
    sent = changed("", UPDATE_PATIENT, after, before, episode, came_as=Episode)
    assert sent == {"id": "p1", "mrn": "M 1", "phoneNumber": "0331 2750", "preferredName": "Leni"}


CODED = '[values]\ncoded = { code = "Code", label = "Label" }\n'


def test_values_may_come_as_objects_of_code_and_label() -> None:
    text = CODED + 'by_language = { en = "En", es = "Es" }\n[enumerations.ConsentStatus]\nPending = "20"'
    form = read(text, {**FORM, "status": {"Code": "20", "Label": {"En": "Open"}}}, ConsentForm)
    assert form.is_open
    label = {"En": "Kept cold", "Es": "En frío"}
    strange = {**FORM, "status": {"Code": "77", "Label": label}, "kind": {"Code": "99", "Label": "Own kind"}}
    other = read(text, strange, ConsentForm, "es")
    assert (str(other.status), other.status.known, str(other.kind)) == ("En frío", False, "Own kind")
    odd = read(text, {**FORM, "kind": {"Code": ["99"], "Label": "Own kind"}}, ConsentForm)
    assert (odd.id, odd.kind) == ("c1", None)
    bare = read(text, {**FORM, "status": "20", "kind": {"Code": None, "Label": None}}, ConsentForm)
    assert (bare.is_open, bare.kind) == (True, None)
    assert dialect(text).query(LIST_CONSENTS, {"Status": "Pending"}) == {"Status": "20"}
    assert "must name the members" in faults('[values]\ncoded = { label = "Label" }')


def test_the_code_and_not_the_label_counts_as_what_came() -> None:
    text = CODED + '[names]\nenumerations = "kebab-case"'
    came = {**FORM, "status": {"Code": "partially-signed", "Label": "Teils"}}
    assert read(text, came, ConsentForm).status == "PartiallySigned"
    looked = dialect(text).full_translation(ConsentForm)(came)
    assert looked["status"] == "partially-signed", "a label would count as a value that isn't known"


def test_texts_may_come_as_objects_of_code_and_label() -> None:
    event = {"id": "t", "at": "2026-11-20T08:00:00Z", "kind": {"Code": "SCN", "Label": "A scan"}}
    assert read(CODED, event, TimelineEvent).kind == "A scan"
    told = CODED + '[enumerations."TimelineEvent.kind"]\nScan = "SCN"'
    assert read(told, event, TimelineEvent).kind == "Scan"
    assert read(CODED, {**event, "kind": "Scan"}, TimelineEvent).kind == "Scan"


def test_a_changed_value_goes_back_in_the_object_in_which_it_came() -> None:
    plan = {
        **PLAN,
        "status": {"Code": "Draft", "Label": "Being written"},
        "type": {"Code": "X9", "Label": "Own"},
    }
    before = read(CODED, plan, Protocol)
    after = replace(before, status=ProtocolStatus.ACTIVE)
    sent = changed(CODED, UPDATE_PROTOCOL, after, before, plan)
    assert sent["status"] == {"Code": "Active"}
    assert sent["type"] == {"Code": "X9", "Label": "Own"}


def test_the_code_of_an_object_may_stand_deeper() -> None:
    text = '[values]\ncoded = { code = "coding.0.code", label = "coding.0.display" }\n'
    theirs = {"coding": [{"system": "x", "code": "Active", "display": "Under way"}]}
    case = {"id": "7", "status": theirs, "title": "IVF"}
    before = read(text, case, Case)
    assert before.status == "Active"
    change = CaseChange(
        title="IVF", status=before.status, physician_id=None, coordinator_id=None, diagnosis=None, notes=None,
        closed_reason=None, concurrency_stamp=None,
    )  # fmt: skip
    sent = [
        json.loads(
            dialect(text).sent(
                UPDATE_CASE, {**msgspec.to_builtins(change), **new}, change, {"id": "7"}, came
            )[0]
        )
        for came in [[(Case, json.dumps(case).encode())]]
        for new in ({"title": "IVF 2"}, {"status": "Finished"})
    ]
    assert [one["status"] for one in sent] == [theirs, {"coding": [{"system": "x", "code": "Finished"}]}]


def test_a_record_may_be_deleted_by_any_value_but_some() -> None:
    text = '[lists]\ndeleted = { path = "deletedAt", unless = "0001-01-01" }'
    told = [None, "", "0001-01-01", "2026-11-01"]
    rows = [{**FORM, "id": f"c{number}", "deletedAt": one} for number, one in enumerate(told)]
    page = read(text, {"items": [*rows, FORM]}, PagedResult[ConsentForm])
    assert ([one.id for one in page.items], page.deleted) == (["c0", "c1", "c2", "c1"], 1)
    assert "unless" in faults('[lists]\ndeleted = { path = "state", value = "X", unless = "Y" }')


@pytest.mark.parametrize(
    ("path", "told", "cursor"),
    [
        ("page.next", {"page": {"next": "abc"}}, "abc"),
        ("page.next", {"page": {"next": 7}}, "7"),
        ("page.next", {"page": {"next": None}}, None),
        ("page.next", {}, None),
        ("links.rel=next.url", {"links": [{"rel": "next", "url": "/forms?size=5&after=a%2Fb"}]}, "a/b"),
        ("links.rel=next.url", {"links": [{"rel": "self", "url": "/forms?after=a"}]}, None),
        ("links.rel=next.url", {"links": [{"rel": "next", "url": "https://else.example/?x=1"}]}, ""),
    ],
)
def test_a_page_names_the_next_one(path: str, told: dict[str, Any], cursor: str | None) -> None:
    text = f'[lists]\npaging = "cursor"\nnext = "{path}"\nlargest_page = 5\n[query]\nSkipCount = "after"'
    assert read(text, {"items": [FORM], **told}, PagedResult[ConsentForm]).next == cursor
    asked = dialect(text).query(LIST_CONSENTS, {"SkipCount": "abc", "MaxResultCount": 5})
    assert asked == {"after": "abc", "MaxResultCount": 5}
    assert dialect(text).query(LIST_CONSENTS, {"SkipCount": 0, "MaxResultCount": 9})["after"] is None
    assert "where a page names" in faults('[lists]\npaging = "cursor"')
    assert "only read with" in faults('[lists]\nnext = "page.next"')
