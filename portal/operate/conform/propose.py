"""A dialect file to begin with (docs/conformance.md): what can be told for certain is written, the rest is asked.

A line that begins with "# decide:" is a question that a person answers; the portal reads the file without it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args, get_origin

from msgspec import inspect

from portal.operate.conform.judge import SOMETIMES, STAFF_ONLY
from portal.operate.conform.match import STYLES, Matches, date_form, folded, is_date, match
from portal.operate.conform.walk import Visit, json_of
from portal.services.answers.shape import Member, kind_of, members_of, records_in
from portal.services.decoding import Page

_PASSES = 3
_TRUTHS = (("true", "false"), ("Y", "N"), ("y", "n"), ("yes", "no"), ("1", "0"), ("J", "N"))


@dataclass(slots=True)
class Proposal:
    """What a dialect file would say, and what a person must decide first."""

    envelopes: list[str] = field(default_factory=list[str])
    items: str | None = None
    total: str | None = None
    has_bom: bool = False
    style: str = "camelCase"
    matches: dict[str, Matches] = field(default_factory=dict[str, Matches])
    forms: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    separators: set[str] = field(default_factory=set[str])
    numbers_as_text: bool = False
    truths: set[str] = field(default_factory=set[str])
    absent: list[str] = field(default_factory=list[str])

    @property
    def undecided(self) -> list[str]:
        """The questions, each in a line."""
        asked = [
            f"{kind}.{ours}: one of {', '.join(map(json.dumps, theirs))}, or none of them?"
            for kind, one in sorted(self.matches.items())
            for ours, theirs in sorted(one.undecided.items())
        ]
        for what in ("instants", "days"):
            form = self._form(what)
            if form is None:
                asked.append(
                    f"times.{what}: day before month, or month before day? No date in the answers tells"
                )
        return asked

    def _form(self, what: str) -> str | None:
        """The form of days or instants; None where it can't be told."""
        forms = self.forms.get(what, set()) - {"iso"}
        if not forms:
            return "iso"
        if "either" in forms and not forms & {"dd MM", "MM dd"}:
            other = self.forms.get("days" if what == "instants" else "instants", set()) & {"dd MM", "MM dd"}
            forms = other or forms
        forms.discard("either")
        if len(forms) != 1:
            return None
        (form,) = forms
        if form.startswith("epoch"):
            return form
        by = next(iter(self.separators), "/")
        return form.replace(" ", by) + f"{by}yyyy" + (" HH:mm:ss" if what == "instants" else "")

    def renamed(self) -> dict[str, dict[str, str]]:
        """Members whose name isn't ours in the style, by kind of record."""
        spelled = STYLES[self.style]
        return {
            kind: {ours: theirs for ours, theirs in sorted(one.names.items()) if theirs != spelled(ours)}
            for kind, one in sorted(self.matches.items())
            if kind != "Page"
        }

    @property
    def is_empty(self) -> bool:
        """Whether the API speaks as the portal expects."""
        return not any(line and not line.startswith("#") for line in self.toml().splitlines())

    def names(self) -> dict[str, str]:
        """What members are called there, of all kinds of record: to find ids by."""
        return {ours: theirs for one in self.matches.values() for ours, theirs in one.names.items()}

    def toml(self) -> str:
        """The file's text."""
        lines = [
            "# A dialect file, proposed by `python -m portal conform`: read it before you use it (docs/conformance.md)."
        ]
        lines += [f"# decide: {question}" for question in self.undecided]
        if self.absent:
            lines.append("# Never came, and nothing is like it. Where that means that there is none, say so:")
            lines.append(f"# absent_means_none = {json.dumps(self.absent)}")
        if self.has_bom:
            lines.append("bom = true")
        for title, table in self._tables():
            if table:
                lines += ["", f"[{title}]", *table]
        return "\n".join(lines) + "\n"

    def _tables(self) -> Iterator[tuple[str, list[str]]]:
        yield "names", [f'members = "{self.style}"'] if self.style != "camelCase" else []
        yield "envelopes", [f"answers = {json.dumps(self.envelopes)}"] if self.envelopes else []
        lists = [("items", self.items), ("total", self.total)]
        yield "lists", [f"{key} = {json.dumps(name)}" for key, name in lists if name]
        forms = [(what, self._form(what)) for what in ("instants", "days")]
        yield "times", [f'{what} = "{form}"' for what, form in forms if form and form != "iso"]
        truth = next((one for one in _TRUTHS if self.truths and self.truths <= set(one)), None)
        values = ['numbers = "text"'] if self.numbers_as_text else []
        values += [f"booleans = {json.dumps(truth)}"] if truth else []
        yield "values", values
        for kind, names in self.renamed().items():
            why = self.matches[kind].why
            yield (
                f"members.{kind}",
                [
                    f"{ours} = {json.dumps(theirs)}" + (f"  # {why[ours]}" if ours in why else "")
                    for ours, theirs in names.items()
                ],
            )


def propose(visits: Iterable[Visit], *, as_patient: bool) -> Proposal:
    """Find out how these answers differ from what the portal expects."""
    made = Proposal()
    given: dict[str, list[Mapping[str, object]]] = {}
    kinds: dict[str, type[object]] = {}
    for visit in visits:
        if not visit.is_good or visit.into in (bytes, object):
            continue
        made.has_bom = made.has_bom or visit.body.startswith(codecs.BOM_UTF8)
        record, records = _opened(visit, made)
        kinds[kind_of(record)] = record
        given.setdefault(kind_of(record), []).extend(records)
    for _pass in range(_PASSES):
        made.matches = {kind: match(record, given[kind]) for kind, record in kinds.items()}
        given = _with_embedded(kinds, given, made)
    made.style = _style_of(made.matches.values())
    excused = SOMETIMES | (STAFF_ONLY if as_patient else frozenset[str]())
    for kind, one in made.matches.items():
        if given[kind]:
            needed = {member.name for member in members_of(kinds[kind]) if member.is_required}
            made.absent += [
                name
                for ours in one.absent
                if (name := f"{kind}.{ours}") not in excused and ours not in needed
            ]
            one.undecided = {o: t for o, t in one.undecided.items() if f"{kind}.{o}" not in excused}
            _learn_forms(kinds[kind], given[kind], one, made)
    made.absent.sort()
    return made


def _opened(visit: Visit, made: Proposal) -> tuple[type[object], list[Mapping[str, object]]]:
    """The records of an answer, out of their envelopes."""
    answer, is_page = json_of(visit.body), get_origin(visit.into) is Page
    record = cast("type[object]", get_args(visit.into)[0] if is_page else visit.into)
    path: list[str] = []
    while isinstance(answer, dict):
        outer = cast("dict[str, object]", answer)
        if is_page and (name := _list_in(outer)):
            if folded(name) != "items":
                made.items = ".".join([*path, name])
            totals = [n for n, v in outer.items() if isinstance(v, int) and not isinstance(v, bool)]
            if "totalCount" not in totals and (
                near := [n for n in totals if re.search("total|count", n, re.I)]
            ):
                is_other = len(near) == 1 and folded(near[0]) != "totalcount"
                made.total = ".".join([*path, near[0]]) if is_other else made.total
            answer = outer[name]
            break
        inner = None if _is_it(outer, record) and not is_page else _envelope_in(outer, record, is_page)
        if inner is None:
            break
        if inner not in made.envelopes:
            made.envelopes.append(inner)
        path.append(inner)
        answer = outer[inner]
    items: list[object] = (
        cast("list[object]", answer) if isinstance(answer, list) else [cast("object", answer)]
    )
    return record, [cast("dict[str, object]", one) for one in items if isinstance(one, dict)]


def _list_in(outer: Mapping[str, object]) -> str | None:
    lists = [name for name, value in outer.items() if isinstance(value, list)]
    return "items" if "items" in lists else lists[0] if len(lists) == 1 else None


def _is_it(value: Mapping[str, object], record: type[object]) -> bool:
    there = {folded(name) for name in value}
    return sum(folded(member.name) in there for member in members_of(record)) >= 2


def _envelope_in(outer: Mapping[str, object], record: type[object], is_page: bool) -> str | None:
    inner = [name for name, value in outer.items() if isinstance(value, dict)]
    inner = [name for name in inner if is_page or _is_it(cast("dict[str, object]", outer[name]), record)]
    return inner[0] if len(inner) == 1 else None


def _with_embedded(
    kinds: dict[str, type[object]], given: Mapping[str, list[Mapping[str, object]]], made: Proposal
) -> dict[str, list[Mapping[str, object]]]:
    """The records of the answers and, by the names found so far, those that are embedded in them."""
    found = {kind: list(records) for kind, records in given.items() if kind in _MAIN}
    ahead = [(kinds[kind], one) for kind, records in found.items() for one in records]
    while ahead:
        record, value = ahead.pop()
        names = (made.matches.get(kind_of(record)) or match(record, [value])).names
        for member in members_of(record):
            within = next(records_in(member.type), None)
            there = value.get(names.get(member.name, member.name)) if within else None
            for one in cast("list[object]", there) if isinstance(there, list) else [there]:
                if within and isinstance(one, dict):
                    kinds[kind_of(within)] = within
                    inner = cast("dict[str, object]", one)
                    found.setdefault(kind_of(within), []).append(inner)
                    ahead.append((within, inner))
    return {kind: found.get(kind, []) for kind in kinds}


_MAIN = frozenset(
    {
        *("ConsentForm", "Protocol", "Physician", "Conversation", "Notification", "NotificationSettings"),
        *("Episode", "PgtResult"),
    }
)


def _style_of(matches: Iterable[Matches]) -> str:
    pairs = [(ours, theirs) for one in matches for ours, theirs in one.names.items() if ours not in one.why]
    telling = [
        (ours, theirs) for ours, theirs in pairs if len({spell(ours) for spell in STYLES.values()}) > 1
    ]
    counts = {style: sum(spell(o) == t for o, t in telling) for style, spell in STYLES.items()}
    return max(counts, key=lambda style: counts[style])


def _learn_forms(
    record: type[object], records: list[Mapping[str, object]], one: Matches, made: Proposal
) -> None:
    for member in members_of(record):
        theirs = one.names.get(member.name)
        if theirs is None:
            continue
        for value in (given.get(theirs) for given in records):
            if value not in (None, ""):
                _learn_form(member, value, made)


def _learn_form(member: Member, value: Any, made: Proposal) -> None:
    if is_date(member):
        form = date_form(value)
        what = "instants" if _is(member.type, inspect.DateTimeType) else "days"
        if form:
            made.forms.setdefault(what, set()).add(form)
        if form in ("dd MM", "MM dd", "either"):
            made.separators.add(re.sub(r"\d", "", str(value)[:6])[:1])
    elif isinstance(value, str) and _is(member.type, inspect.IntType, inspect.FloatType):
        made.numbers_as_text = made.numbers_as_text or bool(re.fullmatch(r"-?\d+(\.\d+)?", value))
    elif isinstance(value, str) and _is(member.type, inspect.BoolType):
        made.truths.add(value)


def _is(shape: inspect.Type, *kinds: type[inspect.Type]) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(_is(one, *kinds) for one in shape.types)
    return isinstance(shape, kinds)
