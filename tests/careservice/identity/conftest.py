"""A fresh identity server for each test, copied from one that was seeded once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.careservice.identity.identity_server import IdentityServer, seed


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("identity") / "seeded.db"
    seed(path)
    return path


@pytest.fixture
def server(seeded: Path, tmp_path: Path) -> Iterator[IdentityServer]:
    path = tmp_path / "identity.db"
    shutil.copy(seeded, path)
    running = IdentityServer(path)
    yield running
    running.engine.dispose()


@pytest.fixture
def demo_server(seeded: Path, tmp_path: Path) -> Iterator[IdentityServer]:
    path = tmp_path / "demo.db"
    shutil.copy(seeded, path)
    running = IdentityServer(path, demo=True)
    yield running
    running.engine.dispose()
