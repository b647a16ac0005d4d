"""Compares responses with the portal's records: decoded or not; missing or unknown members; wrong types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast, get_args, get_origin

import msgspec
from msgspec import inspect

from portal.connect.answers.comparison import Comparison, compare, kinds_within
from portal.connect.conform.formats import format_of
from portal.connect.conform.walk import LISTS, Visit, json_of
from portal.connect.dialects.named_records import all_marked, use_of_member
from portal.services import decoding
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm, TextGap
from portal.services.decoding import PagedResult
from portal.services.endpoints import ALL
from portal.services.errors import BadResponse
from portal.services.members import Member, members_of
from portal.services.uses import Mark, use_of

_LISTS = frozenset(f"{endpoint.method} {endpoint.template}" for endpoint in LISTS)

TEXT = frozenset({"ConsentForm.body", "ConsentForm.statements"})
LIST_OF_FORMS = f"{LIST_CONSENTS.method} {LIST_CONSENTS.template}"
"""A form's text is required only when the form is read individually: lists may omit it."""


@dataclass(slots=True)
class Verdict:
    """The result for one endpoint. Members are named like "Episode.alerts"; counters hold numbers of records.

    `not_tried` says why it wasn't called; `without_text` counts consent forms that can't be signed because they have
    neither text nor file; `examples` are unknown or invalid values, shown only on request.
    """

    endpoint: str
    not_tried: str = ""
    statuses: Counter[str] = field(default_factory=Counter[str])
    strictly: int = 0
    forgivingly: int = 0
    unreadable: Counter[str] = field(default_factory=Counter[str])
    missing: list[str] = field(default_factory=list[str])
    unknown: Counter[str] = field(default_factory=Counter[str])
    other_type: Counter[str] = field(default_factory=Counter[str])
    values: Counter[str] = field(default_factory=Counter[str])
    without_text: int = 0
    examples: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    losses: list[str] = field(default_factory=list[str])
    slowest: float = 0.0

    @property
    def is_nowhere(self) -> bool:
        """Whether a list wasn't found: it takes no id, so the address must be wrong."""
        return self.endpoint in _LISTS and "404" in self.statuses

    @property
    def is_never_found(self) -> bool:
        """Whether none of the records is there that others name: what was taken for their ids may be something else."""
        return self.endpoint not in _LISTS and set(self.statuses) == {"404"}

    @property
    def has_gap(self) -> bool:
        """Whether it costs the portal's users anything."""
        bad_status = any(not name.startswith(("2", "404", "403")) for name in self.statuses)
        is_short = self.missing or self.without_text or self.is_nowhere or self.is_never_found
        return bool(bad_status or self.unreadable or is_short or self.other_type or self.values)


def judge(
    visits: Iterable[Visit], *, as_patient: bool, accepted: frozenset[str] = frozenset()
) -> list[Verdict]:
    """Return a verdict for each endpoint, in the order of `ALL`; `accepted` are members that count as sound."""
    by_endpoint: dict[str, Verdict] = {}
    compared: dict[str, Comparison] = {}
    kinds: dict[str, dict[str, type[object]]] = {}
    for visit in visits:
        verdict = by_endpoint.setdefault(visit.name, Verdict(visit.name))
        verdict.statuses[str(visit.status) if visit.status else visit.why] += 1
        verdict.slowest = max(verdict.slowest, visit.seconds)
        if not visit.is_good:
            continue
        if visit.into in (bytes, object):
            verdict.strictly += 1
            continue
        record = _decode(visit, verdict)
        if visit.endpoint is READ_CONSENT and isinstance(record, ConsentForm):
            verdict.without_text += record.text_gap in (TextGap.NOT_SENT, TextGap.EMPTY)
        answer = json_of(visit.body)
        compare(answer, visit.into, compared.setdefault(visit.name, Comparison()))
        kinds.setdefault(visit.name, {}).update(kinds_within(visit.into))
        for name, value, fit in _values(answer, visit.into):
            if fit == "unknown":
                verdict.values[name] += 1
            elif fit == "unfit":
                verdict.other_type[name] += 1
            if fit in ("unknown", "unfit"):
                _keep(verdict.examples, name, value)
    came = _came(compared.values())
    for verdict in by_endpoint.values():
        for name in accepted:
            verdict.values.pop(name, None)
            verdict.other_type.pop(name, None)
    excused = excused_members(as_patient=as_patient) | accepted
    for name, found in compared.items():
        verdict = by_endpoint[name]
        verdict.unknown = found.unknown
        there = {kind for kind, _members in found.records}
        verdict.missing = sorted(
            f"{kind}.{member.name}"
            for kind, record in kinds[name].items()
            if kind in there
            for member in members_of(record)
            if f"{kind}.{member.name}" not in came | excused
            and (member.is_required or use_of(record, member.name))
            and not (f"{kind}.{member.name}" in TEXT and name == LIST_OF_FORMS)
        )
        losses = (_loss_of(member) for member in (*verdict.missing, *verdict.values))
        verdict.losses = sorted({loss for loss in losses if loss})
    return [
        by_endpoint.get(name) or Verdict(name, not_tried=_why_not(name))
        for name in (f"{endpoint.method} {endpoint.template}" for endpoint in ALL)
    ]


def excused_members(*, as_patient: bool) -> frozenset[str]:
    """The members that an API may leave out of all records that the tester sees (docs/assumptions.md)."""
    return all_marked(Mark.SOMETIMES) | (all_marked(Mark.NOT_SENT) if as_patient else frozenset[str]())


def _why_not(name: str) -> str:
    return "nothing to read it by was reached" if name.startswith("GET ") else "an act: see --acts"


def _decode(visit: Visit, verdict: Verdict) -> object:
    """The decoded response, or None if it can't be decoded; counts how it was decoded."""
    body = visit.body.lstrip()
    if get_origin(visit.into) is PagedResult and body.startswith(b"["):
        body = b'{"items":' + body + b"}"
    try:
        strict: object = msgspec.json.decode(body, type=visit.into)
        verdict.strictly += 1
        return strict
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        record: Any = decoding.decode(visit.body, visit.into)
        verdict.forgivingly += 1
        for path in getattr(record, "unreadable", ()):
            verdict.unreadable[str(path)] += 1
        return record
    except BadResponse as error:
        verdict.unreadable[error.field] += 1
        return None


def _came(compared: Iterable[Comparison]) -> frozenset[str]:
    return frozenset(
        f"{kind}.{name}" for found in compared for kind, names in found.records for name in names
    )


def _keep(examples: dict[str, list[str]], name: str, value: object) -> None:
    kept = examples.setdefault(name, [])
    text = repr(value)[:80]
    if len(kept) < 3 and text not in kept:
        kept.append(text)


def _values(answer: object, into: Any) -> Iterator[tuple[str, object, str]]:
    """Yield each value of a record's member: the member's name, the value, and how it fits."""
    if get_origin(into) is PagedResult:
        (record,) = get_args(into)
        items = cast("dict[str, object]", answer).get("items") if isinstance(answer, dict) else answer
        for item in cast("list[object]", items) if isinstance(items, list) else []:
            yield from _values(item, record)
        return
    if not isinstance(answer, dict):
        return
    given = cast("dict[str, object]", answer)
    for member in members_of(into):
        value = given.get(member.name)
        if value is None:
            continue
        within = member.nested
        if within is None:
            yield f"{into.__name__}.{member.name}", value, fit(value, member)
            continue
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            yield from _values(item, within)


def fit(value: object, member: Member) -> str:
    """How a value fits its member: "strict", "forgiven" if its meaning is unambiguous, "unknown" if it is outside an
    enumeration, "unfit"."""
    choice = member.choice
    form = format_of(member.name) if _may_be_text(member.type) else None
    if form and isinstance(value, str) and value and not form(value):
        return "unfit"
    if choice is not None:
        if not isinstance(value, str | int) or isinstance(value, bool):
            return "unfit"
        return "strict" if choice(cast("str", value)).known else "unknown"
    try:
        msgspec.convert(value, member.annotation, strict=True, str_keys=True)
        return "strict"
    except (msgspec.ValidationError, ValueError, OverflowError):
        pass
    try:
        body = msgspec.json.encode({"value": value})
        decoding.decode(body, _holder(member.annotation))
        return "forgiven"
    except (BadResponse, ValueError, OverflowError):
        return "unfit"


def _may_be_text(shape: inspect.Type) -> bool:
    if isinstance(shape, inspect.UnionType):
        return any(map(_may_be_text, shape.types))
    return isinstance(shape, inspect.StrType)


_HOLDERS: dict[Any, Any] = {}


def _holder(annotation: Any) -> Any:
    """A record with one member of this type, to decode a single value like a response."""
    if annotation not in _HOLDERS:
        _HOLDERS[annotation] = msgspec.defstruct("Holder", [("value", annotation)])
    return _HOLDERS[annotation]


def _loss_of(member: str) -> str | None:
    """What is lost without a member ("Episode.alerts"), and on which pages; None if the portal doesn't use it."""
    use = use_of_member(member)
    if use is None:
        return None
    pages = ", ".join(area.replace("_", " ") for area in use.areas)
    return f"{member}: {use.purpose} (on {pages})"
