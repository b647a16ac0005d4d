"""Telephone numbers: kept in E.164, written as people of the clinic's country write them.

The library is imported with the first number: it takes 3 MB, and few workers ever meet one. It takes a third of a
millisecond for a number, so those met last are kept: a clinic's own are on nearly every page.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber


@lru_cache(maxsize=512)
def e164(number: str, country: str | None) -> str | None:
    """A number in E.164 (`+447700900182`), as somebody in `country` (ISO 3166-1 alpha-2) dials it; None for none."""
    import phonenumbers

    parsed = _parsed(number, country)
    return phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.E164) if parsed else None


@lru_cache(maxsize=512)
def as_written(number: str, country: str | None) -> str:
    """A number as people write it: `07700 900182` in its own country, `+44 7700 900182` elsewhere; else as it came."""
    import phonenumbers

    parsed = _parsed(number, country)
    if parsed is None:
        return number
    is_domestic = country is not None and parsed.country_code == phonenumbers.country_code_for_region(country)
    styles = phonenumbers.PhoneNumberFormat
    style = styles.NATIONAL if is_domestic else styles.INTERNATIONAL
    return phonenumbers.format_number(parsed, style)


def _parsed(number: str, country: str | None) -> PhoneNumber | None:
    import phonenumbers

    try:
        parsed = phonenumbers.parse(number, country)
    except phonenumbers.NumberParseException:
        return None
    return parsed if phonenumbers.is_possible_number(parsed) and not parsed.extension else None
