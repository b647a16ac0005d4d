"""What all tests share: the real care service, and the portal in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stack import CareService, PortalThread, plan


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CareService]:
    """The care service with fresh sample records, for one module of tests."""
    folder: Path = tmp_path_factory.mktemp("care")
    running = CareService(plan(folder))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """The portal in a thread of this process, in front of `service`."""
    running = PortalThread(service.plan)
    yield running
    running.stop()
