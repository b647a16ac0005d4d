"""A clinic's contacts: settings in the tenants file, and which number is answered when."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from portal.config.contact import Contact
from portal.config.table import NOWHERE, read_table

WHOLE = """
telephone = "020 7946 0120"
out_of_hours = "+44 20 7946 0199"
hours = { "Mon-Fri" = "08:00-18:00", Sat = "09:00-12:00" }
email = "care@riverside.example"
address = "Riverside House\\n1 Quayside"
map = "https://maps.example/riverside"
"""


def read(toml: str, country: str | None = "GB") -> tuple[Contact | None, list[str]]:
    source = replace(NOWHERE, clinic={"country": country} if country else {})
    try:
        return read_table(Contact, tomllib.loads(toml), source, "a contact"), []
    except ValueError as error:
        return None, [f"tenants.riverside.contact{fault}" for fault in error.args]


def the_contact(toml: str = WHOLE) -> Contact:
    contact, faults = read(toml)
    assert contact is not None, faults
    return contact


def test_every_contact_setting_is_read() -> None:
    contact = the_contact()
    assert (contact.telephone, contact.out_of_hours) == ("+442079460120", "+442079460199")
    assert contact.address == ("Riverside House", "1 Quayside")
    assert (contact.email, contact.map) == ("care@riverside.example", "https://maps.example/riverside")
    assert [(line.first, line.last) for line in contact.hours] == [(0, 4), (5, 5)]


def test_a_contact_needs_only_a_telephone_number() -> None:
    contact = the_contact('telephone = "020 7946 0120"')
    assert (contact.out_of_hours, contact.hours, contact.address) == (None, (), ())


@pytest.mark.parametrize(
    ("toml", "country", "said"),
    [
        ('email = "care@riverside.example"', "GB", "telephone: is missing"),
        ('telephone = "call us"', "GB", "telephone: must be a telephone number (found 'call us')"),
        ('telephone = "020 7946 0120"', None, "telephone: must be a telephone number, with its country code"),
        (WHOLE.replace("telephone", "phone"), "GB", "phone: isn't a setting of a contact"),
        (WHOLE.replace("care@", "care at "), "GB", "email: must be an e-mail address"),
        (WHOLE.replace("https://", "javascript:"), "GB", "map: must be an https address"),
        (WHOLE.replace("Mon-Fri", "Fri-Mon"), "GB", "hours: must map weekdays to times"),
        (WHOLE.replace("18:00", "24:30"), "GB", "hours: must map weekdays to times"),
        ('telephone = "020 7946 0120"\nhours = "always"', "GB", "hours: must be a table like"),
        (WHOLE + 'closed = ["2026-12-25", "26 December"]', "GB", "closed: must be a list of days"),
        (WHOLE + "reply_hours = 0", "GB", "reply_hours: must be a whole number of hours"),
        (WHOLE + "reply_hours = 241", "GB", "reply_hours: must be a whole number of hours"),
        (WHOLE + 'emergency = "call 999"', "GB", "emergency: must be a number of 3 to 6 digits"),
        (WHOLE + 'call_now = ["Bleeding"]', "GB", "call_now: must give each language its list of signs"),
        (WHOLE + "call_now = { en = [] }", "GB", "call_now: must give each language its list of signs"),
        ('telephone = "020 7946 0120"\naddress = " "', "GB", "address: must be a non-empty string"),
    ],
)
def test_each_contact_fault_is_reported_with_its_key(toml: str, country: str | None, said: str) -> None:
    contact, faults = read(toml, country)
    assert contact is None
    assert any(f"tenants.riverside.contact.{said}" in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("day", "hour", "until", "opens"),
    [
        (23, 7, None, (23, 8)),  # a Monday
        (23, 8, time(18), (24, 8)),
        (27, 18, None, (28, 9)),
        (28, 11, time(12), (30, 8)),
        (29, 3, None, (30, 8)),
    ],
)
def test_opening_hours_are_in_the_clinics_time_zone(
    day: int, hour: int, until: time | None, opens: tuple[int, int]
) -> None:
    at = datetime(2026, 11, day, hour, tzinfo=ZoneInfo("Europe/London"))
    assert the_contact().closes(at) == until
    assert the_contact().next_opening(at) == at.replace(day=opens[0], hour=opens[1])


@pytest.mark.parametrize(
    ("at", "until", "opens", "is_sure"),
    [
        ((2026, 12, 24, 12), time(18), (2026, 12, 24), True),
        ((2026, 12, 25, 12), None, (2026, 12, 28), True),  # a Friday, and the Saturday is closed, too
        ((2026, 12, 26, 12), None, (2026, 12, 28), True),
        ((2026, 12, 28, 12), time(18), (2026, 12, 28), False),  # no holiday after it is known
    ],
)
def test_nobody_answers_on_a_holiday(
    at: tuple[int, int, int, int], until: time | None, opens: tuple[int, int, int], is_sure: bool
) -> None:
    contact = the_contact(WHOLE + 'closed = ["2026-12-25", 2026-12-26]')
    moment = datetime(*at, tzinfo=ZoneInfo("Europe/London"))
    assert contact.closes(moment) == until
    if until is None:
        assert contact.next_opening(moment) == datetime(*opens, 8, tzinfo=ZoneInfo("Europe/London"))
    assert contact.is_sure(moment.date()) is is_sure


def test_without_holidays_it_isnt_sure_who_answers() -> None:
    assert not the_contact().is_sure(date(2026, 11, 23))


def test_the_longest_of_a_days_hours_counts() -> None:
    contact = the_contact(WHOLE.replace("Sat =", '"Mon-Tue" = "07:00-20:00", Sat ='))
    monday = datetime(2026, 11, 23, 12, tzinfo=ZoneInfo("Europe/London"))
    assert (contact.closes(monday), [line.opens.hour for line in contact.hours]) == (time(20), [7, 8, 9])


def test_signs_to_call_on_are_given_by_language() -> None:
    contact = the_contact(WHOLE + 'call_now = { en = ["Heavy bleeding"], es = ["Sangrado"] }')
    assert contact.call_now == {"en": ("Heavy bleeding",), "es": ("Sangrado",)}


def test_without_opening_hours_the_clinic_is_neither_open_nor_closed() -> None:
    contact = the_contact('telephone = "020 7946 0120"')
    at = datetime(2026, 11, 23, 12, tzinfo=ZoneInfo("Europe/London"))
    assert (contact.closes(at), contact.next_opening(at)) == (None, None)
