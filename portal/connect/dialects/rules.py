"""The validated content of a dialect file: how an API differs from what the portal expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from portal.connect.dialects.conversions import Conversion
from portal.connect.dialects.named_records import family
from portal.connect.dialects.naming import STYLES

Code = str | int
"""The API's code for an enumeration value."""


@dataclass(frozen=True, slots=True)
class Marker:
    """A member, by its path, that marks a record or an answer by one of these values (folded codes), or by any but these."""

    path: tuple[str, ...]
    values: frozenset[Code]
    is_unless: bool = False


@dataclass(frozen=True, slots=True)
class Coded:
    """The members of an object that stands for a value of an enumeration: its code, and its label for people."""

    code: str
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ErrorRules:
    """The form of error responses: paths to code and fields, and the meaning of codes and statuses."""

    code: str | None = None
    fields: str | None = None
    name: str | None = None
    codes: Mapping[str, str] = field(default_factory=dict[str, str])
    success: Marker | None = None
    code_statuses: Mapping[str, int] = field(default_factory=dict[str, int])
    statuses: Mapping[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class FileRules:
    """How files come: paths of content and name in a JSON answer, and where the API may redirect to."""

    content: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    redirects: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rules:
    """A dialect's rules. The defaults change nothing."""

    base_path: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])
    methods: Mapping[str, str] = field(default_factory=dict[str, str])
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    fixed_query: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    member_style: str = "camelCase"
    query_style: str = "PascalCase"
    enumeration_style: str = "PascalCase"
    first_integer: int = 0
    people: str | None = None
    everywhere: Mapping[str, str] = field(default_factory=dict[str, str])
    members: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    inverted: frozenset[str] = frozenset()
    conversions: Mapping[str, Conversion] = field(default_factory=dict[str, Conversion])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    envelopes: tuple[str, ...] = ()
    sent_envelopes: tuple[str, ...] = ()
    items: str | None = None
    items_of: Mapping[str, str] = field(default_factory=dict[str, str])
    record: str | None = None
    total: str | None = None
    unread: str | None = None
    paging: str = "offset"
    first_page: int = 1
    first_record: int = 0
    next: str | None = None
    largest_page: int | None = None
    sorting: str = "field desc"
    sort_names: Mapping[str, str] = field(default_factory=dict[str, str])
    deleted: Marker | None = None
    empty_lists: frozenset[Code] = frozenset()
    enumerations: Mapping[str, Mapping[str, tuple[Code, ...]]] = field(
        default_factory=dict[str, Mapping[str, tuple[Code, ...]]]
    )
    instants: tuple[str, ...] = ("iso",)
    days: tuple[str, ...] = ("iso",)
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    no_time: frozenset[Code] = frozenset()
    no_text: frozenset[Code] = frozenset()
    no_number: frozenset[Code] = frozenset()
    numbers: str = "number"
    ids_as_numbers: bool = False
    windows_zones: bool = False
    signers_by: str | None = None
    by_language: Mapping[str, str] = field(default_factory=dict[str, str])
    coded: Coded | None = None
    truth: tuple[Code, Code] | None = None
    files: FileRules = field(default_factory=FileRules)
    bom: bool = False
    concurrency: str = "member"
    errors: ErrorRules = field(default_factory=ErrorRules)
    absent_means_none: frozenset[str] = frozenset()
    accepted: frozenset[str] = frozenset()

    @property
    def numbers_as_text(self) -> bool:
        return self.numbers != "number"

    def of_member(self, shape: type, member: str) -> tuple[Conversion | None, bool]:
        """How a member's value differs, and whether it says the opposite."""
        names = [*(f"{record}.{member}" for record in family(shape)), member]
        conversion = next((self.conversions[name] for name in names if name in self.conversions), None)
        return conversion, any(name in self.inverted for name in names)

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
