"""Which addresses the portal may call at all, and how long a page may wait for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from portal.config.variables import Timeouts
from portal.services.api import Endpoint
from portal.services.client import Care
from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.endpoints import WEBHOOKS
from portal.services.errors import NotFound, Unavailable
from tests.support.care import untyped
from tests.support.upstream import Make, ok


@pytest.mark.parametrize("record", ["..", ".", ""])
@pytest.mark.asvs("1.3.3", "1.3.6")
def test_an_id_that_would_change_the_address_is_not_sent(
    upstream: Make, care_at: Callable[..., Care], record: str
) -> None:
    server = upstream(lambda line, number: ok())
    with pytest.raises(NotFound):
        care_at(server).act(untyped(SIGN_CONSENT), {}, operation="one", id=record)
    assert server.seen == []


@pytest.mark.parametrize(
    "endpoint",
    [*WEBHOOKS, Endpoint("GET", "/api/care/patients", "Patient", bytes), Endpoint("GET", "/", "", bytes)],
    ids=["sms", "email", "payment", "patients", "root"],
)
@pytest.mark.asvs("1.3.6", "13.2.4", "13.2.5")
def test_only_endpoints_of_the_specification_can_be_called(
    upstream: Make, care_at: Callable[..., Care], endpoint: Endpoint
) -> None:
    server = upstream(lambda line, number: ok())
    with pytest.raises(ValueError, match="not the portal's to call"):
        care_at(server).send(endpoint)
    with pytest.raises(ValueError, match="not the portal's to call"):
        care_at(server).open(endpoint, query={})
    assert server.seen == []


@pytest.mark.asvs("15.2.2", "16.5.2")
def test_nothing_is_sent_after_the_pages_deadline(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(lambda line, number: ok())
    late = replace(care_at(server), deadline=time.monotonic())
    with pytest.raises(Unavailable, match="page deadline"):
        late.read(untyped(READ_CONSENT), id="form")
    assert server.seen == []


def test_a_call_ends_at_the_pages_deadline_if_that_comes_first(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    """The server takes the call and stays silent until the test is over."""
    over = threading.Event()

    def silent(line: str, number: int) -> None:
        over.wait(10)

    server = upstream(silent)
    began = time.monotonic()
    with pytest.raises(Unavailable):
        replace(care_at(server), timeouts=Timeouts(read=20), deadline=began + 0.3).read(
            untyped(READ_CONSENT), id="form"
        )
    assert time.monotonic() - began < 8, "the call's own limit is 20 seconds, and the server's silence 10"
    over.set()


def test_an_act_answered_with_busy_is_not_retried(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(lambda line, number: b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    with pytest.raises(Unavailable):
        care_at(server).act(untyped(SIGN_CONSENT), {}, operation="one", id="form")
    assert len(server.seen) == 1
