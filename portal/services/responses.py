"""The record in a response of the care API, a note of what in it couldn't be read, and what is read where an act had none."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

from msgspec import structs

from portal.http.transfer import Answer
from portal.services import decoding, retry
from portal.services.adapter import Adapter
from portal.services.api import AnswerT, Endpoint, Query
from portal.services.decoding import PagedResult, noticed
from portal.services.errors import BadResponse, CareError, Unavailable
from portal.services.interfaces import Observer
from portal.services.salvage import Lost

T = TypeVar("T")

_NOTHING: Query = MappingProxyType({})


class Reader(Protocol):
    """Whoever reads a response: the client of one person (portal.services.client)."""

    @property
    def adapter(self) -> Adapter: ...
    @property
    def language(self) -> str: ...
    @property
    def correlation_id(self) -> str: ...
    @property
    def observer(self) -> Observer | None: ...
    @property
    def on_unreadable(self) -> Callable[[int, tuple[Lost, ...]], None]: ...
    @property
    def received(self) -> list[tuple[Any, bytes]]: ...


def record_in(
    answer: Answer, endpoint: Endpoint[AnswerT, Any], reader: Reader, *, query: Query = _NOTHING
) -> AnswerT:
    """Read the record in a response. Raises BadResponse, and logs which member of it can't be read, never its value."""
    try:
        record = decoded(answer.body, endpoint, reader, query=query, observer=reader.observer)
    except BadResponse as error:
        reason = f"{endpoint.method} {endpoint.template}: {error.field}"
        retry.log_failure(endpoint.group, reason, answer.headers, ours=reader.correlation_id)
        raise
    if reader.adapter.needs_answers:
        reader.received.append((endpoint.answer, answer.body))
    return stamped(record, answer.headers.get("etag") if reader.adapter.has_etags else None)


def decoded(
    body: bytes, endpoint: Endpoint[AnswerT, Any], reader: Reader, *, query: Query, observer: Observer | None
) -> AnswerT:
    """Decode a response, show it to the observer, and tell the reader what couldn't be read of it.

    Raises BadResponse, also for a list that its `query` has from the first record on, and that has a count and no record:
    nothing says that there is none.
    """
    into = endpoint.answer
    adapter, language = reader.adapter, reader.language
    watching = None if into is object else observer

    def whole() -> object:
        return decoding.decode(body, object, adapter.full_translation(into))

    noticed.unknown_value = False
    try:
        record = decoding.decode(body, into, adapter.translation(into, language))
        refuse_untold(record, query)
    except BadResponse as error:
        if watching:
            watching.left_out(endpoint, (error.field,))
        raise
    has_unknown, lost = noticed.unknown_value, noticed.lost
    unreadable: tuple[str, ...] = getattr(record, "unreadable", ())
    if watching:
        watching.decoded(endpoint, whole, into, has_unknown=has_unknown, lost=lost)
        if unreadable:
            watching.left_out(endpoint, unreadable)
    if unreadable or lost:
        reader.on_unreadable(len(unreadable), lost)
    return record


def refuse_untold(record: Any, query: Query) -> None:
    """Raise BadResponse for a list that is empty from the first record on, and has a count.

    Not where it goes on; nor where the count may be that of more than was asked for: with a text, or of those unread where
    none is.
    """
    is_first = isinstance(record, PagedResult) and query.get("MaxResultCount") and not query.get("SkipCount")
    if not is_first or record.received or not record.total or record.next:
        return
    is_none_unread = query.get("IsRead") is False and record.unread_count == 0
    if not is_none_unread and query.get("Filter") is None:
        raise BadResponse("$.items")


def stamped(record: T, etag: str | None) -> T:
    """Return the record with this ETag as its stamp, if it can have one and has none."""
    if not etag or getattr(record, "concurrency_stamp", "") is not None:
        return record
    return cast("T", structs.replace(cast("Any", record), concurrency_stamp=etag))


def read_back(read: Callable[[], T]) -> T:
    """Return what `read` returns after an act whose response had no record; any CareError as an unknown outcome.

    The act has been carried out, so a read that is refused, times out or isn't signed in must not look like a refusal of
    the act.
    """
    try:
        return read()
    except CareError as error:
        raise Unavailable("not read back", outcome_known=False) from error
