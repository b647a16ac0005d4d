"""An API's dialect as the client uses it, for requests and responses."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from portal.connect.dialects.formats import Convert
from portal.connect.dialects.naming import STYLES, folded_name
from portal.connect.dialects.overlay import Overlay
from portal.connect.dialects.paths import at_path
from portal.connect.dialects.reading import Reading, is_marked
from portal.connect.dialects.rules import Rules
from portal.connect.dialects.writing import Writing
from portal.services import decoding
from portal.services.adapter import Adapter
from portal.services.api import AnyEndpoint, Query
from portal.services.changes import members_in, without_empty
from portal.services.decoding import Translation
from portal.services.endpoints import ALL
from portal.services.errors import NotFound
from portal.services.failures import rule_named
from portal.services.members import Member, members_of
from portal.services.refusal_codes import RULES

_STAMP = "concurrencyStamp"


class Dialect(Adapter):
    """How one API differs from what the portal expects, prepared once at startup."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._reading = Reading(rules)
        self._looking = Reading(rules, keeps_unknown=True)
        self._writing = Writing(rules)
        self._by_language = {"": self._reading}
        self._readers: dict[tuple[Any, str], Convert] = {}
        self._methods = {endpoint: self._method(endpoint) for endpoint in ALL}
        self._templates = {endpoint: self._template(endpoint) for endpoint in ALL}
        self.headers = rules.headers
        self.largest_page = rules.largest_page
        self.follows_cursors = rules.paging == "cursor"
        self.marks_deleted = rules.deleted is not None
        self.has_etags = rules.concurrency == "etag"
        self.signers_by = rules.signers_by
        self.needs_answers = True
        self.unwrapped = self._reading.opened

    @property
    def absent_means_none(self) -> frozenset[str]:
        """Members ("Episode.alerts") that this API omits when they are empty."""
        return self.rules.absent_means_none

    def template(self, endpoint: AnyEndpoint) -> str:
        return self._templates[endpoint]

    def query(self, endpoint: AnyEndpoint, query: Query | None) -> Query:
        return self._writing.query(endpoint, query)

    def method(self, endpoint: AnyEndpoint) -> str:
        return self._methods[endpoint]

    def posted(self, endpoint: AnyEndpoint, query: Query | None) -> bytes | None:
        """The parameters of a read that is posted, as the members of its body."""
        if self._methods[endpoint] == "GET":
            return None
        written = self._writing.query(endpoint, query)
        given = {name: value for name, value in written.items() if value is not None}
        return self._encoded(self._writing.enclosed(given))

    def sent(
        self,
        endpoint: AnyEndpoint,
        body: object,
        before: object = None,
        ids: Mapping[str, str] = MappingProxyType({}),
        received: Sequence[tuple[Any, bytes]] = (),
        language: str = "",
    ) -> tuple[bytes, list[tuple[str, str]]]:
        """Translate a body, and return its additional headers: `If-Match` if stamps are sent as ETags.

        What a change leaves as it was is sent as it came, and what never came isn't sent. A PATCH has only what was changed.
        """
        headers: list[tuple[str, str]] = []
        plain = cast("object", msgspec.to_builtins(body))
        if before is not None and self.method(endpoint) == "PATCH":
            was = members_in(before)
            changed = cast("dict[str, object]", plain).items()
            plain = {name: value for name, value in changed if name == _STAMP or was.get(name) != value}
        if self.has_etags and plain.__class__ is dict:
            stamp = cast("dict[str, object]", plain).pop(_STAMP, None)
            if isinstance(stamp, str) and stamp:
                headers.append(("If-Match", _quoted(stamp)))
        over = None
        if before is not None:
            over = Overlay(self.rules, self._writing, language).body(
                endpoint, cast("dict[str, object]", plain), ids, received
            )
            plain = without_empty(endpoint, plain, before)
        translated = self._writing.body(endpoint, plain) if over is None else self._writing.enclosed(over)
        return self._encoded(translated), headers

    def _encoded(self, body: object) -> bytes:
        written = decoding.encode(body)
        return codecs.BOM_UTF8 + written if self.rules.bom else written

    def translation(self, into: type[Any], language: str = "") -> Translation:
        """What translates the JSON of a record's response; it raises NotFound for a record that is marked as deleted."""
        known = language if language in self.rules.by_language else ""
        made = self._readers.get((into, known))
        if made is None:
            made = self._readers[into, known] = self._unless_deleted(self._reading_in(known), into)
        return made

    def _reading_in(self, language: str) -> Reading:
        if language not in self._by_language:
            self._by_language[language] = Reading(self.rules, language=language)
        return self._by_language[language]

    def _unless_deleted(self, reading: Reading, into: Any) -> Convert:
        translate, deleted = reading.of(into), self.rules.deleted
        if deleted is None:
            return translate

        def read(answer: object) -> object:
            if is_marked(reading.opened(answer), deleted):
                raise NotFound
            return translate(answer)

        return read

    def is_empty_list(self, status: int, body: bytes) -> bool:
        """Whether a response to a list says that there is none: by 204, or by an error's code."""
        empty = self.rules.empty_lists
        if not empty or not body.strip():
            return status == 204 and status in empty
        is_error = status >= 400 or not self.is_well(body)
        return is_error and self._code_in(decoding.plain(body)) in empty

    def redirects_to(self, address: str) -> bool:
        parts = urlsplit(address)
        return f"{parts.scheme}://{parts.netloc}".lower() in self.rules.files.redirects

    def file_in(self, answer: object) -> tuple[str | None, str | None]:
        files = self.rules.files
        content, name = at_path(answer, files.content), at_path(answer, files.name)
        return (
            content if isinstance(content, str) and files.content else None,
            name if isinstance(name, str) and files.name else None,
        )

    def full_translation(self, into: type[Any]) -> Translation:
        """The same with the members that the record doesn't read, named "? name"."""
        return self._looking.of(into)

    def status(self, status: int) -> int:
        return self.rules.errors.statuses.get(status, status)

    def is_well(self, body: bytes) -> bool | None:
        """Whether a response of a successful status says that it was well, where the dialect says so (`errors.success`).

        A bare list or a file's text says nothing and is well.
        """
        success = self.rules.errors.success
        if success is None:
            return super().is_well(body)
        answer = self._success(body)
        if not isinstance(answer, dict):
            return True
        if not isinstance(at_path(cast("object", answer), success.path), str | int):
            return None
        return is_marked(cast("object", answer), success)

    def _success(self, body: bytes) -> object:
        """The answer as far as it says whether it was well: all of it is read only where that doesn't stand in objects alone."""
        if self._of_success is not None:
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return msgspec.to_builtins(self._of_success.decode(body))
        return decoding.plain(body)

    @cached_property
    def _of_success(self) -> msgspec.json.Decoder[Any] | None:
        """What reads of an answer the member alone that says whether it was well."""
        path = self.rules.errors.success.path if self.rules.errors.success else ()
        if not path or any(name.isdecimal() or "=" in name for name in path):
            return None
        kind: Any = Any
        for name in reversed(path):
            kind = msgspec.defstruct("Part", [("part", kind, msgspec.UNSET)], rename={"part": name})
        return msgspec.json.Decoder(kind)

    def status_of(self, answer: object) -> int | None:
        """The status that an error's code stands for (`errors.codes`)."""
        return self.rules.errors.code_statuses.get(self._code_in(answer) or "")

    def code_of(self, answer: object) -> str | None:
        """The code in an error response, as the rule's name; None if the dialect doesn't say where it is."""
        code = self._code_in(answer)
        return None if code is None else self.rule_of(code)

    def _code_in(self, answer: object) -> str | None:
        """The API's own code in an error, where the dialect says it stands."""
        path = self.rules.errors.code
        code = at_path(answer, path.split(".")) if path else None
        return str(code) if isinstance(code, str | int) else None

    def rule_of(self, code: str) -> str:
        return self.rules.errors.codes.get(code, code)

    def is_rule(self, answer: object) -> bool:
        code = self._code_in(answer)
        return code is not None and (code in self.rules.errors.codes or rule_named(code) in RULES)

    def fields_of(self, answer: object) -> list[str] | None:
        """The invalid members that an error response names; None if the dialect doesn't say where, or there are none."""
        path = self.rules.errors.fields
        found = at_path(answer, path.split(".")) if path else None
        if found is None:
            return None
        if isinstance(found, dict):
            return list(cast("dict[str, object]", found))
        name = self.rules.errors.name
        items = cast("list[object]", found) if isinstance(found, list) else []
        named = (at_path(item, name.split(".")) if name else item for item in items)
        return [name for name in named if isinstance(name, str)]

    def our_name(self, endpoint: AnyEndpoint, theirs: str) -> str:
        """The portal's name of a member that was sent: `required_signers[0].person_id` is requiredSigners.0.personId."""
        shape: type | None = endpoint.body
        rest = [word for word in re.split(r"[^\w-]+", theirs) if word]
        ours: list[str] = []
        while rest:
            member, taken = (None, 1) if shape is None else self._named(shape, rest)
            ours.append(member.name if member else STYLES["camelCase"](rest[0]))
            if member:
                shape = member.nested
            rest = rest[taken:]
        return ".".join(ours)

    def _named(self, shape: type, path: list[str]) -> tuple[Member | None, int]:
        """The member whose name a path starts with, and the number of words in that name."""
        for member in members_of(shape):
            name = self.rules.name_of(shape, member.name).split(".")
            if list(map(folded_name, path[: len(name)])) == list(map(folded_name, name)):
                return member, len(name)
        return None, 1

    def _method(self, endpoint: AnyEndpoint) -> str:
        methods, usual = self.rules.methods, endpoint.method
        return methods.get(f"{usual} {endpoint.template}") or methods.get(usual, usual)

    def _template(self, endpoint: AnyEndpoint) -> str:
        template = endpoint.template
        whole = self.rules.addresses.get(f"{endpoint.method} {template}")
        if whole is not None:
            return self.rules.base_path + whole
        for ours in sorted(self.rules.addresses, key=len, reverse=True):
            if template == ours or template.startswith(f"{ours}/"):
                return self.rules.base_path + self.rules.addresses[ours] + template.removeprefix(ours)
        return self.rules.base_path + template


def _quoted(stamp: str) -> str:
    """An entity tag (RFC 9110 §8.8.3); quotes are added if it came from a member."""
    return stamp if stamp.startswith(('"', 'W/"')) else f'"{stamp}"'
