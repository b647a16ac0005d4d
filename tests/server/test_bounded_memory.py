"""What strangers send takes a bounded amount of the server's memory, and gives it back."""

from __future__ import annotations

import contextlib

import pytest

from tests.server.conftest import Client, Served
from tests.server.test_slow_clients import resident, workers

CHUNKED = b"POST / HTTP/1.1\r\nHost: small.test\r\nTransfer-Encoding: chunked\r\n\r\n"
PIECE = 65536


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        pytest.param(b"0\r\n", b"X-Trailer: t\r\n" * 4000, id="trailer fields"),
        pytest.param(b"0\r\nX-Trailer: ", b"t" * PIECE, id="one trailer field"),
        pytest.param(b"1\r\na\r\n0\r\n", b"t" * PIECE, id="a trailer field's name"),
        pytest.param(b"1;", b"extension" * 7000, id="a chunk extension"),
        pytest.param(b"", b"1;e\r\na\r\n" * 8000, id="many small chunks"),
    ],
)
def test_two_endless_requests_take_little_memory(served: Served, begin: bytes, more: bytes) -> None:
    (process,) = workers(served)
    assert served.get("/")[0] == 200
    before = resident(process)
    clients = [served.client(), served.client()]
    for client in clients:
        client.send(CHUNKED + begin)
    most = 0.0
    with contextlib.suppress(ConnectionError):  # refused, and cut off some time later
        for sent in range(1, 321):
            for client in clients:
                client.send(more)
            if sent % 20 == 0:
                most = max(most, resident(process) - before)
    assert most < 20
    served.hang_up()
    assert served.get("/")[0] == 200
    assert resident(process) - before < 20


def test_an_endless_trailer_is_refused(served: Served) -> None:
    client = served.client()
    client.send(CHUNKED + b"0\r\nX-Trailer: " + b"t" * 20_000)
    assert client.answer()[0] == 400


def test_requests_that_wait_for_a_thread_count_as_held(served: Served) -> None:
    body = b"x" * 1_000_000
    clients = [served.client() for _ in range(12)]
    for client in clients:
        with contextlib.suppress(ConnectionError):
            client.send(b"POST /slow HTTP/1.1\r\nHost: small.test\r\nContent-Length: 1000000\r\n\r\n" + body)
    answered = sum(_is_answered(client) for client in clients)
    assert 6 <= answered <= 10
    assert (
        served.send(b"POST / HTTP/1.1\r\nHost: small.test\r\nContent-Length: 1000000\r\n\r\n" + body)[0]
        == 200
    )


def test_of_unfinished_bodies_the_oldest_is_dropped(served: Served) -> None:
    clients = [served.client() for _ in range(10)]
    for client in clients:
        client.send(
            b"POST / HTTP/1.1\r\nHost: small.test\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 900_000
        )
    clients[-1].send(b"x" * 100_000)
    assert _is_answered(clients[-1])
    assert clients[0].is_closed()


def _is_answered(client: Client) -> bool:
    try:
        return client.answer()[0] == 200
    except (EOFError, ConnectionError):
        return False
