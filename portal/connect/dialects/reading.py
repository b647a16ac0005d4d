"""Translates an API's responses from its dialect to the JSON values that the portal's records are decoded from.

A function is built once for each record. Invalid values stay unchanged, so that decoding names them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, TypeAlias, cast
from urllib.parse import parse_qsl, urlsplit

from msgspec import inspect

from portal.connect.dialects import formats
from portal.connect.dialects.conversions import both, length_read, opposite, with_conversion
from portal.connect.dialects.formats import Convert, folded_code
from portal.connect.dialects.named_records import family
from portal.connect.dialects.naming import STYLES, folded_name
from portal.connect.dialects.paths import MISSING, at_path, getter
from portal.connect.dialects.rules import Code, Coded, Marker, Rules
from portal.services.decoding import Choice, PagedResult
from portal.services.members import Member, members_of, names_id

_Step: TypeAlias = Callable[[dict[str, object], object], None]
"""Changes what was read of a record, by the record as it came."""


class Reading:
    """Translates responses by a dialect's rules; `keeps_unknown` keeps unread members unchanged, as "? name".

    `keeps_source` keeps each record as it came, as `SOURCE`; texts that come by language are read in `language`.
    """

    def __init__(
        self, rules: Rules, *, keeps_unknown: bool = False, keeps_source: bool = False, language: str = ""
    ) -> None:
        self.rules = rules
        self.keeps_unknown = keeps_unknown
        self.keeps_source = keeps_source
        self.language = rules.by_language.get(language, "")
        self._instant = formats.read_none(rules.no_time, formats.instants_read(rules.instants, rules.zone))
        days = [formats.read_day(form, rules.zone) for form in rules.days]
        self._day = formats.read_none(rules.no_time, formats.any_of(days))
        self._number = _NUMBERS[rules.numbers]
        self._truth = formats.read_truth(*rules.truth) if rules.truth else None
        self._made: dict[type, Convert] = {}
        self._of_objects: set[Convert] = set()
        """Functions for values that change only what came as an object."""

    def of(self, answer: Any) -> Convert:
        """The function for responses of a type: a record, or a `PagedResult` of records."""
        if getattr(answer, "__origin__", None) is PagedResult:
            return self._page(answer.__args__[0])
        if not isinstance(answer, type) or answer in (object, bytes):
            return self.opened
        record = self.record(answer)
        return lambda value: record(self.opened(value))

    def opened(self, value: object) -> object:
        """The value inside the envelopes."""
        for name in self.rules.envelopes:
            if value.__class__ is dict:
                value = cast("dict[str, object]", value).get(name, value)
        return value

    def record(self, shape: type) -> Convert:
        """The function for a kind of record; recursive records aren't supported."""
        if shape not in self._made:
            self._made[shape] = self._record(shape)
        return self._made[shape]

    def _record(self, shape: type) -> Convert:
        known: dict[str, tuple[str, Convert | None, bool, bool]] = {}
        outer = {self.rules.deleted.path[0]} if self.rules.deleted else set[str]()
        deep: list[_Step] = []
        for member in members_of(shape):
            convert = self.convert(shape, member)
            name = self.rules.name_of(shape, member.name)
            if "." in name:
                deep.append(_take(member.name, getter(name.split(".")), convert))
                outer.add(name.partition(".")[0])
            else:
                keeps_null = member.is_required or member.is_nullable
                known[name] = (member.name, convert, keeps_null, convert in self._of_objects)
        steps = (*deep, *self._completions(shape))
        keeps_unknown, keeps_source = self.keeps_unknown, self.keeps_source
        entry_of = known.get

        def read(value: object) -> object:
            if value.__class__ is not dict:
                return value
            found: dict[str, object] = {}
            for name, given in cast("dict[str, object]", value).items():
                entry = entry_of(name)
                if entry is None:
                    if keeps_unknown and name not in outer:
                        found[f"? {name}"] = given
                    continue
                ours, convert, keeps_null, of_objects = entry
                if given is None:
                    if keeps_null:
                        found[ours] = None
                elif convert is None or (of_objects and given.__class__ is not dict):
                    found[ours] = given
                else:
                    found[ours] = convert(given)
            for step in steps:
                step(found, value)
            if keeps_source:
                found[SOURCE] = (shape, value)
            return found

        return read

    def _completions(self, shape: type) -> Iterator[_Step]:
        """What completes a record whose members are read: what absence means, then what follows from other members."""
        lengths: list[_Step] = []
        for member in members_of(shape):
            if any(f"{record}.{member.name}" in self.rules.absent_means_none for record in family(shape)):
                yield _fill(member)
            conversion, _is_opposite = self.rules.of_member(shape, member.name)
            if conversion and conversion.kind == "length_from":
                lengths.append(_count_days(member.name, cast("str", conversion.given)))
        yield from lengths
        if self.rules.people and names_person_once(self.rules, shape):
            split, _join = formats.PEOPLE[self.rules.people]
            yield _separate_names(split)

    def convert(self, shape: type, member: Member) -> Convert | None:
        """The function for a member's value; None if this dialect doesn't change it."""
        conversion, is_opposite = self.rules.of_member(shape, member.name)
        usual = self._usual(shape, member)
        if conversion:
            usual = with_conversion(usual, conversion, member, self.rules.zone)
        return both(usual, opposite) if is_opposite else usual

    def _usual(self, shape: type, member: Member) -> Convert | None:
        names = [f"{record}.{member.name}" for record in family(shape)]
        if member.may_be_text and self.rules.table_of(*names):
            return self._text(names)
        convert = self._of_type(member.value_type, names)
        if member.is_nullable and isinstance(member.value_type, inspect.StructType):
            convert = self._unless_deleted(convert, None)
        if self.rules.windows_zones and member.name == formats.ZONE:
            convert = formats.zone_from_windows
        if self.rules.coded and not member.is_id:
            if member.is_text:
                convert = self._uncoded(self.rules.coded, convert, self.rules.table_of(*names))
            elif member.choice:
                convert = self._uncoded(self.rules.coded, convert, {value.value for value in member.choice})
        if member.is_text and self.rules.by_language and not member.is_id:
            convert = self._by_language(convert)
        if member.is_text and member.is_nullable:
            return formats.read_none(self.rules.no_text, convert)
        if member.is_number and member.is_nullable:
            return formats.read_none(self.rules.no_number, convert)
        return convert

    def _uncoded(self, coded: Coded, convert: Convert | None, known: Container[object]) -> Convert:
        """The function for a value that may come as an object of code and label: the label, if the code isn't `known`."""
        code_of, label_of = getter(coded.code.split("."), MISSING), getter((coded.label or "").split("."))

        def read(value: object) -> object:
            code = code_of(value) if value.__class__ is dict else MISSING
            if code is MISSING:
                return convert(value) if convert else value
            ours = convert(code) if convert and code is not None else code
            if self.keeps_unknown or not isinstance(ours, str | int) or ours in known:
                return ours
            label = self._in_language(label_of(value))
            return label if isinstance(label, str) and label else ours

        return self._noted(read, convert)

    def _noted(self, read: Convert, within: Convert | None) -> Convert:
        """Remember of a function whether it changes only what came as an object."""
        if within is None or within in self._of_objects:
            self._of_objects.add(read)
        return read

    def _by_language(self, convert: Convert | None) -> Convert:
        """The function for a text that may come as an object of texts by language."""
        in_language = self._in_language

        def read(value: object) -> object:
            text = value if value.__class__ is str else in_language(value)
            return convert(text) if convert else text

        return self._noted(read, convert)

    def _in_language(self, value: object) -> object:
        """The text in the reader's language, or the first that there is, of an object of texts by language."""
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, object]", value)
        if self.rules.coded and at_path(given, self.rules.coded.code.split("."), MISSING) is not MISSING:
            return given
        texts = {name: text for name, text in given.items() if isinstance(text, str)}
        if any(text is not None and not isinstance(text, str) for text in given.values()):
            return given
        return texts.get(self.language) or next((text for text in texts.values() if text), None)

    def _text(self, names: list[str]) -> Convert | None:
        table = self.rules.table_of(*names)
        return _by_table({code: ours for ours, codes in table.items() for code in codes}) if table else None

    def _of_type(self, kind: inspect.Type, names: list[str]) -> Convert | None:
        match kind:
            case inspect.StructType(cls=cls):
                return self.record(cls)
            case inspect.VarTupleType(item_type=item):
                whole = (
                    self.record(item.cls)
                    if isinstance(item, inspect.StructType)
                    else self._of_type(item, names)
                )
                return self._items(whole)
            case inspect.EnumType(cls=cls):
                return self._choice(cast("type[Choice]", cls), names)
            case inspect.DateTimeType():
                return self._instant
            case inspect.DateType():
                return self._day
            case inspect.IntType() | inspect.FloatType():
                return self._number
            case inspect.BoolType():
                return self._truth
            case inspect.StrType():
                is_id = names_id(names[0].rpartition(".")[2])
                return self._text(names) or (formats.id_as_text if is_id else None)
            case inspect.DictType():
                return self._unless_deleted(self._free_members(self.rules.members.get(names[0], {})), {})
            case _:
                return None

    def _unless_deleted(self, convert: Convert | None, otherwise: object) -> Convert | None:
        """The function for a record within another: `otherwise` stands for one that is marked as deleted."""
        if self.rules.deleted is None:
            return convert
        is_gone = _marked_by(self.rules.deleted)

        def read(value: object) -> object:
            if is_gone(value):
                return otherwise
            return convert(value) if convert else value

        return read

    def _items(self, convert: Convert | None) -> Convert | None:
        envelopes, is_gone = (
            self.rules.envelopes,
            _marked_by(self.rules.deleted) if self.rules.deleted else None,
        )
        if convert is None and not envelopes:
            return None

        def read(value: object) -> object:
            if value.__class__ is dict and envelopes:
                value = self.opened(value)
            if value.__class__ is not list or convert is None:
                return value
            items = cast("list[object]", value)
            if is_gone:
                items = [row for row in items if not is_gone(row)]
            return [None if item is None else convert(item) for item in items]

        return read

    def _free_members(self, names: Mapping[str, str]) -> Convert | None:
        """The function for undeclared members, such as a notification's `data`: renamed, or converted to camelCase."""
        if not names and self.rules.member_style == "camelCase":
            return None
        camel = STYLES["camelCase"]
        ours = {theirs: name for name, theirs in names.items()}

        def read(value: object) -> object:
            if not isinstance(value, dict):
                return value
            given = cast("dict[str, object]", value)
            return {ours.get(name) or camel(name): member for name, member in given.items()}

        return read

    def _choice(self, choice: type[Choice], names: list[str]) -> Convert:
        if self.keeps_unknown and self.rules.enumeration_style != "integers":
            # Names aren't converted from another style here, so that they show as the API sends them.
            listed = self.rules.table_of(*names, choice.__name__)
            return _by_table({code: ours for ours, codes in listed.items() for code in codes})
        return _by_table(codes_read(self.rules, choice, names))

    def _page(self, shape: type) -> Convert:
        rules, record = self.rules, self.record(shape)
        style = STYLES[rules.member_style]
        total = (rules.total or style("totalCount")).split(".")
        unread = (rules.unread or style("unreadCount")).split(".")
        where = rules.items_of.get(shape.__name__, rules.items)
        items = where.split(".") if where else None
        within = rules.record.split(".") if rules.record else ()
        usual = style("items")
        number, keeps_unknown = self._number, self.keeps_unknown
        deleted, following = rules.deleted, self._next()

        def read(value: object) -> object:
            inner = self.opened(value)
            given = at_path(value, items) if items else None
            if given is None and items:
                given = at_path(inner, items)
            if given is None:
                given = at_path(inner, [usual]) if inner.__class__ is dict else inner
            counts: dict[str, object] = {}
            for name, path in (("totalCount", total), ("unreadCount", unread)):
                count = at_path(value, path)
                count = at_path(inner, path) if count is None else count
                if count is not None:
                    counts[name] = number(count) if number else count
            if given is None and counts.get("totalCount") == 0:
                given = []  # the API says that there is none
            if not isinstance(given, list):
                if given is None and keeps_unknown and inner.__class__ is dict:
                    return {f"? {name}": held for name, held in cast("dict[str, object]", inner).items()}
                # Without a list there is nothing to separate; validation names the member.
                return {} if given is None else {"items": given}
            came = cast("list[object]", given)
            if within:
                came = [at_path(row, within) or row for row in came]  # one without a record can't be read
            kept = [row for row in came if not is_marked(row, deleted)] if deleted else came
            page: dict[str, object] = {
                "items": [None if row is None else record(row) for row in kept],
                **counts,
            }
            if len(kept) < len(came):
                page["(portal) deleted"] = len(came) - len(kept)
            if following and (cursor := following(value, inner)) is not None:
                page["(portal) next"] = cursor
            if keeps_unknown and "totalCount" not in page and value.__class__ is dict:
                beside = cast("dict[str, object]", value).items()
                page |= {
                    f"? {name}": read
                    for name, read in beside
                    if not isinstance(read, list) and name not in self._around
                }
            return page

        return read

    @cached_property
    def _around(self) -> frozenset[str]:
        """The outermost members of an answer that the dialect knows of."""
        rules = self.rules
        success = rules.errors.success.path[:1] if rules.errors.success else ()
        paths = (
            rules.items,
            *rules.items_of.values(),
            rules.total,
            rules.unread,
            rules.next,
            rules.errors.code,
        )
        return frozenset((*rules.envelopes[:1], *success, *(path.split(".")[0] for path in paths if path)))

    def _next(self) -> Callable[[object, object], str | None] | None:
        """The function for the next page's cursor, by an answer and what its envelopes hold; None if there are no cursors."""
        if self.rules.next is None or self.rules.paging != "cursor":
            return None
        path, parameter = self.rules.next.split("."), self.rules.parameter("SkipCount")

        def read(value: object, inner: object) -> str | None:
            told = at_path(value, path)
            told = at_path(inner, path) if told is None else told
            if told is None or told is False or told == "":
                return None
            address = urlsplit(str(told))
            if isinstance(told, str) and (address.query or address.netloc):
                return next((value for name, value in parse_qsl(address.query) if name == parameter), "")
            return str(told) if isinstance(told, str | int) else ""

        return read


SOURCE = "(source)"
"""The member in which a record is kept as it came, with its kind."""

_NUMBERS: Mapping[str, Convert | None] = {
    "number": None,
    "text": formats.number_from_text,
    "comma": formats.number_from_comma,
}


def names_person_once(rules: Rules, shape: type) -> bool:
    """Whether one member of a record in the API holds both names of a person."""
    names = {member.name for member in members_of(shape)}
    return {"firstName", "lastName"} <= names and rules.name_of(shape, "firstName") == rules.name_of(
        shape, "lastName"
    )


def _take(ours: str, get: Callable[[object], object], convert: Convert | None) -> _Step:
    """Take a member from deep inside the record."""

    def step(found: dict[str, object], value: object) -> None:
        given = get(value)
        if given is not None:
            found[ours] = convert(given) if convert else given

    return step


def _fill(member: Member) -> _Step:
    """Set a member to none where it is absent."""
    ours = member.name
    nothing: object = [] if isinstance(member.value_type, inspect.VarTupleType) else None

    def step(found: dict[str, object], _value: object) -> None:
        if found.get(ours) is None:
            found[ours] = nothing

    return step


def _count_days(ours: str, first: str) -> _Step:
    """Turn how many days it is from another member into the last day."""

    def step(found: dict[str, object], _value: object) -> None:
        if found.get(ours) is not None:
            found[ours] = length_read(found[ours], found.get(first))

    return step


def _separate_names(split: Callable[[str], tuple[str, str]]) -> _Step:
    """Separate a person's names, of which one member of the API holds both."""

    def step(found: dict[str, object], _value: object) -> None:
        text = found.get("lastName") or found.get("firstName")
        if isinstance(text, str):
            found["firstName"], found["lastName"] = split(text)

    return step


def is_marked(value: object, marker: Marker) -> bool:
    """Whether a record, or an answer, has one of the marker's values; or with `unless`, a value that is none of them."""
    return _marked_by(marker)(value)


@cache
def _marked_by(marker: Marker) -> Callable[[object], bool]:
    """The function that says so, prepared for many records."""
    get, values, is_unless = getter(marker.path), marker.values, marker.is_unless

    def is_one(value: object) -> bool:
        told = get(value)
        if told is None:
            return False
        is_listed = isinstance(told, str | int) and folded_code(told) in values
        return (told not in (False, "") and not is_listed) if is_unless else is_listed

    return is_one


def codes_read(rules: Rules, choice: type[Choice], names: list[str]) -> dict[Code, str]:
    """The meaning of each of the API's codes for an enumeration, including the dialect's spelling of unlisted values."""
    table = rules.table_of(*names, choice.__name__)
    found: dict[Code, str] = {}
    for place, member in enumerate(choice):
        found |= dict.fromkeys(usual_codes(rules, member.value, place), member.value)
    for ours, codes in table.items():
        found |= dict.fromkeys(codes, ours)
    return found


def usual_codes(rules: Rules, name: str, place: int) -> tuple[Code, ...]:
    """The API's codes for a value that isn't listed; the first is the one to send."""
    if rules.enumeration_style == "integers":
        return (place + rules.first_integer, name)
    return (STYLES[rules.enumeration_style](name), name)


def _by_table(table: dict[Code, str]) -> Convert:
    """A converter by code, ignoring case and whether numbers are strings. If some codes are numbers, others that aren't
    listed don't stand for a place in the portal's order."""
    loose = {folded_name(str(code)): ours for code, ours in table.items()}
    has_numbers = any(code.isdecimal() for code in loose)

    def read(value: object) -> object:
        if value.__class__ is not str and value.__class__ is not int:
            return value
        found = table.get(cast("Code", value))
        if found is None:
            found = loose.get(folded_name(str(value)))
        if found is None:
            return f"{UNLISTED}{value}" if has_numbers and str(value).isdecimal() else value
        return found

    return read


UNLISTED = "#"
"""Prefix of numbers that a dialect doesn't list: a bare one would be taken for an index in the portal's order."""
