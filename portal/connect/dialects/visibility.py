"""Members that pages never or not always show to patients: a dialect must not expose them under another name.

Their fields are marked (portal.services.uses). tests/connect/dialects/test_visibility.py compares the marks with what the
pages may show.
"""

from __future__ import annotations

from collections.abc import Iterator

from portal.connect.dialects.named_records import all_marked, family, records
from portal.connect.dialects.naming import folded_name
from portal.connect.dialects.rules import Rules
from portal.services.members import members_of
from portal.services.uses import Mark, marked

Where = tuple[str, ...]
"""A path of keys in a dialect file."""


def name_clashes(rules: Rules) -> Iterator[tuple[Where, str]]:
    """Yield pairs of members of a record that have the same name in the API, with the file's key."""
    for record, shape in records().items():
        taken: dict[str, str] = {}
        single: dict[str, str] = {}
        for member in members_of(shape):
            name = rules.name_of(shape, member.name)
            if rules.people and member.name in ("firstName", "lastName"):
                continue
            if (other := taken.setdefault(name, member.name)) != member.name:
                where = next(_whence(rules, shape, (member.name, other)), ("names", "members"))
                yield where, f"{record}.{member.name} and {record}.{other} are both called {name!r}"
            if not member.nested:
                single[name] = member.name
        for name, ours in taken.items():
            outer = (name[:place] for place, letter in enumerate(name) if letter == ".")
            if other := next((single[name] for name in outer if name in single), None):
                where = next(_whence(rules, shape, (ours, other)), ("names", "members"))
                yield where, f"{record}.{ours} is {name!r}, within {record}.{other}, which isn't a record"


def disclosures(rules: Rules) -> Iterator[tuple[Where, str]]:
    """Yield members visible to patients that would be read from one that isn't, with the file's key."""
    for record, shape in records().items():
        for member in members_of(shape):
            where = next(_whence(rules, shape, (member.name,)), None)
            if where is None or any(member.name in _closed(relative) for relative in family(shape)):
                continue
            path = rules.name_of(shape, member.name).split(".")
            if closed := _closed_at(rules, shape, path):
                staffs = closed in all_marked(Mark.STAFF)
                why = "only for staff" if staffs else "withheld while the sex isn't disclosed"
                yield where, f"{record}.{member.name} would show {closed}, which is {why}"


def _whence(rules: Rules, shape: type, names: tuple[str, ...]) -> Iterator[Where]:
    """The keys in the file that give a member its name."""
    for name in names:
        for record in family(shape):
            if name in rules.members.get(record, {}):
                yield ("members", record, name)
        if name in rules.everywhere:
            yield ("members", name)


def _closed(record: str) -> frozenset[str]:
    return marked(records()[record], Mark.STAFF) | marked(records()[record], Mark.WITHHELD)


def _closed_at(rules: Rules, shape: type, path: list[str]) -> str | None:
    """The restricted member that a path leads to or through, by the API's or the portal's name."""
    for record in family(shape):
        for member in members_of(records()[record]):
            theirs = rules.name_of(shape, member.name).split(".")
            is_theirs = [*map(folded_name, path[: len(theirs)])] == [*map(folded_name, theirs)]
            if member.name in _closed(record) and (
                is_theirs or folded_name(path[0]) == folded_name(member.name)
            ):
                return f"{record}.{member.name}"
            if member.nested and is_theirs and len(path) > len(theirs):
                found = _closed_at(rules, member.nested, path[len(theirs) :])
                if found:
                    return found
    return None
