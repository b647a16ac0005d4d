"""The limits of decoding: largest and longest numbers, what is reported, what counts as received."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from portal.services.decoding import (
    Choice,
    Day,
    Measure,
    PagedResult,
    Record,
    Timed,
    Whole,
    decode,
    encode,
    fields_of,
    in_utc,
    noticed,
)
from portal.services.errors import BadResponse
from portal.services.patients import Patient
from portal.services.salvage import Lost


class Colour(Choice):
    RED = "Red"
    DARK_BLUE = "DarkBlue"


class Inner(Record, frozen=True, kw_only=True):
    id: str


class Thing(Timed, frozen=True, kw_only=True):
    """One member of each kind."""

    id: str
    colour: Colour | None = None
    count: Whole | None = None
    day: Day | None = None
    measure: Measure | None = None
    at: datetime | None = None
    on: date | None = None
    names: tuple[str, ...] = ()
    inner: Inner | None = None


class Plain(Record, frozen=True, kw_only=True):
    long_name: str
    other: int = 1


def thing(**members: Any) -> Thing:
    return decode(json.dumps({"id": "1", **members}).encode(), Thing)


@pytest.mark.parametrize(
    ("member", "fits", "beyond"),
    [
        ("count", 2**53, 2**53 + 1),
        ("count", 0, -1),
        ("day", 10_000, 10_001),
        ("day", -10_000, -10_001),
        ("measure", 1e12, 1e12 + 0.5),
        ("measure", -1e12, -1e12 - 0.5),
    ],
)
def test_numbers_have_bounds(member: str, fits: float, beyond: float) -> None:
    assert getattr(thing(**{member: fits}), member) == fits
    assert getattr(thing(**{member: beyond}), member) is None
    assert noticed.lost == (Lost(f"Thing.{member}", f"$.{member}"),)


@pytest.mark.parametrize(
    ("given", "read", "is_known"),
    [
        (0, Colour.RED, True),
        ("1", Colour.DARK_BLUE, True),
        (" dark-BLUE ", Colour.DARK_BLUE, True),
        ("dark blue", Colour.DARK_BLUE, True),
        ("001", Colour.DARK_BLUE, True),
        (2, "2", False),
        ("0001", "0001", False),
        ("green", "green", False),
    ],
)
def test_an_unknown_enumeration_value_is_reported(given: object, read: str, is_known: bool) -> None:
    noticed.unknown_value = False
    colour = thing(colour=given).colour
    assert colour is not None and (colour, colour.known) == (read, is_known)
    assert noticed.unknown_value is not is_known
    if not is_known:
        assert (colour.name, colour.value) == (f"unknown:{read}", read)


@pytest.mark.parametrize("member", ["colour", "count"])
def test_a_boolean_is_not_read_as_a_number(member: str) -> None:
    assert getattr(thing(**{member: True}), member) is None
    assert noticed.lost == (Lost(f"Thing.{member}", f"$.{member}"),)


def test_what_is_lost_of_each_record_of_a_list_is_noticed() -> None:
    body = b'{"totalCount":2,"items":[{"id":"1","count":true},{"id":"2","colour":true}]}'
    decode(body, PagedResult[Thing])
    assert [value.member for value in noticed.lost] == ["Thing.count", "Thing.colour"]


def test_what_could_be_read_says_so_no_more_in_the_next_answer() -> None:
    thing(count=True)
    thing()
    assert noticed.lost == ()


class Rigid(Record, frozen=True, kw_only=True):
    """A record that would say something else without its end, or without one of its rows."""

    vital = frozenset({"end"})

    id: str
    end: Day | None = None
    note: str = ""
    is_shared: bool = False
    rows: tuple[Inner, ...] = ()


class Loose(Record, frozen=True, kw_only=True):
    separable = frozenset({"rows"})

    id: str
    rows: tuple[Inner, ...] = ()
    whole: Rigid | None = None


@pytest.mark.parametrize("member", [{"end": "soon"}, {"isShared": "maybe"}, {"rows": [{"id": "1"}, {}]}])
def test_a_record_that_would_say_something_else_is_not_read(member: dict[str, object]) -> None:
    with pytest.raises(BadResponse):
        decode(json.dumps({"id": "1", **member}).encode(), Rigid)
    loose = decode(json.dumps({"id": "1", "whole": {"id": "2", **member}}).encode(), Loose)
    assert loose.whole is None
    assert [one.member for one in noticed.lost] == ["Loose.whole"]


def test_a_bad_value_costs_that_value_and_a_bad_row_that_row() -> None:
    assert decode(b'{"id":"1","note":{},"end":3}', Rigid).end == 3
    assert noticed.lost == (Lost("Rigid.note", "$.note"),)
    assert decode(b'{"id":"1","rows":[{"id":"2"},"?"]}', Loose).rows == (Inner(id="2"),)
    assert noticed.lost == (Lost("Loose.rows", "$.rows[1]"),)


@pytest.mark.parametrize(
    "given", ["0001-01-01", "1900-01-01", "1970-01-01", "9999-12-31", "1970-01-01T01:00:00+01:00"]
)
@pytest.mark.parametrize("member", ["at", "on"])
def test_a_date_in_which_nothing_can_have_been_is_none_and_said_to_be_so(member: str, given: str) -> None:
    if member == "at":
        given = given if "T" in given else f"{given}T00:00:00Z"
    assert getattr(thing(**{member: given}), member) is None
    assert noticed.lost == (Lost(f"Thing.{member}", f"$.{member}", is_none=True),)


def test_somebody_may_be_born_on_the_first_of_january_1970() -> None:
    born = decode(b'{"id":"1","dateOfBirth":"1970-01-01"}', Patient)
    assert born.date_of_birth == date(1970, 1, 1)
    assert decode(b'{"id":"1","dateOfBirth":"1900-01-01"}', Patient).date_of_birth is None


def test_an_overlong_number_in_an_unread_member_is_skipped() -> None:
    for digits in (100, 101, 5000):
        assert decode(b'{"id":"1","x":' + b"9" * digits + b"}", Thing).id == "1"
    held: Any = decode(b'{"count":1e400,"x":' + b"9" * 100 + b',"y":' + b"9" * 101 + b"}", object)
    assert (type(held["x"]), type(held["y"])) == (int, str)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_a_bad_response(word: str) -> None:
    with pytest.raises(BadResponse) as caught:
        decode(f'{{"id":"1","y":1e400,"x":{word}}}'.encode(), Thing)
    assert caught.value.field == "$"


def test_a_page_counts_unreadable_records_too() -> None:
    page = decode(b'{"items":[{"id":"1"},null,{"id":[2]},{"name":"?"}]}', PagedResult[Thing])
    assert [one.id for one in page.items] == ["1"]
    assert page.unreadable == ("$.items[2].id", "$.items[3].id")
    assert (page.received, page.total, page.unread, page.is_counted) == (3, 3, None, True)
    counted = decode(b'{"totalCount":0,"unreadCount":0,"items":[{"id":1}]}', PagedResult[Thing])
    assert (counted.received, counted.total, counted.unread) == (1, 0, 0)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"items":[{"day":1}]}', "$.items[0].id"),
        (b'{"items":7}', "$.items"),
        (b'{"total":7}', "$.items"),
        (b"{}", "$.items"),
        (b'{"totalCount":"7"}', "$.items"),
        (b"7", "$"),
    ],
)
def test_a_value_that_is_not_a_list_is_reported_with_its_path(body: bytes, field: str) -> None:
    with pytest.raises(BadResponse) as caught:
        decode(body, PagedResult[Thing])
    assert caught.value.field == field


@pytest.mark.parametrize("lines", [0, 1, 63, 64, 65, 5000])
def test_a_bare_list_is_found_after_any_white_space(lines: int) -> None:
    assert decode(b"\n" * lines + b'[{"id":"1"}]', PagedResult[Thing]).received == 1


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2026-05-03T10:00:00+02:00", datetime(2026, 5, 3, 8, tzinfo=UTC)),
        (" 2026-05-03T10:00:00 ", datetime(2026, 5, 3, 10, tzinfo=UTC)),
        ("2026-05-03", datetime(2026, 5, 3, tzinfo=UTC)),
        ("", None),
        (None, None),
    ],
)
def test_instants_are_read_within_their_limits(given: str | None, read: datetime | None) -> None:
    at = thing(at=given).at
    assert at == read
    assert at is None or at.tzinfo is UTC


@pytest.mark.parametrize("member", ["at", "on"])
@pytest.mark.parametrize(
    "given",
    ["soon", "2026-13-01", " ", True, 0, 1764000000, 1764000000.5, 1764000000000, "0", "2026", "1764000000"],
)
def test_an_invalid_time_is_reported_with_its_member(member: str, given: object) -> None:
    assert getattr(thing(**{member: given}), member) is None
    assert noticed.lost == (Lost(f"Thing.{member}", f"$.{member}"),)


def test_times_that_are_numbers_are_left_out_of_their_records() -> None:
    page = decode(
        b'{"items":[{"id":"1","at":1764000000},{"id":"2","at":"2025-11-24T16:00:00Z"}]}', PagedResult[Thing]
    )
    assert [one.at for one in page.items] == [None, datetime(2025, 11, 24, 16, tzinfo=UTC)]
    assert noticed.lost == (Lost("Thing.at", "$.items[0].at"),)


def test_a_date_may_be_sent_as_an_instant() -> None:
    assert thing(on="2026-05-03T23:30:00-05:00").on == date(2026, 5, 3)


def test_nested_lists_skip_null_and_must_be_lists() -> None:
    assert thing(names=["a", None, 7]).names == ("a", "7")
    assert thing(names=None).names == ()
    with pytest.raises(BadResponse) as caught:
        thing(names="a")
    assert caught.value.field == "$.names"


def test_a_constructed_instant_is_converted_to_utc() -> None:
    east = timezone(timedelta(hours=2))
    assert Thing(id="1", at=datetime(2026, 1, 1, 2, tzinfo=east)).at == datetime(2026, 1, 1, tzinfo=UTC)
    assert in_utc(datetime(2026, 1, 1)) == datetime(2026, 1, 1, tzinfo=UTC)


def test_sent_members_have_the_apis_names() -> None:
    plain = Plain(long_name="x")
    assert encode(plain) == b'{"longName":"x","other":1}'
    assert fields_of(plain, without=frozenset({"other"})) == {"longName": "x"}


def same(answer: object) -> object:
    return answer


def fails(_answer: object) -> object:
    raise ValueError


def test_an_answer_in_a_dialect_is_translated_first() -> None:
    assert decode(b'\xef\xbb\xbf{"id":"1"}', Thing, same).id == "1"
    assert decode(b'{"id":1,"count":2.0}', Thing, same) == Thing(id="1", count=2)
    assert decode(b'{"ID":1}', Thing, lambda _answer: {"id": 1}).id == "1"
    assert decode(b"[1]", object, same) == [1]
    page = decode(b'{"items":[{"id":"1"},{}]}', PagedResult[Thing], same)
    assert (page.received, page.unreadable) == (2, ("$.items[1].id",))


@pytest.mark.parametrize(("body", "translate"), [(b"{", same), (b"{}", fails)])
def test_an_untranslatable_answer_is_a_bad_response(
    body: bytes, translate: Callable[[object], object]
) -> None:
    with pytest.raises(BadResponse) as caught:
        decode(body, Thing, translate)
    assert caught.value.field == "$"


def test_records_are_immutable() -> None:
    with pytest.raises(AttributeError):
        thing().id = "2"  # pyright: ignore[reportAttributeAccessIssue]
