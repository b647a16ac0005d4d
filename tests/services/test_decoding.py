"""The care API's answers are read in every accepted format; what is unreadable is reported by its field."""

from __future__ import annotations

import importlib
import json
import pkgutil
import typing
from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services import records
from portal.services.decoding import Choice, Page, Record, decode, encode, fields_of
from portal.services.errors import BadResponse
from portal.services.records.base import AUDIT_MEMBERS
from portal.services.records.cases import CareStatus
from portal.services.records.consents import Clause, ConsentForm, ConsentStatus, Signature, Signer, SignerRole
from portal.services.records.conversations import Conversation
from portal.services.records.episodes import Episode
from portal.services.records.notifications import Notification
from portal.services.records.patients import Patient
from portal.services.records.pgt_results import PgtResult, PgtStatus
from portal.services.records.physicians import Physician
from portal.services.records.prospects import Booking
from portal.services.records.protocols import Protocol, ProtocolDraft, ProtocolStatus
from portal.services.records.storage import EmbryoStatus, EmbryoStorage

RECORD_TYPES = [
    value
    for module in pkgutil.iter_modules(records.__path__, f"{records.__name__}.")
    for value in vars(importlib.import_module(module.name)).values()
    if isinstance(value, type)
]
FORM = {"id": "c-1", "title": "Egg retrieval", "status": "Pending"}


def form(**members) -> ConsentForm:
    return decode(json.dumps({**FORM, **members}).encode(), ConsentForm)


def refusal(value, into) -> str:
    with pytest.raises(BadResponse) as caught:
        decode(value if isinstance(value, bytes) else json.dumps(value).encode(), into)
    return caught.value.field


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
def test_a_list_is_read_in_each_of_its_forms(answer, total):
    page = decode(json.dumps(answer).encode(), Page[ConsentForm])
    assert page.total == total
    assert all(item.id == "c-1" for item in page.items)
    assert page.unread is None


def test_a_bare_array_may_follow_white_space():
    assert decode(b' \r\n\t[{"id":"1"}]', Page[Notification]).items[0].id == "1"


def test_notifications_bring_their_unread_count():
    page = decode(b'{"totalCount":9,"items":[],"unreadCount":4}', Page[Notification])
    assert (page.total, page.unread) == (9, 4)


def test_null_items_are_skipped():
    assert [n.id for n in decode(b'[null,{"id":"1"}]', Page[Notification]).items] == ["1"]


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


@pytest.mark.parametrize(
    "choice",
    [c for c in RECORD_TYPES if issubclass(c, Choice) and c is not Choice],
)
def test_every_enumeration_reads_all_its_dialects(choice):
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
        ("0001-01-01T00:00:00", datetime(1, 1, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00+02:00", datetime(1, 1, 1, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_instants_are_aware_and_in_utc_however_they_come(text, instant):
    sent_at = form(sentAt=text).sent_at
    assert sent_at == instant
    assert sent_at is None or sent_at.tzinfo is UTC


@pytest.mark.parametrize("text", ["2026-12-01", "2026-12-01T00:00:00", "2026-12-01T23:30:00.0000000+02:00"])
def test_a_date_is_the_day_that_is_written(text):
    assert form(procedureDate=text).procedure_date == date(2026, 12, 1)


def test_numbers_may_be_texts():
    read = decode(b'{"id":1,"embryoCode":2,"status":"stored","day":"5"}', EmbryoStorage)
    assert (read.day, read.embryo_code, read.status) == (5, "2", EmbryoStatus.STORED)
    patient = decode(b'{"id":1,"isActive":"false"}', Patient)
    assert patient.is_active is False


@pytest.mark.parametrize("word", ["null", "true", "1"])
def test_texts_that_look_like_something_else_stay_texts(word):
    assert form(patientName=word, revokeReason=word, sentAt="2026-11-27").revoke_reason == word


def test_nulls_are_not_given():
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


# what can't be read


@pytest.mark.parametrize(
    ("answer", "into", "field"),
    [
        ({"title": "x", "status": "Pending"}, ConsentForm, "$.id"),
        ({"items": [{"id": "2", "status": 0}]}, Page[ConsentForm], "$.items[0].title"),
        ([{"id": "2", "status": 0}], Page[ConsentForm], "$.items[0].title"),
        ({**FORM, "id": None}, ConsentForm, "$.id"),
        ({**FORM, "id": {"secret": 1}}, ConsentForm, "$.id"),
        ({**FORM, "sentAt": "Amelia"}, ConsentForm, "$.sentAt"),
        ({**FORM, "procedureDate": "2026-02-30"}, ConsentForm, "$.procedureDate"),
        ({**FORM, "requiredSigners": [{"name": "Amelia"}]}, ConsentForm, "$.requiredSigners[0].role"),
        ({**FORM, "signatures": "Amelia"}, ConsentForm, "$.signatures"),
        ({"error": {"message": "Amelia"}}, Page[ConsentForm], "$.items"),
        ("Amelia", ConsentForm, "$"),
        (None, ConsentForm, "$"),
        (b"", ConsentForm, "$"),
        (b"<html>Amelia</html>", ConsentForm, "$"),
        (b'{"id": "1", "title": "Amelia', ConsentForm, "$"),
        (b'{"id": "\xff"}', ConsentForm, "$"),
        (b"[" * 100_000, Page[ConsentForm], "$"),
        (b'{"id":1,"x":1e999}', ConsentForm, "$.title"),
    ],
)
@pytest.mark.asvs("15.3.5")
def test_an_unreadable_field_is_reported_without_its_value(answer, into, field):
    with pytest.raises(BadResponse) as caught:
        decode(answer if isinstance(answer, bytes) else json.dumps(answer).encode(), into)
    assert caught.value.field == field
    assert "Amelia" not in f"{caught.value!r}"
    assert caught.value.__cause__ is None


# writing


def test_records_are_written_as_the_api_spells_them():
    draft = ProtocolDraft(
        name="Antagonist",
        status=ProtocolStatus.DRAFT,
        start_date=date(2026, 11, 27),
        physician_id="7",
    )
    written = json.loads(encode(draft))
    assert written["startDate"] == "2026-11-27"
    assert written["physicianId"] == "7"
    assert written["status"] == "Draft"


def test_instants_are_written_in_utc():
    at = datetime(2026, 11, 27, 11, 30, tzinfo=timezone(timedelta(hours=2)))
    booking = Booking(booking_id="1", start=at)
    assert json.loads(encode(booking))["start"] == "2026-11-27T09:30:00Z"


def test_a_record_goes_back_without_what_the_api_alone_sets():
    patient = decode(b'{"id":"1","firstName":"Amelia","concurrencyStamp":"s","creatorId":"9"}', Patient)
    members = fields_of(patient, without=AUDIT_MEMBERS)
    assert members["concurrencyStamp"] == "s"
    assert members["firstName"] == "Amelia"
    assert not {"id", "creatorId", "creationTime"} & set(members)


# properties

RECORDS = [ConsentForm, Conversation, Episode, Notification, Patient, PgtResult, Physician, Protocol]
NAMES = sorted(
    {f.encode_name for r in RECORD_TYPES if issubclass(r, Record) for f in msgspec.structs.fields(r)}
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["2026-11-27", "2026-11-27T09:30:00", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"]
    )
    | st.sampled_from(["Pending", "in_lab", "null", "true", "12", "1e5", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(st.sampled_from([*RECORDS, *(Page[r] for r in RECORDS), object]), values)
def test_any_json_is_read_or_is_a_bad_response(into, value):
    try:
        decode(json.dumps(value).encode(), into)
    except BadResponse as bad:
        assert bad.field.startswith("$")


@given(st.sampled_from([ConsentForm, Page[Episode], object]), st.binary(max_size=60))
@pytest.mark.asvs("1.5.2", "15.3.5")
def test_any_bytes_are_read_or_are_a_bad_response(into, body):
    try:
        decode(body, into)
    except BadResponse as bad:
        assert bad.field.startswith("$")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text("abcdef0123456789-", min_size=1, max_size=36)
instants = st.datetimes(timezones=st.just(UTC))
signers = st.builds(
    Signer,
    role=st.sampled_from(SignerRole),
    person_id=st.none() | ids,
    name=texts,
    order=st.integers(0, 9),
)
signatures = st.builds(
    Signature,
    role=st.sampled_from(SignerRole),
    person_id=ids,
    name=texts,
    signed_at=st.none() | instants,
)
clauses = st.builds(Clause, id=ids, heading=texts, text=texts, summary=st.none() | texts)
forms = st.builds(
    ConsentForm,
    id=ids,
    title=texts,
    status=st.sampled_from(ConsentStatus) | texts.map(ConsentStatus),
    body=st.lists(clauses, max_size=3).map(tuple),
    required_signers=st.lists(signers, max_size=3).map(tuple),
    signatures=st.lists(signatures, max_size=3).map(tuple),
    sent_at=st.none() | instants,
    procedure_date=st.none() | st.dates(),
)


@given(forms)
def test_a_form_survives_a_round_trip(original):
    assert decode(encode(original), ConsentForm) == original


def in_another_dialect(value: typing.Any, name: str = "") -> typing.Any:
    """The same record as another service may spell it."""
    match value:
        case dict():
            return {**{n: in_another_dialect(v, n) for n, v in value.items()}, "extraProperties": {}}
        case [] if name not in ("body", "statements"):  # for a form's text nothing isn't the same as none
            return None
        case list():
            return [in_another_dialect(v) for v in value]
        case str() if name == "status" and ConsentStatus(value).known:
            return list(ConsentStatus).index(ConsentStatus(value))
        case str() if name == "role":
            return SignerRole(value).name
        case str() if name in ("sentAt", "signedAt"):
            return value.removesuffix("Z")
        case int() if name == "order":
            return str(value)
        case _:
            return value


@given(st.lists(forms, max_size=3))
def test_a_record_in_another_format_reads_the_same(originals):
    other = [in_another_dialect(json.loads(encode(f))) for f in originals]
    assert decode(json.dumps(other).encode(), Page[ConsentForm]).items == tuple(originals)


def test_a_list_in_the_usual_format_takes_the_fast_path(monkeypatch):
    monkeypatch.setattr("portal.services.decoding._decode_forgivingly", lambda *_: pytest.fail("second look"))
    body = encode(
        {"totalCount": 1, "items": [{**FORM, "sentAt": "2026-11-27T09:30:00.1234567Z", "kind": "Storage"}]}
    )
    assert decode(body, Page[ConsentForm]).total == 1


def test_a_status_is_read_by_its_own_enumeration_in_any_style():
    assert CareStatus("OnHold") is CareStatus.ON_HOLD
    assert PgtStatus("in_lab") is PgtStatus.IN_LAB


NOTIFICATIONS = [
    {"id": "1", "type": "MessageReceived", "title": "T", "body": "B", "creationTime": "2026-01-01T00:00:00Z"}
]


def listed(*items: object, **members: object) -> bytes:
    return json.dumps({"items": list(items), **members}).encode()


def test_an_unreadable_record_is_left_out_of_its_list_and_logged():
    page = decode(
        listed(*NOTIFICATIONS, {"id": "2", "title": {}}, "odd", None, totalCount=3, unreadCount=1),
        Page[Notification],
    )
    assert [one.id for one in page.items] == ["1"]
    assert page.unreadable == ("$.items[1].title", "$.items[2]")
    assert (page.total, page.received, page.unread) == (3, 3, 1)


def test_a_list_without_any_readable_record_is_a_bad_response():
    with pytest.raises(BadResponse, match=r"items\[0\]"):
        decode(listed({"id": "2", "title": {}}, {"id": "3", "title": []}), Page[Notification])


def test_an_apis_own_claim_of_unreadable_records_is_ignored():
    page = decode(
        listed(*NOTIFICATIONS, {"id": "2", "title": {}}, unreadable=["a", "b"], isCounted=False),
        Page[Notification],
    )
    assert (page.unreadable, page.is_counted) == (("$.items[1].title",), True)


@pytest.mark.parametrize(
    "odd",
    ["1e400", "-1e999", "9" * 60, "9" * 5000, "0." + "1" * 300, '{"a": 1, "a": 2}', "[" * 60 + "]" * 60],
)
@pytest.mark.parametrize("at_first", [True, False])
def test_any_value_of_an_unknown_member_is_ignored(odd, at_first):
    known = '"id": "1", "type": "T", "title": "T", "body": "B", "creationTime": "2026-01-01T00:00:00Z"'
    text = f'"odd": {odd}, {known}' if at_first else f'{known}, "odd": {odd}'
    assert decode(f"{{{text}}}".encode(), Notification).id == "1"


def test_a_byte_order_mark_is_accepted():
    assert decode(b"\xef\xbb\xbf" + listed(*NOTIFICATIONS), Page[Notification]).total == 1


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity"])
def test_json_extensions_of_python_are_refused(odd):
    with pytest.raises(BadResponse):
        decode(f'{{"id": "1", "odd": {odd}, "big": 1e400}}'.encode(), Notification)


@pytest.mark.parametrize(
    "record", [one for one in RECORD_TYPES if issubclass(one, Record)], ids=lambda one: one.__name__
)
def test_no_record_holds_a_number_without_bounds(record: type[Record]) -> None:
    """Else one that is out of all bounds meets arithmetic that overflows: say Whole, Day or Measure."""
    bare = [
        field.name
        for field in msgspec.inspect.type_info(record).fields  # pyright: ignore[reportAttributeAccessIssue]
        for kind in numbers_in(field.type)
        if kind.ge is None or kind.le is None
    ]
    assert not bare


def numbers_in(kind: msgspec.inspect.Type) -> list[msgspec.inspect.IntType | msgspec.inspect.FloatType]:
    match kind:
        case msgspec.inspect.UnionType(types):
            return [number for one in types for number in numbers_in(one)]
        case msgspec.inspect.VarTupleType(item_type=item):
            return numbers_in(item)
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return [kind]
        case _:
            return []
