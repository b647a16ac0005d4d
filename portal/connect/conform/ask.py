"""Probes for what responses alone don't show: the names of an API's parameters.

All calls are reads. A parameter is recognized by its effect: the portal's own name is tried first, then likely ones,
until a response is filtered as expected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from portal.connect.answers.comparison import UNREAD
from portal.connect.conform.learned import Learned
from portal.connect.conform.walk import Visit, call, is_translated, json_of, records, rules_of
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.formats import write_instant
from portal.connect.dialects.naming import STYLES, folded_name, words
from portal.connect.dialects.rules import Code
from portal.connect.dialects.writing import SORTING, Writing
from portal.services.client import Care
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.files import READ_FILE_CONTENT
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.services.physicians import LIST_PHYSICIANS, Physician
from portal.services.protocols import LIST_PROTOCOLS

MOST_CALLS = 240
_LIKELY: Mapping[str, tuple[str, ...]] = {
    "MaxResultCount": ("limit", "per_page", "size", "page_size", "take", "top", "count", "rows"),
    "Filter": ("q", "search", "query", "text", "keyword", "term"),
    "Sorting": ("sort", "order", "order_by", "sort_by"),
    "PatientId": ("patient", "subject"),
    "CaseId": ("case",),
    "EpisodeId": ("treatment_id", "cycle_id", "episode", "treatment", "cycle"),
    "Status": ("state",),
    "IsRead": ("read", "seen"),
    "IncludeArchived": ("with_archived", "archived", "show_archived", "include_closed", "all"),
    "Type": ("kind", "category", "event"),
    "LocationId": ("location", "site_id", "site", "clinic_id", "branch_id"),
    "id": ("file_id", "file", "ref", "key", "uuid", "document_id", "descriptor_id"),
}
_SPANS = (
    *(
        ("from", "to"),
        ("start", "end"),
        ("since", "until"),
        ("start_date", "end_date"),
        ("from_date", "to_date"),
    ),
    *(("date_from", "date_to"), ("after", "before"), ("start_time", "end_time"), ("starts_at", "ends_at")),
)
"""What the beginning and the end of a span of time may be called."""
_BY_MEMBER = {"PatientId": "patientId", "CaseId": "caseId", "EpisodeId": "episodeId", "Status": "status"}
"""Parameters that filter the list of consent forms by the value of a member."""
_PAGE_SIZES = (1000, 500, 200, 100, 50)
_OFFSETS = ("offset", "skip", "start", "from")
_PAGES = ("page", "page_number", "page_no", "page_index", "p")
_CURSORS = ("cursor", "after", "page_token", "next_token", "continuation_token", "next", "starting_after")
_KINDS_OF_LINKS = frozenset({"rel", "relation"})
"""The members that say of a link where it leads."""
_SORTED_BY = ("procedureDate", "creationTime", "title")
_LIKELY_STYLES = tuple(STYLES[name] for name in ("snake_case", "camelCase", "kebab-case"))
_NOWHERE = "zqxjkv"
"""A word that no record contains."""


class _List:
    """One list endpoint, called repeatedly with different parameters; what is found out stands in `learned`.

    `names` are what the API calls members that are ours.
    """

    def __init__(self, care: Care, visit: Visit, learned: Learned, names: Mapping[str, str]) -> None:
        self.rules, self.visit, self.learned, self.names = rules_of(care), visit, learned, names
        as_usual = replace(
            self.rules, query={}, query_style="PascalCase", paging="offset", sorting="field desc"
        )
        self._care = replace(care, adapter=Dialect(as_usual)) if is_translated(care) else care
        self._writing = Writing(self.rules)

    @cached_property
    def every(self) -> list[dict[str, Any]]:
        """The records that come without any parameter."""
        return self.rows() or []

    def rows(self, **query: str | int) -> list[dict[str, Any]] | None:
        """The records for a query, sent verbatim; None if it is refused or `MOST_CALLS` is reached."""
        if self.learned.calls >= MOST_CALLS:
            return None
        self.learned.calls += 1
        answer = self.answer(**query)
        return records(answer) if answer.is_good else None

    def whole(self, **query: str | int) -> object:
        """The JSON that comes with a query, as the API sent it."""
        self.learned.calls += 1
        return json_of(call(self._care, self.visit.endpoint, into=object, query=query).body)

    def answer(self, **query: str | int) -> Visit:
        """What comes with a query as it stands."""
        return call(self._care, self.visit.endpoint, into=self.visit.into, query=query)

    def written(self, parameter: str, value: object) -> Any:
        query = {parameter: cast("Any", value)}
        return self._writing.query(self.visit.endpoint, query)[self.rules.parameter(parameter)]

    def value(self, record: Mapping[str, object], ours: str) -> object:
        """The value of a member that is ours, whatever it is called."""
        wanted = {folded_name(ours), folded_name(self.names.get(ours, ours))}
        return next(
            (v for name, v in record.items() if folded_name(name.removeprefix(UNREAD)) in wanted), None
        )

    def called(self, record: type, ours: str) -> str:
        """What the API calls a member."""
        theirs = self.names.get(ours, ours)
        return self.rules.name_of(record, ours) if theirs == ours else theirs

    def may_be_called(self, ours: str, likely: Iterable[str] | None = None) -> list[str]:
        """Candidate names for a parameter: the dialect's, then each naming style, then other likely words."""
        usual = [self.rules.parameter(ours), ours]
        styled = [spell(ours) for spell in STYLES.values()]
        other = [spell(words) for words in likely or _LIKELY[ours] for spell in _LIKELY_STYLES]
        return list(dict.fromkeys([*usual, *styled, *other]))

    def learn(self, ours: str, theirs: str | None) -> None:
        """Keep what a parameter is called, or that no likely name is it."""
        if theirs:
            self.learned.parameters[ours] = theirs
        else:
            self.learned.untold.append(ours)


def ask_parameters(
    care: Care,
    visits: Sequence[Visit],
    learned: Learned,
    names: Mapping[str, str],
    instants: str | None = "iso",
    truth: tuple[Code, Code] | None = None,
) -> None:
    """Learn what the parameters of lists are called. `names` are what the API calls members that are ours, `instants` and
    `truth` how it writes times, and true and false."""
    _ask_forms(care, visits, learned, names)
    good = {visit.endpoint: visit for visit in visits if visit.is_good and not visit.id}
    if news := good.get(LIST_NOTIFICATIONS):
        there = _List(care, news, learned, names)
        _ask_filter(there, "IsRead", Notification, "isRead")
        _ask_filter(there, "Type", Notification, "type")
    if people := good.get(LIST_PHYSICIANS):
        there = _List(care, people, learned, names)
        _ask_filter(there, "LocationId", Physician, "locationId")
        _ask_span(there, instants)
    if talks := good.get(LIST_CONVERSATIONS):
        _ask_archived(_List(care, talks, learned, names), truth or (True, False))
    _ask_file(care, visits, learned, names)


def _ask_forms(care: Care, visits: Sequence[Visit], learned: Learned, names: Mapping[str, str]) -> None:
    listed = [visit for visit in visits if visit.is_good and visit.endpoint in _ASKED]
    if not listed:
        return
    first = next((visit for visit in listed if visit.endpoint is LIST_CONSENTS), listed[0])
    there = _List(care, first, learned, names)
    if len(there.every) < 4:
        learned.untried += ["MaxResultCount", "SkipCount", "Filter", "Sorting", *_BY_MEMBER]
        return
    limit = _first(there, "MaxResultCount", 2, there.every[:2])
    there.learn("MaxResultCount", limit)
    if limit:
        if not care.adapter.follows_cursors:
            _ask_paging(there, limit)
        if there.rules.largest_page is None:
            learned.largest_page = _largest_page(there, limit)
    there.learn("Filter", _first(there, "Filter", _NOWHERE, []))
    if first.endpoint is LIST_CONSENTS:
        for ours, member in _BY_MEMBER.items():
            _ask_filter(there, ours, ConsentForm, member)
    _ask_sorting(there)


_ASKED = (LIST_CONSENTS, LIST_PROTOCOLS)


def _ask_paging(there: _List, limit: str) -> None:
    """Find out how the records after the first two are requested: by offset, by page number or by a cursor."""
    every, learned = there.every, there.learned
    for name in there.may_be_called("SkipCount", (*_OFFSETS, *_PAGES)):
        got = there.rows(**{limit: 2, name: 1})
        after = there.rows(**{limit: 2, name: 2}) if got == every[:2] else None
        if every[1:3] in (got, after):
            learned.parameters["SkipCount"] = name
            learned.first_record = 0 if got == every[1:3] else 1
            return
        is_from_nought = got == every[2:4]
        if is_from_nought or after == every[2:4]:
            learned.parameters["SkipCount"] = name
            learned.paging, learned.first_page = "page", 0 if is_from_nought else 1
            return
    if not _ask_cursor(there, limit):
        learned.untold.append("SkipCount")


def _ask_cursor(there: _List, limit: str) -> bool:
    """Whether a page names the next one, and the parameter was found by which it is asked for."""
    for path, told in _next_in(there.whole(**{limit: 2})):
        address = urlsplit(told)
        given = dict(parse_qsl(address.query)) if address.query or address.netloc else None
        likely = given or dict.fromkeys(there.may_be_called("SkipCount", _CURSORS), told)
        for name, cursor in likely.items():
            if name != limit and there.rows(**{limit: 2, name: cursor}) == there.every[2:4]:
                there.learned.parameters["SkipCount"] = name
                there.learned.paging, there.learned.next = "cursor", path
                return True
    return False


def _next_in(
    value: object, path: tuple[str, ...] = (), *, is_next: bool = False
) -> Iterator[tuple[str, str]]:
    """What an answer may name its next page by, outside of its records: each text or number under "next", with its path."""
    if isinstance(value, list):
        for item in cast("list[object]", value):
            link = cast("dict[str, object]", item) if isinstance(item, dict) else {}
            for kind in _KINDS_OF_LINKS & link.keys():
                if str(link[kind]).casefold() == "next":
                    yield from _next_in(link, (*path, f"{kind}={link[kind]}"), is_next=True)
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            if name not in _KINDS_OF_LINKS and "." not in name:  # no path leads to one with a dot
                yield from _next_in(inner, (*path, name), is_next=is_next or "next" in words(name))
    elif is_next and isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        yield ".".join(path), str(value)


def _largest_page(there: _List, limit: str) -> int | None:
    """The largest page size that the API accepts; None if it accepts the largest that the portal asks for."""
    for size in _PAGE_SIZES:
        if there.rows(**{limit: size}) is not None:
            return None if size == _PAGE_SIZES[0] else size
    return None


def _ask_filter(there: _List, ours: str, record: type, member: str) -> None:
    """What a parameter is called that narrows a list to the records with one value of a member."""
    values = [value for row in there.every if isinstance(value := there.value(row, member), str | int)]
    rarest = min(values, key=values.count, default=None)
    if rarest is None or values.count(rarest) == len(there.every):
        there.learned.untried.append(ours)
        return

    def is_narrowed(name: str) -> bool:
        rows = there.rows(**{name: there.written(ours, rarest)})
        return bool(rows) and rows != there.every and all(there.value(row, member) == rarest for row in rows)

    names = [there.rules.parameter(ours), there.called(record, member), *there.may_be_called(ours)]
    there.learn(ours, next(filter(is_narrowed, dict.fromkeys(names)), None))


def _ask_sorting(there: _List) -> None:
    """How an order is asked for: upwards differs from the usual order, and downwards is the reverse, or ends elsewhere."""
    telling = (
        ours for ours in _SORTED_BY if len({repr(there.value(record, ours)) for record in there.every}) > 2
    )
    ours = next(telling, None)
    if ours is None:
        there.learned.untried.append("Sorting")
    elif not _ask_order(there, ours):
        (there.learned.untold if ours == _SORTED_BY[0] else there.learned.untried).append("Sorting")


def _ask_span(there: _List, instants: str | None) -> None:
    """What the beginning and the end of a time are called: where nobody has anything to do yet, nobody is busy."""

    def is_busy(rows: Iterable[Mapping[str, object]]) -> bool:
        return any(there.value(row, "busy") for row in rows)

    if instants is None or not is_busy(there.every):
        there.learned.untried += ["From", "To"]
        return
    write = write_instant(instants, there.rules.zone)
    spans = [[f"{year}-01-0{day}T00:00:00Z" for day in (1, 2)] for year in (2150, 1990)]
    written = [[write(text) if write else text for text in span] for span in spans]
    likely = ((spell(first), spell(other)) for first, other in _SPANS for spell in _LIKELY_STYLES)
    usual = (there.rules.parameter("From"), there.rules.parameter("To"))
    for both in dict.fromkeys([usual, ("From", "To"), *likely]):
        answers = [
            there.rows(**{name: cast("Any", at) for name, at in zip(both, span, strict=True)})
            for span in written
        ]
        if all(rows and not is_busy(rows) for rows in answers):
            there.learned.parameters["From"], there.learned.parameters["To"] = both
            return
    there.learned.untold += ["From", "To"]


def _ask_archived(there: _List, truth: tuple[Code, Code]) -> None:
    """What a parameter is called by which archived conversations come too."""
    for name in there.may_be_called("IncludeArchived"):
        with_, without = (there.rows(**{name: cast("Any", way)}) for way in truth)
        if with_ and without and len(with_) > len(without) and there.every in (with_, without):
            there.learned.parameters["IncludeArchived"] = name
            return
    there.learned.untried.append("IncludeArchived")


def _ask_file(care: Care, visits: Sequence[Visit], learned: Learned, names: Mapping[str, str]) -> None:
    """What the parameter is called that says which file is wanted, where the usual name isn't understood."""
    read = [visit for visit in visits if visit.endpoint is READ_FILE_CONTENT]
    if not read:
        learned.untried.append("id")
        return
    if any(visit.is_good for visit in read):
        return
    there = _List(care, read[0], learned, names)
    likely = [theirs for ours in ("id", "fileId") if (theirs := names.get(ours))]
    tried = dict.fromkeys([*likely, *there.may_be_called("id")])
    there.learn("id", next((name for name in tried if there.answer(**{name: read[0].id}).is_good), None))


def _ask_order(there: _List, ours: str) -> bool:
    """Whether a parameter was found that orders a list by a member."""
    member = there.called(ConsentForm, ours)
    for name in there.may_be_called("Sorting"):
        for form, (up, down) in SORTING.items():
            rows = there.rows(**{name: up.format(member)})
            if not rows or rows == there.every:
                continue
            down_rows = there.rows(**{name: down.format(member)}) or []
            keys, down_keys = (
                [key for row in each if (key := there.value(row, ours)) is not None]
                for each in (rows, down_rows)
            )
            is_reversed = keys == down_keys[::-1]
            is_part = len(rows) == len(down_rows) and not all(row in rows for row in down_rows)
            if down_rows != rows and (is_reversed or (is_part and down_rows != there.every)):
                there.learned.parameters["Sorting"], there.learned.sorting = name, form
                return True
    return False


def _first(there: _List, ours: str, value: str | int, narrowed: list[dict[str, Any]]) -> str | None:
    """The first candidate name whose parameter filters the response as expected."""
    return next((name for name in there.may_be_called(ours) if there.rows(**{name: value}) == narrowed), None)
