"""A fresh identity server for each test, copied from one that was seeded once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.careservice.identity.identity_server import IdentityServer, seed
from tests.support.postgres import copy_of, database_url


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = database_url(tmp_path_factory.mktemp("identity") / "seeded.db")
    seed(url)
    return url


@pytest.fixture
def server(seeded: str, tmp_path: Path) -> Iterator[IdentityServer]:
    running = IdentityServer(copy_of(seeded, tmp_path / "identity.db"))
    yield running
    running.engine.dispose()


@pytest.fixture
def demo_server(seeded: str, tmp_path: Path) -> Iterator[IdentityServer]:
    running = IdentityServer(copy_of(seeded, tmp_path / "demo.db"), demo=True)
    yield running
    running.engine.dispose()
