"""The people of the sample forms, each signed in once for a module, and a form to sign."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.signing import fresh_form


@pytest.fixture(scope="module")
def amelia(portal: Any) -> Any:
    return portal.sign_in("amelia")


@pytest.fixture(scope="module")
def daniel(portal: Any) -> Any:
    return portal.sign_in("daniel")


@pytest.fixture(scope="module")
def nora(portal: Any) -> Any:
    return portal.sign_in("nora")


@pytest.fixture(scope="module")
def victor(portal: Any) -> Any:
    return portal.sign_in("victor")


@pytest.fixture
def form(service: Any) -> str:
    """A form that Amelia, Daniel and Victor can sign in any order."""
    return fresh_form(service.plan)
