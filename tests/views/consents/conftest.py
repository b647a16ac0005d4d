"""A form to sign."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.signing import fresh_form


@pytest.fixture
def form(service: Any) -> str:
    """A form that Amelia, Daniel and Victor can sign in any order."""
    return fresh_form(service.plan)
