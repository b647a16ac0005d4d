"""What can be said of an endpoint of the care API: a row holds all of it, and everything else is derived from the rows.

A resource's module declares its rows by `Group`; `portal.services.endpoints` lists them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeAlias, TypeVar, overload

import msgspec

from portal.config.modules import Module
from portal.services.demand import Demand

AnswerT = TypeVar("AnswerT")
RequestT = TypeVar("RequestT")
T = TypeVar("T")

Query: TypeAlias = Mapping[str, str | int | bool | Sequence[str] | None]
"""Query parameters by name; None is omitted, a sequence repeats the name."""


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[AnswerT, RequestT]):
    """One endpoint of the care API specification §4: method, path template below {base_url}, group, and its types.

    - `answer`: a record, a `PagedResult` of records, `bytes` for a file, or `object` if the response is ignored.
    - `request`: the query of a read, the body of an act; None if there is none.
    - `shows`: for a read, the kind of record in the audit trail; None if it reveals nothing about a patient.
    - `page`: the portal's section that shows it, which people don't see if the clinic doesn't offer the endpoint.
    - `kept`: for how long a copy of the answer is fresh; None if it is never cached.
    - `demand`: what it demands of the sign-in, for acts that someone with another person's device must not carry out.
    - `without`: members that the body leaves out, `if_known`: those that it leaves out if they are None, `always`: those that it
      has even if they are as empty as they were.
    - `module`: the module of a clinic that alone calls it.
    """

    method: str
    template: str
    group: str
    answer: type[AnswerT] = field(compare=False)
    request: type[RequestT] | None = field(compare=False, default=None)
    module: Module | None = field(compare=False, default=None)
    shows: str | None = field(compare=False, default=None)
    page: str | None = field(compare=False, default=None)
    kept: timedelta | None = field(compare=False, default=None)
    demand: Demand | None = field(compare=False, default=None)
    without: frozenset[str] = field(compare=False, default=frozenset())
    if_known: frozenset[str] = field(compare=False, default=frozenset())
    always: frozenset[str] = field(compare=False, default=frozenset())

    @property
    def query(self) -> type[RequestT] | None:
        return self.request if self.is_safe else None

    @property
    def body(self) -> type[RequestT] | None:
        """The type of the request's body, if there is one."""
        return None if self.is_safe else self.request

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the path parameters, in order."""
        return tuple(re.findall(r"{(\w+)}", self.template))

    @property
    def names_record(self) -> bool:
        """Whether the path contains a record's id."""
        return "{" in self.template

    @property
    def id_in_query(self) -> bool:
        """Whether the query contains a record's id, instead of the path."""
        return "id" in getattr(self.query, "__struct_fields__", ())

    @property
    def is_safe(self) -> bool:
        """Whether the method is safe (RFC 9110 §9.2.1)."""
        return self.method == "GET"


AnyEndpoint: TypeAlias = Endpoint[Any, Any]
"""An endpoint whose types don't matter."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of endpoints, as the specification names it; `module` is the module of a clinic that alone calls them."""

    name: str
    module: Module | None = None

    @overload
    def get(
        self, template: str, answer: type[AnswerT], *, shows: str | None, page: str | None = None
    ) -> Endpoint[AnswerT, None]: ...
    @overload
    def get(
        self,
        template: str,
        answer: type[AnswerT],
        query: type[RequestT],
        *,
        shows: str | None,
        page: str | None = None,
        kept: timedelta | None = None,
    ) -> Endpoint[AnswerT, RequestT]: ...
    def get(
        self,
        template: str,
        answer: type[AnswerT],
        query: type[Any] | None = None,
        *,
        shows: str | None,
        page: str | None = None,
        kept: timedelta | None = None,
    ) -> Endpoint[AnswerT, Any]:
        """Declare a read."""
        return _declared(Endpoint("GET", template, self.name, answer, query, self.module, shows, page, kept))

    @overload
    def post(
        self, template: str, answer: type[AnswerT], *, demand: Demand | None = None
    ) -> Endpoint[AnswerT, None]: ...
    @overload
    def post(
        self, template: str, answer: type[AnswerT], body: type[RequestT], *, demand: Demand | None = None
    ) -> Endpoint[AnswerT, RequestT]: ...
    def post(
        self,
        template: str,
        answer: type[AnswerT],
        body: type[Any] | None = None,
        *,
        demand: Demand | None = None,
    ) -> Endpoint[AnswerT, Any]:
        """Declare an act that creates or does something."""
        return _declared(Endpoint("POST", template, self.name, answer, body, self.module, demand=demand))

    def put(
        self,
        template: str,
        answer: type[AnswerT],
        body: type[RequestT],
        *,
        without: frozenset[str] = frozenset(),
        if_known: frozenset[str] = frozenset(),
        always: frozenset[str] = frozenset(),
    ) -> Endpoint[AnswerT, RequestT]:
        """Declare an act that changes a record."""
        return _declared(
            Endpoint(
                "PUT",
                template,
                self.name,
                answer,
                body,
                self.module,
                without=without,
                if_known=if_known,
                always=always,
            )
        )

    def delete(self, template: str, *, demand: Demand) -> Endpoint[object, None]:
        """Declare an act that removes a record."""
        return _declared(Endpoint("DELETE", template, self.name, object, None, self.module, demand=demand))


_rows: set[AnyEndpoint] = set()
_read_groups: set[str] = set()


def _declared(endpoint: Endpoint[AnswerT, RequestT]) -> Endpoint[AnswerT, RequestT]:
    _rows.add(endpoint)
    if endpoint.is_safe:
        _read_groups.add(endpoint.group)
    return endpoint


def declared_rows() -> frozenset[AnyEndpoint]:
    """The rows of the modules that are imported so far; `portal.services.endpoints` imports them all."""
    return frozenset(_rows)


def is_declared(endpoint: AnyEndpoint) -> bool:
    """Whether a row stands for it; the portal calls nothing else."""
    return endpoint in _rows


def group_has_reads(group: str) -> bool:
    return group in _read_groups


class PageQuery(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    """How a page of a list is asked for."""

    skip_count: int
    max_result_count: int


class SearchQuery(PageQuery, frozen=True, kw_only=True, rename="pascal"):
    """A page of a list that can be searched."""

    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Reference(Generic[T]):
    """Reference data from the cache; `as_of` is when they were read if they are stale, else None."""

    value: T
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A file being streamed: status (200, 206, 304 or 416), metadata, and its bytes in chunks.

    `size` is in bytes, None if the API doesn't say; `name` is the file's name, if given; `headers` holds the few that may
    be passed on. Close `chunks` if you stop before its end.
    """

    status: int
    media_type: str
    name: str | None
    size: int | None
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)
