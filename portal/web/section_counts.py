"""What waits for a person in the sections of staff's frame, as last read, shown beside the section for some minutes.

Pages learn a count when they read its list anyway; nothing is called for it. An act on one of the records forgets the count,
which is then shown again once its list is read. Only numbers are kept.
"""

from __future__ import annotations

import msgspec
from flask import g, has_request_context
from msgspec import structs

from portal.clock import age
from portal.context import context
from portal.services.listed import Count
from portal.state.session_records import Person
from portal.web.last_known import LastKnown

_SECONDS = 300
_SECTIONS = {
    "consent": "/consents",
    "conversation": "/conversations",
    "message": "/conversations",
    "notification": "/prospects",
    "prospect": "/prospects",
}
"""Where records of a kind, as the audit record names it, are counted."""


class SectionCount(msgspec.Struct, frozen=True):
    """A count, and when it was read (seconds since 1970)."""

    number: int
    is_whole: bool
    at: float


class SectionCounts(msgspec.Struct, frozen=True):
    read: dict[str, SectionCount] = {}


KNOWN = LastKnown("section-counts", SectionCounts(), seconds=_SECONDS)


def counts(person: Person) -> dict[str, Count]:
    """Return the counts of the last minutes by section."""
    now = context().clock()
    return {
        section: Count(count.number, count.is_whole)
        for section, count in KNOWN.get(person).read.items()
        if age(count.at, now) < _SECONDS
    }


def learn(person: Person, section: str, count: Count) -> None:
    """Keep what was just read, unless the same was kept a short while ago."""
    read = SectionCount(count.number, count.is_whole, context().clock())

    def with_this(known: SectionCounts) -> SectionCounts | None:
        before = known.read.get(section)
        if before and age(before.at, read.at) < _SECONDS / 2 and structs.replace(before, at=read.at) == read:
            return None
        return SectionCounts({**known.read, section: read})

    KNOWN.update(person, with_this)


def forget(kind: str) -> None:
    """Drop this person's count of a section, because they acted upon a record of this kind."""
    section = _SECTIONS.get(kind)
    person = g.get("person") if has_request_context() else None
    if section is None or person is None or not person.is_staff:
        return

    def without(known: SectionCounts) -> SectionCounts | None:
        left = {href: count for href, count in known.read.items() if href != section}
        return SectionCounts(left) if len(left) < len(known.read) else None

    KNOWN.update(person, without)
