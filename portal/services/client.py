"""The client for the care API, on behalf of one person.

Only this module deals with HTTP: it adds the person's token, enforces the time limits, turns responses into records
(`portal.services.decoding`) and failures into a `CareError`. It only calls the endpoints of the care API specification §4
that are meant for the portal, because it only accepts an `Endpoint` that a resource's module declares.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar, cast, get_origin

import msgspec

from portal import tracing
from portal.clock import Clock
from portal.config.modules import Module
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.circuit_breaker import NEVER, Breaker, Breakers, Open
from portal.http.transfer import Answer, Call, TransportError
from portal.parse import byte_count
from portal.services import decoding, retry
from portal.services.adapter import PLAIN, Adapter
from portal.services.addresses import path_text, query_text
from portal.services.api import (
    AnswerT,
    AnyEndpoint,
    Content,
    Endpoint,
    Query,
    Reference,
    RequestT,
    group_has_reads,
    is_declared,
)
from portal.services.changes import written
from portal.services.cursors import Followed
from portal.services.demand import Demand
from portal.services.errors import (
    BadResponse,
    CareError,
    CircuitOpen,
    Invalid,
    NotAllowed,
    NotFound,
    NotOffered,
    SortRefused,
    StepUpNeeded,
    TokenRefused,
    Unavailable,
)
from portal.services.failures import from_answer, from_success, step_up
from portal.services.file_response import FileResponse, close, content, is_header_text
from portal.services.interfaces import Bearer, Observer, Prover, References, Viewer, with_fixed
from portal.services.responses import record_in
from portal.services.salvage import Lost

T = TypeVar("T")

_MAX_BODY = 4 * 1024 * 1024
_MAX_FILE = 2 * 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Care:
    """Calls on behalf of one person at one clinic, during one request.

    - `deadline` (`time.monotonic`): calls aren't waited for beyond it.
    - `partition`: issuer, clinic, person and epoch of the session; the key of the reference cache.
    - `by_patient`: writes concern one patient's records, not the whole clinic's.
    - `prover`: makes proofs of the key that the token is bound to, if it is.
    - `suffices`: whether the person's sign-in meets a demand.
    - `on_not_offered`: called with what can't be read because the clinic doesn't offer it.
    - `on_unreadable`: called with the number of records left out of a list, and the values that couldn't be read.
    - `on_read`: called with each record or list read, and for each file opened (with None).
    - `before_act`: called before an act is sent; raises Unavailable if it must not be.
    - `idempotency`: this API honours `Idempotency-Key`; only then is an act whose response was lost sent again.
    - `breakers`: the process's circuit breakers.
    - `references`: the cache of reference data; without it they are fetched each time.
    - `observer`: told of every response.
    - `modules_off`: what the clinic has switched off; no endpoint of it is called.
    - `adapter`: how the API differs from what the portal expects.
    - `accounts`: whose account each number is by which the API names signers, as far as known.
    - `received`: the answers read so far with what they hold, if the adapter needs them.
    - `followed`: the lists read so far whose pages name the next one.
    - `clock`: the time, by which a form can be too late to sign.
    - `viewer`: decides what is told of each answer, where staff see what a patient sees: nothing is changed then, and no file
      is opened.
    """

    base_url: str
    bearer: Bearer
    timeouts: Timeouts
    deadline: float
    language: str
    correlation_id: str
    references: References[Care] | None
    partition: tuple[str, ...]
    prover: Prover | None = None
    suffices: Callable[[Demand], bool] = lambda _demand: True
    by_patient: bool = False
    idempotency: bool = False
    on_not_offered: Callable[[AnyEndpoint], None] = lambda _endpoint: None
    on_unreadable: Callable[[int, tuple[Lost, ...]], None] = lambda _records, _lost: None
    on_read: Callable[[AnyEndpoint, object, object], None] = lambda _endpoint, _query, _answer: None
    before_act: Callable[[], None] = lambda: None
    breakers: Breakers = field(default_factory=Breakers)
    observer: Observer | None = None
    adapter: Adapter = PLAIN
    modules_off: frozenset[Module] = frozenset()
    accounts: dict[str, str | None] = field(default_factory=dict[str, "str | None"], repr=False)
    received: list[tuple[Any, bytes]] = field(default_factory=list[tuple[Any, bytes]], repr=False)
    followed: dict[str, Followed] = field(default_factory=dict[str, Followed], repr=False)
    clock: Clock = time.time
    viewer: Viewer | None = None

    def read(
        self, endpoint: Endpoint[AnswerT, RequestT], *, query: RequestT | None = None, **ids: str
    ) -> AnswerT:
        """GET a record or a list. Raises CareError; an empty response is a BadResponse."""
        if self.viewer is None:
            record = self._read(endpoint, query, ids)
        else:
            record = self.viewer.read(endpoint, query, ids, lambda asked: self._read(endpoint, asked, ids))
        self.on_read(endpoint, query, record)
        return record

    def _read(
        self, endpoint: Endpoint[AnswerT, RequestT], query: RequestT | None, ids: Mapping[str, str]
    ) -> AnswerT:
        self._refuse_switched_off(endpoint)
        return self._paged(
            endpoint, self.parameters(query), lambda asked: self._read_once(endpoint, asked, ids)
        )

    def _paged(self, endpoint: AnyEndpoint, query: Query, ask: Callable[[Query], T]) -> T:
        """What `ask` returns for a query; from an API with cursors, the part of the list that it asks for."""
        if not self.adapter.follows_cursors or "SkipCount" not in query:
            return ask(query)
        asked = {name: value for name, value in query.items() if name not in ("SkipCount", "MaxResultCount")}
        followed = self.followed.setdefault(f"{endpoint.template} {asked}", Followed())
        return cast("T", followed.page(query, cast("Any", ask), self.adapter.largest_page))

    def _read_once(
        self, endpoint: Endpoint[AnswerT, RequestT], parameters: Query, ids: Mapping[str, str]
    ) -> AnswerT:
        try:
            answer = self.send(endpoint, query=parameters, ids=ids)
        except Invalid as error:
            if parameters.get("Sorting") is not None:
                raise SortRefused from error
            if parameters.get("Filter") is None:  # nobody entered anything
                raise BadResponse("a read is refused as invalid") from error
            raise
        except NotOffered:
            self.on_not_offered(endpoint)
            raise
        if not answer.body:
            raise BadResponse("empty body")
        return record_in(answer, endpoint, self, query=parameters)

    def opened(self, endpoint: AnyEndpoint, answer: Answer) -> Answer:
        """The response, or an empty list if it says in another way that there is none."""
        is_list = get_origin(endpoint.answer) is decoding.PagedResult
        if is_list and self.adapter.is_empty_list(answer.status, answer.body):
            return replace(answer, status=200, body=b"[]")
        return answer

    def act(
        self,
        endpoint: Endpoint[AnswerT, RequestT],
        body: RequestT,
        *,
        operation: str | None = None,
        demand: Demand | None = None,
        before: RequestT | None = None,
        **ids: str,
    ) -> AnswerT | None:
        """POST, PUT or DELETE; return the record in the response, or None if there is no body in it.

        If the sign-in doesn't meet the `demand` (by default the endpoint's), raises StepUpNeeded and sends nothing.

        `before` is a record as it was read, of which `body` is changed: what was empty and still is isn't sent, because it may
        never have come, and an empty value may erase what the API keeps to itself.

        `operation` is sent as `Idempotency-Key`. The call is only retried if the first attempt can't have reached the API
        or the API honours the key. Raises CareError; if `Unavailable.outcome_known` is False the act may have happened,
        `is_undone` says that it hasn't.
        """
        self._refuse_switched_off(endpoint)
        if self.viewer is not None:
            raise NotAllowed
        if demand := demand or endpoint.demand:
            self.need(demand)
        try:
            self.before_act()
            answer = self.send(
                endpoint, ids=ids, body=written(endpoint, body), before=before, operation=operation
            )
        except Unavailable as error:
            error.is_undone = error.outcome_known
            raise
        finally:  # an answer that got lost may have been an act
            self.followed.clear()
            if self.references:
                self.references.move_on(self)
        if decoding.is_empty(answer.body, self.adapter.unwrapped):
            return None
        return record_in(answer, endpoint, self)

    def need(self, demand: Demand) -> None:
        """Raise StepUpNeeded if the sign-in doesn't meet the demand."""
        if not self.suffices(demand):
            raise StepUpNeeded(demand)

    def reference(
        self, endpoint: Endpoint[AnswerT, RequestT], *, query: RequestT | None = None
    ) -> Reference[AnswerT]:
        """GET reference data, through the cache if configured."""
        self._refuse_switched_off(endpoint)
        if self.references is None:
            return Reference(self.read(endpoint, query=query))
        references, as_of = self.references, list[datetime]()

        def ask(asked: Query) -> AnswerT:
            found = references.get(self, endpoint, asked)
            as_of.extend([found.as_of] if found.as_of else [])
            return found.value

        try:
            return Reference(self._paged(endpoint, self.parameters(query), ask), min(as_of, default=None))
        except NotOffered:
            self.on_not_offered(endpoint)
            raise

    def open(
        self,
        endpoint: Endpoint[bytes, RequestT],
        *,
        query: RequestT,
        range_header: str | None = None,
        if_none_match: str | None = None,
    ) -> Content:
        """GET a file as a stream, never the whole file in memory. Raises CareError."""
        if self.viewer is not None:
            raise NotFound
        conditions = [("Range", range_header), ("If-None-Match", if_none_match)]
        extra = [(name, value) for name, value in conditions if value and is_header_text(value)]
        parameters, token = self.parameters(query), self.bearer.token()
        begun = self._begin(endpoint, parameters, extra, token)
        if begun.status == 401:
            close(begun.chunks)
            begun = self._begin(endpoint, parameters, extra, self.bearer.renew(token))
        if begun.status in (301, 302, 303, 307, 308):
            begun = self._redirected(endpoint, begun, extra)
        if begun.status in (200, 206, 304, 416):
            self.on_read(endpoint, query, None)
            return content(begun)
        is_short = (byte_count(begun.headers.get("content-length")) or 0) < _MAX_BODY
        body = b"".join(begun.chunks) if is_short else b""
        raise self.error(Answer(begun.status, begun.headers, body), endpoint)

    def send_read(
        self, endpoint: AnyEndpoint, query: Query, token: str, conditions: list[tuple[str, str]]
    ) -> Answer:
        """Send a read for the reference cache and return its response, whatever its status; raise CareError if none came."""
        posted = self.adapter.posted(endpoint, query)
        return self._attempt(endpoint, query, {}, posted, token, None, conditions)

    def send(
        self,
        endpoint: AnyEndpoint,
        *,
        query: Query | None = None,
        ids: Mapping[str, str] | None = None,
        body: object = None,
        before: object = None,
        operation: str | None = None,
        accepted: tuple[int, ...] = (200, 201, 202, 204),
    ) -> Answer:
        """Send one call, renewing the token once if it is refused; return the response or raise CareError."""
        ids, token = ids or {}, self.bearer.token()
        payload, headers = self._payload(endpoint, query, ids, body, before)
        answer = self._attempt(endpoint, query, ids, payload, token, operation, headers)
        if answer.status == 401 and step_up(answer.headers.get("www-authenticate")) is None:
            token = self.bearer.renew(token)
            answer = self._attempt(endpoint, query, ids, payload, token, operation, headers)
        answer = self.opened(endpoint, answer)
        if answer.status not in accepted:
            raise self.error(answer, endpoint)
        well = not answer.body.strip() or self.adapter.is_well(answer.body)
        if well is None:
            raise BadResponse("doesn't say whether it was well")
        if not well:
            raise self._error_sent_as_success(answer, endpoint)
        return answer

    def _payload(
        self, endpoint: AnyEndpoint, query: Query | None, ids: Mapping[str, str], body: object, before: object
    ) -> tuple[bytes | None, list[tuple[str, str]]]:
        """What is sent besides the address: the body of an act, or the parameters of a read that is posted; its headers."""
        if body is None:
            return self.adapter.posted(endpoint, query) if endpoint.is_safe else None, []
        return self.adapter.sent(endpoint, body, before, ids, self.received, self.language)

    def _error_sent_as_success(self, answer: Answer, endpoint: AnyEndpoint) -> CareError:
        """The error that a response of a successful status stands for; nothing was done."""
        retry.log_failure(
            endpoint.group, "an error sent as success", answer.headers, ours=self.correlation_id
        )
        return from_success(answer.body, endpoint=endpoint, adapter=self.adapter)

    def _refuse_switched_off(self, endpoint: AnyEndpoint) -> None:
        if endpoint.module in self.modules_off:
            raise NotOffered(about_record=False)

    def _attempt(
        self,
        endpoint: AnyEndpoint,
        query: Query | None,
        ids: Mapping[str, str],
        payload: bytes | None,
        token: str,
        operation: str | None,
        headers: list[tuple[str, str]],
    ) -> Answer:
        call = self._call(endpoint, query, ids, payload, [*headers, *self._headers(operation)], _MAX_BODY)
        breaker = self._admitted(endpoint)

        def attempt(nonce: str | None = None) -> Answer:
            with tracing.call(endpoint.method, endpoint.template):
                left, signed = self._left(), self._with_token(call, token, nonce)
                in_time = signed if call.timeout <= left else replace(signed, timeout=max(0.01, left))
                answer = retry.once(in_time, endpoint.group, breaker, usual=self.timeouts.read)
                tracing.call_answered(answer.status)
            return answer

        def send() -> Answer:
            answer = attempt()
            nonce = self._nonce_demanded(call, answer.status, answer.headers)
            return attempt(nonce) if nonce else answer

        timed = retry.timed(send, endpoint, self.observer)
        try:
            if endpoint.is_safe:
                return retry.read(timed, endpoint.group, breaker, seconds=self._left_to_connect)
            may_repeat = self.idempotency and operation is not None
            return retry.act(timed, breaker, may_repeat=may_repeat, seconds=self._left_to_connect)
        except TransportError as error:
            retry.log_failure(endpoint.group, error.reason)
            if error.reason == "too large":
                raise BadResponse("body too large") from error
            raise Unavailable(error.reason, outcome_known=endpoint.is_safe or not error.sent) from error

    def _begin(
        self, endpoint: AnyEndpoint, query: Query, headers: list[tuple[str, str]], token: str
    ) -> FileResponse:
        """Start reading a file; retry once after a transient failure."""
        posted = self.adapter.posted(endpoint, query)
        call = self._call(endpoint, query, {}, posted, [*headers, *self._headers(None)], _MAX_FILE)
        breaker = self._admitted(endpoint)

        def attempt(nonce: str | None = None) -> FileResponse:
            started = time.perf_counter()
            try:
                with tracing.call(endpoint.method, endpoint.template):
                    status, answered, chunks = transport.stream(self._with_token(call, token, nonce))
                    tracing.call_answered(status)
            except TransportError as error:
                retry.unanswered(error, endpoint.group, breaker, started)
                raise
            retry.answered(status, endpoint.group, breaker, started)
            return FileResponse(status, answered, chunks)

        def begin() -> FileResponse:
            begun = attempt()
            nonce = self._nonce_demanded(call, begun.status, begun.headers)
            if nonce is None:
                return begun
            close(begun.chunks)
            return attempt(nonce)

        try:
            timed = retry.timed(begin, endpoint, self.observer)
            return retry.read(timed, endpoint.group, breaker, seconds=self._left_to_connect)
        except TransportError as error:
            retry.log_failure(endpoint.group, error.reason)
            raise Unavailable(error.reason) from error

    def _redirected(
        self, endpoint: AnyEndpoint, begun: FileResponse, headers: list[tuple[str, str]]
    ) -> FileResponse:
        """Start reading a file where the API redirects to, if that may be; neither token nor person is told there."""
        close(begun.chunks)
        address = begun.headers.get("location", "")
        if not self.adapter.redirects_to(address):
            raise BadResponse(f"status {begun.status}")
        connect, whole = self.limits()
        call = Call("GET", address, headers, None, connect, whole, _MAX_FILE)
        try:
            return FileResponse(*transport.stream(call))
        except TransportError as error:
            retry.log_failure(endpoint.group, error.reason)
            raise Unavailable(error.reason) from error

    def _admitted(self, endpoint: AnyEndpoint) -> Breaker:
        """Return the circuit breaker, which has admitted this call; raise CircuitOpen if it doesn't.

        A group without a read has none: reads serve as its probes, an act must not.
        """
        breaker = (
            self.breakers.of(self.base_url, endpoint.group) if group_has_reads(endpoint.group) else NEVER
        )
        try:
            breaker.admit(is_read=endpoint.is_safe)
        except Open as error:
            raise CircuitOpen(error.seconds) from error
        return breaker

    def _call(
        self,
        endpoint: AnyEndpoint,
        query: Query | None,
        ids: Mapping[str, str],
        payload: bytes | None,
        headers: list[tuple[str, str]],
        max_bytes: int,
    ) -> Call:
        if not is_declared(endpoint):
            raise ValueError(f"{endpoint.method} {endpoint.template} is not the portal's to call")
        connect, whole = self.limits()
        address = self.address(endpoint, query, ids)
        if endpoint.is_safe and payload is not None:  # it has the parameters
            address = address.partition("?")[0]
        if payload is not None:
            headers.append(("Content-Type", "application/json"))
        return Call(self.adapter.method(endpoint), address, headers, payload, connect, whole, max_bytes)

    def address(self, endpoint: AnyEndpoint, query: Query | None, ids: Mapping[str, str]) -> str:
        path = path_text(self.adapter.template(endpoint), ids)
        return self.base_url + path + query_text(self.adapter.query(endpoint, query))

    @property
    def largest_page(self) -> int | None:
        """The most records of a list that can be read at once; None if there is no limit, or pages are followed."""
        return None if self.adapter.follows_cursors else self.adapter.largest_page

    def parameters(self, query: object) -> Query:
        """Return the parameters of a query by name, with times in ISO 8601."""
        return {} if query is None else cast("Query", msgspec.to_builtins(query))

    def limits(self) -> tuple[float, float]:
        """Return the time-outs of connecting and of the whole of a call that starts now; raise Unavailable if the page's
        deadline has passed.
        """
        left = self._left()
        if left <= 0.01:
            raise Unavailable("page deadline")
        return min(self.timeouts.connect, left), min(self.timeouts.read, left)

    def _with_token(self, call: Call, token: str, nonce: str | None) -> Call:
        """The call with its authorization, which differs from attempt to attempt if the token is bound to a key."""
        prover = self.prover
        bound = (
            prover.authorization(token, call.method, call.url, nonce)
            if prover
            else [("Authorization", f"Bearer {token}")]
        )
        headers = [*call.headers, *bound, *tracing.headers()]
        if self.adapter.headers:
            headers = with_fixed(headers, self.adapter.headers)
        return Call(
            call.method, call.url, headers, call.body, call.connect_timeout, call.timeout, call.max_bytes
        )

    def _nonce_demanded(self, call: Call, status: int, headers: Mapping[str, str]) -> str | None:
        """The API's nonce, if the call wasn't taken for want of it (RFC 9449 §9)."""
        return self.prover.nonce_demanded(call.url, status, headers) if self.prover else None

    def _headers(self, operation: str | None) -> list[tuple[str, str]]:
        headers = [
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
        """How many seconds a retry may be delayed."""
        return self._left() - self.timeouts.connect

    def error(self, answer: Answer, endpoint: AnyEndpoint) -> CareError:
        """Log an unsuccessful response and return the error that it stands for."""
        retry.log_failure(endpoint.group, f"status {answer.status}", answer.headers, ours=self.correlation_id)
        error = from_answer(
            answer.status,
            answer.body,
            answer.headers.get("content-type", ""),
            endpoint=endpoint,
            retry_after=answer.headers.get("retry-after"),
            challenge=answer.headers.get("www-authenticate"),
            adapter=self.adapter,
        )
        if isinstance(error, StepUpNeeded) and error.demand.max_age is None and self.suffices(error.demand):
            return TokenRefused()  # signing in once more in the same way wouldn't help
        return error
