"""The care API for each test: of a running service, and of one in this process with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.careservice import database
from tests.careservice.api.calls import CheckedApi
from tests.careservice.api.clinic import Clinic, new_clinic


@pytest.fixture
def api(care_service: Any) -> Iterator[CheckedApi]:
    calls = CheckedApi(care_service)
    yield calls
    calls.close()


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    made = new_clinic(tmp_path)
    yield made
    with made.app.app_context():
        database.engine().dispose()
