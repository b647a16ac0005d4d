"""The HTTP client: what it sends, what it refuses, and how calls run side by side."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable

import pytest

from portal.http import transfer, transport
from portal.http.transfer import Answer, Call, TransportError
from portal.http.transport import side_by_side
from tests.support.upstream import Make, ok


def test_reads_reuse_connections(upstream: Make) -> None:
    server = upstream(lambda line, number: ok())
    for _ in range(3):
        assert transport.send(Call("GET", server.url)).status == 200
    assert server.connections == 1


def test_an_old_connection_is_not_used_again(upstream: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that an upstream that moved to another address is followed, though something answers at the old one."""
    monkeypatch.setattr(transfer, "_CONNECTION_SECONDS", 1)
    server = upstream(lambda line, number: ok())

    def read_twice() -> None:  # in a thread without kept handles
        transport.send(Call("GET", server.url))
        time.sleep(2.1)
        transport.send(Call("GET", server.url))

    thread = threading.Thread(target=read_twice)
    thread.start()
    thread.join()
    assert (server.connections, len(server.seen)) == (2, 2)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_an_act_is_never_sent_twice_when_its_connection_dies(upstream: Make, method: str) -> None:
    """libcurl would send it again by itself on a kept connection."""
    server = upstream(lambda line, number: ok() if line.startswith("GET") else None)
    transport.send(Call("GET", server.url))
    with pytest.raises(TransportError) as caught:
        transport.send(Call(method, server.url, body=b"{}"))
    assert caught.value.sent
    assert [line.split()[0] for line in server.seen] == ["GET", method]


def test_a_refused_connection_is_reported_as_not_sent() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(TransportError) as caught:
            transport.send(Call("POST", url, body=b""))
    assert caught.value.reason == "connection refused"
    assert not caught.value.sent


@pytest.mark.asvs("15.3.2")
def test_redirects_are_not_followed_and_cookies_are_not_stored(upstream: Make) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    server = upstream(lambda line, number: answer)
    assert transport.send(Call("GET", server.url)).status == 302
    transport.send(Call("GET", server.url))
    assert all("cookie" not in head.lower() for head in server.heads)
    assert len(server.seen) == 2


def test_the_headers_are_those_of_the_last_head(upstream: Make) -> None:
    """The last of a name that is repeated, all of a list; and the path is sent as it is."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    server = upstream(lambda line, number: hints + ok(b"{}", "ETag: 1", "Vary: a", "ETag: 2", "Vary: b"))
    answer = transport.send(Call("GET", f"{server.url}/patients/../cases"))
    assert answer.headers == {"content-length": "2", "etag": "2", "vary": "a, b"}
    assert server.seen == ["GET /patients/../cases HTTP/1.1"]


def test_the_environments_proxy_is_not_used(upstream: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    server = upstream(lambda line, number: ok())
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert transport.send(Call("GET", server.url)).status == 200


@pytest.mark.parametrize(("given", "limit"), [({}, 8 * 1024**2), ({"max_bytes": 1000}, 1000)])
def test_a_body_over_the_size_limit_is_refused(upstream: Make, given: dict[str, int], limit: int) -> None:
    sizes = [limit, limit + 1]
    server = upstream(lambda line, number: ok(b"x" * sizes.pop(0)))
    assert len(transport.send(Call("GET", server.url, **given)).body) == limit
    with pytest.raises(TransportError, match="too large"):
        transport.send(Call("GET", server.url, **given))


def test_a_dripping_response_ends_at_the_deadline(upstream: Make) -> None:
    def drip(line: str, number: int) -> bytes:
        time.sleep(1.5)
        return ok()

    server = upstream(drip)
    began = time.monotonic()
    with pytest.raises(TransportError, match="timed out"):
        transport.send(Call("GET", server.url, timeout=0.2))
    assert time.monotonic() - began < 1.4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "cut short"), (b"", "empty reply")],
)
def test_a_malformed_response_is_an_error(upstream: Make, answer: bytes, reason: str) -> None:
    def script(line: str, number: int) -> bytes | None:
        return answer or None

    server = upstream(script)
    if answer:
        server.script = lambda line, number: answer  # then the connection stays open until the deadline
        with pytest.raises(TransportError):
            transport.send(Call("GET", server.url, timeout=0.3))
        return
    with pytest.raises(TransportError, match=reason):
        transport.send(Call("GET", server.url))


def test_calls_of_one_page_run_concurrently(upstream: Make) -> None:
    at_once = threading.Barrier(4)

    def slow(line: str, number: int) -> bytes:
        if "/second" not in line:
            at_once.wait(10)
        return ok(line.encode())

    server = upstream(slow)

    def one_after_another() -> str:
        first = transport.send(Call("GET", f"{server.url}/first"))
        second = transport.send(Call("GET", f"{server.url}/second"))
        return (first.body + second.body).decode()

    def get(path: str) -> Callable[[], str]:
        return lambda: transport.send(Call("GET", server.url + path)).body.decode()

    results = side_by_side([get("/a"), one_after_another, get("/b"), get("/c")])
    assert [str(result).split()[1] for result in results] == ["/a", "/first", "/b", "/c"]


def test_a_failing_task_does_not_affect_the_others(upstream: Make) -> None:
    server = upstream(lambda line, number: ok())

    def fail() -> Answer:
        raise ValueError("mine")

    good, bad, refused = side_by_side(
        [
            lambda: transport.send(Call("GET", server.url)),
            fail,
            lambda: transport.send(Call("GET", "http://127.0.0.1:1/")),
        ]
    )
    assert isinstance(good, Answer)
    assert isinstance(bad, ValueError)
    assert isinstance(refused, TransportError)
    assert transport.send(Call("GET", server.url)).status == 200


def test_a_file_is_streamed_piece_by_piece(upstream: Make) -> None:
    body = b"0123456789" * 200_000
    server = upstream(lambda line, number: ok(body, "Content-Type: application/pdf"))
    status, headers, pieces = transport.stream(Call("GET", server.url))
    assert (status, headers["content-type"]) == (200, "application/pdf")
    taken = list(pieces)
    assert b"".join(taken) == body
    assert len(taken) > 5


def test_a_file_cut_short_raises(upstream: Make) -> None:
    def short(line: str, number: int) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nConnection: close\r\n\r\nabc"

    server = upstream(short)
    server.script = short
    _, _, pieces = transport.stream(Call("GET", server.url, timeout=1))
    with pytest.raises(TransportError):
        list(pieces)


def test_reading_a_file_may_take_longer_than_a_calls_timeout(upstream: Make) -> None:
    body = b"0123456789" * 400_000
    server = upstream(lambda line, number: ok(body))
    _, _, pieces = transport.stream(Call("GET", server.url, timeout=0.3))
    came = next(pieces)
    time.sleep(0.7)
    assert came + b"".join(pieces) == body


def test_a_stalled_file_times_out(upstream: Make) -> None:
    server = upstream(lambda line, number: b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
    _, _, pieces = transport.stream(Call("GET", server.url, timeout=0.3))
    assert (next(pieces), next(pieces)) == (b"abc", b"")
    began = time.monotonic()
    with pytest.raises(TransportError, match="timed out"):
        list(pieces)
    assert time.monotonic() - began < 5


def test_a_file_may_come_more_slowly_than_a_calls_timeout() -> None:
    def drip() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
            for _ in range(4):
                time.sleep(0.4)
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=drip, daemon=True).start()
        call = Call("GET", f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=1)
        assert b"".join(transport.stream(call)[2]) == b"xxxx"


def test_a_file_ends_after_the_maximum_duration(upstream: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_LONGEST", 0.0)
    server = upstream(lambda line, number: ok(b"0123456789" * 400_000))
    _, _, pieces = transport.stream(Call("GET", server.url))
    with pytest.raises(TransportError, match="timed out"):
        list(pieces)
