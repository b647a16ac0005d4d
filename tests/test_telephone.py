"""Telephone numbers: storage format and national format."""

from __future__ import annotations

import pytest

from portal.telephone import as_written, e164


@pytest.mark.parametrize(
    ("number", "country", "kept", "written"),
    [
        ("07700 900182", "GB", "+447700900182", "07700 900182"),
        ("+447700900182", "GB", "+447700900182", "07700 900182"),
        ("+447700900182", "ES", "+447700900182", "+44 7700 900182"),
        ("+447700900182", None, "+447700900182", "+44 7700 900182"),
        ("07700 900182", None, None, "07700 900182"),
        ("+44 20 7946 0000 ext. 5", "GB", None, "+44 20 7946 0000 ext. 5"),
        ("12", "GB", None, "12"),
        ("call me", "GB", None, "call me"),
        ("", "GB", None, ""),
    ],
)
def test_a_number_is_stored_in_international_and_shown_in_national_format(
    number: str, country: str | None, kept: str | None, written: str
) -> None:
    assert e164(number, country) == kept
    assert as_written(number, country) == written
