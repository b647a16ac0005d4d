"""Calls whose failure is a value, for the part of the page that shows it: one, or several concurrently."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar, cast, overload

from portal.http.transport import side_by_side
from portal.services.decoding import PagedResult
from portal.services.errors import CareError, NotSignedIn
from portal.services.listed import Listed

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
T = TypeVar("T")


def attempt(call: Callable[[], T]) -> T | CareError:
    """Make one call; return its value, or the CareError that its part of the page shows.

    NotSignedIn, which concerns the whole page, is raised.
    """
    try:
        return call()
    except NotSignedIn:
        raise
    except CareError as error:
        return error


@overload
def gather(a: Callable[[], A], b: Callable[[], B], /) -> tuple[A | CareError, B | CareError]: ...
@overload
def gather(
    a: Callable[[], A], b: Callable[[], B], c: Callable[[], C], /
) -> tuple[A | CareError, B | CareError, C | CareError]: ...
@overload
def gather(
    a: Callable[[], A], b: Callable[[], B], c: Callable[[], C], d: Callable[[], D], /
) -> tuple[A | CareError, B | CareError, C | CareError, D | CareError]: ...
@overload
def gather(
    a: Callable[[], A], b: Callable[[], B], c: Callable[[], C], d: Callable[[], D], e: Callable[[], E], /
) -> tuple[A | CareError, B | CareError, C | CareError, D | CareError, E | CareError]: ...
@overload
def gather(
    a: Callable[[], A],
    b: Callable[[], B],
    c: Callable[[], C],
    d: Callable[[], D],
    e: Callable[[], E],
    f: Callable[[], F],
    /,
) -> tuple[A | CareError, B | CareError, C | CareError, D | CareError, E | CareError, F | CareError]: ...
def gather(*calls: Callable[[], object]) -> tuple[object, ...]:
    """Make the calls concurrently; return each one's value, or the CareError that its part of the page shows.

    NotSignedIn, which concerns the whole page, and exceptions other than CareError are raised.
    """
    return tuple(_value_or_error(outcome) for outcome in side_by_side(calls))


def gather_all(calls: list[Callable[[], T]]) -> list[T | CareError]:
    """The same for any number of calls of one kind."""
    return [cast("T | CareError", _value_or_error(outcome)) for outcome in side_by_side(calls)]


def known(value: T | CareError) -> T | None:
    """Return the value, or None if the call failed."""
    return None if isinstance(value, CareError) else value


def needed(value: T | CareError) -> T:
    """Return the value; raise the error of a call without which there is no page."""
    if isinstance(value, CareError):
        raise value
    return value


def items_of(page: PagedResult[T] | Listed[T] | CareError) -> tuple[T, ...]:
    """Return the records of a list, none if the call failed."""
    return () if isinstance(page, CareError) else page.items


class Identified(Protocol):
    """A record with an id."""

    @property
    def id(self) -> str: ...


def ids_of(records: Iterable[Identified] | CareError | None) -> list[str]:
    """Return the ids of the records; none if they couldn't be read or weren't requested."""
    return [] if records is None or isinstance(records, CareError) else [record.id for record in records]


def _value_or_error(outcome: object) -> object:
    if isinstance(outcome, NotSignedIn):
        raise outcome
    if isinstance(outcome, BaseException) and not isinstance(outcome, CareError):
        raise outcome
    return outcome


RecordT = TypeVar("RecordT", bound=Identified)


def merged(answers: Iterable[Listed[RecordT] | CareError]) -> Listed[RecordT]:
    """Return the records of several lists, each once by its id; whole if each list was read, and is whole."""
    answers = list(answers)
    read = [answer for answer in answers if isinstance(answer, Listed)]
    records = {record.id: record for listed in read for record in listed}
    return Listed(tuple(records.values()), len(read) == len(answers) and all(one.is_whole for one in read))
