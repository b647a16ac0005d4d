"""A bare application around the parts under test, and what a whole one writes into its audit record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.support.bare import NotedAudit, bare_app
from tests.support.clock import Clock
from tests.support.stack import PortalThread


@pytest.fixture
def audit() -> NotedAudit:
    return NotedAudit()


@pytest.fixture
def app(tmp_path: Path, clock: Clock, audit: NotedAudit) -> Flask:
    return bare_app(tmp_path, clock, audit)


Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(portal: PortalThread) -> Lines:
    """The lines that were added to the audit record since it was last asked."""
    seen = len(portal.audited())

    def added() -> list[dict[str, Any]]:
        nonlocal seen
        new = portal.audited()[seen:]
        seen += len(new)
        return new

    return added
