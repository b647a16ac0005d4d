"""A stage for acts: operations over a real store, a clock that is moved by hand, and the audit lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from portal.services.errors import BadResponse, CareError, Unavailable
from portal.state.operations import Operation, Operations, State
from portal.store import open_store
from portal.store.vault import Vault
from portal.web.act_once import Attempt, Unconfirmed, act_once

OWNER, PURPOSE = "amelia", "sign:form-1"


class Stage:
    """Operations over a real store, a clock that is moved by hand, and the audit lines that were written."""

    def __init__(self, path: Path) -> None:
        self.now = 1_000_000.0
        clock = lambda: self.now  # noqa: E731
        self.operations = Operations(Vault(open_store(f"sqlite:///{path}", clock), ("k" * 32,)), clock)
        self.clock = clock
        self.noted: list[str] = []
        self.about: list[tuple[str | None, str | None]] = []
        self.attempt = Attempt(OWNER, self.operations.begin(OWNER, PURPOSE), ("typed",))

    def operation(self) -> Operation:
        held = self.operations.find(OWNER, self.attempt.operation.id, PURPOSE)
        assert held
        return held

    def state(self) -> State:
        return self.operation().state

    def act(self, send: Callable[[str], object], **more: Any) -> Any:
        return act_once(self.attempt, send, event="consent.sign", id_="form-1", **more)

    def failure(self, send: Callable[[str], object], **more: Any) -> CareError:
        """What the act raises."""
        with pytest.raises(CareError) as raised:
            self.act(send, **more)
        return raised.value

    def unconfirmed(self, send: Callable[[str], object], **more: Any) -> tuple[bool, int]:
        """Whether the record is readable, and the status, of an act that nobody confirms."""
        error = self.failure(send, **more)
        assert isinstance(error, Unconfirmed)
        return error.is_readable, error.status


class FakeTime:
    """The process's time as `act_once` sees it; each wait takes a sixteenth of a second, however long it asks for."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.waits: list[float] = []

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passed += 1 / 16
        assert self.passed < 60, "it waits forever"


def fails(error: BaseException) -> Callable[[str], object]:
    def send(_key: str) -> object:
        raise error

    return send


def undone() -> Unavailable:
    error = Unavailable("connection refused")
    error.is_undone = True
    return error


LOST = [
    Unavailable("timed out", outcome_known=False),
    BadResponse("$"),
    Unavailable("the read after it failed"),
]
