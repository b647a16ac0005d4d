"""The care API, as one person.

The one place that knows HTTP: it adds the person's token, keeps the time limits, turns answers into records
(`portal.services.decoding`) and everything else into a `CareError`. Only the 29 endpoints of the care API
specification §4 that are the portal's to call can be called, because only an `Endpoint` can be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from typing import Protocol, TypeVar
from urllib.parse import unquote

from portal.config.settings import Timeouts
from portal.http import transport
from portal.http.circuit_breaker import NEVER, Breaker, Breakers, Open
from portal.http.transport import Answer, Call, TransportError
from portal.parse import byte_count
from portal.services import decoding, retry
from portal.services.addresses import path_text, query_text
from portal.services.endpoints import ALL, Content, Endpoint, Query, Reference
from portal.services.errors import (
    BadResponse,
    CareError,
    CircuitOpen,
    FailureForms,
    NotOffered,
    StepUpNeeded,
    Unavailable,
    from_answer,
    step_up_age,
)

T = TypeVar("T")
A = TypeVar("A", bound=retry.Answered)

_MAX_BODY = 4 * 1024 * 1024
_MAX_FILE = 2 * 1024 * 1024 * 1024
_PASSED_ON = ("content-range", "accept-ranges", "etag", "last-modified")


class Bearer(Protocol):
    """Where the access token comes from: a person's session, or the clinic's own client."""

    def token(self) -> str:
        """Return a token to send."""
        ...

    def renew(self, refused: str) -> str:
        """Return another token after the API refused this one; raise NotSignedIn when there is none."""
        ...


class Translator(FailureForms, Protocol):
    """An API of another dialect (portal.services.dialects)."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What every call says besides."""
        ...

    def template(self, endpoint: Endpoint) -> str:
        """Return the endpoint's path there."""
        ...

    def query(self, endpoint: Endpoint, query: Query | None) -> Query:
        """Return the query as it is put there."""
        ...

    def sent(self, endpoint: Endpoint, body: object) -> tuple[bytes, list[tuple[str, str]]]:
        """Return the body as it is written there, with the headers that go with it."""
        ...

    def read(self, answer: object, into: type[T]) -> object:
        """Return an answer's JSON in the portal's names and forms."""
        ...

    def look(self, answer: object, into: type[object]) -> object:
        """Return the same with each member that the portal doesn't read, as it came, named "? name"."""
        ...

    def is_nothing(self, answer: object) -> bool:
        """Return whether an answer holds an empty envelope."""
        ...

    def with_stamp(self, record: T, headers: Mapping[str, str]) -> T:
        """Return the record with the stamp that its headers give."""
        ...


class References(Protocol):
    """Where reference data come from (portal.services.reference_cache)."""

    def get(self, care: Care, endpoint: Endpoint, into: type[T], query: Query) -> Reference[T]:
        """Return the data, from the cache where it may be."""
        ...

    def move_on(self, care: Care) -> None:
        """Leave behind what was kept before a write of this caller."""
        ...


class Observer(Protocol):
    """Who takes down how the clinic's API answers (portal.services.answers)."""

    def called(self, endpoint: Endpoint, seconds: float, *, in_vain: bool) -> None:
        """Count a call that took so many seconds; `in_vain` where the API failed or didn't answer."""
        ...

    def decoded(
        self, endpoint: Endpoint, answer: Callable[[], object], into: type[object], *, has_unknown: bool
    ) -> None:
        """Look at an answer that could be read, if need be at its JSON (`answer()`); `has_unknown` where a value in it is in no enumeration."""
        ...

    def left_out(self, endpoint: Endpoint, fields: tuple[str, ...]) -> None:
        """Count records that couldn't be read, each by the field that doesn't fit."""
        ...


@dataclass(frozen=True, slots=True)
class Care:
    """Calls on behalf of one person at one clinic, during one request.

    `deadline` is on `time.monotonic`'s scale: no call is waited for beyond it. `partition` is issuer, clinic, person
    and epoch of the session; `by_patient` says that writes concern one patient's records, not the clinic's.
    `is_fresh` says whether the person signed in at most so many seconds ago. `on_not_offered` is told what can't be read
    because the clinic doesn't offer it, `on_unreadable` how many records of a list were left out, and `on_read` of each
    record or list that was read, and of each file (None) that is opened. `before_act` is asked before an act is sent, and
    raises Unavailable where that must not happen. `idempotency` says that this API
    promises to honour `Idempotency-Key`: then alone an act whose answer was lost is sent once more. `breakers` are the
    process's own: what fails again and again is not called for a moment. Without `references` reference data are
    read anew each time. `observer` is told of every answer. `dialect` stands between the portal and an API that differs
    from what it expects.
    """

    base_url: str
    bearer: Bearer
    timeouts: Timeouts
    deadline: float
    language: str
    correlation_id: str
    references: References | None
    partition: tuple[str, ...]
    is_fresh: Callable[[int], bool] = lambda _max_age: True
    by_patient: bool = False
    idempotency: bool = False
    on_not_offered: Callable[[Endpoint], None] = lambda _endpoint: None
    on_unreadable: Callable[[int], None] = lambda _records: None
    on_read: Callable[[Endpoint, Query | None, object], None] = lambda _endpoint, _query, _answer: None
    before_act: Callable[[], None] = lambda: None
    breakers: Breakers = field(default_factory=Breakers)
    observer: Observer | None = None
    dialect: Translator | None = None

    def read(self, endpoint: Endpoint, into: type[T], *, query: Query | None = None, **ids: str) -> T:
        """GET a record or a list. Raises CareError; an empty answer is a BadResponse."""
        try:
            answer = self.send(endpoint, query=query, ids=ids)
        except NotOffered:
            self.on_not_offered(endpoint)
            raise
        if not answer.body:
            raise BadResponse("empty body")
        record = self._decoded(endpoint, answer, into)
        self.on_read(endpoint, query, record)
        return record

    def act(
        self,
        endpoint: Endpoint,
        into: type[T],
        *,
        body: object = None,
        operation: str | None = None,
        query: Query | None = None,
        max_age: int | None = None,
        **ids: str,
    ) -> T | None:
        """POST, PUT or DELETE; return the record answered, or None where the API answered with an empty body.

        A sign-in older than `max_age` seconds (the endpoint's own, if none is given) raises StepUpNeeded; nothing is sent.

        `operation` travels as `Idempotency-Key`. Never sent twice by itself, unless the first try cannot have
        reached the API or the API promises to honour the key. Raises CareError; `Unavailable.outcome_known` says whether
        the act may have happened, `is_undone` that it hasn't.
        """
        oldest = endpoint.max_age if max_age is None else max_age
        if oldest is not None and not self.is_fresh(oldest):
            raise StepUpNeeded(oldest)
        try:
            self.before_act()
            answer = self.send(endpoint, query=query, ids=ids, body=body, operation=operation)
        except Unavailable as error:
            error.is_undone = error.outcome_known
            raise
        finally:  # an answer that got lost may have been an act
            if self.references:
                self.references.move_on(self)
        if not answer.body.strip() or (self.dialect and _holds_nothing(answer.body, self.dialect)):
            return None
        return self._decoded(endpoint, answer, into)

    def reference(self, endpoint: Endpoint, into: type[T], *, query: Query | None = None) -> Reference[T]:
        """GET reference data, through the cache if there is one."""
        if self.references is None:
            return Reference(self.read(endpoint, into, query=query))
        try:
            return self.references.get(self, endpoint, into, query or {})
        except NotOffered:
            self.on_not_offered(endpoint)
            raise

    def open(
        self,
        endpoint: Endpoint,
        *,
        query: Query,
        range_header: str | None = None,
        if_none_match: str | None = None,
    ) -> Content:
        """GET a file's bytes as they come; never the whole file in memory. Raises CareError."""
        conditions = [("Range", range_header), ("If-None-Match", if_none_match)]
        extra = [(name, value) for name, value in conditions if value and _is_header_text(value)]
        token = self.bearer.token()
        begun = self._begin(endpoint, query, extra, token)
        if begun.status == 401:
            _close(begun.chunks)
            begun = self._begin(endpoint, query, extra, self.bearer.renew(token))
        if begun.status in (200, 206, 304, 416):
            self.on_read(endpoint, query, None)
            return _content(begun)
        is_short = (byte_count(begun.headers.get("content-length")) or 0) < _MAX_BODY
        body = b"".join(begun.chunks) if is_short else b""
        raise self.error(Answer(begun.status, begun.headers, body), endpoint)

    def send_read(self, endpoint: Endpoint, call: Call) -> Answer:
        """Send a read that was made elsewhere, in the way of all reads; raise CircuitOpen or TransportError.

        It runs alone in its thread.
        """
        breaker = self._admitted(endpoint)

        def send() -> Answer:
            return retry.once(call, endpoint.group, breaker, usual=self.timeouts.read, alone=True)

        timed = self._timed(endpoint, send)
        return retry.read(timed, endpoint.group, breaker, seconds=self._left_to_connect)

    def send(
        self,
        endpoint: Endpoint,
        *,
        query: Query | None = None,
        ids: Mapping[str, str] | None = None,
        body: object = None,
        operation: str | None = None,
        headers: list[tuple[str, str]] | None = None,
        accepted: tuple[int, ...] = (200, 201, 202, 204),
    ) -> Answer:
        """Send one call, renewing the token once if it is refused; return the answer or raise CareError."""
        payload = None
        if body is not None:
            payload, conditions = self._payload(endpoint, body)
            headers = [*(headers or []), *conditions]
        token = self.bearer.token()
        answer = self._attempt(endpoint, query, ids or {}, payload, token, operation, headers or [])
        if answer.status == 401 and step_up_age(answer.headers.get("www-authenticate")) is None:
            answer = self._attempt(
                endpoint, query, ids or {}, payload, self.bearer.renew(token), operation, headers or []
            )
        if answer.status in accepted:
            return answer
        raise self.error(answer, endpoint)

    def _attempt(
        self,
        endpoint: Endpoint,
        query: Query | None,
        ids: Mapping[str, str],
        payload: bytes | None,
        token: str,
        operation: str | None,
        headers: list[tuple[str, str]],
    ) -> Answer:
        call = self._call(
            endpoint, query, ids, payload, [*headers, *self._headers(token, operation)], _MAX_BODY
        )
        breaker = self._admitted(endpoint)

        def send() -> Answer:
            left = self._left()
            in_time = call if call.timeout <= left else replace(call, timeout=max(0.01, left))
            return retry.once(in_time, endpoint.group, breaker, usual=self.timeouts.read)

        timed = self._timed(endpoint, send)
        try:
            if endpoint.is_safe:
                return retry.read(timed, endpoint.group, breaker, seconds=self._left_to_connect)
            return self._sent_act(timed, breaker, may_repeat=self.idempotency and operation is not None)
        except TransportError as error:
            retry.log_failure(endpoint.group, error.reason)
            if error.reason == "too large":
                raise BadResponse("body too large") from error
            raise Unavailable(error.reason, outcome_known=endpoint.is_safe or not error.sent) from error

    def _sent_act(self, send: Callable[[], Answer], breaker: Breaker, *, may_repeat: bool) -> Answer:
        """Send a person's act; once more where it cannot have arrived, or where that does no harm (`may_repeat`).

        An TransportError is `sent` if either try was. PUT and DELETE aren't repeated either: though idempotent, an
        act that did arrive would be told to the person as someone else's change (its stamp is old) or as not found.
        """
        try:
            return send()
        except TransportError as error:
            in_vain = not error.sent and (error.reason == "timed out" or self._left_to_connect() < 0)
            if (
                error.reason == "too large"
                or in_vain
                or not breaker.is_closed
                or (error.sent and not may_repeat)
            ):
                raise
            first = error
        try:
            return send()
        except TransportError as error:
            raise TransportError(error.reason, sent=first.sent or error.sent) from error

    def _begin(self, endpoint: Endpoint, query: Query, headers: list[tuple[str, str]], token: str) -> _Begun:
        """Begin to read a file; once more where the API fails in passing."""
        call = self._call(endpoint, query, {}, None, [*headers, *self._headers(token, None)], _MAX_FILE)
        breaker = self._admitted(endpoint)

        def begin() -> _Begun:
            started = time.perf_counter()
            try:
                status, answered, chunks = transport.stream(call)
            except TransportError as error:
                retry.unanswered(error, endpoint.group, breaker, started)
                raise
            retry.answered(status, endpoint.group, breaker, started)
            return _Begun(status, answered, chunks)

        try:
            timed = self._timed(endpoint, begin)
            return retry.read(timed, endpoint.group, breaker, seconds=self._left_to_connect)
        except TransportError as error:
            retry.log_failure(endpoint.group, error.reason)
            raise Unavailable(error.reason) from error

    def _timed(self, endpoint: Endpoint, send: Callable[[], A]) -> Callable[[], A]:
        """Return what sends a call and tells the observer how long that took."""
        observer = self.observer
        if observer is None:
            return send

        def timed() -> A:
            started, in_vain = time.perf_counter(), True
            try:
                answer = send()
                in_vain = answer.status in retry.FAILURES
                return answer
            finally:
                observer.called(endpoint, time.perf_counter() - started, in_vain=in_vain)

        return timed

    def _admitted(self, endpoint: Endpoint) -> Breaker:
        """Return the breaker, which lets this call through; raise CircuitOpen where it doesn't."""
        breaker = self.breakers.of(self.base_url, endpoint.group) if endpoint.group in _READ else NEVER
        try:
            breaker.admit(is_read=endpoint.is_safe)
        except Open as error:
            raise CircuitOpen(error.seconds) from error
        return breaker

    def _call(
        self,
        endpoint: Endpoint,
        query: Query | None,
        ids: Mapping[str, str],
        payload: bytes | None,
        headers: list[tuple[str, str]],
        max_bytes: int,
    ) -> Call:
        if endpoint not in _ALLOWED:
            raise ValueError(f"{endpoint.method} {endpoint.template} is not the portal's to call")
        limits = self.limits()
        if payload is not None:
            headers.append(("Content-Type", "application/json"))
        if self.dialect and self.dialect.headers:
            headers = with_fixed(headers, self.dialect.headers)
        return Call(
            endpoint.method,
            self.address(endpoint, query, ids),
            headers,
            payload,
            connect_timeout=limits.connect,
            timeout=limits.read,
            max_bytes=max_bytes,
        )

    def address(self, endpoint: Endpoint, query: Query | None, ids: Mapping[str, str]) -> str:
        """Return where a call goes to, in the API's own dialect."""
        if self.dialect is None:
            return self.base_url + path_text(endpoint, ids) + query_text(query)
        path = path_text(endpoint, ids, self.dialect.template(endpoint))
        return self.base_url + path + query_text(self.dialect.query(endpoint, query))

    def _payload(self, endpoint: Endpoint, body: object) -> tuple[bytes, list[tuple[str, str]]]:
        if self.dialect is None:
            return decoding.encode(body), []
        return self.dialect.sent(endpoint, body)

    def limits(self) -> Timeouts:
        """Return the time limits of a call that begins now; raise Unavailable when the page's time is over."""
        left = self._left()
        if left <= 0.01:
            raise Unavailable("page deadline")
        connect, read = min(self.timeouts.connect, left), min(self.timeouts.read, left)
        return replace(self.timeouts, connect=connect, read=read)

    def _headers(self, token: str, operation: str | None) -> list[tuple[str, str]]:
        headers = [
            ("Authorization", f"Bearer {token}"),
            ("Accept", "application/json"),
            ("Accept-Language", self.language),
            ("X-Correlation-Id", self.correlation_id),
        ]
        if operation:
            headers.append(("Idempotency-Key", operation))
        return headers

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _left_to_connect(self) -> float:
        """How many seconds a further try may wait before it begins."""
        return self._left() - self.timeouts.connect

    def error(self, answer: Answer, endpoint: Endpoint) -> CareError:
        """Log an unsuccessful answer and return what it stands for."""
        retry.log_failure(endpoint.group, f"status {answer.status}", answer.headers, ours=self.correlation_id)
        return from_answer(
            answer.status,
            answer.body,
            answer.headers.get("content-type", ""),
            endpoint=endpoint,
            retry_after=answer.headers.get("retry-after"),
            challenge=answer.headers.get("www-authenticate"),
            forms=self.dialect,
        )

    def decode(self, body: bytes, into: type[T]) -> T:
        """Return what a body holds, read in the API's own dialect; raise BadResponse."""
        dialect = self.dialect
        if dialect is None:
            return decoding.decode(body, into)
        return decoding.decode_translated(body, into, lambda answer: dialect.read(answer, into))

    def _decoded(self, endpoint: Endpoint, answer: Answer, into: type[T]) -> T:
        try:
            record = self.decode_observed(endpoint, answer.body, into)
        except BadResponse as error:
            self._log_unreadable(endpoint, answer, error.field)
            raise
        if fields := getattr(record, "unreadable", ()):
            self.on_unreadable(len(fields))
        return self.dialect.with_stamp(record, answer.headers) if self.dialect else record

    def decode_observed(self, endpoint: Endpoint, body: bytes, into: type[T]) -> T:
        """Read an answer, and let the observer look at it. Raises BadResponse."""
        observer = self.observer
        if observer is None:
            return self.decode(body, into)
        decoding.noticed.unknown_value = False
        try:
            record = self.decode(body, into)
        except BadResponse as error:
            observer.left_out(endpoint, (error.field,))
            raise
        has_unknown = decoding.noticed.unknown_value
        observer.decoded(endpoint, lambda: self.json(body, into), into, has_unknown=has_unknown)
        if fields := getattr(record, "unreadable", ()):
            observer.left_out(endpoint, fields)
        return record

    def json(self, body: bytes, into: type[object]) -> object:
        """Return an answer's JSON in the portal's names and forms, members that nobody reads with it; raise BadResponse."""
        dialect = self.dialect
        if dialect is None:
            return decoding.decode(body, object)
        return decoding.decode_translated(body, object, lambda answer: dialect.look(answer, into))

    def _log_unreadable(self, endpoint: Endpoint, answer: Answer, field: str) -> None:
        """Say which member of which endpoint's answer can't be read; never what stood there."""
        reason = f"{endpoint.method} {endpoint.template}: {field}"
        retry.log_failure(endpoint.group, reason, answer.headers, ours=self.correlation_id)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A file whose head is here."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


_ALLOWED = frozenset(ALL)
_READ = frozenset(endpoint.group for endpoint in ALL if endpoint.is_safe)
"""The groups that a read can tell to be well again. Only they have a breaker: a person's act isn't a probe."""


def with_fixed(headers: list[tuple[str, str]], fixed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers with those that the API always wants, which stand instead of the portal's own."""
    replaced = {name.lower() for name in fixed}
    return [*((name, value) for name, value in headers if name.lower() not in replaced), *fixed.items()]


def _holds_nothing(body: bytes, dialect: Translator) -> bool:
    try:
        return decoding.decode_translated(body, bool, dialect.is_nothing)
    except BadResponse:
        return False


def _content(begun: _Begun) -> Content:
    headers = begun.headers
    return Content(
        status=begun.status,
        media_type=headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower(),
        name=_file_name(headers.get("content-disposition", "")),
        size=byte_count(headers.get("content-length")),
        headers={name: headers[name] for name in _PASSED_ON if name in headers},
        chunks=begun.chunks,
    )


def _file_name(disposition: str) -> str | None:
    """Return the file name of a Content-Disposition header (RFC 6266), the extended form first."""
    message = Message()
    message["Content-Disposition"] = disposition
    for part in disposition.split(";"):
        key, _, value = part.strip().partition("=")
        if key.lower() == "filename*" and value.lower().startswith("utf-8''"):
            return unquote(value[7:])
    return message.get_filename()


def _is_header_text(value: str) -> bool:
    return value.isascii() and value.isprintable() and len(value) < 200


def _close(chunks: Iterator[bytes]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()
