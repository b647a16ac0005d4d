"""A portal whose error stream and audit record are kept, and everyone signed in to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.support.stack import CareService, PortalThread
from tests.web.logs_and_audit.output import Stream


@pytest.fixture(scope="module")
def errors() -> Iterator[Stream]:
    """Everything written to stderr and stdout by this process while these tests run."""
    stream = Stream()
    before = sys.stderr, sys.stdout
    sys.stderr = sys.stdout = stream
    yield stream
    sys.stderr, sys.stdout = before


@pytest.fixture(scope="module")
def portal(service: CareService, errors: Stream) -> Iterator[PortalThread]:
    """The portal with a log in JSON that goes to `errors`."""
    running = PortalThread(service.plan, PORTAL_LOG="json")
    yield running
    running.stop()
