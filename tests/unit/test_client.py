"""The client of the care API: what it tries again, and what it never does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from portal.services.client import Care
from portal.services.endpoints import READ_CONSENT, SIGN_CONSENT
from portal.services.errors import NotSignedIn, Unavailable
from portal.settings import Timeouts
from tests.unit.test_outbound import Make, Upstream, ok, upstream

__all__ = ["upstream"]

_CUT = None


class Bearer:
    """A token, and the one after it."""

    def __init__(self) -> None:
        self.now = "first"

    def token(self) -> str:
        return self.now

    def renew(self, refused: str) -> str:
        if refused == "second":
            raise NotSignedIn
        self.now = "second"
        return self.now


@pytest.fixture
def care_at() -> Iterator[Callable[..., Care]]:
    def make(server: Upstream, **more: Any) -> Care:
        references = cast("Any", type("Nothing", (), {"move_on": lambda self, care: None})())
        return Care(
            base_url=server.url,
            bearer=Bearer(),
            timeouts=Timeouts(connect=1, read=1, page=3),
            deadline=time.monotonic() + 3,
            language="en",
            correlation_id="a-test",
            references=references,
            partition=("issuer", "clinic", "person", "epoch"),
            **more,
        )

    yield make


def cutting(times: int, answer: bytes) -> Callable[[str, int], bytes | None]:
    """A script that closes the first connections without an answer."""
    left = [times]

    def script(line: str, number: int) -> bytes | None:
        left[0] -= 1
        return None if left[0] >= 0 else answer

    return script


def sign(care: Care) -> object:
    return care.act(SIGN_CONSENT, dict, body={}, operation="one", id="form")


def test_reading_is_tried_again_when_the_line_is_cut(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(cutting(1, ok(b'{"id": "form"}')))
    assert care_at(server).read(READ_CONSENT, dict, id="form") == {"id": "form"}


def test_an_act_is_not_tried_again_and_its_outcome_is_unknown(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(cutting(1, ok()))
    with pytest.raises(Unavailable) as caught:
        sign(care_at(server))
    assert not caught.value.outcome_known
    assert len(server.seen) == 1


def test_an_act_is_tried_again_where_the_api_promises_to_honour_the_key(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(cutting(1, ok(b"{}")))
    assert sign(care_at(server, idempotency=True)) == {}
    assert len(server.seen) == 2
    assert all("Idempotency-Key: one" in head for head in server.heads)


def test_an_act_that_gets_no_answer_twice_stays_unknown(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(cutting(5, ok(b"{}")))
    with pytest.raises(Unavailable) as caught:
        sign(care_at(server, idempotency=True))
    assert not caught.value.outcome_known
    assert len(server.seen) == 2


def test_a_refused_token_is_renewed_once(upstream: Make, care_at: Callable[..., Care]) -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    server = upstream(lambda line, number: refused)
    with pytest.raises(NotSignedIn):
        care_at(server).read(READ_CONSENT, dict, id="form")
    assert [head.partition("Bearer ")[2].split()[0] for head in server.heads] == ["first", "second"]


@pytest.mark.parametrize("record", ["..", ".", "a/b", "a b", "%2e%2e", "é", "?x=1"])
def test_an_id_stays_one_segment_of_the_path(
    upstream: Make, care_at: Callable[..., Care], record: str
) -> None:
    server = upstream(lambda line, number: ok(b'{"id": "x"}'))
    care_at(server).read(READ_CONSENT, dict, id=record)
    path = server.seen[0].split()[1]
    assert path.startswith("/api/care/consent-forms/")
    assert path.count("/") == 4
    assert "?" not in path
