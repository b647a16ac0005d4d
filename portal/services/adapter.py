"""How an API may differ from what the portal expects: names, formats, addresses, errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from portal.services import decoding
from portal.services.api import AnyEndpoint, Query
from portal.services.changes import without_empty
from portal.services.decoding import Translation
from portal.services.success import says_well


class Adapter:
    """An API that differs in nothing; `portal.connect.dialects.dialect.Dialect` translates for the others.

    - `headers`: additional ones of every call, by name.
    - `largest_page`: the most records that a list's page has; None if there is no limit.
    - `follows_cursors`: whether each page of a list names the next one.
    - `marks_deleted`: whether lists have records that are marked as deleted.
    - `has_etags`: whether a record's stamp comes as its response's ETag.
    - `signers_by`: the attribute of a patient by which forms name signers; None if they name accounts.
    - `needs_answers`: whether `sent` needs the answers that came.
    - `unwrapped`: what takes a response out of its envelope; None if there is none.
    """

    headers: Mapping[str, str] = MappingProxyType({})
    largest_page: int | None = None
    follows_cursors: bool = False
    marks_deleted: bool = False
    has_etags: bool = False
    signers_by: str | None = None
    needs_answers: bool = False
    unwrapped: Translation | None = None

    def template(self, endpoint: AnyEndpoint) -> str:
        return endpoint.template

    def query(self, endpoint: AnyEndpoint, query: Query | None) -> Query:
        """Return the query's parameters, by the API's names."""
        return query or {}

    def posted(self, endpoint: AnyEndpoint, query: Query | None) -> bytes | None:
        """Return the body of a read that is posted, which has its parameters; None if the address has them."""
        return None

    def sent(
        self,
        endpoint: AnyEndpoint,
        body: object,
        before: object = None,
        ids: Mapping[str, str] = MappingProxyType({}),
        received: Sequence[tuple[Any, bytes]] = (),
        language: str = "",
    ) -> tuple[bytes, list[tuple[str, str]]]:
        """Return the body as JSON, and its additional headers.

        `before` is the record as it was read, if the body changes one; `received` are the answers read so far, each with what it
        holds, `ids` those in the path, `language` the reader's.
        """
        return decoding.encode(body if before is None else without_empty(endpoint, body, before)), []

    def method(self, endpoint: AnyEndpoint) -> str:
        return endpoint.method

    def is_empty_list(self, status: int, body: bytes) -> bool:
        """Whether a response to a list says that there is none: not every 404 does, for a wrong address answers so too."""
        return False

    def redirects_to(self, address: str) -> bool:
        return False

    def file_in(self, answer: object) -> tuple[str | None, str | None]:
        """Return a file's content as base64 and its name in a JSON answer, where that has it."""
        return None, None

    def translation(self, into: type[Any], language: str = "") -> Translation | None:
        """Return what translates the JSON of a record's response to the portal's names and formats; None if nothing has to.

        Texts that come by language are read in this one.
        """
        return None

    def full_translation(self, into: type[Any]) -> Translation | None:
        """The same with the members that the record doesn't read."""
        return None

    def status(self, status: int) -> int:
        """Return the status that an error's status stands for."""
        return status

    def is_well(self, body: bytes) -> bool | None:
        """Whether a response of a successful status says that it was well; None if it doesn't say, or contradicts itself."""
        return says_well(body)

    def status_of(self, answer: object) -> int | None:
        """Return the status that the code of an unsuccessful answer stands for, whatever the response's own is."""
        return None

    def code_of(self, answer: object) -> str | None:
        """Return the code in an error response, if it stands in another place than usual."""
        return None

    def rule_of(self, code: str) -> str:
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
