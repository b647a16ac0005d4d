"""A care API in this process, derived from the endpoints' declarations: lawful answers, every value distinct.

It answers where calls would leave the portal (`portal.http.transport`), so that client, decoding, errors and audit are the
real ones. By default it allows everything and answers each endpoint with a sample of its type; a test says what else it
answers with `gives` and `refuses`, and reads what was sent in `calls` and what was answered in `told`. `tests/services/test_fake_api.py` compares it with
the care service, member by member.
"""

from __future__ import annotations

import copy
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import count
from typing import Any, get_args, get_origin
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo

import msgspec
import pytest
from msgspec import inspect

from portal.http import transport
from portal.http.transfer import Answer, Call, TransportError
from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.decoding import PagedResult
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.files import READ_FILE_CONTENT
from portal.services.notifications import LIST_NOTIFICATIONS, READ_NOTIFICATION_SETTINGS
from portal.services.pgt_results import READ_PGT_RESULT
from portal.services.physicians import LIST_PHYSICIANS
from portal.services.protocols import LIST_PROTOCOLS, READ_PROTOCOL

ZONE = ZoneInfo("America/Los_Angeles")
"""The clinics', seven or eight hours behind UTC: by UTC, what happens there in the evening would be a day late."""

NOW = datetime(2026, 11, 24, 20, tzinfo=ZONE).astimezone(UTC)
"""The moment from which sample instants are counted, an evening at the clinics."""

_TEXTS = {
    "time": "1{hour}:{minute:02}",
    "start": "0{hour}:{minute:02}",
    "end": "1{hour}:{minute:02}",
    "email": "person{n}@mail.example",
    "phoneNumber": "+44207946{n:04}",
    "language": "en",
    "timeZone": ZONE.key,
    "country": "GB",
    "color": "#0b6e4f",
    "mediaType": "application/pdf",
    "dayOfWeek": "Monday",
    "unit": "IU",
    "status": "Confirmed",
}
"""Members whose text has a form; any other text is the member's name and a number."""

_FIRST = 101
"""Sample numbers have three digits or more, which no page's own have."""

_READ_FIRST: tuple[AnyEndpoint, ...] = (
    *(LIST_CONSENTS, READ_CONSENT, LIST_PROTOCOLS, READ_PROTOCOL, READ_PGT_RESULT, READ_EPISODE),
    *(LIST_PHYSICIANS, READ_FILE_CONTENT, LIST_CONVERSATIONS, LIST_NOTIFICATIONS, READ_NOTIFICATION_SETTINGS),
)

_ROOM = 100
"""More than an endpoint's sample has values of one type, or texts of one name."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A call as it reached the API; `query` holds the last value of each parameter."""

    row: AnyEndpoint
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes
    media_type: str = "application/json"
    challenge: str = ""


class FakeApi:
    """The answers of one test."""

    def __init__(self) -> None:
        self.calls: list[Sent] = []
        self._computed: dict[AnyEndpoint, Callable[[Mapping[str, str]], object]] = {}
        self.beside: dict[str, object] = {}
        """Members that stand in every answer, unless it says otherwise itself."""
        self.change: Callable[[str, Any], Any] | None = None
        """What becomes of each JSON answer to a read, by its path."""
        self.told: list[Any] = []
        self._replies: dict[tuple[AnyEndpoint, str | None], _Reply | TransportError] = {}

    def gives(self, row: AnyEndpoint, answer: object, *, id_: str | None = None) -> None:
        """Answer this endpoint, or its record with this id, with a record, a list of records, or a file's bytes."""
        if isinstance(answer, bytes):
            reply = _Reply(200, answer, "application/pdf")
        else:
            plain = msgspec.to_builtins(answer)
            if isinstance(plain, list) and get_origin(row.answer) is PagedResult:
                plain = {"totalCount": len(plain), "items": plain}
            reply = _Reply(200, json.dumps(plain).encode())
        self._replies[row, id_] = reply

    def computes(self, row: AnyEndpoint, answer: Callable[[Mapping[str, str]], object]) -> None:
        """Answer this endpoint with the JSON that is made of its query."""
        self._computed[row] = answer

    def refuses(
        self, row: AnyEndpoint, status: int, code: str = "", *, id_: str | None = None, naming: str = ""
    ) -> None:
        """Refuse this endpoint's calls with a status and, if given, a rule's code, or the member that is wrong."""
        error: dict[str, Any] = {"code": f"ClientelePortal:{code}"} if code else {}
        error |= {"validationErrors": [{"members": [naming]}]} if naming else {}
        self._replies[row, id_] = _Reply(status, json.dumps({"error": error}).encode() if error else b"")

    def demands(self, row: AnyEndpoint, challenge: str) -> None:
        """Refuse this endpoint's calls with a 401 and this `WWW-Authenticate`."""
        self._replies[row, None] = _Reply(401, b"", challenge=challenge)

    def loses(self, row: AnyEndpoint) -> None:
        """Carry out this endpoint's calls, as far as anyone knows, but never answer."""
        self._replies[row, None] = TransportError("timed out", sent=True)

    def garbles(self, row: AnyEndpoint) -> None:
        """Carry out this endpoint's calls, and answer what nobody can read."""
        self._replies[row, None] = _Reply(200, b'{"items": [}')

    def forget(self) -> None:
        """Answer with samples again, and know of no call."""
        self.calls.clear()
        self.beside.clear()
        self.change = None
        self._computed.clear()
        self.told.clear()
        self._replies.clear()

    def sent(self, row: AnyEndpoint) -> list[Sent]:
        """The calls of this endpoint, oldest first."""
        return [call for call in self.calls if call.row is row]

    def send(self, call: Call, *, alone: bool = False) -> Answer:
        """Answer as `portal.http.transport.send` does."""
        reply = self._reply(call)
        challenge = {"www-authenticate": reply.challenge} if reply.challenge else {}
        return Answer(reply.status, {"content-type": reply.media_type, **challenge}, reply.body)

    def stream(self, call: Call) -> tuple[int, Mapping[str, str], Iterator[bytes]]:
        """Answer as `portal.http.transport.stream` does."""
        reply = self._reply(call)
        headers = {"content-type": reply.media_type, "content-length": str(len(reply.body))}
        return reply.status, headers, iter([reply.body])

    def _reply(self, call: Call) -> _Reply:
        parts = urlsplit(call.url)
        if parts.path.startswith("/.well-known/"):
            raise TransportError("there is no identity server", sent=False)
        row, ids = _row_of(call.method, parts.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        body = json.loads(call.body) if call.body else None
        headers = {name.lower(): value for name, value in call.headers}
        self.calls.append(Sent(row, parts.path, query, body, headers))
        id_ = next(iter(ids), query.get("id"))
        reply = self._replies.get((row, id_)) or self._replies.get((row, None))
        if isinstance(reply, TransportError):
            raise reply
        if row in self._computed:
            reply = _Reply(200, json.dumps(self._computed[row](query)).encode())
        reply = reply or _default(row, id_)
        if self.beside and reply.body.startswith(b"{"):
            reply = _Reply(reply.status, json.dumps({**self.beside, **json.loads(reply.body)}).encode())
        if self.change and row.is_safe and reply.body and reply.media_type == "application/json":
            changed = self.change(parts.path, json.loads(reply.body))
            reply = _Reply(reply.status, json.dumps(changed).encode())
        if reply.body and reply.media_type == "application/json":
            with suppress(json.JSONDecodeError):
                self.told.append(json.loads(reply.body))
        return reply


@pytest.fixture
def fake_api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    """An API that takes every call of this process."""
    api = FakeApi()
    monkeypatch.setattr(transport, "send", api.send)
    monkeypatch.setattr(transport, "stream", api.stream)
    return api


def sample(kind: Any, **members: object) -> Any:
    """A record of this kind in which every value is distinct, with these members (in snake_case) instead."""
    from portal.services.decoding import decode

    named = {field.name: field.encode_name for field in msgspec.structs.fields(kind)}
    plain = {
        **_Samples().of(kind),
        **{named[name]: msgspec.to_builtins(value) for name, value in members.items()},
    }
    return decode(json.dumps(plain).encode(), kind)


def samples(row: AnyEndpoint) -> Any:
    """The JSON of an endpoint's answer: two records in a list, else one; None where the answer has no body."""
    return copy.deepcopy(_all_samples()[row])


@cache
def _all_samples() -> dict[AnyEndpoint, Any]:
    """Every endpoint's sample, each with numbers of its own, so that no two that a page reads share a value.

    A new endpoint's come after those on which pages' facts rest already, which so stay as they are.
    """
    rows = [*_READ_FIRST, *(row for row in ALL if row not in _READ_FIRST)]
    return {row: _sample(row, _Samples(_ROOM * place)) for place, row in enumerate(rows)}


def _sample(row: AnyEndpoint, made: _Samples) -> Any:
    if row.answer in (object, bytes):
        return None
    if get_origin(row.answer) is PagedResult:
        (kind,) = get_args(row.answer)
        items = [made.of(kind), made.of(kind)]
        if row is LIST_CONSENTS:  # the text comes with the form itself
            items = [{name: value for name, value in item.items() if name != "body"} for item in items]
        unread = {"unreadCount": 1} if row is LIST_NOTIFICATIONS else {}
        return {"totalCount": 2, **unread, "items": items}
    return made.of(row.answer)


def _default(row: AnyEndpoint, id_: str | None) -> _Reply:
    if row.answer is bytes:
        return _Reply(200, b"%PDF-1.7\n", "application/pdf")
    answer = samples(row)
    if answer is None:
        return _Reply(204, b"")
    if id_ is not None and "id" in answer:
        answer["id"] = id_
    return _Reply(200, json.dumps(answer).encode())


@cache
def _row_of(method: str, path: str) -> tuple[AnyEndpoint, tuple[str, ...]]:
    for row in ALL:
        pattern = re.sub(r"\\{\w+\\}", "([^/]+)", re.escape(row.template))
        if row.method == method and (found := re.fullmatch(pattern, path)):
            return row, tuple(unquote(id_) for id_ in found.groups())
    raise AssertionError(f"no endpoint is {method} {path}")


shape_of = cache(inspect.type_info)
"""What msgspec knows of a type, worked out once."""


class _Samples:
    """Makes JSON of each type; a number runs through the values of each, and the texts of each name, from `first` on.

    Which of several choices a member has depends on its path alone. So a new member seldom changes another's value.
    """

    def __init__(self, first: int = 0) -> None:
        self._numbers = defaultdict[object, Iterator[int]](lambda: count(_FIRST + first))

    def of(self, kind: Any, path: str = "") -> dict[str, Any]:
        """A record with all members that an API may send."""
        shape = shape_of(kind)
        assert isinstance(shape, inspect.StructType), kind
        fields = [field for field in shape.fields if not field.encode_name.startswith("(")]
        return {
            field.encode_name: self._value(
                field.type, f"{path}.{field.encode_name}", field.encode_name, field.default
            )
            for field in fields
        }

    def _value(self, kind: inspect.Type, path: str, name: str, default: object = None) -> Any:
        match kind:
            case inspect.UnionType():
                given = [option for option in kind.types if not isinstance(option, inspect.NoneType)]
                texts = [option for option in given if isinstance(option, inspect.StrType)]
                return self._value((texts or given)[0], path, name, default)
            case inspect.StructType():
                return self.of(kind.cls, path)
            case inspect.DictType():
                return {}
            case inspect.VarTupleType():
                return [
                    self._value(kind.item_type, f"{path}{number}", name.removesuffix("s")) for number in "12"
                ]
            case inspect.EnumType():
                members: list[Any] = list(kind.cls)
                return members[zlib.crc32(path.encode()) % len(members)].value
        n = next(self._numbers[name if isinstance(kind, inspect.StrType) else type(kind)])
        match kind:
            case inspect.DateTimeType():
                return (NOW + timedelta(days=n - _FIRST, minutes=n)).isoformat().replace("+00:00", "Z")
            case inspect.DateType():
                return (date(1990, 1, 1) + timedelta(days=n)).isoformat()
            case inspect.BoolType():
                return default if isinstance(default, bool) else True
            case inspect.IntType():
                return n
            case inspect.FloatType():
                return n % 100 + 0.5 if name.endswith("Percent") else n + 0.5
            case _:
                text = _TEXTS.get(name, f"{name}-{n}" if name.lower().endswith("id") else f"{name} {n}")
                return text.format(n=n, hour=n % 10, minute=n % 60)
