"""A `care` with scripted responses, which shows what a function requests and how it reads the response."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from portal.config.modules import Module
from portal.services import changes, decoding
from portal.services.adapter import PLAIN, Adapter
from portal.services.api import Content, Endpoint, Reference
from portal.services.client import Care
from portal.services.errors import CareError
from tests.support.care import care_of

# No deadline: on a busy machine, examples may take longer.
settings.register_profile("services", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("services")


class Call(NamedTuple):
    """What was asked of the API."""

    endpoint: Endpoint
    query: dict[str, Any]
    body: Any
    operation: str | None
    ids: dict[str, str]


class CannedCare:
    """Answers each call with the next of `answers`, by the real wire: JSON values, None for an empty body, or an error."""

    def __init__(self) -> None:
        self.answers: deque[Any] = deque()
        self.calls: list[Call] = []
        self.modules_off = frozenset[Module]()
        self.largest_page: int | None = None
        self.adapter: Adapter = PLAIN
        self.observer = None
        self.by_patient = False
        self.clock = time.time

    def read(self, endpoint, *, query=None, **ids):
        call = Call(endpoint, msgspec.to_builtins(query or {}), None, None, ids)
        return decoding.decode(self._answer(call), endpoint.answer)

    def act(self, endpoint, body, *, operation=None, before=None, demand=None, **ids):
        written = PLAIN.sent(endpoint, changes.written(endpoint, body), before)[0]
        sent = None if body is None else decoding.decode(written, object)
        answer = self._answer(Call(endpoint, {}, sent, operation, ids))
        return decoding.decode(answer, endpoint.answer) if answer else None

    def reference(self, endpoint, *, query=None):
        return Reference(self.read(endpoint, query=query))

    def open(self, endpoint, *, query, range_header=None, if_none_match=None) -> Content:
        headers = {"Range": range_header, "If-None-Match": if_none_match}
        self.calls.append(Call(endpoint, msgspec.to_builtins(query), headers, None, {}))
        return self.answers.popleft()

    def _answer(self, call: Call) -> bytes:
        self.calls.append(call)
        answer = self.answers.popleft()
        if isinstance(answer, CareError):
            raise answer
        return b"" if answer is None else decoding.encode(answer)


@pytest.fixture
def care() -> CannedCare:
    return CannedCare()


@pytest.fixture
def care_at() -> Callable[..., Care]:
    """Make a `care` that asks a scripted server: `care_at(upstream(script))`."""
    return care_of
