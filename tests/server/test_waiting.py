"""Requests that wait for a thread: checks of health don't, and the application learns how long the others did."""

from __future__ import annotations

import time

from tests.server.conftest import Served


def occupy(served: Served, *, rounds: int) -> None:
    """Send so many requests of half a second to each of the two threads."""
    for _ in range(2 * rounds):
        served.client().send(b"GET /slow HTTP/1.1\r\nHost: small.test\r\n\r\n")
    time.sleep(0.1)


def test_health_is_answered_while_pages_wait_and_the_application_learns_how_long(served: Served) -> None:
    assert float(served.get("/waited")[2]) < 0.1
    occupy(served, rounds=3)
    began = time.monotonic()
    assert served.get("/health")[0] == 200
    assert time.monotonic() - began < 1.2, "the last page is begun after a second and takes half a one"
    assert float(served.get("/waited")[2]) > 0.5
