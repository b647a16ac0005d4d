"""The care service as a process of its own, and tokens for everyone in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.postgres import database_url
from tests.support.stack import CareService, plan
from tests.support.tokens import TokenMaker


@pytest.fixture(scope="session")
def care_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenMaker]:
    """One care service for all tests of the API: `.base_url`, `.token(user name)`, `.service_token(tenant)`."""
    where = plan(tmp_path_factory.mktemp("care-api"))
    running = CareService(where, "--database", database_url(where.data / "care.db"))
    yield TokenMaker(running)
    running.stop()
