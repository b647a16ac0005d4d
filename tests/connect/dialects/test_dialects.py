"""Dialects: records in one are read correctly, and the portal sends its calls in it."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.formats import read_day, read_instant, write_day, write_instant
from portal.connect.dialects.named_records import choices, record_of
from portal.connect.dialects.naming import STYLES
from portal.connect.dialects.paths import getter
from portal.connect.dialects.rules import Rules
from portal.connect.dialects.writing import SORTING, Writing
from portal.services.cases import UPDATE_CASE
from portal.services.consents import LIST_CONSENTS, SIGN_CONSENT
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import PagedResult, decode
from portal.services.endpoints import ALL
from portal.services.episodes import Episode
from portal.services.errors import BadResponse, Conflict, Invalid, NotFound, Refused
from portal.services.failures import from_answer
from portal.services.members import members_of
from portal.services.notifications import LIST_NOTIFICATIONS, UPDATE_NOTIFICATIONS, Notification
from portal.services.physicians import LIST_PHYSICIANS, Physician
from portal.services.prospects import MERGE_PROSPECTS
from portal.services.responses import stamped
from tests.support.full import examples

RECORDS = sorted({shape for one in ALL if (shape := record_of(one.answer))}, key=lambda shape: shape.__name__)
NOT_OURS = st.text("abcdefghijklmnop", min_size=3, max_size=8).map(lambda name: f"x{name}")


@st.composite
def dialects(draw: st.DrawFn) -> Rules:
    """A dialect, within what its file may say."""
    style = draw(st.sampled_from(list(STYLES)))
    shape = draw(st.sampled_from(RECORDS))
    members = members_of(shape)
    names = draw(st.lists(NOT_OURS, min_size=len(members), max_size=len(members), unique=True))
    deep = draw(st.booleans())
    renamed = {
        member.name: f"deep.{name}" if deep and place % 3 == 0 else name
        for place, (member, name) in enumerate(zip(members, names, strict=True))
        if draw(st.booleans())
    }
    choice = draw(st.sampled_from(list(choices().values())))
    codes = draw(
        st.lists(NOT_OURS | st.integers(100, 999), min_size=len(choice), max_size=len(choice), unique=True)
    )
    return Rules(
        member_style=style,
        enumeration_style=draw(st.sampled_from([*STYLES, "integers"])),
        first_integer=draw(st.integers(0, 10)),
        members={shape.__name__: renamed},
        enumerations={
            choice.__name__: {member.value: (code,) for member, code in zip(choice, codes, strict=True)}
        },
        envelopes=tuple(draw(st.lists(st.sampled_from(["result", "payload"]), unique=True))),
        instants=(
            draw(st.sampled_from(["iso", "epoch_s", "epoch_ms", "dd/MM/yyyy HH:mm:ss", "yyyyMMdd HHmmss"])),
        ),
        days=(draw(st.sampled_from(["iso", "epoch_s", "epoch_ms", "dd/MM/yyyy", "MM-dd-yyyy"])),),
        zone=ZoneInfo(draw(st.sampled_from(["UTC", "Asia/Tokyo", "America/Phoenix"]))),
        numbers=draw(st.sampled_from(["number", "text", "comma"])),
        ids_as_numbers=draw(st.booleans()),
        truth=draw(st.sampled_from([None, ("Y", "N"), ("true", "false"), (1, 0)])),
    )


def values_of(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """JSON values of a type as the portal has them."""
    match kind:
        case inspect.StructType(cls=cls):
            return records_of(cls)
        case inspect.VarTupleType(item_type=item):
            return st.lists(values_of(item), max_size=2)
        case inspect.EnumType(cls=cls):
            return st.sampled_from([member.value for member in cast("Any", cls)])
        case inspect.DateTimeType():
            seconds = st.integers(31_600_000, 4_000_000_000)
            start = datetime(1970, 1, 1, tzinfo=UTC)
            return seconds.map(lambda n: (start + timedelta(seconds=n)).isoformat().replace("+00:00", "Z"))
        case inspect.DateType():
            return st.dates(date(1971, 1, 2), date(2100, 1, 1)).map(date.isoformat)
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType(ge=least):
            return st.integers(max(-9999, -9999 if least is None else least), 9999)
        case inspect.FloatType():
            return st.floats(-1e6, 1e6, allow_nan=False)
        case inspect.DictType():
            return st.just({"mergeId": "m", "followUp": "A"})
        case _:
            return st.text("abc XYZ'é", max_size=6)


def records_of(shape: type) -> st.SearchStrategy[dict[str, Any]]:
    """A record with all of its members, some of them null."""
    return st.fixed_dictionaries(
        {
            member.name: st.none() | values_of(member.value_type)
            if member.is_nullable
            else values_of(member.value_type)
            for member in members_of(shape)
        }
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_record_written_in_any_dialect_reads_back_the_same(data: st.DataObject) -> None:
    rules = data.draw(dialects())
    shape = data.draw(st.sampled_from([one for one in RECORDS if one is not Episode]))
    record = msgspec.convert(data.draw(records_of(shape)), shape, strict=False)
    written = Writing(rules).record(shape)(msgspec.to_builtins(record))
    for name in reversed(rules.envelopes):
        written = {name: written}
    dialect = Dialect(rules)
    body = json.dumps(written).encode()
    assert decode(body, shape, dialect.translation(shape)) == record
    page = json.dumps([written] if not rules.envelopes else {rules.envelopes[0]: [written]}).encode()
    if not rules.envelopes:
        read = decode(page, PagedResult[shape], dialect.translation(PagedResult[shape]))
        assert read.items == (record,)


@pytest.mark.parametrize(
    ("name", "camel", "snake"),
    [("line2", "line2", "line2"), ("Line_2_of", "line2Of", "line2_of"), ("7", "7", "7")],
)
def test_a_number_belongs_to_the_word_before_it_if_there_is_one(name: str, camel: str, snake: str) -> None:
    assert (STYLES["camelCase"](name), STYLES["snake_case"](name)) == (camel, snake)


FOREIGN = Dialect(
    parse_dialect(
        '[envelopes]\nanswers = ["data"]\n[lists]\ntotal = "meta.total"\n[times]\ninstants = "epoch_ms"\n'
        'days = "dd/MM/yyyy"\nzone = "Asia/Tokyo"\n[values]\nbooleans = [1, 0]\nnumbers = "text"\n'
        '[names]\nmembers = "snake_case"\nenumerations = "integers"\n[members.Episode]\nnumber = "a.b"'
    )
)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["id", "data", "items", "status", "patient", "alerts", "until", "title", "meta"]
                ),
                inner,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from([Episode, PagedResult[ConsentForm], PagedResult[Notification]]),
)
def test_any_json_in_a_dialect_is_read_or_a_bad_response(answer: Any, into: Any) -> None:
    with suppress(BadResponse):
        decode(json.dumps(answer).encode(), into, FOREIGN.translation(into))


def dialect_of(text: str) -> Dialect:
    return Dialect(parse_dialect(text))


def read(dialect: Dialect, answer: Any, into: Any) -> Any:
    return decode(json.dumps(answer).encode("utf-8-sig"), into, dialect.translation(into))


def test_an_address_has_the_base_path_and_the_longest_prefix() -> None:
    dialect = dialect_of('base_path = "/v2"\n[addresses]\n"/api/care" = "/c"\n"/api/care/cases" = "/k"')
    assert dialect.template(SIGN_CONSENT) == "/v2/c/consent-forms/{id}/sign"
    assert dialect.template(UPDATE_CASE) == "/v2/k/{id}"
    assert dialect.template(LIST_PHYSICIANS) == "/v2/api/calendar/resources/physicians"


def test_a_lists_paging_sorting_and_search_use_the_dialects_names() -> None:
    dialect = dialect_of(
        '[names]\nquery = "snake_case"\nmembers = "snake_case"\n[query]\nFilter = "q"\nMaxResultCount = "size"\n'
        'SkipCount = "page"\n[lists]\npaging = "page"\nlargest_page = 50\nsorting = "-field"\n'
        '[values]\nbooleans = ["Y", "N"]\n[enumerations.ConsentStatus]\nSigned = 7\n[times]\ninstants = "epoch_s"'
    )
    query = {
        "SkipCount": 100,
        "MaxResultCount": 200,
        "Sorting": "sentAt desc",
        "Filter": "x",
        "Status": "Signed",
        "PatientId": "p",
        "CaseId": None,
    }
    assert dialect.query(LIST_CONSENTS, query) == {
        "page": 3,
        "size": 50,
        "sorting": "-sent_at",
        "q": "x",
        "status": 7,
        "patient_id": "p",
        "case_id": None,
    }
    assert dialect.query(LIST_NOTIFICATIONS, {"IsRead": False}) == {"is_read": "N"}
    asked = {"From": "1970-01-02T00:00:00Z"}
    assert dialect.query(LIST_PHYSICIANS, asked)["from"] == 86400


@pytest.mark.parametrize("form", SORTING)
def test_each_sorting_style_has_both_directions(form: str) -> None:
    dialect = dialect_of(f'[lists]\nsorting = "{form}"')
    up, down = (dialect.query(LIST_CONSENTS, {"Sorting": one})["Sorting"] for one in ("title", "title desc"))
    assert up != down
    assert "title" in str(up)


def test_lists_and_counts_are_found_at_the_configured_paths() -> None:
    dialect = dialect_of('[lists]\nitems = "data.rows"\ntotal = "meta.total"\nunread = "meta.unread"')
    answer = {"data": {"rows": [{"id": "1"}]}, "meta": {"total": 7, "unread": 3}}
    page = read(dialect, answer, PagedResult[Notification])
    assert [one.id for one in page.items] == ["1"]
    assert (page.total, page.unread) == (7, 3)


def test_an_unreadable_record_is_left_out_and_counted() -> None:
    dialect = dialect_of('[names]\nmembers = "PascalCase"')
    page = read(dialect, {"Items": [{"Id": "1"}, {"Title": "no id"}]}, PagedResult[Notification])
    assert len(page.items) == 1
    assert page.unreadable == ("$.items[1].id",)


def test_lists_within_a_record_are_taken_out_of_their_envelopes() -> None:
    dialect = dialect_of('[envelopes]\nanswers = ["result", "data"]')
    physician = {
        "id": "1",
        "name": "V",
        "busy": {"data": [{"start": "2026-01-01T00:00Z", "end": "2026-01-01T01:00Z"}]},
    }
    read_one = read(dialect, {"result": {"items": [physician]}}, PagedResult[Physician]).items[0]
    assert len(read_one.busy) == 1


def test_times_without_a_zone_use_the_dialects_zone() -> None:
    dialect = dialect_of('[times]\nzone = "Europe/Madrid"')
    news = read(
        dialect, {"items": [{"id": "1", "creationTime": "2026-07-01T12:00:00"}]}, PagedResult[Notification]
    )
    assert news.items[0].creation_time == datetime(2026, 7, 1, 10, tzinfo=UTC)


def test_a_member_whose_absence_means_none_counts_as_given() -> None:
    form = {"id": "1", "title": "t", "status": "Pending", "body": []}
    assert read(dialect_of(""), form, ConsentForm).statements is None
    told = dialect_of('absent_means_none = ["consentform.statements"]')
    assert read(told, form, ConsentForm).statements == ()
    assert told.absent_means_none == {"ConsentForm.statements"}


def test_unread_members_are_reported() -> None:
    dialect = dialect_of('[names]\nmembers = "snake_case"')
    body = b'{"id": "1", "is_read": true, "shoe_size": 41}'
    seen = decode(body, object, dialect.full_translation(Notification))
    assert seen == {"id": "1", "isRead": True, "? shoe_size": 41}


def test_notification_data_gets_the_portals_names() -> None:
    dialect = dialect_of('[names]\nmembers = "snake_case"\n[members."Notification.data"]\nmergeId = "other"')
    news = read(
        dialect,
        {"items": [{"id": "1", "data": {"other": "2", "episode_id": "3"}}]},
        PagedResult[Notification],
    )
    assert (news.items[0].datum("mergeId"), news.items[0].datum("episodeId")) == ("2", "3")


def test_weekdays_are_read_by_the_apis_codes() -> None:
    dialect = dialect_of('[enumerations."WorkingHours.dayOfWeek"]\nSunday = 6\nMonday = [0, "LUN"]')
    rows = [{"dayOfWeek": day, "start": "09:00", "end": "10:00"} for day in (0, "LUN", 6, "Friday")]
    page = read(
        dialect, {"items": [{"id": "1", "name": "Dr A", "workingHours": rows}]}, PagedResult[Physician]
    )
    assert [hours.weekday for hours in page.items[0].working_hours] == [0, 0, 6, 4]


def test_text_members_with_codes_are_translated() -> None:
    dialect = dialect_of('[enumerations."Notification.entityType"]\nEpisode = ["CYCLE", "TREATMENT"]')
    news = read(
        dialect,
        {"items": [{"id": "1", "entityType": "TREATMENT", "entityId": "2"}]},
        PagedResult[Notification],
    )
    assert news.items[0].is_about("Episode", "2")


def test_a_body_is_sent_in_the_dialect_with_its_stamp_as_if_match() -> None:
    dialect = dialect_of(
        'bom = true\nconcurrency = "etag"\n[names]\nmembers = "kebab-case"\nenumerations = "UPPER_CASE"\n'
        '[envelopes]\nsent = "data"\n[members.ConsentForm]\ncontentHash = "proof.sha256"'
    )
    body = {"signerRole": "GameteProvider", "contentHash": "abc", "acknowledgedStatementIds": ["s"]}
    sent, headers = dialect.sent(SIGN_CONSENT, {**body, "concurrencyStamp": "v1"})
    assert sent.startswith(b"\xef\xbb\xbf")
    assert json.loads(sent.decode("utf-8-sig")) == {
        "data": {
            "signer-role": "GAMETE_PROVIDER",
            "proof": {"sha256": "abc"},
            "acknowledged-statement-ids": ["s"],
        }
    }
    assert headers == [("If-Match", '"v1"')]
    form = read(dialect, {"id": "1", "title": "t", "status": "SIGNED"}, ConsentForm)
    assert dialect.has_etags
    assert stamped(form, 'W/"7"').concurrency_stamp == 'W/"7"'
    assert dialect.sent(SIGN_CONSENT, {"concurrencyStamp": 'W/"7"'})[1] == [("If-Match", 'W/"7"')]


def test_merge_choices_use_the_apis_member_names() -> None:
    dialect = dialect_of('[names]\nmembers = "snake_case"\n[members.Prospect]\nemail = "mail"')
    sent, _ = dialect.sent(MERGE_PROSPECTS, {"fieldChoices": {"email": "1", "firstName": "2"}})
    assert json.loads(sent) == {"field_choices": {"mail": "1", "first_name": "2"}}
    assert json.loads(dialect.sent(UPDATE_NOTIFICATIONS, {"all": True, "isRead": True})[0]) == {
        "all": True,
        "is_read": True,
    }


def test_errors_are_read_from_the_configured_paths() -> None:
    dialect = dialect_of(
        '[names]\nmembers = "snake_case"\n[errors]\ncode = "fault.id"\nfields = "fault.details"\nname = "path"\n'
        '[errors.codes]\nE77 = "OutOfOrder"\nSTALE = "ConcurrencyConflict"\n[errors.statuses]\n423 = 409\n'
        '[members.Case]\nclosedReason = "why.closed"'
    )

    def told(status: int, body: Any) -> Any:
        answer = json.dumps(body).encode()
        return from_answer(status, answer, "application/json", endpoint=UPDATE_CASE, adapter=dialect)

    assert cast("Refused", told(403, {"fault": {"id": "E77"}})).code == "OutOfOrder"
    assert isinstance(told(403, {"fault": {"id": "STALE"}}), Conflict)
    assert isinstance(told(423, {}), Conflict)
    paths = [{"path": "physician_id"}, {"path": "why.closed"}]
    invalid = told(400, {"fault": {"details": paths}})
    assert isinstance(invalid, Invalid)
    assert set(invalid.fields) == {"physician_id", "closed_reason"}
    usual = told(400, {"errors": {"coordinator_id": ["no"]}})
    assert set(cast("Invalid", usual).fields) == {"coordinator_id"}


def test_a_rule_is_recognised_by_its_code_whatever_the_status() -> None:
    dialect = dialect_of(
        '[errors]\ncode = "errors.0.code"\nfields = "errors"\nname = "source"\n'
        '[errors.codes]\nSTALE = "ConcurrencyConflict"\n17 = "SlotTaken"\nNONE = 404'
    )

    def told(status: int, *errors: Any) -> Any:
        answer = json.dumps({"errors": errors}).encode()
        return from_answer(status, answer, "application/json", endpoint=UPDATE_CASE, adapter=dialect)

    for status in (400, 403, 409, 410, 412, 422):
        assert cast("Refused", told(status, {"code": "OUT_OF_ORDER"})).code == "OutOfOrder", status
        assert cast("Refused", told(status, {"code": 17})).code == "SlotTaken", status
        assert isinstance(told(status, {"code": "STALE"}), Conflict), status
        assert isinstance(told(status, {"code": "NONE"}), NotFound), status
    assert isinstance(told(404, {"code": "OUT_OF_ORDER"}), NotFound)
    assert isinstance(told(410, {"code": "GONE"}), NotFound)
    assert isinstance(told(422), Invalid)
    faults = [{"code": "BAD", "source": "title"}, {"code": "BAD", "source": "notes"}]
    assert set(cast("Invalid", told(422, *faults)).fields) == {"title", "notes"}


def test_an_unlisted_number_is_not_assumed_to_be_the_portals_own() -> None:
    dialect = dialect_of("[enumerations.ConsentStatus]\nSigned = 1\nDraft = 40")

    def status_of(code: object) -> str:
        return read(dialect, {"id": "1", "title": "t", "status": code}, ConsentForm).status

    assert [status_of(code) for code in (1, "1", 40, 3, "0")] == ["Signed", "Signed", "Draft", "#3", "#0"]
    assert not read(dialect, {"id": "1", "title": "t", "status": 3}, ConsentForm).status.known
    assert dialect.query(LIST_CONSENTS, {"Status": "#3"}) == {"Status": 3}
    named = dialect_of('[enumerations.ConsentStatus]\nSigned = "S"')  # which says nothing of numbers
    assert read(named, {"id": "1", "title": "t", "status": 1}, ConsentForm).status == "Pending"
    counted = dialect_of('[names]\nenumerations = "integers"\nfirst_integer = 1')
    assert read(counted, {"id": "1", "title": "t", "status": 1}, ConsentForm).status == "Draft"
    assert read(counted, {"id": "1", "title": "t", "status": 0}, ConsentForm).status == "#0"


def test_records_are_found_within_the_envelope_too() -> None:
    dialect = dialect_of('[envelopes]\nanswers = ["payload"]\n[lists]\nitems = "content"\ntotal = "count"')
    rows = {"content": [{"id": "1", "name": "Dr A"}], "count": 3}
    for answer in (rows, {"payload": rows}):
        page = read(dialect, answer, PagedResult[Physician])
        assert (len(page.items), page.total) == (1, 3)


def test_pages_counted_from_0_and_of_limited_size_are_read() -> None:
    dialect = dialect_of(
        '[lists]\npaging = "page"\nfirst_page = 0\nlargest_page = 100\nsorting = "field:desc"\n'
        '[query]\nSkipCount = "page"\nMaxResultCount = "size"\nSorting = "sort"\nStatus = "state"\n'
        '[members.ConsentForm]\nprocedureDate = "dueDate"\n[enumerations.ConsentStatus]\nSigned = 6'
    )
    query = {"SkipCount": 200, "MaxResultCount": 100, "Sorting": "procedureDate desc", "Status": "Signed"}
    assert dialect.query(LIST_CONSENTS, query) == {"page": 2, "size": 100, "sort": "dueDate:desc", "state": 6}
    assert dialect.query(LIST_CONSENTS, {"SkipCount": 0, "MaxResultCount": 1000})["size"] == 100


LONDON = ZoneInfo("Europe/London")
DAY_FIRST = "yyyy-dd-MM HH:mm"


@pytest.mark.parametrize(
    ("convert", "given", "made"),
    [
        (read_instant(DAY_FIRST, LONDON), "2026-03-07 09:30", datetime(2026, 7, 3, 8, 30, tzinfo=UTC)),
        (read_instant(DAY_FIRST, LONDON), "2026-03-12 09:30", datetime(2026, 12, 3, 9, 30, tzinfo=UTC)),
        (read_instant(DAY_FIRST, LONDON), "2026-03-07T09:30Z", datetime(2026, 3, 7, 9, 30, tzinfo=UTC)),
        (read_instant(DAY_FIRST, LONDON), "2026-07-31", "2026-07-31"),
        (read_instant("iso", LONDON), "2026-07-03T09:30", datetime(2026, 7, 3, 8, 30, tzinfo=UTC)),
        (read_instant("iso", LONDON), "2026-07-03T09:30+02:00", datetime(2026, 7, 3, 7, 30, tzinfo=UTC)),
        (read_instant("iso", LONDON), "2026-07-03", "2026-07-03"),
        (read_instant("epoch_ms", LONDON), 1_000, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (write_instant(DAY_FIRST, LONDON), "2026-07-03T08:30:00Z", "2026-03-07 09:30"),
        (write_instant("epoch_s", LONDON), "1970-01-01T00:01:00Z", 60),
        (read_day("epoch_s", LONDON), 1_782_862_200, date(2026, 7, 1)),  # half past midnight in London
        (read_day("epoch_s", ZoneInfo("UTC")), 1_782_860_400, "2026-06-30T23:00:00+00:00"),
        (read_day("iso", LONDON), "2026-06-30T23:00:00Z", date(2026, 7, 1)),
        (read_day("iso", LONDON), "2026-06-30T23:30:00Z", date(2026, 7, 1)),
        (read_day("iso", LONDON), "2026-06-30T23:59:59Z", date(2026, 6, 30)),
        (read_day("iso", LONDON), "2026-06-30T00:00:00+02:00", date(2026, 6, 30)),
        (read_day("iso", LONDON), "2026-06-30", "2026-06-30"),
        (read_day("dd.MM.yyyy", LONDON), "07.03.2026", date(2026, 3, 7)),
        (write_day("dd.MM.yyyy", LONDON), "2026-03-07", "07.03.2026"),
        (write_day("epoch_s", LONDON), "2026-07-01", 1_782_860_400),
        (getter(["a"], "none"), {"a": 1}, 1),
        (getter(["a"], "none"), {}, "none"),
        (getter(["a"], "none"), "a", "none"),
        (getter(["a", "b"], "none"), {"a": {"b": 2}}, 2),
        (getter(["a", "b"], "none"), {"a": 3}, "none"),
        (getter(["a", "1"], "none"), {"a": [4, 5]}, 5),
        (getter(["a", "2"], "none"), {"a": [4, 5]}, "none"),
    ],
)
def test_a_value_is_read_and_written_as_the_dialect_has_it(convert: Any, given: object, made: object) -> None:
    assert convert(given) == made
