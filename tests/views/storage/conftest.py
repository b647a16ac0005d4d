"""A patient with embryos in storage, and two people of the laboratory."""

from __future__ import annotations

import pytest

from tests.support.stack import PortalThread
from tests.support.visitor import Visitor


@pytest.fixture(scope="module")
def grace(portal: PortalThread) -> Visitor:
    return portal.sign_in("grace")


@pytest.fixture(scope="module")
def elif_(portal: PortalThread) -> Visitor:
    return portal.sign_in("elif")


@pytest.fixture(scope="module")
def victor(portal: PortalThread) -> Visitor:
    return portal.sign_in("victor")
