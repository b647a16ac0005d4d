"""The validated content of a dialect file: how an API differs from what the portal expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from portal.connect.dialects.naming import STYLES
from portal.connect.dialects.shapes import family

Code = str | int
"""The API's code for an enumeration value."""


@dataclass(frozen=True, slots=True)
class ErrorRules:
    """The form of error responses: paths to code and fields, and the meaning of codes and statuses."""

    code: str | None = None
    fields: str | None = None
    name: str | None = None
    codes: Mapping[str, str] = field(default_factory=dict[str, str])
    success: str | None = None
    success_values: frozenset[Code] = frozenset({True})
    code_statuses: Mapping[str, int] = field(default_factory=dict[str, int])
    statuses: Mapping[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class Rules:
    """A dialect's rules. The defaults change nothing."""

    base_path: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    member_style: str = "camelCase"
    query_style: str = "PascalCase"
    enumeration_style: str = "PascalCase"
    first_integer: int = 0
    everywhere: Mapping[str, str] = field(default_factory=dict[str, str])
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    envelopes: tuple[str, ...] = ()
    sent_envelope: str | None = None
    items: str | None = None
    total: str | None = None
    unread: str | None = None
    paging: str = "offset"
    first_page: int = 1
    largest_page: int | None = None
    sorting: str = "field desc"
    enumerations: Mapping[str, Mapping[str, tuple[Code, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Code, ...]]]
    )
    instants: str = "iso"
    days: str = "iso"
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    no_time: frozenset[Code] = frozenset()
    no_text: frozenset[Code] = frozenset()
    numbers_as_text: bool = False
    truth: tuple[Code, Code] | None = None
    bom: bool = False
    concurrency: str = "member"
    errors: ErrorRules = field(default_factory=ErrorRules)
    absent_means_none: frozenset[str] = frozenset()

    def table_of(self, *names: str) -> Mapping[str, tuple[Code, ...]]:
        """The codes of the first of these enumerations or members that has any."""
        for name in names:
            if name in self.enumerations:
                return self.enumerations[name]
        return {}

    def name_of(self, shape: type, member: str) -> str:
        """The API's name of a record's member; a dotted path if it is nested."""
        for record in family(shape):
            if member in self.members.get(record, {}):
                return self.members[record][member]
        if member in self.everywhere:
            return self.everywhere[member]
        return member if self.member_style == "camelCase" else STYLES[self.member_style](member)

    def parameter(self, name: str) -> str:
        """The API's name of a query parameter."""
        if name in self.query or self.query_style == "PascalCase":
            return self.query.get(name, name)
        return STYLES[self.query_style](name)
