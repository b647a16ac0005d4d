"""The care API of a running service, for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.careservice.api.calls import Api


@pytest.fixture
def api(care_service: Any) -> Iterator[Api]:
    calls = Api(care_service)
    yield calls
    calls.close()
