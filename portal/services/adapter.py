"""How an API may differ from what the portal expects: names, formats, addresses, errors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

from portal.services import decoding
from portal.services.api import AnyEndpoint, Query

T = TypeVar("T")


class Adapter:
    """An API that differs in nothing; `portal.connect.dialects.Dialect` translates for the others."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Additional headers of every call, by name."""
        return MappingProxyType({})

    def template(self, endpoint: AnyEndpoint) -> str:
        """Return the endpoint's path template."""
        return endpoint.template

    def query(self, endpoint: AnyEndpoint, query: Query | None) -> Query:
        """Return the query's parameters, by the API's names."""
        return query or {}

    def sent(self, endpoint: AnyEndpoint, body: object) -> tuple[bytes, list[tuple[str, str]]]:
        """Return the body as JSON, and its additional headers."""
        return decoding.encode(body), []

    def decode(self, body: bytes, into: type[T]) -> T:
        """Return a response's record; raise BadResponse."""
        return decoding.decode(body, into)

    def json(self, body: bytes, into: type[Any]) -> object:
        """Return a response's JSON by the portal's names, with the members that it doesn't read; raise BadResponse."""
        return decoding.decode(body, object)

    def is_empty(self, body: bytes) -> bool:
        """Whether a response holds no record."""
        return not body.strip()

    def with_stamp(self, record: T, headers: Mapping[str, str]) -> T:
        """Return the record with the stamp that its response's headers hold, if any."""
        return record

    def status(self, status: int) -> int:
        """Return the status that an error's status stands for."""
        return status

    def code_of(self, answer: object) -> str | None:
        """Return the code in an error response, if it stands in another place than usual."""
        return None

    def rule_of(self, code: str) -> str:
        """Return the rule that a code stands for."""
        return code

    def is_rule(self, answer: object) -> bool:
        """Whether an error's code stands for a rule, which takes precedence over its status."""
        return False

    def fields_of(self, answer: object) -> list[str] | None:
        """Return the invalid members that an error names, if they stand in another place than usual."""
        return None

    def our_name(self, endpoint: AnyEndpoint, theirs: str) -> str:
        """Return the portal's name of a member that was sent."""
        return theirs


PLAIN = Adapter()
"""The API as specified."""
