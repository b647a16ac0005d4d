"""A separate care service, because a crawl over every operation changes everything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.careservice.api.calls import CheckedApi
from tests.support.postgres import database_url
from tests.support.stack import CareService, plan
from tests.support.tokens import TokenMaker


@pytest.fixture(scope="module")
def care_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenMaker]:
    where = plan(tmp_path_factory.mktemp("openapi"))
    running = CareService(where, "--database", database_url(where.data / "care.db"))
    yield TokenMaker(running)
    running.stop()


@pytest.fixture
def api(care_service: TokenMaker) -> Iterator[CheckedApi]:
    calls = CheckedApi(care_service)
    yield calls
    calls.close()
