"""Reads dialect files (docs/dialects.md); all faults are reported at once, each with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

from portal.config.identity import read_secret
from portal.config.time_zones import time_zones
from portal.connect.dialects.forms import EPOCH, Pattern, folded_code
from portal.connect.dialects.lines import lines_of
from portal.connect.dialects.naming import STYLES, folded
from portal.connect.dialects.rules import Code, ErrorRules, Rules
from portal.connect.dialects.shapes import choices, query_names, records
from portal.connect.dialects.tables import Table, TableReader, near
from portal.connect.dialects.visibility import disclosures, name_clashes
from portal.connect.dialects.writing import SORTING
from portal.services.decoding import Choice
from portal.services.endpoints import ALL
from portal.services.members import members_of
from portal.services.refusal_codes import RULES

FREE_MEMBERS = "Notification.data"
"""A table of members whose names aren't declared in a record."""

_OURS = {
    *("authorization", "host", "content-length", "transfer-encoding", "connection", "cookie", "if-match"),
    *("if-none-match", "range", "idempotency-key", "x-correlation-id"),
}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


_STATUSES = (400, 401, 403, 404, 409, 500, 501, 503)
_STATUSES_LISTED = ", ".join(map(str, _STATUSES))


class DialectError(Exception):
    """A dialect file can't be used; `faults` holds one line for each error."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def read_dialect(path: Path, environ: Mapping[str, str]) -> Rules:
    """Read a dialect file; raise DialectError with every fault and its line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DialectError([f"{path}: cannot be read ({error.strerror})"]) from error
    except UnicodeDecodeError as error:
        raise DialectError([f"{path}: is not UTF-8"]) from error
    return parse_dialect(text, environ, name=str(path))


def parse_dialect(text: str, environ: Mapping[str, str] | None = None, *, name: str = "dialect") -> Rules:
    """Read a dialect from text; raise DialectError. `environ` provides values for headers."""
    try:
        document = cast("Table", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise DialectError([f"{name}: is not TOML ({error})"]) from error
    reader = _Reader(lines_of(text), name, environ or {})
    rules = reader.read(document)
    if reader.faults:
        raise DialectError([fault for _line, fault in sorted(reader.faults, key=lambda one: one[0])])
    return rules


class _Reader(TableReader):
    """Turns a dialect file's tables into rules and collects their faults."""

    def read(self, document: Table) -> Rules:
        self._known("", document)
        names = self._table(document, "names")
        lists = self._table(document, "lists")
        times = self._table(document, "times")
        values = self._table(document, "values")
        envelopes = self._table(document, "envelopes")
        everywhere, members = self._members(self._table(document, "members"))
        zone = self._zone(times)
        rules = Rules(
            base_path=self._path(document.get("base_path", ""), ("base_path",)),
            addresses=self._addresses(self._table(document, "addresses")),
            headers=self._headers(self._table(document, "headers")),
            member_style=self._one_of(
                names, "names", "members", "camelCase", [s for s in STYLES if s != "UPPER_CASE"]
            ),
            query_style=self._one_of(names, "names", "query", "PascalCase", STYLES),
            enumeration_style=self._one_of(
                names, "names", "enumerations", "PascalCase", [*STYLES, "integers"]
            ),
            first_integer=self._whole(names, "names", "first_integer", 0, least=0),
            everywhere=everywhere,
            members=members,
            query=self._query(self._table(document, "query")),
            envelopes=self._texts(envelopes, "envelopes", "answers"),
            sent_envelope=self._text(envelopes, "envelopes", "sent"),
            items=self._text(lists, "lists", "items"),
            total=self._text(lists, "lists", "total"),
            unread=self._text(lists, "lists", "unread"),
            paging=self._one_of(lists, "lists", "paging", "offset", ["offset", "page"]),
            first_page=self._whole(lists, "lists", "first_page", 1, least=0),
            largest_page=self._whole(lists, "lists", "largest_page", 0, least=1) or None,
            sorting=self._one_of(lists, "lists", "sorting", "field desc", SORTING),
            instants=self._form(times, "instants", has_time=True),
            days=self._form(times, "days", has_time=False),
            zone=zone,
            no_time=self._none(times, "times"),
            no_text=self._none(values, "values"),
            numbers_as_text=self._one_of(values, "values", "numbers", "number", ["number", "text"]) == "text",
            truth=self._truth(values),
            bom=self._flag(document, "bom"),
            concurrency=self._one_of(document, "", "concurrency", "member", ["member", "etag"]),
            errors=self._errors(self._table(document, "errors")),
            absent_means_none=self._absent(document),
        )
        rules = replace(rules, enumerations=self._enumerations(self._table(document, "enumerations"), rules))
        for where, what in (*name_clashes(rules), *disclosures(rules)):
            self.fault(where, what)
        return rules

    def _addresses(self, table: Table) -> dict[str, str]:
        templates = {endpoint.template for endpoint in ALL}
        found: dict[str, str] = {}
        for ours, theirs in table.items():
            if not any(one == ours or one.startswith(f"{ours}/") for one in templates):
                self.fault(("addresses", ours), "no address in the specification begins like this")
            found[ours] = self._path(theirs, ("addresses", ours))
        return found

    def _headers(self, table: Table) -> dict[str, str]:
        found: dict[str, str] = {}
        for name, value in table.items():
            where = ("headers", name)
            if isinstance(value, dict):
                variable = cast("Table", value).get("env")
                value = read_secret(variable, self.environ) if isinstance(variable, str) else None
                if value is None:
                    self.fault(where, f"set {variable} (or {variable}_FILE) in the environment")
                    continue
            if name.lower() in _OURS or not _HEADER.fullmatch(name):
                self.fault(where, "must be a valid header name, and not a header that the portal sets itself")
            elif isinstance(value, str) and value and value.isascii() and value.isprintable():
                found[name] = value
            else:
                self.fault(where, "must be an ASCII string")
        return found

    def _members(self, table: Table) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        everywhere: dict[str, str] = {}
        by_record: dict[str, dict[str, str]] = {}
        every = {member.name for record in records().values() for member in members_of(record)}
        for key, value in table.items():
            if not isinstance(value, dict):
                if key not in every:
                    self.fault(("members", key), f"isn't a member of any record{near(key, every)}")
                everywhere |= self._renamed(("members", key), key, value)
            elif key == FREE_MEMBERS or key in records():
                by_record[key] = self._members_of(key, cast("Table", value))
            else:
                self.fault(("members", key), f"isn't a record{near(key, records())}")
        return everywhere, by_record

    def _members_of(self, record: str, table: Table) -> dict[str, str]:
        names = () if record == FREE_MEMBERS else [member.name for member in members_of(records()[record])]
        found: dict[str, str] = {}
        for ours, theirs in table.items():
            where = ("members", record, ours)
            if record != FREE_MEMBERS and ours not in names:
                self.fault(where, f"isn't a member of {record}{near(ours, names)}")
            found |= self._renamed(where, ours, theirs)
        return found

    def _renamed(self, where: tuple[str, ...], ours: str, theirs: object) -> dict[str, str]:
        if isinstance(theirs, str) and theirs and all(theirs.split(".")):
            return {ours: theirs}
        self.fault(where, "must be the member's name in the API, or a dotted path of names")
        return {}

    def _query(self, table: Table) -> dict[str, str]:
        found: dict[str, str] = {}
        for ours, theirs in table.items():
            if ours not in query_names():
                self.fault(("query", ours), f"isn't a parameter of a query{near(ours, query_names())}")
            elif isinstance(theirs, str) and theirs:
                found[ours] = theirs
            else:
                self.fault(("query", ours), "must be the parameter's name in the API")
        return found

    def _zone(self, table: Table) -> ZoneInfo:
        name = table.get("zone", "UTC")
        if isinstance(name, str) and name in time_zones():
            return ZoneInfo(name)
        self.fault(("times", "zone"), f"{name!r} isn't an IANA time zone such as Europe/London")
        return ZoneInfo("UTC")

    def _form(self, table: Table, key: str, *, has_time: bool) -> str:
        form = table.get(key, "iso")
        if isinstance(form, str) and (form == "iso" or form in EPOCH):
            return form
        try:
            Pattern(str(form), has_time=has_time)
        except ValueError:
            example = "dd/MM/yyyy HH:mm:ss" if has_time else "dd/MM/yyyy"
            self.fault(
                ("times", key),
                f"must be iso, {', '.join(EPOCH)} or a pattern such as {example} (found {form!r})",
            )
            return "iso"
        return str(form)

    def _truth(self, table: Table) -> tuple[Code, Code] | None:
        value = table.get("booleans")
        if value is None:
            return None
        words = cast("list[object]", value) if isinstance(value, list) else []
        if len(words) == 2 and all(_is_code(word) for word in words) and words[0] != words[1]:
            return cast("Code", words[0]), cast("Code", words[1])
        self.fault(("values", "booleans"), 'must be the words for true and false, such as ["Y", "N"]')
        return None

    def _none(self, table: Table, where: str) -> frozenset[Code]:
        value = table.get("none", [])
        words = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(isinstance(one, str | int) and not isinstance(one, bool) for one in words):
            codes = cast("list[Code]", words)
            return frozenset({*map(folded_code, codes), *(str(one) for one in codes if isinstance(one, int))})
        self.fault((where, "none"), 'must be a list of texts and whole numbers, such as [0, "01.01.0001"]')
        return frozenset()

    def _errors(self, table: Table) -> ErrorRules:
        codes: dict[str, str] = {}
        code_statuses: dict[str, int] = {}
        for theirs, rule in self._within(table, "errors", "codes").items():
            if isinstance(rule, str) and rule in RULES:
                codes[theirs] = rule
            elif rule in _STATUSES:
                code_statuses[theirs] = cast("int", rule)
            else:
                self.fault(
                    ("errors", "codes", theirs),
                    f"must be a rule's name, such as ConcurrencyConflict, or one of {_STATUSES_LISTED}"
                    f"{near(str(rule), RULES)}",
                )
        success, success_values = self._success(table)
        statuses: dict[int, int] = {}
        for theirs, meant in self._within(table, "errors", "statuses").items():
            if re.fullmatch(r"[45]\d\d", theirs) and meant in _STATUSES:
                statuses[int(theirs)] = cast("int", meant)
            else:
                self.fault(
                    ("errors", "statuses", theirs),
                    f"must map a 4xx or 5xx status to one of {_STATUSES_LISTED}",
                )
        return ErrorRules(
            code=self._text(table, "errors", "code"),
            fields=self._text(table, "errors", "fields"),
            name=self._text(table, "errors", "name"),
            codes=codes,
            code_statuses=code_statuses,
            statuses=statuses,
            success=success,
            success_values=success_values,
        )

    def _success(self, table: Table) -> tuple[str | None, frozenset[Code]]:
        """Where an answer says that it was well, and the values that do: `"ok"`, or `{ path = "state", value = "OK" }`."""
        given = table.get("success")
        if given is None or (isinstance(given, str) and given and all(given.split("."))):
            return given, frozenset({True, "true"})
        entry: Table = cast("Table", given) if isinstance(given, dict) else {}
        path, value = entry.get("path"), entry.get("value", True)
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        is_path = isinstance(path, str) and path and all(path.split("."))
        if set(entry) <= {"path", "value"} and is_path and all(isinstance(one, str | int) for one in values):
            return cast("str", path), frozenset(folded_code(one) for one in cast("list[Code]", values))
        self.fault(("errors", "success"), 'must be a path such as "ok", or { path = "state", value = "OK" }')
        return None, frozenset()

    def _absent(self, document: Table) -> frozenset[str]:
        known = {
            f"{record}.{member.name}".casefold(): f"{record}.{member.name}"
            for record, shape in records().items()
            for member in members_of(shape)
            if not member.is_required
        }
        found: set[str] = set()
        for name in self._texts(document, "", "absent_means_none"):
            if name.casefold() in known:
                found.add(known[name.casefold()])
            else:
                self.fault(
                    ("absent_means_none",),
                    f"{name} isn't an optional member{near(name, known.values())}",
                )
        return frozenset(found)

    def _enumerations(self, table: Table, rules: Rules) -> dict[str, dict[str, tuple[Code, ...]]]:
        texts = {
            f"{record}.{member.name}"
            for record, shape in records().items()
            for member in members_of(shape)
            if member.is_text or member.may_be_text or member.choice
        }
        found: dict[str, dict[str, tuple[Code, ...]]] = {}
        for key, value in table.items():
            if not isinstance(value, dict):
                self.fault(("enumerations", key), "must be a table")
            elif key in choices() or key in texts:
                choice = choices().get(key) or self._choice_of(key)
                values = None if choice is None else [one.value for one in choice]
                found[key] = self._codes(key, cast("Table", value), values, rules)
            else:
                meant = near(key, [*choices(), *texts])
                self.fault(
                    ("enumerations", key), f"is neither an enumeration nor a member that holds text{meant}"
                )
        return found

    def _choice_of(self, key: str) -> type[Choice] | None:
        record, _, name = key.partition(".")
        return next((one.choice for one in members_of(records()[record]) if one.name == name), None)

    def _codes(
        self, key: str, table: Table, values: list[str] | None, rules: Rules
    ) -> dict[str, tuple[Code, ...]]:
        found: dict[str, tuple[Code, ...]] = {}
        meaning: dict[Code, str] = {}
        for ours, given in table.items():
            where = ("enumerations", key, ours)
            codes = cast("list[object]", given) if isinstance(given, list) else [given]
            if values is not None and ours not in values:
                self.fault(where, f"isn't a value of {key}{near(ours, values)}")
            elif not codes or not all(_is_code(code) for code in codes):
                self.fault(
                    where, "must be a string or a whole number, or a list of them, of which the first is sent"
                )
            else:
                found[ours] = tuple(cast("list[Code]", codes))
                for code in found[ours]:
                    if (other := meaning.setdefault(code, ours)) != ours:
                        self.fault(where, f"{code!r} already means {other}")
        for ours, codes in found.items():
            for other in values or ():
                if other not in found and any(
                    isinstance(c, str) and folded(c) == folded(other) for c in codes
                ):
                    self.fault(("enumerations", key, ours), f"also means {other}, which has no other code")
        return found


def _is_code(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
