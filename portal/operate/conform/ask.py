"""Probes for what responses alone don't show: an API's base path, its parameters' names, the form of its errors.

All calls are reads. A parameter is recognized by its effect: the portal's own name is tried first, then likely ones,
until a response is filtered as expected.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from portal.operate.conform.walk import LISTS, Visit, call, json_of, records, rules_of
from portal.services import endpoints
from portal.services.answers.shape import UNREAD
from portal.services.client import Care
from portal.services.dialects.dialect import Dialect
from portal.services.dialects.naming import STYLES, folded, words
from portal.services.dialects.writing import SORTING
from portal.services.endpoints import Endpoint
from portal.services.records.consents import ConsentForm

MOST_CALLS = 120
_LIKELY: Mapping[str, tuple[str, ...]] = {
    "MaxResultCount": ("limit", "per_page", "size", "page_size", "take", "top", "count", "rows"),
    "Filter": ("q", "search", "query", "text", "keyword", "term"),
    "Sorting": ("sort", "order", "order_by", "sort_by"),
    "PatientId": ("patient", "subject"),
    "CaseId": ("case",),
    "EpisodeId": ("treatment_id", "cycle_id", "episode", "treatment", "cycle"),
    "Status": ("state",),
    "IsRead": ("read", "seen"),
}
_BY_MEMBER = {"PatientId": "patientId", "CaseId": "caseId", "EpisodeId": "episodeId", "Status": "status"}
"""Parameters that filter the list of consent forms by the value of a member."""
_PAGE_SIZES = (1000, 500, 200, 100, 50)
_OFFSETS = ("offset", "skip", "start", "from")
_PAGES = ("page", "page_number", "page_no", "page_index", "p")
_SORTED_BY = "procedureDate"
_NOWHERE = "zqxjkv"
"""A word that no record contains."""


@dataclass(slots=True)
class Learned:
    """The results. `parameters` maps the portal's names to those that worked; `untold` lists those without one.

    `statuses` maps the API's statuses to the specification's; `code_at` lists where an error may hold its code.
    """

    base_path: str = ""
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    untold: list[str] = field(default_factory=list[str])
    paging: str = "offset"
    first_page: int = 1
    largest_page: int | None = None
    sorting: str = "field desc"
    statuses: dict[int, int] = field(default_factory=dict[int, int])
    code_at: list[str] = field(default_factory=list[str])
    calls: int = 0

    def style(self) -> str | None:
        """The naming style of the parameters; filters first, because paging parameters often have names of their own."""
        order = ("PatientId", "MaxResultCount", "SkipCount", "Filter", "Sorting")
        for ours in order:
            theirs = self.parameters.get(ours)
            fitting = [
                name for name, spell in STYLES.items() if spell(ours) == theirs and name != "UPPER_CASE"
            ]
            if len(fitting) == 1:
                return fitting[0]
        return None


# ── addresses ───────────────────────────────────────────────────────────────────────────────────────────


def find_addresses(care: Care, bases: Sequence[str]) -> tuple[Care, Learned]:
    """If the API answers the specification's addresses with 404, find its own by trying the paths in `bases`.

    A base may precede an address, or replace its first two segments ("/api/care"). Returns a client that uses them.
    """
    learned, found = Learned(), dict[str, str]()
    if not bases:
        return care, learned
    for endpoint, into, _query in LISTS:
        prefix = _prefix(endpoint)
        if prefix in found or call(care, endpoint, into).status != 404:
            continue
        tried = [(one, instead) for one in bases for instead in (one + prefix, one)]
        for one, instead in tried:
            if call(_there(care, "", {prefix: instead}), endpoint, into).is_good:
                found[prefix] = instead
                if instead == one + prefix:
                    learned.base_path = learned.base_path or one
                break
    if not found:
        return care, learned
    base = learned.base_path
    if not all(instead.startswith(f"{base}/") for instead in found.values()):
        base = learned.base_path = ""
    learned.addresses = {
        prefix: instead.removeprefix(base) for prefix, instead in found.items() if instead != base + prefix
    }
    return _there(care, base, learned.addresses), learned


def _prefix(endpoint: Endpoint) -> str:
    return "/".join(endpoint.template.split("/")[:3])


def _there(care: Care, base_path: str, addresses: Mapping[str, str]) -> Care:
    rules = rules_of(care)
    told = replace(rules, base_path=base_path or rules.base_path, addresses={**rules.addresses, **addresses})
    return replace(care, dialect=Dialect(told))


# ── parameters ──────────────────────────────────────────────────────────────────────────────────────────


class _List:
    """One list endpoint, called repeatedly with different parameters."""

    def __init__(self, care: Care, visit: Visit, learned: Learned) -> None:
        as_usual = replace(
            rules_of(care), query={}, query_style="PascalCase", paging="offset", sorting="field desc"
        )
        self._care = replace(care, dialect=Dialect(as_usual)) if care.dialect else care
        self._visit, self._learned = visit, learned

    def rows(self, **query: str | int) -> list[dict[str, Any]] | None:
        """The records for a query, sent verbatim; None if it is refused or `MOST_CALLS` is reached."""
        if self._learned.calls >= MOST_CALLS:
            return None
        self._learned.calls += 1
        answer = call(self._care, self._visit.endpoint, self._visit.into, query=query)
        return records(answer) if answer.is_good else None

    def written(self, parameter: str, value: object) -> Any:
        """A parameter's value as the API writes it."""
        query = {parameter: cast("Any", value)}
        dialect = self._care.dialect
        written = dialect.query(self._visit.endpoint, query) if dialect else query
        return next(iter(written.values()))


def ask_parameters(care: Care, visits: Sequence[Visit], learned: Learned, names: Mapping[str, str]) -> None:
    """Learn the names of list parameters. `names` maps the portal's member names to the API's."""
    listed = [one for one in visits if one.is_good and one.endpoint in _ASKED]
    if not listed:
        return
    first = next((one for one in listed if one.endpoint is endpoints.LIST_CONSENTS), listed[0])
    there = _List(care, first, learned)
    every = there.rows() or []
    if len(every) < 4:
        learned.untold += [*_LIKELY, "SkipCount"]
        return
    limit = _first(care, there, "MaxResultCount", 2, every[:2])
    _set(learned, "MaxResultCount", limit)
    if limit:
        _ask_paging(care, there, every, limit, learned)
        if rules_of(care).largest_page is None:
            learned.largest_page = _largest_page(there, limit)
    _set(learned, "Filter", _first(care, there, "Filter", _NOWHERE, []))
    if first.endpoint is endpoints.LIST_CONSENTS:
        for ours, member in _BY_MEMBER.items():
            _ask_filter(care, there, every, ours, member, names, learned)
    _ask_sorting(care, there, every, names, learned)
    news = next((one for one in visits if one.is_good and one.endpoint is endpoints.LIST_NOTIFICATIONS), None)
    if news:
        there = _List(care, news, learned)
        _ask_filter(care, there, there.rows() or [], "IsRead", "isRead", names, learned)


_ASKED = (endpoints.LIST_CONSENTS, endpoints.LIST_PROTOCOLS)


def _ask_paging(care: Care, there: _List, every: list[dict[str, Any]], limit: str, learned: Learned) -> None:
    """Find out how the records after the first two are requested: by offset or by page number."""
    for name in _names(care, "SkipCount", (*_OFFSETS, *_PAGES)):
        got = there.rows(**{limit: 2, name: 1})
        if got == every[1:3]:
            learned.parameters["SkipCount"] = name
            return
        is_from_nought = got == every[2:4]
        if is_from_nought or (got == every[:2] and there.rows(**{limit: 2, name: 2}) == every[2:4]):
            learned.parameters["SkipCount"] = name
            learned.paging, learned.first_page = "page", 0 if is_from_nought else 1
            return
    learned.untold.append("SkipCount")


def _largest_page(there: _List, limit: str) -> int | None:
    """The largest page size that the API accepts; None if it accepts the largest that the portal asks for."""
    for size in _PAGE_SIZES:
        if there.rows(**{limit: size}) is not None:
            return None if size == _PAGE_SIZES[0] else size
    return None


def _ask_filter(
    care: Care,
    there: _List,
    every: list[dict[str, Any]],
    ours: str,
    member: str,
    names: Mapping[str, str],
    learned: Learned,
) -> None:
    """Find the name of the parameter that filters a list by the value of a member."""
    values = [value for one in every if (value := _value(one, member, names)) is not None]
    rarest = min(values, key=values.count, default=None)
    if rarest is None or values.count(rarest) == len(every):
        return
    theirs = names.get(member, member)
    if theirs == member:
        theirs = rules_of(care).name_of(ConsentForm, member)
    for name in dict.fromkeys([rules_of(care).parameter(ours), theirs, *_names(care, ours, _LIKELY[ours])]):
        rows = there.rows(**{name: there.written(ours, rarest)})
        if rows and rows != every and all(_value(one, member, names) == rarest for one in rows):
            learned.parameters[ours] = name
            return
    learned.untold.append(ours)


def _ask_sorting(
    care: Care, there: _List, every: list[dict[str, Any]], names: Mapping[str, str], learned: Learned
) -> None:
    """Find out how sorting is requested: ascending changes the default order, and descending reverses it."""
    member = names.get(_SORTED_BY, _SORTED_BY)
    if member == _SORTED_BY:
        member = rules_of(care).name_of(ConsentForm, _SORTED_BY)
    for name in _names(care, "Sorting", _LIKELY["Sorting"]):
        for form, (up, down) in SORTING.items():
            rows = there.rows(**{name: up.format(member)})
            if not rows or rows == every:
                continue
            down_rows = there.rows(**{name: down.format(member)}) or []
            keys, down_keys = (
                [key for one in each if (key := _value(one, _SORTED_BY, names)) is not None]
                for each in (rows, down_rows)
            )
            is_reversed = keys == down_keys[::-1]
            is_part = len(rows) == len(down_rows) and not all(one in rows for one in down_rows)
            if down_rows != rows and (is_reversed or (is_part and down_rows != every)):
                learned.parameters["Sorting"], learned.sorting = name, form
                return
    learned.untold.append("Sorting")


def _first(
    care: Care, there: _List, ours: str, value: str | int, narrowed: list[dict[str, Any]]
) -> str | None:
    """The first candidate name whose parameter filters the response as expected."""
    names = _names(care, ours, _LIKELY[ours])
    return next((name for name in names if there.rows(**{name: value}) == narrowed), None)


def _set(learned: Learned, ours: str, theirs: str | None) -> None:
    if theirs:
        learned.parameters[ours] = theirs
    else:
        learned.untold.append(ours)


def _names(care: Care, ours: str, likely: Iterable[str]) -> list[str]:
    """Candidate names for a parameter: the dialect's, then each naming style, then other likely words."""
    usual = [rules_of(care).parameter(ours), ours]
    styled = [spell(ours) for name, spell in STYLES.items() if name != "UPPER_CASE"]
    other = [spell(one) for one in likely for spell in (STYLES["snake_case"], STYLES["camelCase"])]
    return list(dict.fromkeys([*usual, *styled, *other]))


def _value(record: Mapping[str, object], ours: str, names: Mapping[str, str]) -> object:
    wanted = {folded(ours), folded(names.get(ours, ours))}
    return next((v for name, v in record.items() if folded(name.removeprefix(UNREAD)) in wanted), None)


# ── a refusal ───────────────────────────────────────────────────────────────────────────────────────────


def ask_refusal(care: Care, learned: Learned) -> None:
    """Request a record that doesn't exist, and learn the status and form of the error."""
    refused = call(care, endpoints.READ_CONSENT, ConsentForm, ids={"id": str(uuid.uuid4())})
    learned.calls += 1
    rules = rules_of(care)
    if refused.status in (410, 422) and refused.status not in rules.errors.statuses:
        learned.statuses[refused.status] = 404
    answer = json_of(refused.body) if refused.status and refused.status >= 400 else None
    if rules.errors.code is None and isinstance(answer, dict):
        paths = list(_leaves(cast("dict[str, object]", answer), ()))
        if not any(".".join(path) in _UNDERSTOOD for path, _value in paths):
            learned.code_at = [".".join(path) for path, value in paths if _is_code(path, value)]


_UNDERSTOOD = ("error.code", "code", "error")


def _leaves(value: Mapping[str, object], path: tuple[str, ...]) -> Iterable[tuple[tuple[str, ...], object]]:
    for name, one in value.items():
        if isinstance(one, list):
            first = dict(zip("0", cast("list[object]", one), strict=False))
            yield from _leaves(first, (*path, name))
        elif isinstance(one, dict):
            yield from _leaves(cast("dict[str, object]", one), (*path, name))
        else:
            yield (*path, name), one


def _is_code(path: tuple[str, ...], value: object) -> bool:
    """Whether this may be an error code: by the member's name, and because the value isn't a sentence."""
    is_short = isinstance(value, str | int) and not isinstance(value, bool) and " " not in str(value)
    named = {word for name in path for word in words(name)}
    return is_short and bool(named & {"code", "number", "reason", "rule", "key"})
