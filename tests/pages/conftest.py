"""The portal over a fake API, in this process."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support.clock import Clock
from tests.support.fake_api import FakeApi, fake_api
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

__all__ = ["fake_api"]


@pytest.fixture(scope="session")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(tmp_path_factory.mktemp("portal"), Clock(time.time))


@pytest.fixture
def visitor(in_process: InProcess, fake_api: FakeApi) -> Callable[..., Visitor]:
    """Sign somebody in: `visitor("amelia")`, `visitor("nora", "nurse")`."""
    return in_process.visitor
