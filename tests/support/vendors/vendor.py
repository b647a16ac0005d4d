"""Puts the fake API into a vendor's words: every call is translated to the specification's, and its answer back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, cast, get_args, get_origin
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit
from zoneinfo import ZoneInfo

from msgspec import inspect

from portal.http.transfer import Answer, Call
from portal.services.api import AnyEndpoint
from portal.services.decoding import PagedResult
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of
from tests.support.fake_api import FakeApi

FIRST_ID = 700_000
"""The first of the vendor's own record ids: no page says such a number of anything else."""


class UnknownParameters(Exception):
    """A query of which the vendor doesn't know all."""


class NoSuchAddress(Exception):
    """A call of what the vendor doesn't have."""


Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]
"""How a value is said, and how it is meant."""

SAME: Pair = (lambda value: value, lambda value: value)


@dataclass(frozen=True)
class Vendor:
    """How an API differs.

    - `calls`: method and path of each endpoint that it has, by the specification's ("GET /api/care/consent-forms").
    - `names`: a member's path, by "Record.member" or "member"; others follow `style`. A part of digits is a place in a list.
    - `values`: how the values of a kind ("a instant", "a day", "a number", "a truth", "a choice", "a id", "a text") or of one member differ.
    - `codes`: the vendor's word for a value of an enumeration, by "Enumeration.Value".
    - `page`, `single`, `body`: what encloses a list (rows, total, unread), a record, and what is sent.
    """

    name: str
    calls: Mapping[str, str]
    names: Mapping[str, str]
    style: Callable[[str], str]
    values: Mapping[str, Pair]
    codes: Mapping[str, str | int]
    parameters: Mapping[str, str]
    page: Callable[[list[Any], int, int | None], Any]
    single: Callable[[Any], Any]
    body: Callable[[Any], Any]
    refusal: Callable[[int, str], tuple[int, Any]]
    first_page: int | None = None
    largest_page: int = 1000
    sorting: Callable[[str, bool], str] = lambda name, down: f"{name} desc" if down else name
    gone: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """What a deleted record looks like beside a live one; None if there are none."""
    is_in_body: bool = False
    """Whether reads are posted, with their parameters in the body."""
    omits_nothing: bool = True
    """Whether null and empty lists are sent."""
    etags: bool = False

    @cached_property
    def dialect(self) -> str:
        """The dialect file that its integrator wrote."""
        return Path(__file__).with_name(f"{self.name}.dialect.toml").read_text(encoding="utf-8")

    @cached_property
    def addresses(self) -> list[tuple[AnyEndpoint, re.Pattern[str]]]:
        """The endpoints that it has, each with what its calls look like."""
        calls = {row: self.calls.get(f"{row.method} {row.template}") for row in ALL}
        return [
            (row, re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(theirs))))
            for row, theirs in calls.items()
            if theirs
        ]

    def path(self, shape: type, member: str) -> list[str]:
        """Where a record's member stands."""
        named = self.names.get(f"{shape.__name__}.{member}") or self.names.get(member)
        return (named or self.style(member)).split(".")

    def value(self, member: Member, kind: str) -> Pair:
        """How a member's value differs."""
        own = self.values.get(f"{member.record}.{member.name}") or self.values.get(member.name)
        return own or self.values.get(f"a {kind}", SAME)


class VendorsApi:
    """The fake API as a vendor's; `ids` are the vendor's numbers for its ids."""

    def __init__(self, api: FakeApi, vendor: Vendor) -> None:
        self.api, self.vendor = api, vendor
        self.ids: dict[str, int] = {}
        self.asked: list[str] = []
        self.change: Callable[[AnyEndpoint, Any], Any] = lambda _row, answer: answer
        """What a test makes of an answer as it goes out."""

    def number(self, id_: str) -> int:
        return self.ids.setdefault(id_, FIRST_ID + len(self.ids))

    def id_of(self, number: Any) -> str:
        held = {str(one): id_ for id_, one in self.ids.items()}
        return held.get(str(number), str(number))

    def theirs(self, path: str) -> str:
        """An address of the portal with the vendor's ids."""
        return re.sub(
            r"(?<=[/=])(?:[a-zA-Z]+-\d+|[ceprs]-\d)(?=[/?&#.]|$)", lambda one: str(self.number(one[0])), path
        )

    def ours(self, text: str) -> str:
        """A page with the fake API's ids."""
        return re.sub(rf"\b{FIRST_ID // 1000}\d{{3}}\b", lambda one: self.id_of(one[0]), text)

    def send(self, call: Call, *, alone: bool = False) -> Answer:
        """Answer as `portal.http.transport.send` does."""
        try:
            row, meant = self._meant(call)
        except NoSuchAddress:
            return Answer(404, {"content-type": "text/html"}, b"<h1>No such address</h1>")
        except UnknownParameters:
            return self._refused(400, "")
        answer = self.api.send(meant, alone=alone)
        if answer.status >= 400:
            code = str(json.loads(answer.body)["error"]["code"]).rpartition(":")[2] if answer.body else ""
            return self._refused(answer.status, code)
        headers = dict(answer.headers)
        if not answer.body:
            return (
                answer
                if answer.status == 204 and self.vendor.name != "fiord"
                else self._told(row, {}, headers)
            )
        if row.answer is bytes:
            return answer
        return self._told(row, self._said(row, json.loads(answer.body), meant, headers), headers)

    def _refused(self, status: int, code: str) -> Answer:
        status, told = self.vendor.refusal(status, code)
        return Answer(status, {"content-type": "application/json"}, json.dumps(told).encode())

    def stream(self, call: Call) -> tuple[int, Mapping[str, str], Iterator[bytes]]:
        """Answer as `portal.http.transport.stream` does."""
        _row, meant = self._meant(call)
        return self.api.stream(meant)

    def _told(self, row: AnyEndpoint, told: Any, headers: dict[str, str]) -> Answer:
        whole = told if get_origin(row.answer) is PagedResult else self.vendor.single(told)
        return Answer(200, headers, json.dumps(self.change(row, whole)).encode())

    # ── what the portal asks for ─────────────────────────────────────────────────────────────────────────

    def _meant(self, call: Call) -> tuple[AnyEndpoint, Call]:
        parts = urlsplit(call.url)
        row, ids = self._row(call.method, parts.path)
        self.asked.append(f"{call.method} {parts.path}")
        path = row.template
        for name, id_ in ids.items():
            path = path.replace(f"{{{name}}}", quote(self.id_of(self._plain(id_)), safe=""))
        sent = json.loads(call.body) if call.body else None
        pairs = parse_qsl(parts.query)
        if row.is_safe and self.vendor.is_in_body:
            assert not pairs, f"{call.url}: parameters belong into the body"
            pairs = list(self.vendor.body(sent).items())
            sent = None
        query = self._query(row, dict(pairs))
        body = None
        if sent is not None:
            plain = self.vendor.body(sent)
            told = self._meant_record(row.body, plain) if row.body else plain
            stamps = [value for name, value in call.headers if name == "If-Match"]
            told |= {"concurrencyStamp": stamps[0].strip('"')} if stamps and self.vendor.etags else {}
            body = json.dumps(told).encode()
        url = f"{parts.scheme}://{parts.netloc}{path}" + (f"?{urlencode(query)}" if query else "")
        return row, replace(call, method=row.method, url=url, body=body)

    def _plain(self, id_: str) -> str:
        return id_

    def _row(self, method: str, path: str) -> tuple[AnyEndpoint, dict[str, str]]:
        for row, address in self.vendor.addresses:
            if found := address.fullmatch(f"{method} {path}"):
                return row, {name: unquote(id_) for name, id_ in found.groupdict().items()}
        raise NoSuchAddress(f"{method} {path}")

    def _query(self, row: AnyEndpoint, given: dict[str, Any]) -> dict[str, str]:
        known = {member.name: member for member in members_of(row.query)} if row.query else {}
        found: dict[str, str] = {}
        for name, member in known.items():
            theirs = self.vendor.parameters.get(name, self.vendor.style(name))
            if theirs in given:
                value = given.pop(theirs)
                if name in ("SkipCount", "MaxResultCount"):
                    found[name] = str(value)
                elif name == "Sorting":
                    found[name] = self._sorting(row, str(value))
                else:
                    meant = self._meant_value(member, member.value_type, value)
                    found[name] = str(meant).lower() if isinstance(meant, bool) else str(meant)
        if given:
            raise UnknownParameters(", ".join(given))
        if self.vendor.first_page is not None and "SkipCount" in found:
            size = int(found["MaxResultCount"])
            found["SkipCount"] = str((int(found["SkipCount"]) - self.vendor.first_page) * size)
        return found

    def _sorting(self, row: AnyEndpoint, theirs: str) -> str:
        (shape,) = get_args(row.answer)
        for member in members_of(shape):
            for down in (False, True):
                if self.vendor.sorting(".".join(self.vendor.path(shape, member.name)), down) == theirs:
                    return f"{member.name} desc" if down else member.name
        raise AssertionError(f"{self.vendor.name} doesn't sort by {theirs}")

    def _meant_record(self, shape: type, record: Any) -> Any:
        if not isinstance(record, dict):
            return record
        found: dict[str, Any] = {}
        for member in members_of(shape):
            value = at(record, self.vendor.path(shape, member.name))
            if value is not MISSING:
                found[member.name] = (
                    None if value is None else self._meant_value(member, member.value_type, value)
                )
        return found

    def _meant_value(self, member: Member, kind: inspect.Type, value: Any) -> Any:
        match kind:
            case inspect.StructType(cls=cls):
                return self._meant_record(cls, value)
            case inspect.VarTupleType(item_type=item):
                return [self._meant_value(member, item, one) for one in value]
            case inspect.EnumType(cls=cls):
                told = self.vendor.value(member, "choice")[1](value)
                names = {str(self._code(cls, one.value)): one.value for one in cast("Any", cls)}
                assert str(told) in names, (
                    f"{member.record}.{member.name}: {value!r} isn't a code of {self.vendor.name}"
                )
                return names[str(told)]
            case inspect.DictType():  # a choice of records by member
                return {name[:1].lower() + name[1:]: self.id_of(id_) for name, id_ in value.items()}
            case _:
                meant = self.vendor.value(member, kind_of(member, kind))[1](value)
                return self.id_of(meant) if member.is_id else meant

    # ── what the fake API says ───────────────────────────────────────────────────────────────────────────

    def _said(self, row: AnyEndpoint, answer: Any, meant: Call, headers: dict[str, str]) -> Any:
        if get_origin(row.answer) is not PagedResult:
            told = self._said_record(row.answer, answer)
            if self.vendor.etags and isinstance(answer, dict) and "concurrencyStamp" in answer:
                headers["etag"] = f'"{answer["concurrencyStamp"]}"'
            return told
        (shape,) = get_args(row.answer)
        rows = [self._said_record(shape, one) for one in answer["items"]]
        if self.vendor.gone and rows:
            rows.insert(1, self.vendor.gone(rows[0]))
        query = {
            name: int(value) for name, value in parse_qsl(urlsplit(meant.url).query) if value.isdecimal()
        }
        skip, size = (
            query.get("SkipCount", 0),
            min(query.get("MaxResultCount", 1000), self.vendor.largest_page),
        )
        return self.vendor.page(rows[skip : skip + size], len(rows), answer.get("unreadCount"))

    def _said_record(self, shape: type, record: Any) -> Any:
        if not isinstance(record, dict):
            return record
        found: dict[str, Any] = {}
        for member in members_of(shape):
            if member.name in record:
                value = record[member.name]
                told = None if value is None else self._said_value(member, member.value_type, value)
                if self.vendor.omits_nothing or told not in (None, [], {}):
                    put(found, self.vendor.path(shape, member.name), told)
        return found

    def _said_value(self, member: Member, kind: inspect.Type, value: Any) -> Any:
        match kind:
            case inspect.StructType(cls=cls):
                return self._said_record(cls, value)
            case inspect.VarTupleType(item_type=item):
                return [self._said_value(member, item, one) for one in value]
            case inspect.EnumType(cls=cls):
                return self.vendor.value(member, "choice")[0](self._code(cls, value))
            case _:
                own = (
                    self.number(value)
                    if member.is_id and re.fullmatch(r"[a-zA-Z]+-\d+", str(value))
                    else value
                )
                return self.vendor.value(member, kind_of(member, kind))[0](own)

    def _code(self, choice: type[Any], value: str) -> str | int:
        return self.vendor.codes.get(
            f"{choice.__name__}.{value}", self.vendor.codes.get(value, self.vendor.style(value))
        )


def kind_of(member: Member, kind: inspect.Type) -> str:
    match kind:
        case inspect.DateTimeType():
            return "instant"
        case inspect.DateType():
            return "day"
        case inspect.BoolType():
            return "truth"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case _:
            return "id" if member.is_id else "text"


MISSING = object()


def at(record: Any, path: list[str]) -> Any:
    """The value at a path; in a list, a number is a place and `name=value` a record with that member."""
    for name in path:
        if isinstance(record, list) and "=" in name:
            key, _, wanted = name.partition("=")
            record = next((one for one in record if one.get(key) == wanted), MISSING)
        elif isinstance(record, list) and name.isdecimal():
            record = record[int(name)] if int(name) < len(record) else MISSING
        else:
            record = record.get(name, MISSING) if isinstance(record, dict) else MISSING
    return record


def put(record: dict[str, Any], path: list[str], value: Any) -> None:
    """Set the value at a path, making what is on its way."""
    here: Any = record
    for name, below in zip(path, [*path[1:], None], strict=True):
        new: Any = value if below is None else [] if below.isdecimal() or "=" in below else {}
        if isinstance(here, list) and "=" in name:
            key, _, wanted = name.partition("=")
            found = next((one for one in here if one.get(key) == wanted), None)
            if found is None:
                found = {key: wanted}
                here.append(found)
            here = found
        elif isinstance(here, list):
            here += [{} for _ in range(int(name) + 1 - len(here))]
            if below is None or not here[int(name)]:
                here[int(name)] = new
            here = here[int(name)]
        else:
            here = here.setdefault(name, new) if below is not None else here.update({name: value})


def local(form: str, zone: ZoneInfo) -> Pair:
    """Instants as local times in this form (strftime)."""
    return (
        lambda text: f"{datetime.fromisoformat(text).astimezone(zone):{form}}",
        lambda text: (
            datetime.strptime(text, form)
            .replace(tzinfo=zone)
            .astimezone(UTC)
            .isoformat()
            .replace("+00:00", "Z")
        ),
    )


def days(form: str) -> Pair:
    """Days in this form (strftime)."""
    return (
        lambda text: f"{date.fromisoformat(text):{form}}",
        lambda text: f"{datetime.strptime(text, form):%Y-%m-%d}",
    )
