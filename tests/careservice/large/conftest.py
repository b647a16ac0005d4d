"""The large sample is slow, so these tests are collected only with CARE_TEST_FULL=1.

Those of the searches need PostgreSQL (CARE_TEST_DATABASE=postgresql).
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.careservice.large.large_service import Large, large_service
from tests.support.full import FULL
from tests.support.postgres import database_url

collect_ignore_glob = ["test_*.py"]
if FULL:
    is_postgresql = os.environ.get("CARE_TEST_DATABASE") == "postgresql"
    collect_ignore_glob = [] if is_postgresql else ["test_search_plans.py"]


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    folder = tmp_path_factory.mktemp("large")
    with large_service(folder, database_url(folder / "large.db")) as made:
        yield made
