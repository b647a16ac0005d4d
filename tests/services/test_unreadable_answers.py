"""What can't be read is reported by its field, or left out of its list."""

from __future__ import annotations

import json

import msgspec
import pytest

from portal.services.consents.forms import ConsentForm
from portal.services.decoding import PagedResult, Record, decode
from portal.services.errors import BadResponse
from portal.services.notifications import Notification
from tests.services.sample_answers import FORM, NOTIFICATIONS, RECORD_TYPES, listed


@pytest.mark.parametrize(
    ("answer", "into", "field"),
    [
        ({"title": "x", "status": "Pending"}, ConsentForm, "$.id"),
        ({"items": [{"id": "2", "status": 0}]}, PagedResult[ConsentForm], "$.items[0].title"),
        ([{"id": "2", "status": 0}], PagedResult[ConsentForm], "$.items[0].title"),
        ({**FORM, "id": None}, ConsentForm, "$.id"),
        ({**FORM, "id": {"secret": 1}}, ConsentForm, "$.id"),
        ({**FORM, "status": ["Amelia"]}, ConsentForm, "$.status"),
        ({**FORM, "disposition": ["Amelia"]}, ConsentForm, "$.disposition"),
        ({**FORM, "requiredSigners": [{"name": "Amelia"}]}, ConsentForm, "$.requiredSigners[0].role"),
        ({**FORM, "signatures": "Amelia"}, ConsentForm, "$.signatures"),
        ({"error": {"message": "Amelia"}}, PagedResult[ConsentForm], "$.items"),
        ("Amelia", ConsentForm, "$"),
        (None, ConsentForm, "$"),
        (b"", ConsentForm, "$"),
        (b"<html>Amelia</html>", ConsentForm, "$"),
        (b'{"id": "1", "title": "Amelia', ConsentForm, "$"),
        (b'{"id": "\xff"}', ConsentForm, "$"),
        (b"[" * 100_000, PagedResult[ConsentForm], "$"),
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


# properties


def test_an_unreadable_record_is_left_out_of_its_list_and_logged():
    page = decode(
        listed(*NOTIFICATIONS, {"id": {}, "title": "T"}, "odd", None, totalCount=3, unreadCount=1),
        PagedResult[Notification],
    )
    assert [one.id for one in page.items] == ["1"]
    assert page.unreadable == ("$.items[1].id", "$.items[2]")
    assert (page.total, page.received, page.unread) == (3, 3, 1)


def test_a_list_without_any_readable_record_is_a_bad_response():
    with pytest.raises(BadResponse, match=r"items\[0\]"):
        decode(listed({"id": {}, "title": "T"}, {"id": []}), PagedResult[Notification])


def test_an_apis_own_claim_of_unreadable_records_is_ignored():
    page = decode(
        listed(*NOTIFICATIONS, {"id": {}, "title": "T"}, unreadable=["a", "b"], isCounted=False),
        PagedResult[Notification],
    )
    assert (page.unreadable, page.is_counted) == (("$.items[1].id",), True)


@pytest.mark.parametrize(
    "odd",
    ["1e400", "-1e999", "9" * 60, "9" * 5000, "0." + "1" * 300, '{"a": 1, "a": 2}', "[" * 60 + "]" * 60],
)
@pytest.mark.parametrize("at_first", [True, False])
def test_any_value_of_an_unknown_member_is_ignored(odd, at_first):
    known = '"id": "1", "type": "T", "title": "T", "body": "B", "creationTime": "2026-01-01T00:00:00Z"'
    text = f'"odd": {odd}, {known}' if at_first else f'{known}, "odd": {odd}'
    assert decode(f"{{{text}}}".encode(), Notification).id == "1"


@pytest.mark.parametrize("odd", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_refused(odd):
    with pytest.raises(BadResponse):
        decode(f'{{"id": "1", "odd": {odd}, "big": 1e400}}'.encode(), Notification)


@pytest.mark.parametrize(
    "record",
    dict.fromkeys(
        one for one in RECORD_TYPES if issubclass(one, Record) and not issubclass(one, PagedResult)
    ),
    ids=lambda one: one.__name__,
)
def test_every_number_of_a_record_has_bounds(record: type[Record]) -> None:
    """A number without bounds can overflow later arithmetic: declare Whole, Day or Measure."""
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
