"""The portal over a fake API, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from tests.support import forked
from tests.support.clock import Clock
from tests.support.fake_api import ZONE, FakeApi, fake_api
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

__all__ = ["fake_api"]


@pytest.fixture(scope="module", autouse=True)
def _printed_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        forked.print_once(patch)
        yield


@pytest.fixture(scope="session")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(tmp_path_factory.mktemp("portal"), Clock(time.time))


@pytest.fixture
def visitor(in_process: InProcess, fake_api: FakeApi) -> Callable[..., Visitor]:
    """Sign somebody in: `visitor("amelia")`, `visitor("nora", "nurse")`. It is the present, and nothing is known yet."""
    in_process.clock.ahead = 0.0
    in_process.forget()
    return in_process.visitor


@pytest.fixture
def at(in_process: InProcess) -> Iterator[Callable[[str], None]]:
    """Set the clinic’s clock to a time in November 2026."""
    before = in_process.clock.ahead

    def move(moment: str) -> None:
        in_process.move_to(datetime.fromisoformat(f"2026-11-{moment}").replace(tzinfo=ZONE).timestamp())

    yield move
    in_process.clock.ahead = before
