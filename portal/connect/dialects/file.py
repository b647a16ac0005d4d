"""Reads dialect files (docs/dialects.md); all faults are reported at once, each with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

from portal.config.errors import ConfigurationError
from portal.config.identity import read_secret
from portal.config.tenants import LANGUAGES
from portal.config.time_zones import zone_named
from portal.connect.dialects.conversions import KINDS, Conversion
from portal.connect.dialects.formats import EPOCH, PEOPLE, Pattern, folded_code
from portal.connect.dialects.keys import DECLARED
from portal.connect.dialects.lines import lines_of
from portal.connect.dialects.named_records import choices, listed_records, query_names, records
from portal.connect.dialects.naming import STYLES, folded_name
from portal.connect.dialects.rules import Code, Coded, ErrorRules, FileRules, Marker, Rules
from portal.connect.dialects.tables import Table, TableReader, near
from portal.connect.dialects.visibility import disclosures, name_clashes
from portal.connect.dialects.writing import SORTING
from portal.services.decoding import Choice
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of
from portal.services.refusal_codes import RULES

SIGNERS: Mapping[str, str | None] = {"account": None, "Patient.id": "id", "Patient.mrn": "mrn"}
"""What may name the signers of forms, with the attribute of a patient that is meant."""

FREE_MEMBERS = "Notification.data"
"""A table of members whose names aren't declared in a record."""

_OURS = {
    *("authorization", "host", "content-length", "transfer-encoding", "connection", "cookie", "if-match"),
    *("if-none-match", "range", "idempotency-key", "x-correlation-id"),
}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


_METHODS = ("POST", "PUT", "PATCH", "DELETE")
_STATUSES = (400, 401, 403, 404, 409, 500, 501, 503)
_STATUSES_LISTED = ", ".join(map(str, _STATUSES))


class DialectError(ConfigurationError):
    """A dialect file can't be used."""


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
        raise DialectError([fault for _line, fault in sorted(reader.faults, key=lambda fault: fault[0])])
    return rules


class _Reader(TableReader):
    """Turns a dialect file's tables into rules and collects their faults."""

    def __init__(self, lines: Mapping[tuple[str, ...], int], name: str, environ: Mapping[str, str]) -> None:
        super().__init__(lines, name, environ)
        self.inverted: set[str] = set()

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
            methods=self._methods(self._table(document, "methods")),
            headers=self._headers(self._table(document, "headers")),
            fixed_query=self._fixed_query(self._table(document, "fixed_query")),
            member_style=self._one_of(names, "names", "members", "camelCase", STYLES),
            query_style=self._one_of(names, "names", "query", "PascalCase", STYLES),
            enumeration_style=self._one_of(
                names, "names", "enumerations", "PascalCase", [*STYLES, "integers"]
            ),
            first_integer=self._whole(names, "names", "first_integer", 0, least=0),
            people=self._one_of(names, "names", "people", "", ("", *PEOPLE)) or None,
            everywhere=everywhere,
            members=members,
            inverted=frozenset(self.inverted),
            conversions=self._conversions(self._table(document, "convert")),
            query=self._query(self._table(document, "query")),
            envelopes=self._texts(envelopes, "envelopes", "answers"),
            sent_envelopes=self._sent_envelopes(envelopes),
            items=None if isinstance(lists.get("items"), dict) else self._text(lists, "lists", "items"),
            items_of=self._items_of(lists),
            record=self._text(lists, "lists", "record"),
            total=self._text(lists, "lists", "total"),
            unread=self._text(lists, "lists", "unread"),
            paging=self._one_of(lists, "lists", "paging", "offset", ["offset", "page", "cursor"]),
            first_page=self._whole(lists, "lists", "first_page", 1, least=0),
            first_record=self._whole(lists, "lists", "first_record", 0, least=0),
            next=self._next(lists),
            largest_page=self._whole(lists, "lists", "largest_page", 0, least=1) or None,
            sorting=self._one_of(lists, "lists", "sorting", "field desc", SORTING),
            sort_names=self._sort_names(self._named_texts(lists, "lists", "sort_names")),
            deleted=self._marker(lists, "lists", "deleted"),
            empty_lists=self._empty_lists(lists, "code" in self._table(document, "errors")),
            instants=self._forms(times, "instants", has_time=True),
            days=self._forms(times, "days", has_time=False),
            zone=zone,
            no_time=self._none(times, "times", "none"),
            no_text=self._none(values, "values", "none"),
            no_number=self._none(values, "values", "no_number"),
            numbers=self._one_of(values, "values", "numbers", "number", ["number", "text", "comma"]),
            ids_as_numbers=self._one_of(values, "values", "ids", "text", ["text", "number"]) == "number",
            windows_zones=self._one_of(values, "values", "zones", "iana", ["iana", "windows"]) == "windows",
            by_language=self._languages(values),
            coded=self._coded(values),
            signers_by=SIGNERS[self._one_of(values, "values", "signers", "account", SIGNERS)],
            truth=self._truth(values),
            files=self._files(self._table(document, "files")),
            bom=self._flag(document, "bom"),
            concurrency=self._one_of(document, "", "concurrency", "member", ["member", "etag"]),
            errors=self._errors(self._table(document, "errors")),
            absent_means_none=self._absent(document),
            accepted=self._accepted(document),
        )
        rules = replace(rules, enumerations=self._enumerations(self._table(document, "enumerations"), rules))
        for where, what in (*name_clashes(rules), *disclosures(rules)):
            self.fault(where, what)
        return rules

    def _addresses(self, table: Table) -> dict[str, str]:
        calls = {f"{endpoint.method} {endpoint.template}": endpoint for endpoint in ALL}
        templates = {endpoint.template: endpoint for endpoint in ALL}
        found: dict[str, str] = {}
        for ours, theirs in table.items():
            where = ("addresses", ours)
            found[ours] = self._path(theirs, where)
            whole = calls.get(ours) or templates.get(ours)
            if whole is None and not any(template.startswith(f"{ours}/") for template in templates):
                self.fault(where, f"no address in the specification begins like this{near(ours, calls)}")
            ids = re.findall(r"{(\w+)}", found[ours])
            if sorted(ids) != sorted(re.findall(r"{(\w+)}", ours)):
                self.fault(where, "must have the same ids in braces on both sides, each once")
        return found

    def _methods(self, table: Table) -> dict[str, str]:
        calls = {f"{endpoint.method} {endpoint.template}" for endpoint in ALL}
        known = {*calls, *(call.partition(" ")[0] for call in calls)}
        for ours, theirs in table.items():
            if ours not in known:
                self.fault(
                    ("methods", ours), f"is neither GET, POST, PUT, DELETE nor a call{near(ours, known)}"
                )
            elif ours.startswith("GET") and theirs != "POST":
                self.fault(("methods", ours), "must be POST: a read is either GET or posted")
            elif theirs not in _METHODS:
                self.fault(("methods", ours), f"must be one of {', '.join(_METHODS)}")
        return {ours: theirs for ours, theirs in table.items() if ours in known and isinstance(theirs, str)}

    def _fixed_query(self, table: Table) -> dict[str, dict[str, str]]:
        reads = {f"{endpoint.method} {endpoint.template}" for endpoint in ALL if endpoint.is_safe}
        found: dict[str, dict[str, str]] = {}
        for name, value in table.items():
            if isinstance(value, dict) and name in reads:
                found[name] = self._named_texts(table, "fixed_query", name)
            elif isinstance(value, str) and value:
                found.setdefault("", {})[name] = value
            else:
                self.fault(
                    ("fixed_query", name),
                    f"must be a parameter's value (text), or a table named as a read{near(name, reads)}",
                )
        return found

    def _conversions(self, table: Table) -> dict[str, Conversion]:
        found: dict[str, Conversion] = {}
        for name, given in table.items():
            where, members = ("convert", name), self._members_named(name)
            entry: Table = cast("Table", given) if isinstance(given, dict) else {}
            kind = KINDS.get(next(iter(entry), ""))
            member = next(
                (field for field in members if kind and not kind.fits(field)), next(iter(members), None)
            )
            if member is None:
                self.fault(where, f"isn't a member of a record{near(name, self._all_members())}")
            elif kind is None or len(entry) != 1:
                self.fault(where, f"must be one of {', '.join(f'{{ {kind} = … }}' for kind in KINDS)}")
            elif not kind.fits(member):
                named = f"{member.record}.{member.name}"
                self.fault(where, f"{next(iter(entry))} is for {kind.of}, which {named} isn't")
            elif not kind.takes(next(iter(entry.values())), member):
                self.fault(where, f"{next(iter(entry))} must be {kind.words}")
            else:
                found[name] = Conversion(next(iter(entry)), next(iter(entry.values())))
                first = f"{member.record}.{found[name].given}"
                if found[name].kind == "length_from" and self._member_named(first) is None:
                    self.fault(where, f"{first} isn't a member{near(first, self._all_members())}")
        return found

    def _member_named(self, name: str) -> Member | None:
        record, _, member = name.partition(".")
        shape = records().get(record)
        return next((field for field in members_of(shape) if field.name == member), None) if shape else None

    def _members_named(self, name: str) -> list[Member]:
        """The member of that name ("Patient.id"), or all of it in every record ("patientId")."""
        if "." in name:
            found = self._member_named(name)
            return [found] if found else []
        return [member for shape in records().values() for member in members_of(shape) if member.name == name]

    def _all_members(self) -> list[str]:
        return [
            f"{record}.{member.name}" for record, shape in records().items() for member in members_of(shape)
        ]

    def _sent_envelopes(self, table: Table) -> tuple[str, ...]:
        if isinstance(table.get("sent"), list):
            return self._texts(table, "envelopes", "sent")
        path = self._text(table, "envelopes", "sent")
        return (path,) if path else ()

    def _sort_names(self, table: Mapping[str, str]) -> Mapping[str, str]:
        for name in table:
            if self._member_named(name) is None:
                where = ("lists", "sort_names", name)
                self.fault(where, f"isn't a member of a record{near(name, self._all_members())}")
        return table

    def _empty_lists(self, table: Table, has_codes: bool) -> frozenset[Code]:
        value = table.get("empty", [])
        given = cast("list[object]", value) if isinstance(value, list) else [value]
        if 404 in given:
            what = "a wrong address answers 404 too: name the error code by which the API says that there is none"
        elif not all(code == 204 or (isinstance(code, str) and code) for code in given):
            what = "must be a list of 204 and error codes"
        elif not has_codes and any(isinstance(code, str) for code in given):
            what = "needs errors.code, which says where an error's code is"
        else:
            return frozenset(cast("list[Code]", given))
        self.fault(("lists", "empty"), what)
        return frozenset()

    def _languages(self, table: Table) -> dict[str, str]:
        found = self._named_texts(table, "values", "by_language")
        for code in found.keys() - set(LANGUAGES):
            self.fault(
                ("values", "by_language", code), f"is no language of the portal: {', '.join(LANGUAGES)}"
            )
        return found

    def _coded(self, table: Table) -> Coded | None:
        names = self._named_texts(table, "values", "coded")
        if not names:
            return None
        if "code" in names and set(names) <= {"code", "label"}:
            return Coded(names["code"], names.get("label"))
        self.fault(("values", "coded"), 'must name the members, such as { code = "Code", label = "Label" }')
        return None

    def _files(self, table: Table) -> FileRules:
        origins = self._texts(table, "files", "redirects")
        for origin in origins:
            if not re.fullmatch(r"https://[a-z0-9.-]+(:[0-9]{1,5})?", origin):
                self.fault(("files", "redirects"), "must be origins such as https://files.example.org")
        content, name = self._paths(table, "files", "content"), self._paths(table, "files", "name")
        return FileRules(content, name, frozenset(origins))

    def _items_of(self, lists: Table) -> dict[str, str]:
        given = lists.get("items")
        found = self._named_texts(lists, "lists", "items") if isinstance(given, dict) else {}
        for name in found:
            if name not in listed_records():
                known = listed_records()
                self.fault(
                    ("lists", "items", name),
                    f"isn't a record of a list ({', '.join(known)}){near(name, known)}",
                )
        return found

    def _next(self, lists: Table) -> str | None:
        path, is_followed = self._text(lists, "lists", "next"), lists.get("paging") == "cursor"
        if is_followed and path is None:
            self.fault(("lists", "next"), "with cursors, say where a page names the next one")
        elif path is not None and not is_followed:
            self.fault(("lists", "next"), 'is only read with paging = "cursor"')
        return path

    def _marker(self, table: Table, where: str, key: str) -> Marker | None:
        """A member and the values that count: `"ok"` (true), `{ path = "state", value = "OK" }`, or all values `unless` one."""
        given = table.get(key)
        if given is None:
            return None
        entry: Table = cast("Table", given) if isinstance(given, dict) else {"path": given}
        path, is_any = entry.get("path"), "unless" in entry
        value = entry["unless"] if is_any else entry.get("value", [True, "true"])
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        is_path = isinstance(path, str) and path and all(path.split("."))
        is_known = set(entry) in ({"path"}, {"path", "value"}, {"path", "unless"})
        if is_known and is_path and all(isinstance(value, str | int) for value in values):
            codes = frozenset(folded_code(item) for item in cast("list[Code]", values))
            return Marker(tuple(cast("str", path).split(".")), codes, is_any)
        what = 'must be a path such as "ok", { path = "state", value = "OK" } or { path = "deletedAt", unless = "never" }'
        self.fault((where, key), what)
        return None

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
        if isinstance(theirs, str) and theirs.startswith("!"):
            theirs = theirs[1:]
            self.inverted.add(".".join(where[1:]))
            record = where[1] if len(where) > 2 else None
            shapes = [shape for name, shape in records().items() if record in (None, name)]
            members = [field for shape in shapes for field in members_of(shape) if field.name == ours]
            if not members or not all(member.is_truth for member in members):
                self.fault(where, "says the opposite (!), which only a member that is true or false can")
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
        if isinstance(name, str) and (zone := zone_named(name)):
            return zone
        self.fault(("times", "zone"), f"{name!r} isn't an IANA time zone such as Europe/London")
        return ZoneInfo("UTC")

    def _forms(self, table: Table, key: str, *, has_time: bool) -> tuple[str, ...]:
        given = table.get(key, "iso")
        several: list[object] = cast("list[object]", given) if isinstance(given, list) and given else [given]
        return tuple(self._form(value, key, has_time=has_time) for value in several)

    def _form(self, form: object, key: str, *, has_time: bool) -> str:
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
        is_blank = len(words) == 2 and words[1] == ""
        if len(words) == 2 and all(map(_is_code, words[: 2 - is_blank])) and words[0] != words[1]:
            return cast("Code", words[0]), cast("Code", words[1])
        self.fault(
            ("values", "booleans"), 'must be the words for true and false, such as ["Y", "N"] or ["X", ""]'
        )
        return None

    def _none(self, table: Table, where: str, key: str) -> frozenset[Code]:
        value = table.get(key, [])
        words = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(isinstance(word, str | int) and not isinstance(word, bool) for word in words):
            codes = cast("list[Code]", words)
            return frozenset(
                {*map(folded_code, codes), *(str(code) for code in codes if isinstance(code, int))}
            )
        self.fault((where, key), 'must be a list of texts and whole numbers, such as [0, "01.01.0001"]')
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
            success=self._marker(table, "errors", "success"),
        )

    def _accepted(self, document: Table) -> frozenset[str]:
        calls = (f"{endpoint.method} {endpoint.template}" for endpoint in ALL)
        known = {*self._all_members(), *calls, *(key.name for key in DECLARED if key.table)}
        known |= {f"query.{name}" for name in query_names()}
        found = self._texts(document, "", "accepted")
        for name in found:
            if name not in known:
                self.fault(("accepted",), f"{name} is neither a member, a call nor a key{near(name, known)}")
        return frozenset(found)

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
                    ("absent_means_none",), f"{name} isn't an optional member{near(name, known.values())}"
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
                values = None if choice is None else [known.value for known in choice]
                found[key] = self._codes(key, cast("Table", value), values, rules)
            else:
                meant = near(key, [*choices(), *texts])
                self.fault(
                    ("enumerations", key), f"is neither an enumeration nor a member that holds text{meant}"
                )
        return found

    def _choice_of(self, key: str) -> type[Choice] | None:
        record, _, name = key.partition(".")
        return next((member.choice for member in members_of(records()[record]) if member.name == name), None)

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
                    isinstance(c, str) and folded_name(c) == folded_name(other) for c in codes
                ):
                    self.fault(("enumerations", key, ours), f"also means {other}, which has no other code")
        return found


def _is_code(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""
