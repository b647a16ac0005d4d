"""Fields of an edit form: a record as text, and back with only what was changed."""

from __future__ import annotations

from datetime import date

import msgspec

from portal.web.edit_form import EditForm, changed, is_shown, values_of
from portal.web.fields import Rows, member, part
from portal.web.forms import text


class Place(msgspec.Struct, frozen=True):
    street: str = ""
    region: str | None = None


class Guest(msgspec.Struct, frozen=True):
    name: str = ""
    born: date | None = None
    place: Place | None = None
    note: str | None = None


FIELDS = [
    member("name", text("Name"), value=str, text=str.title, tidy=str.title),
    member("born", text("Born"), value=date.fromisoformat),
    part("place", Place(), "street", text("Street")),
    part("place", Place(), "region", text("Region"), value=lambda typed: typed or None),
    member("note", text("Note")),
]


def edited(guest: Guest, **typed: str) -> Guest:
    return changed(FIELDS, guest, {**values_of(FIELDS, guest), **typed})


def test_a_record_is_shown_as_text_and_what_is_missing_as_empty() -> None:
    guest = Guest("ann", date(1990, 2, 3), Place("Elm 1"))
    assert values_of(FIELDS, guest) == {
        "name": "Ann",
        "born": "1990-02-03",
        "place_street": "Elm 1",
        "place_region": "",
        "note": "",
    }
    assert values_of(FIELDS, Guest())["place_street"] == ""


def test_what_nobody_touched_goes_back_as_it_came() -> None:
    odd = Guest("ann", None, Place("", ""), "")
    assert edited(odd) is odd
    assert edited(odd, born="1990-02-03") == Guest("ann", date(1990, 2, 3), Place("", ""), "")


def test_a_part_is_made_when_something_is_typed_and_gone_when_nothing_is_left() -> None:
    assert edited(Guest(), place_region="North").place == Place("", "North")
    assert edited(Guest(place=Place("Elm 1", "North")), place_street="").place == Place("", "North")
    assert edited(Guest(place=Place("Elm 1", "North")), place_street="", place_region="").place is None
    assert edited(Guest(place=Place("Elm 1", "")), place_street="").place is None


def test_an_emptied_member_is_none() -> None:
    assert edited(Guest(note="Late"), note="").note is None


class Tour(msgspec.Struct, frozen=True):
    stops: tuple[str, ...] = ()


def numbered(tour: Tour) -> dict[str, str]:
    return {f"s-{stop[:1]}": stop for stop in tour.stops}


ROWS = [
    Rows(
        "s-",
        numbered,
        lambda tour, rows: msgspec.structs.replace(tour, stops=tuple(rows.values())),
        label=lambda text: f"Stop {text[:1]}",
        words=str.upper,
        content=str.casefold,
    )
]


def test_rows_are_put_in_the_order_in_which_they_were_sent_and_removed_ones_left_out() -> None:
    tour = Tour(("Ada", "Bath"))
    assert changed(ROWS, tour, {"s-A": "Ada", "s-B": "Bath"}) is tour
    assert changed(ROWS, tour, {"s-B": "Bath", "s-A": "Ada"}).stops == ("Bath", "Ada")
    assert changed(ROWS, tour, {"s-A": "", "s-B": "Bath", "s-new": "Cork"}).stops == ("Bath", "Cork")


def test_rows_are_found_in_a_record_whatever_the_api_adds_to_them() -> None:
    assert is_shown(ROWS, Tour(("ADA",)), {"s-new": "Ada", "s-B": ""})
    assert not is_shown(ROWS, Tour(("ADA", "Bath")), {"s-new": "Ada"})


def test_a_row_has_a_label_and_words_and_can_have_a_fault() -> None:
    form = EditForm(ROWS, {"s-B": "Bath"})
    assert (form.label("s-B"), form.words("s-B", "Bath")) == ("Stop B", "BATH")
    form.faults["s-B-day"] = "Enter a day."
    assert form.errors == ["Enter a day."]
