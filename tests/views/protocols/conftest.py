"""Two people who write protocols."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module")
def nora(portal):
    return portal.sign_in("nora")


@pytest.fixture(scope="module")
def victor(portal):
    return portal.sign_in("victor")
