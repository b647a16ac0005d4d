"""Matches the members of an API's records with the portal's: by naming style, similar names, and shape of the values.

Ambiguous matches are never chosen: they are left to a person.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from typing import cast

from msgspec import inspect

from portal.connect.answers.comparison import UNREAD
from portal.connect.conform.formats import TOLD_BY_FORMAT, date_format, format_of, is_made_by_machine
from portal.connect.conform.opposites import is_opposite
from portal.connect.conform.walk import STAMP
from portal.connect.dialects.naming import folded_name, words
from portal.services.members import Member, members_of
from portal.services.uses import use_of

_ALIKE = 0.75
"""The similarity from which two names count as the same, unless another is nearly as similar."""
_MARGIN = 0.12
_PERHAPS = 0.5
_MOST_CANDIDATES = 4
_WORDS_OF_DATES = {"at", "date", "day", "on", "time", "until"}
_SMALL_WORDS = {"for", "of", "the"}
_MACHINE_MADE = {"hash", "ids", "seal", "stamp"}
"""Last words of members that may hold what a machine made, besides ids."""
NUMBER = re.compile(r"-?\d+(\.\d+)?")
_ALSO_CALLED: Mapping[str, frozenset[str]] = {
    ours: frozenset(theirs.split())
    for ours, theirs in {
        "creationTime": "created createdat createdon createddate createdtime datecreated creationdate",
        "creatorId": "createdby createdbyid",
        "lastModificationTime": "updated updatedat updatedon modified modifiedat modifiedon changedat changedon "
        "lastmodified lastmodifiedat lastmodifiedon lastupdated lastupdatedat lastchanged",
        "lastModifierId": "updatedby modifiedby changedby lastmodifiedby lastupdatedby",
        "firstName": "givenname forename given",
        "lastName": "familyname surname family",
        "dateOfBirth": "birthdate birthday dob born",
        "mediaType": "contenttype mimetype",
        "postalCode": "postcode zip zipcode",
    }.items()
}
"""What others often call members of ours, folded."""
_IDS = {
    word + end: f"id{end}"
    for word in ("guid", "identifier", "key", "ref", "reference", "uid", "uuid")
    for end in ("", "s")
}
"""Last words of names that say of what record an id is: `case_ref` is `caseId`."""


@dataclass(slots=True)
class Matches:
    """The matches for one kind of record: the API's name of each member and why, ambiguous ones, and missing ones.

    `unread` has, for each that isn't found, what else nobody reads and is of a fitting type; `left_unread` what the clinic's
    dialect doesn't read.
    """

    names: dict[str, str] = field(default_factory=dict[str, str])
    why: dict[str, str] = field(default_factory=dict[str, str])
    undecided: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unread: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    absent: list[str] = field(default_factory=list[str])
    left_unread: set[str] = field(default_factory=set[str])


def match(record: type[object], given: Iterable[Mapping[str, object]]) -> Matches:
    """Match the members of a kind of record with those that came in some records of it."""
    given = list(given)
    values = _values_of(given)
    found = Matches()
    found.left_unread = {
        name.removeprefix(UNREAD) for came in given for name in came if name.startswith(UNREAD)
    }
    open_, left = _same_names(members_of(record), values, found)
    barred = _barred(open_, {name: values[name] for name in left})

    def fit(member: Member, theirs: str) -> bool | None:
        return False if (member.name, theirs) in barred else fits(member, values[theirs])

    _alike_names(open_, left, fit, found)
    open_, left = _still(open_, left, found)
    while _same_shape(open_, left, values, fit, found):
        open_, left = _still(open_, left, found)
    for member in open_:
        candidates = _candidates(member, left, values, fit) if _is_used(record, member) else []
        if candidates:
            found.undecided[member.name] = candidates
        else:
            found.absent.append(member.name)
        unread = [_as_meant(member, u) for u in left if _may_be(member, u, values[u])]
        found.unread[member.name] = [u for u in unread if u not in candidates]
    return found


def _still(open_: list[Member], left: list[str], found: Matches) -> tuple[list[Member], list[str]]:
    """Members that are still looked for, and names that are still free: not those within an object that is taken."""
    return (
        [member for member in open_ if member.name not in found.names],
        [name for name in left if _is_free(name, found)],
    )


def _is_free(name: str, found: Matches) -> bool:
    taken = found.names.values()
    return not any(
        other == name or other.startswith(f"{name}.") or name.startswith(f"{other}.") for other in taken
    )


def _is_used(record: type[object], member: Member) -> bool:
    return member.is_required or use_of(record, member.name) is not None


def _values_of(given: Iterable[Mapping[str, object]]) -> dict[str, list[object]]:
    """What came under each name; under a path ("name.given") what lies in an object of single values."""
    values: dict[str, list[object]] = {}
    for record in given:
        for given_name, value in record.items():
            name = given_name.removeprefix(UNREAD)
            if not name or "." in name or name.startswith("!"):
                continue  # no dialect file can name it
            values.setdefault(name, [])
            if value is not None:
                values[name].append(value)
            if isinstance(value, dict):
                _add_paths(name, cast("dict[str, object]", value), values)
    return values


def _add_paths(name: str, within: Mapping[str, object], values: dict[str, list[object]]) -> None:
    if any(isinstance(inner, dict | list) for inner in within.values()):
        return
    for inner, value in within.items():
        if not inner.removeprefix(UNREAD) or "." in inner:
            continue
        kept = values.setdefault(f"{name}.{inner.removeprefix(UNREAD)}", [])
        if value is not None:
            kept.append(value)


def _same_names(
    members: Iterable[Member], values: Mapping[str, list[object]], found: Matches
) -> tuple[list[Member], list[str]]:
    by_folded: dict[str, list[str]] = {}
    by_bare: dict[str, list[str]] = {}
    for name in values:
        by_folded.setdefault(folded_name(name), []).append(name)
        if "." not in name:
            by_bare.setdefault(folded_name("-".join(bare_words(name))), []).append(name)
    open_: list[Member] = []
    for member in members:
        same = by_folded.get(folded_name(member.name), [])
        theirs = member.name if member.name in same else same[0] if len(same) == 1 else None
        bare = by_bare.get(folded_name(member.name), [])
        if theirs is not None:
            found.names[member.name] = theirs
        elif len(bare) == 1 and not same:
            found.names[member.name], found.why[member.name] = bare[0], "by its name"
        else:
            open_.append(member)
    return _still(open_, list(values), found)


def _alike_names(
    open_: list[Member], left: list[str], fit: Callable[[Member, str], bool | None], found: Matches
) -> None:
    """Match names that are similar to each other and to nothing else, and whose values fit."""
    like = {(m.name, u): likeness(m.name, u) for m in open_ for u in left if fit(m, u) is not False}
    for (ours, theirs), score in sorted(like.items(), key=lambda item: -item[1]):
        rivals = [
            other
            for (m, u), other in like.items()
            if (m == ours) is not (u == theirs) and m not in found.names and u not in found.names.values()
        ]
        is_free = ours not in found.names and _is_free(theirs, found)
        if is_free and score >= _ALIKE and score - max(rivals, default=0.0) >= _MARGIN:
            found.names[ours], found.why[ours] = theirs, "by its name"


def _same_shape(
    open_: list[Member],
    left: list[str],
    values: Mapping[str, list[object]],
    fit: Callable[[Member, str], bool | None],
    found: Matches,
) -> bool:
    """Match records, lists of records, enumerations and texts of a form, whose values tell what they are, where one
    alone fits; say whether any was."""
    telling = [member for member in open_ if _is_telling(member)]
    fitting = {m.name: [u for u in left if fit(m, u) and not any(map(_is_whole, values[u]))] for m in telling}
    for ours, there in fitting.items():
        is_alone = len(there) == 1 and sum(there[0] in others for others in fitting.values()) == 1
        if is_alone:
            found.names[ours], found.why[ours] = there[0], "by what it holds"
    return any(ours in found.names for ours in fitting)


def _candidates(
    member: Member,
    left: list[str],
    values: Mapping[str, list[object]],
    fit: Callable[[Member, str], bool | None],
) -> list[str]:
    """Possible matches: of a fitting type, and with a similar name or a rare type."""
    fitting = [u for u in left if fit(member, u)]
    is_rare = is_date(member) or 1 <= len(fitting) <= 2
    known = [u for u in fitting if is_rare or likeness(member.name, u) >= _PERHAPS]
    empty = [u for u in left if not values[u] and likeness(member.name, u) >= _PERHAPS]
    empty = [u for u in empty if is_date(member) or words(u)[-1] not in _WORDS_OF_DATES]
    if is_date(member):
        empty += [u for u in left if not values[u] and words(u)[-1:] and words(u)[-1] in _WORDS_OF_DATES]
    by_name = sorted({*known, *empty}, key=lambda u: (-likeness(member.name, u), left.index(u)))
    if not by_name and member.is_required:
        return fitting
    by_name = [_as_meant(member, u) for u in by_name]
    if not by_name and member.nested:
        is_list = member.is_list
        by_name = [u for u in left if any(_is_record(value, is_list=is_list) for value in values[u])]
    if is_weak(member.name, by_name) and member.name != STAMP:  # one alone would be believed
        by_name = sorted(fitting, key=lambda u: -likeness(member.name, u)) if member.is_required else []
    return by_name[:_MOST_CANDIDATES]


def _as_meant(member: Member, theirs: str) -> str:
    """A name as a dialect file would have it: with "!" if it says the opposite."""
    return f"!{theirs}" if member.is_truth and is_opposite(member.name, theirs) else theirs


def _may_be(member: Member, theirs: str, values: list[object]) -> bool:
    is_like_a_date = (words(theirs) or [""])[-1] in _WORDS_OF_DATES
    is_text = _holds(member.type, inspect.StrType) and not is_like_a_date
    return bool(fits(member, values)) or (is_text and not values)


def _is_record(value: object, *, is_list: bool) -> bool:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    is_alike = isinstance(value, list) is is_list
    return is_alike and bool(items) and all(isinstance(item, dict) for item in items)


def is_weak(ours: str, theirs: Sequence[str]) -> bool:
    """Whether a single candidate is one by its type alone: its name isn't like the member's."""
    return len(theirs) == 1 and likeness(ours, theirs[0].removeprefix("!")) < _ALIKE


@cache
def likeness(ours: str, theirs: str) -> float:
    """How like two names are, from 0 to 1: by letters, by the words that they share, or because many say one for the
    other. Of a path its last name counts."""
    theirs = theirs.rpartition(".")[2]
    if folded_name(theirs) in _ALSO_CALLED.get(ours, ()):
        return 1.0
    letters = SequenceMatcher(None, folded_name(ours), folded_name("-".join(bare_words(theirs)))).ratio()
    mine, other = _plain_words(ours), _plain_words(theirs)
    return max(letters, len(mine & other) / max(1, len(mine | other)))


def bare_words(name: str) -> list[str]:
    """The words of a name without one before them that tells a type: `strTitle` is a title, `fkPatient` a patient's id."""
    first, *rest = words(name) or [name]
    if first == "pk":
        return ["id"]
    if not rest or first not in _TYPES:
        return [first, *rest]
    return [*rest, "id"] if first == "fk" else rest


_TYPES = frozenset(
    {
        *("arr", "bln", "bol", "bool", "cod", "col", "dat", "date", "dbl"),
        *("dt", "dtm", "enm", "fk", "int", "lst", "num", "obj", "str", "txt"),
    }
)


def _plain_words(name: str) -> set[str]:
    """The words of a name that say something; `ref` and the like at the end of several are `id`."""
    found = bare_words(name)
    if len(found) > 1:
        found[-1] = _IDS.get(found[-1], found[-1])
    return set(found) - _SMALL_WORDS


def is_date(member: Member) -> bool:
    """Whether it holds a date or an instant."""
    return member.is_time


def fits(member: Member, values: list[object]) -> bool | None:
    """Whether all values are valid for this member; None if there are none."""
    told = [value for value in values if value not in ("", [], {})]
    if told and _is_text(member) and not _is_of_form(member, told):
        return False
    if not told:
        wants_list = member.is_list
        if any(isinstance(value, list) is not wants_list for value in values):
            return False
        return None
    return all(_fits(member, value) for value in told)


def _barred(open_: Sequence[Member], values: Mapping[str, list[object]]) -> set[tuple[str, str]]:
    """The members that hold records, each with a name under which records came that are more like another's."""
    barred: set[tuple[str, str]] = set()
    holders = [member for member in open_ if member.nested]
    for theirs, given in values.items():
        rows = [
            item
            for value in given
            for item in (cast("list[object]", value) if isinstance(value, list) else [value])
        ]
        alike = (
            {m.name: _share(rows, m.nested) for m in holders if m.nested and fits(m, given)} if rows else {}
        )
        barred |= {(ours, theirs) for ours, share in alike.items() if share < max(alike.values())}
    return barred


def _share(rows: Sequence[object], record: type[object]) -> float:
    """How many of the members that came in rows are like those of a record."""
    ours = [member.name for member in members_of(record)]
    there = {
        name.removeprefix(UNREAD)
        for row in rows
        if isinstance(row, dict)
        for name in cast("dict[str, object]", row)
    }
    return sum(any(likeness(our, name) >= _ALIKE for our in ours) for name in there) / max(1, len(there))


def _fits(member: Member, value: object) -> bool:
    record = member.nested
    if record is not None:
        is_list = member.is_list
        if is_list is not isinstance(value, list):
            return False
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        return all(_is_like(item, record) for item in items)
    choice = member.choice
    if choice is not None:
        return _is_whole(value) or (isinstance(value, str) and choice(value).known)
    if is_date(member):
        return date_format(value) is not None
    if member.is_truth:
        return isinstance(value, bool) or str(value).casefold() in ("true", "false", "y", "n")
    if _holds(member.type, inspect.IntType, inspect.FloatType) and not _holds(member.type, inspect.StrType):
        is_written = isinstance(value, str) and NUMBER.fullmatch(value)
        return bool(is_written) or (isinstance(value, int | float) and not isinstance(value, bool))
    if member.is_list:
        return isinstance(value, list)
    if _holds(member.type, inspect.DictType):
        return isinstance(value, dict)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) or (is_number and words(member.name)[-1:] == ["id"])


def _is_text(member: Member) -> bool:
    return _holds(member.type, inspect.StrType) and member.choice is None


def _is_of_form(member: Member, values: list[object]) -> bool:
    """Whether texts may be this member's: ids are one word, and what machines make stands in no other member; dates are
    no texts; what has a form of its own has that form."""
    texts = [value for value in values if isinstance(value, str)]
    last = (words(member.name) or [""])[-1]
    if last == "id":
        return not any(" " in text.strip() for text in texts) and not all(map(_is_a_date, values))
    if texts and all(map(date_format, texts)):
        return False
    if last in _MACHINE_MADE:
        return True
    form = format_of(member.name) if last != "week" else None
    if form:
        return len(texts) == len(values) and all(map(form, texts))
    return not texts or not all(map(is_made_by_machine, texts))


def _is_a_date(value: object) -> bool:
    """Whether it is a date and no id: an instant counted in seconds may be either."""
    return date_format(value) not in (None, "epoch_s")


def _is_like(value: object, record: type[object]) -> bool:
    """Whether a value resembles a record of this kind: it has at least half of its members by name."""
    if not isinstance(value, dict):
        return False
    there = {name.removeprefix(UNREAD) for name in cast("dict[str, object]", value)}
    ours = [member.name for member in members_of(record)]
    return sum(any(likeness(our, name) >= _ALIKE for our in ours) for name in there) * 2 > len(there)


def _is_whole(value: object) -> bool:
    """Whether it may be the number of an enumeration's value."""
    return not isinstance(value, bool) and str(value).isdecimal() and len(str(value)) < 5


def _is_telling(member: Member) -> bool:
    is_told = _is_text(member) and member.name in TOLD_BY_FORMAT
    return is_told or member.nested is not None or member.choice is not None


def _holds(shape: inspect.Type, *kinds: type[inspect.Type]) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(_holds(kind, *kinds) for kind in shape.types)
    return isinstance(shape, kinds)
