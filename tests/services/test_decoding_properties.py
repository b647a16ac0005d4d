"""Any JSON, and any bytes, are read or are a bad response; forms survive a round trip in any format."""

from __future__ import annotations

import json
import typing
from datetime import UTC, date, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.consents.forms import Clause, ConsentForm, ConsentStatus, Signature, Signer, SignerRole
from portal.services.conversations import Conversation
from portal.services.decoding import PagedResult, Record, decode, encode
from portal.services.episodes import Episode
from portal.services.errors import BadResponse
from portal.services.notifications import Notification
from portal.services.patients import Patient
from portal.services.pgt_results import PgtResult
from portal.services.physicians import Physician
from portal.services.protocols import Protocol
from tests.services.sample_answers import RECORD_TYPES

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


@given(st.sampled_from([*RECORDS, *(PagedResult[r] for r in RECORDS), object]), values)
def test_any_json_is_read_or_is_a_bad_response(into, value):
    try:
        decode(json.dumps(value).encode(), into)
    except BadResponse as bad:
        assert bad.field.startswith("$")


@given(st.sampled_from([ConsentForm, PagedResult[Episode], object]), st.binary(max_size=60))
@pytest.mark.asvs("1.5.2", "15.3.5")
def test_any_bytes_are_read_or_are_a_bad_response(into, body):
    try:
        decode(body, into)
    except BadResponse as bad:
        assert bad.field.startswith("$")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ids = st.text("abcdef0123456789-", min_size=1, max_size=36)
instants = st.datetimes(datetime(1971, 1, 1), datetime(2199, 1, 1), timezones=st.just(UTC))
signers = st.builds(
    Signer, role=st.sampled_from(SignerRole), person_id=st.none() | ids, name=texts, order=st.integers(0, 9)
)
signatures = st.builds(
    Signature, role=st.sampled_from(SignerRole), person_id=ids, name=texts, signed_at=st.none() | instants
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
    procedure_date=st.none() | st.dates(date(1971, 1, 1), date(2199, 1, 1)),
)


@given(forms)
def test_a_form_survives_a_round_trip(original):
    assert decode(encode(original), ConsentForm) == original


def in_another_dialect(value: typing.Any, name: str = "") -> typing.Any:
    """The same record as another service may spell it."""
    match value:
        case dict():
            return {**{n: in_another_dialect(v, n) for n, v in value.items()}, "extraProperties": {}}
        case [] if name not in (
            "body",
            "statements",
        ):  # for a form's text, an empty list isn't the same as none
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
    assert decode(json.dumps(other).encode(), PagedResult[ConsentForm]).items == tuple(originals)
