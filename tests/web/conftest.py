"""A bare application around the parts under test."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask

from tests.support.bare import NotedAudit, bare_app
from tests.support.clock import Clock


@pytest.fixture
def audit() -> NotedAudit:
    return NotedAudit()


@pytest.fixture
def app(tmp_path: Path, clock: Clock, audit: NotedAudit) -> Flask:
    return bare_app(tmp_path, clock, audit)
