"""Drafts a dialect file (docs/conformance.md): certain rules are written, the rest become questions.

A line that begins with "# decide:" is a question for a person; the portal ignores it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast, get_args, get_origin

from msgspec import inspect

from portal.connect.answers.comparison import UNREAD, kind_of
from portal.connect.conform.formats import date_format, is_day_of_a_zone, is_without_zone
from portal.connect.conform.judge import excused_members
from portal.connect.conform.learned import Learned
from portal.connect.conform.match import NUMBER, Matches, bare_words, is_date, match
from portal.connect.conform.proposal import MOST_ASKED, Proposal
from portal.connect.conform.walk import STAMP, Visit, enclosed_in, has_stamp, is_of_links, json_of
from portal.connect.dialects.named_records import member_names, record_of
from portal.connect.dialects.naming import STYLES, folded_name, words
from portal.connect.dialects.rules import Rules
from portal.services.decoding import PagedResult
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of
from portal.services.uses import use_of

_PASSES = 3


def propose(
    visits: Iterable[Visit], *, as_patient: bool, learned: Learned | None = None, rules: Rules | None = None
) -> Proposal:
    """Find out how these responses differ from what the portal expects, or from the clinic's dialect (`rules`)."""
    made = Proposal(learned=learned or Learned(), rules=rules or Rules())
    visits = sorted(
        visits, key=lambda visit: get_origin(visit.into) is not PagedResult
    )  # lists tell of envelopes
    kinds, given = _records_in(visits, made)
    for _pass in range(_PASSES):
        given = _without(given, _of_every_kind_alone(given))
        made.matches = {kind: match(record, given[kind]) for kind, record in kinds.items()}
        _prove_ids(visits, made)
        _as_elsewhere(made)
        given = _with_embedded(kinds, given, made)
    _ask_for_treatments(made)
    made.style = _style_of(made.matches.values())
    made.has_etags = _stamps_are_etags(visits, made)
    excused = excused_members(as_patient=as_patient) | made.rules.absent_means_none
    for kind, matched in made.matches.items():
        if given[kind]:
            _learn_what_is_left(kinds[kind], matched, excused, made)
            _learn_forms(kinds[kind], given[kind], matched, made)
    _decide_counts(made)
    within = ".".join(made.envelopes)  # a bare list in the envelope needs no name
    made.items = {record: name for record, name in made.items.items() if name != within}
    made.absent.sort()
    made.codes.decide(made.rules)
    return made


def _records_in(
    visits: Iterable[Visit], made: Proposal
) -> tuple[dict[str, type[object]], dict[str, list[Mapping[str, object]]]]:
    """The kinds of record in these responses, and the records of each that came."""
    kinds: dict[str, type[object]] = {}
    given: dict[str, list[Mapping[str, object]]] = {}
    for visit in visits:
        if not visit.is_good or visit.into in (bytes, object):
            continue
        made.has_bom = made.has_bom or (visit.has_bom and not made.rules.bom)
        record, records = _opened(visit, made)
        kinds[kind_of(record)] = record
        given.setdefault(kind_of(record), []).extend(records)
    return kinds, given


def _learn_what_is_left(
    record: type[object], matched: Matches, excused: Container[str], made: Proposal
) -> None:
    """Ask about what may be a member that nothing matches, or say that it is absent; drop what needs no decision."""
    kind = kind_of(record)
    needed = {member.name for member in members_of(record) if member.is_required}
    for ours in matched.absent:
        name = f"{kind}.{ours}"
        if name in excused or (made.has_etags and ours == STAMP):
            continue
        if matched.unread[ours] and (ours in needed or use_of(record, ours)):
            made.unread[name] = matched.unread[ours]
        elif ours not in needed and use_of(record, ours):
            made.absent.append(name)
    matched.undecided = {o: t for o, t in matched.undecided.items() if f"{kind}.{o}" not in excused}
    made.unread |= {f"{kind}.{o}": matched.unread[o] for o in matched.undecided if matched.unread.get(o)}


def _prove_ids(visits: Iterable[Visit], made: Proposal) -> None:
    """Choose among what ids may be called: a record that was read by its id has that id in one member alone."""
    proven: set[str] = set()
    for visit in visits:
        if visit.is_good and visit.id and visit.into not in (bytes, object):
            for first in _opened(visit, Proposal(envelopes=[*made.envelopes], record=made.record))[1][:1]:
                there = (name.removeprefix(UNREAD) for name, value in first.items() if str(value) == visit.id)
                proven.add(",".join(there))
    for matched in made.matches.values():
        for name in {*matched.undecided.get("id", ())} & proven if len(proven) == 1 else ():
            del matched.undecided["id"]
            matched.names["id"], matched.why["id"] = name, "by reading records with it"


def _as_elsewhere(made: Proposal) -> None:
    """Choose for a member what it is called in every other kind of record, where that is among what it may be."""
    known: dict[str, set[str]] = {}
    for names in (made.rules.everywhere, *made.rules.members.values()):
        for ours, theirs in names.items():
            known.setdefault(ours, set()).add(theirs)
    for matched in made.matches.values():
        for ours in [*matched.undecided, *matched.absent]:
            may_be = {*matched.undecided.get(ours, ()), *matched.unread.get(ours, ())}
            if len(known.get(ours, ())) == 1 and known[ours] <= may_be - {*matched.names.values()}:
                (matched.names[ours],) = known[ours]
                matched.why[ours] = "as in other records"
                matched.undecided.pop(ours, None)
                matched.absent = [other for other in matched.absent if other != ours]


def _ask_for_treatments(made: Proposal) -> None:
    """Ask what names treatments, if nothing is like it anywhere: no episode is read without."""
    ours = "episodeId"
    if any(ours in matched.names or ours in matched.undecided for matched in made.matches.values()):
        return
    for matched in made.matches.values():
        if ours in matched.absent and matched.unread.get(ours) and "id" in matched.names:
            matched.absent.remove(ours)
            matched.undecided[ours] = matched.unread[ours][:MOST_ASKED]


def _stamps_are_etags(visits: Iterable[Visit], made: Proposal) -> bool:
    """Whether records that are read individually have an ETag but no concurrency stamp."""
    if made.rules.concurrency == "etag":
        return False
    found: set[bool] = set()
    for visit in visits:
        is_record = (
            visit.is_good and visit.into not in (bytes, object) and get_origin(visit.into) is not PagedResult
        )
        if is_record and has_stamp(visit.into):
            record, records = _opened(visit, Proposal(envelopes=[*made.envelopes], record=made.record))
            matches = made.matches.get(kind_of(record), Matches())
            theirs = [matches.names.get(STAMP, STAMP), *matches.undecided.get(STAMP, [])]
            for first in records[:1]:
                found.add(bool(visit.etag) and not any(_given(first, name) for name in theirs))
    return found == {True}


def _opened(visit: Visit, made: Proposal) -> tuple[type[object], list[Mapping[str, object]]]:
    """The records of a response, without their envelopes."""
    whole, is_page = json_of(visit.body), get_origin(visit.into) is PagedResult
    record = cast("type[object]", get_args(visit.into)[0] if is_page else visit.into)
    path: list[str] = []
    answer = whole
    while isinstance(answer, dict):
        outer = {
            name.removeprefix(UNREAD): value for name, value in cast("dict[str, object]", answer).items()
        }
        if is_page and (name := _list_in(outer)):
            rows = cast("list[object]", outer[name])
            if folded_name(name) != "items" and [*path, name] != made.envelopes:
                made.items[record.__name__] = name
            _learn_counts(cast("dict[str, object]", _plain(whole)), path, len(rows), record, made)
            made.record = made.record or enclosed_in(rows)
            answer = rows
            if made.record:
                whole_rows = [cast("dict[str, object]", row) for row in rows if isinstance(row, dict)]
                answer = [_at(row, made.record) for row in whole_rows]
            break
        inner = None if _is_it(outer, record) and not is_page else _envelope_in(outer, record, is_page)
        if inner is None and not is_page and not _is_it(outer, record):
            known = made.envelopes[len(path) : len(path) + 1]
            if any(name in outer and outer[name] is None for name in known):
                return record, []  # a refusal
            inner = next((name for name in known if isinstance(outer.get(name), dict)), None)
        if inner is None:
            break
        if inner not in made.envelopes:
            made.envelopes.append(inner)
        path.append(inner)
        answer = outer[inner]
    items: list[object] = (
        cast("list[object]", answer) if isinstance(answer, list) else [cast("object", answer)]
    )
    return record, [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]


def _at(record: Mapping[str, object], path: str) -> Any:
    """What lies at a path of members."""
    outer, _, inner = path.partition(".")
    value = _given(record, outer)
    return _at(cast("dict[str, object]", value), inner) if inner and isinstance(value, dict) else value


def _given(record: Mapping[str, object], name: str) -> Any:
    """A member by its name, be it read by the clinic's dialect or not."""
    return record.get(name, record.get(UNREAD + name))


def _plain(value: object) -> object:
    """A response in which members that a dialect left unread have the API's own names."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, object]", value)
    unread = {name.removeprefix(UNREAD): inner for name, inner in given.items() if name.startswith(UNREAD)}
    read = {name: inner for name, inner in given.items() if not name.startswith(UNREAD)}
    return {name: _plain(inner) for name, inner in {**unread, **read}.items()}


def _learn_counts(
    answer: Mapping[str, object], path: list[str], rows: int, record: type[object], made: Proposal
) -> None:
    """Learn where a list's counts are, as paths from the top level."""
    counts = list(_numbers(answer, ()))

    def is_usual(where: tuple[str, ...], ours: str) -> bool:
        return folded_name(where[-1]) == ours and where[:-1] in ((), tuple(path))

    total = [
        where
        for where, count in counts
        if count >= rows and {"total", "count"} & set(words(where[-1])) and "unread" not in words(where[-1])
    ]
    if not any(is_usual(where, "totalcount") for where in total):
        within = (where[len(path) :] if list(where[: len(path)]) == path else where for where in total)
        made.counts.append(set(map(".".join, within)))
    unread = [where for where, _count in counts if "unread" in words(where[-1])]
    if record.__name__ == "Notification" and len(unread) == 1 and not is_usual(unread[0], "unreadcount"):
        made.unread_count = ".".join(unread[0])
    if record.__name__ == "Notification" and not unread:
        made.unread_counts = [".".join(where) for where, _count in counts]


def _decide_counts(made: Proposal) -> None:
    """The count of a list is what every list has; what notifications alone have may be that of the unread."""
    common = set[str]().union(*made.counts).intersection(*made.counts)
    made.totals = sorted(common or set[str]().union(*made.counts))
    made.total = made.totals[0] if len(made.totals) == 1 else None
    usual = {made.rules.total, "totalCount", *made.totals}
    made.unread_counts = [
        path
        for path in made.unread_counts
        if not any(path == name or path.endswith(f".{name}") for name in usual if name)
        and folded_name(path.rpartition(".")[2]) != "totalcount"
    ]


def _numbers(value: Mapping[str, object], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """The numbers in a response outside its list, including numeric strings."""
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _numbers(cast("dict[str, object]", inner), (*path, name))
        elif isinstance(inner, bool):
            continue
        elif isinstance(inner, int) or (isinstance(inner, str) and NUMBER.fullmatch(inner)):
            yield (*path, name), float(inner)


def _list_in(outer: Mapping[str, object]) -> str | None:
    lists = [
        name
        for name, value in outer.items()
        if isinstance(value, list) and not is_of_links(cast("object", value))
    ]
    return "items" if "items" in lists else lists[0] if len(lists) == 1 else None


def _is_it(value: Mapping[str, object], record: type[object]) -> bool:
    there = {folded_name("-".join(bare_words(name.removeprefix(UNREAD)))) for name in value}
    return sum(folded_name(member.name) in there for member in members_of(record)) >= 2


def _envelope_in(outer: Mapping[str, object], record: type[object], is_page: bool) -> str | None:
    inner = [name for name, value in outer.items() if isinstance(value, dict)]
    inner = [name for name in inner if is_page or _is_it(cast("dict[str, object]", outer[name]), record)]
    if len(inner) > 1:  # of several objects, the one that holds the list
        inner = [name for name in inner if _list_in(cast("dict[str, object]", outer[name]))]
    return inner[0] if len(inner) == 1 else None


def _with_embedded(
    kinds: dict[str, type[object]], given: Mapping[str, list[Mapping[str, object]]], made: Proposal
) -> dict[str, list[Mapping[str, object]]]:
    """The responses' records and those embedded in them, found by the names known so far."""
    main = {record.__name__ for row in ALL if row.is_safe and (record := record_of(row.answer))}
    found = {kind: list(records) for kind, records in given.items() if kind in main}
    ahead = [(kinds[kind], item) for kind, records in found.items() for item in records]
    while ahead:
        record, value = ahead.pop()
        names = (made.matches.get(kind_of(record)) or match(record, [value])).names
        for member in members_of(record):
            within = member.nested
            there = _given(value, names.get(member.name, member.name)) if within else None
            for item in cast("list[object]", there) if isinstance(there, list) else [there]:
                if within and isinstance(item, dict):
                    kinds[kind_of(within)] = within
                    inner = cast("dict[str, object]", item)
                    found.setdefault(kind_of(within), []).append(inner)
                    ahead.append((within, inner))
    return {kind: found.get(kind, []) for kind in kinds}


def in_every_kind(given: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, set[str]]:
    """Members that nearly every kind of record has, always with one of few words: links, the clinic's number, a state; and these."""
    kinds = [records for records in given.values() if records]
    if len(kinds) < _FEW_KINDS:
        return {}
    there = Counter(
        name
        for records in kinds
        for name in {name.removeprefix(UNREAD) for record in records for name in record}
    )
    often = {name for name, times in there.items() if times >= _NEARLY_ALL * len(kinds)}
    found: dict[str, set[str]] = {}
    for name in often:
        told = (
            _given(record, name)
            for records in kinds
            for record in records
            if {name, UNREAD + name} & record.keys()
        )
        values = set(map(repr, told))
        if len(values) == 1 or (len(values) <= _FEW_WORDS and all(map(_is_word, values))):
            found[name] = values
    return found


def _of_every_kind_alone(given: Mapping[str, Sequence[Mapping[str, object]]]) -> set[str]:
    """Members of every kind that are none of the portal's own: a status is one, though each kind may have the same few."""
    own = set(map(folded_name, member_names()))
    found = in_every_kind(given).items()
    return {name for name, values in found if len(values) == 1 or folded_name(name) not in own}


def _is_word(told: str) -> bool:
    """Whether a value, as `repr` writes it, is a text that is no number."""
    return told[:1] in "'\"" and not NUMBER.fullmatch(told[1:-1])


def _without(
    given: Mapping[str, list[Mapping[str, object]]], names: set[str]
) -> dict[str, list[Mapping[str, object]]]:
    def less(value: object) -> object:
        if isinstance(value, list):
            return [less(item) for item in cast("list[object]", value)]
        if not isinstance(value, dict):
            return value
        members = cast("dict[str, object]", value).items()
        return {name: less(member) for name, member in members if name.removeprefix(UNREAD) not in names}

    return {kind: cast("list[Mapping[str, object]]", less(records)) for kind, records in given.items()}


_FEW_KINDS = 5
_FEW_WORDS = 3
_NEARLY_ALL = 0.8


def _style_of(matches: Iterable[Matches]) -> str:
    pairs = [
        (ours, theirs)
        for matched in matches
        for ours, theirs in matched.names.items()
        if ours not in matched.why
    ]
    telling = [
        (ours, theirs) for ours, theirs in pairs if len({spell(ours) for spell in STYLES.values()}) > 1
    ]
    counts = {style: sum(spell(o) == t for o, t in telling) for style, spell in STYLES.items()}
    return max(counts, key=lambda style: counts[style])


def _learn_forms(
    record: type[object], records: list[Mapping[str, object]], matches: Matches, made: Proposal
) -> None:
    for member in members_of(record):
        theirs = matches.names.get(member.name)
        if theirs is None:
            continue
        for value in (given.get(theirs) for given in records):
            if value not in (None, ""):
                _learn_form(member, value, made)
                made.codes.see(member, value)


def _learn_form(member: Member, value: Any, made: Proposal) -> None:
    if is_date(member):
        form = date_format(value)
        what = "instants" if _is(member.type, inspect.DateTimeType) else "days"
        if form:
            made.forms.setdefault(what, set()).add(form)
        if form in ("dd MM", "MM dd", "either"):
            made.separators.add(re.sub(r"\d", "", str(value)[:6])[:1])
        if is_without_zone(value) if what == "instants" else is_day_of_a_zone(value):
            made.has_local_times = True
    elif isinstance(value, str) and _is(member.type, inspect.IntType, inspect.FloatType):
        made.numbers_as_text = made.numbers_as_text or bool(NUMBER.fullmatch(value))
    elif _is(member.type, inspect.BoolType) and (isinstance(value, str) or type(value) is int):
        made.truths.add(value)


def _is(shape: inspect.Type, *kinds: type[inspect.Type]) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(_is(kind, *kinds) for kind in shape.types)
    return isinstance(shape, kinds)
