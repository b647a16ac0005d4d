"""Translates request bodies and queries to an API's dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import inspect

from portal.connect.dialects import formats
from portal.connect.dialects.conversions import before_writing, both, length_written, opposite
from portal.connect.dialects.formats import Convert
from portal.connect.dialects.named_records import family, record_of
from portal.connect.dialects.naming import STYLES, folded_name
from portal.connect.dialects.paths import put
from portal.connect.dialects.reading import UNLISTED, names_person_once, usual_codes
from portal.connect.dialects.rules import Code, Rules
from portal.services.api import AnyEndpoint, Query
from portal.services.decoding import Choice
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of
from portal.services.prospects import Prospect


class Writing:
    """Translates requests by a dialect's rules."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._instant = _as_text(formats.write_instant(rules.instants[0], rules.zone), rules)
        self._day = _as_text(formats.write_day(rules.days[0], rules.zone), rules)
        self._truth = formats.write_truth(*rules.truth) if rules.truth else None
        self._made: dict[type, Convert] = {}
        self._sortings: dict[tuple[type, str], str] = {}
        self._parameters = {
            endpoint.query: {
                member.name: (rules.parameter(member.name), self._parameter(endpoint, member))
                for member in members_of(endpoint.query)
            }
            for endpoint in ALL
            if endpoint.query is not None
        }

    def _parameter(self, endpoint: AnyEndpoint, member: Member) -> Convert | None:
        """The function for a parameter's value: the opposite too, if it has the name of a member that says the opposite."""
        usual, record = self.convert(member), record_of(endpoint.answer)
        ours = member.name[:1].lower() + member.name[1:]
        if not record or not member.is_truth or not self.rules.of_member(record, ours)[1]:
            return usual
        theirs = self.rules.name_of(record, ours).rpartition(".")[2]
        is_its = folded_name(theirs) == folded_name(self.rules.parameter(member.name))
        return both(opposite, usual) if is_its else usual

    def body(self, endpoint: AnyEndpoint, body: object) -> object:
        """A body as JSON values in the dialect, with its envelope."""
        shape = endpoint.body
        plain = cast("object", msgspec.to_builtins(body))
        return self.enclosed(self.record(shape)(plain) if shape else plain)

    def enclosed(self, written: object) -> object:
        """A body in its envelopes."""
        for name in reversed(self.rules.sent_envelopes):
            written = {name: written}
        return written

    def record(self, shape: type) -> Convert:
        """The function for a kind of record."""
        if shape not in self._made:
            self._made[shape] = self._record(shape)
        return self._made[shape]

    def _record(self, shape: type) -> Convert:
        style = STYLES[self.rules.member_style]
        entries = {
            member.name: (self.rules.name_of(shape, member.name).split("."), self.convert(member, shape))
            for member in members_of(shape)
        }
        lengths = {
            member.name: cast("str", conversion.given)
            for member in members_of(shape)
            if (conversion := self.rules.of_member(shape, member.name)[0])
            and conversion.kind == "length_from"
        }
        is_once = self.rules.people and names_person_once(self.rules, shape)
        join = formats.PEOPLE[self.rules.people][1] if self.rules.people and is_once else None

        def write(value: object) -> object:
            if not isinstance(value, dict):
                return value
            members = cast("dict[str, object]", value)
            written: dict[str, object] = {}
            for ours, given in members.items():
                path, convert = entries.get(ours) or ([style(ours)], None)
                if ours in lengths:
                    given = length_written(given, members.get(lengths[ours]))
                put(written, path, convert(given) if convert and given is not None else given)
            if join and ("firstName" in members or "lastName" in members):
                first, last = (str(members.get(name) or "") for name in ("firstName", "lastName"))
                put(written, entries["lastName"][0], join(first, last))
            return written

        return write

    def convert(self, member: Member, shape: type | None = None) -> Convert | None:
        """The function for a member's value; None if this dialect doesn't change it."""
        records = family(shape) if shape else (member.record,)
        usual = self._of_type(member.value_type, [f"{record}.{member.name}" for record in records])
        if self.rules.ids_as_numbers and shape and member.is_id:
            usual = both(usual, _each(formats.id_as_number) if member.is_list else formats.id_as_number)
        if self.rules.windows_zones and member.name == formats.ZONE:
            usual = formats.zone_for_windows
        conversion, is_opposite = self.rules.of_member(shape, member.name) if shape else (None, False)
        if conversion:
            usual = before_writing(usual, conversion, member, self.rules.zone)
        return both(opposite, usual) if is_opposite else usual

    def _of_type(self, kind: inspect.Type, names: list[str]) -> Convert | None:
        match kind:
            case inspect.StructType(cls=cls):
                return self.record(cls)
            case inspect.VarTupleType(item_type=item):
                convert = self._of_type(item, names)
                return _each(convert) if convert else None
            case inspect.EnumType(cls=cls):
                return self._choice(cast("type[Choice]", cls), names)
            case inspect.DateTimeType():
                return self._instant
            case inspect.DateType():
                return self._day
            case inspect.IntType() | inspect.FloatType():
                return _NUMBERS[self.rules.numbers]
            case inspect.BoolType():
                return self._truth
            case inspect.StrType():
                table = self.rules.table_of(*names)
                return _by_table({ours: codes[0] for ours, codes in table.items()}) if table else None
            case inspect.DictType():
                return self._choices_by_member
            case _:
                return None

    def _choices_by_member(self, value: object) -> object:
        """The choice for each member of an enquiry, by the API's member names."""
        chosen = cast("dict[str, object]", value) if isinstance(value, dict) else {}
        return {self.rules.name_of(Prospect, name): choice for name, choice in chosen.items()}

    def _choice(self, choice: type[Choice], names: list[str]) -> Convert:
        table = self.rules.table_of(*names, choice.__name__)
        codes = {m.value: usual_codes(self.rules, m.value, place)[0] for place, m in enumerate(choice)}
        return _by_table({**codes, **{ours: written[0] for ours, written in table.items()}})

    def query(self, endpoint: AnyEndpoint, query: Query | None) -> dict[str, Any]:
        """Translate a query: names, values, paging and sorting."""
        shape = record_of(endpoint.answer)
        fixed = self.rules.fixed_query
        parameters = self._parameters.get(endpoint.query, {}) if endpoint.query else {}
        written: dict[str, Any] = {}
        if fixed and endpoint.is_safe:
            written |= {**fixed.get("", {}), **fixed.get(f"{endpoint.method} {endpoint.template}", {})}
        for name, value in self._paged(query or {}).items():
            their_name, convert = parameters.get(name, (name, None))
            if name == "Sorting" and isinstance(value, str) and shape:
                value = self._sorted_by(shape, value)
            elif convert and value is not None:
                value = cast("Any", convert(str(value) if isinstance(value, Choice) else value))
            written[their_name] = value
        return written

    def _paged(self, query: Query) -> Mapping[str, Any]:
        skip, limit = query.get("SkipCount"), query.get("MaxResultCount")
        if not isinstance(skip, int) or not isinstance(limit, int):
            return query
        limit = min(limit, self.rules.largest_page or limit)
        if self.rules.paging == "page":
            skip = skip // limit + self.rules.first_page
        elif self.rules.paging == "cursor":
            return {**query, "SkipCount": None, "MaxResultCount": limit}  # the first page has no cursor
        else:
            skip += self.rules.first_record
        return {**query, "SkipCount": skip, "MaxResultCount": limit}

    def _sorted_by(self, shape: type, sorting: str) -> str:
        if (shape, sorting) in self._sortings:
            return self._sortings[shape, sorting]
        member, _, direction = sorting.partition(" ")
        names = (self.rules.sort_names.get(f"{record}.{member}") for record in family(shape))
        name = next(filter(None, names), None) or self.rules.name_of(shape, member)
        written = SORTING[self.rules.sorting][direction == "desc"].format(name)
        return self._sortings.setdefault((shape, sorting), written)


SORTING = {
    "field desc": ("{}", "{} desc"),
    "field:desc": ("{}:asc", "{}:desc"),
    "field,desc": ("{},asc", "{},desc"),
    "-field": ("{}", "-{}"),
}
"""The forms of a sort parameter, ascending and descending."""


_NUMBERS: Mapping[str, Convert | None] = {
    "number": None,
    "text": formats.number_as_text,
    "comma": formats.number_with_comma,
}


def _as_text(write: Convert | None, rules: Rules) -> Convert | None:
    """The same as text where numbers are text: times that are numbers are among them."""
    if write is None or rules.numbers != "text":
        return write
    return lambda value: formats.number_as_text(write(value))


def _each(convert: Convert) -> Convert:
    return lambda value: [convert(item) for item in cast("list[object]", value)]


def _by_table(table: Mapping[str, Code]) -> Convert:
    def write(value: object) -> object:
        if not isinstance(value, str):
            return value
        number = value.removeprefix(UNLISTED)
        return int(number) if number != value and number.isdecimal() else table.get(value, value)

    return write
