"""Slow clients don't occupy a thread, and eventually time out."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.server.conftest import Served
from tests.server.small_app import ALL_OF_IT, ImpatientWorker

HOST = b"Host: small.test\r\n"


def test_an_incomplete_head_times_out_with_408(served: Served) -> None:
    client = served.client()
    client.send(b"GET / HTTP/1.1\r\nHo")
    assert client.answer()[0] == 408
    assert client.is_closed()


def test_a_dripping_head_times_out(served: Served) -> None:
    client = served.client()
    began = time.monotonic()
    client.send(b"GET / HTTP/1.1\r\n")
    with pytest.raises(OSError):
        while time.monotonic() - began < 8:
            client.send(b"X-Drip: drop\r\n")
            time.sleep(0.1)
    assert time.monotonic() - began < 5


def test_a_stalled_body_times_out(served: Served) -> None:
    client = served.client()
    client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\nabc")
    assert client.answer()[0] == 408
    assert client.is_closed()


def test_an_idle_connection_is_closed_without_a_response(served: Served) -> None:
    assert served.client().is_closed()


def test_many_incomplete_requests_do_not_delay_others(served: Served) -> None:
    half = [served.client() for _ in range(200)]
    for client in half[:100]:
        client.send(b"GET / HTTP/1.1\r\n")
    for client in half[100:]:
        client.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\nabc")
    began = time.monotonic()
    assert all(served.get("/")[0] == 200 for _ in range(20))
    assert time.monotonic() - began < 5


def test_many_slow_readers_do_not_delay_others_and_use_little_memory(served: Served) -> None:
    (worker,) = workers(served)
    before = resident(worker)
    readers = [served.client(receive=4096) for _ in range(40)]
    for reader in readers:
        reader.send(b"GET /file HTTP/1.1\r\n" + HOST + b"\r\n")
    began = time.monotonic()
    assert all(served.get("/")[0] == 200 for _ in range(20))
    assert time.monotonic() - began < 5
    assert resident(worker) - before < 40 * 1.0


def test_a_large_response_is_delivered_whole(served: Served) -> None:
    status, _, body = served.client().get("/file")
    assert (status, len(body)) == (200, ALL_OF_IT)


def test_a_stalled_reader_is_cut_off_and_the_body_closed(served: Served) -> None:
    served.hang_up()
    while served.get("/closed?soon")[2] == b"closed":
        pass
    reader = served.client(receive=4096)
    reader.send(b"GET /file HTTP/1.1\r\n" + HOST + b"\r\n")
    assert served.get("/closed")[2] == b"closed"


def test_a_response_of_unknown_length_is_chunked(served: Served) -> None:
    client = served.client()
    _, fields, body = client.get("/bits")
    assert fields["transfer-encoding"] == "chunked"
    assert body == b"bit " * 10
    assert client.get("/")[0] == 200


def test_a_response_that_breaks_off_is_visibly_incomplete(served: Served) -> None:
    client = served.client()
    with pytest.raises((EOFError, ConnectionError)):
        client.get("/cut")
    client = served.client()
    with pytest.raises(EOFError):
        client.get("/short")


def test_a_response_waiting_for_data_does_not_hold_a_thread(served: Served) -> None:
    waiting = [served.client() for _ in range(6)]
    for client in waiting:
        client.send(b"GET /endless HTTP/1.1\r\n" + HOST + b"\r\n")
    began = time.monotonic()
    assert len(served.get("/bits")[2]) == 40
    assert len(served.client().get("/file")[2]) == ALL_OF_IT
    assert time.monotonic() - began < 6


def test_the_oldest_incomplete_request_is_dropped_for_a_new_connection(tmp_path: Path) -> None:
    few = Served(tmp_path, "--worker-connections", "10")
    try:
        kept = few.client()
        assert kept.get("/")[0] == 200
        half = [few.client() for _ in range(30)]
        for client in half:
            client.send(b"GET / HTTP/1.1\r\n")
        assert few.get("/")[0] == 200
        assert kept.get("/")[0] == 200
        assert half[0].is_closed()
        half[-1].send(HOST + b"\r\n")
        assert half[-1].answer()[0] == 200
    finally:
        few.hang_up()
        few.stop()


def test_the_slowest_reader_is_dropped_for_a_new_connection(tmp_path: Path) -> None:
    few = Served(tmp_path, "--worker-connections", "10")
    try:
        readers = [few.client(receive=4096) for _ in range(10)]
        for reader in readers:
            reader.send(b"GET /file HTTP/1.1\r\n" + HOST + b"\r\n")
        time.sleep(ImpatientWorker.timeouts.head + 0.5)
        assert few.get("/")[0] == 200
        with pytest.raises((EOFError, ConnectionError)):
            readers[0].answer()
        assert len(readers[-1].answer()[2]) == ALL_OF_IT
    finally:
        few.hang_up()
        few.stop()


def test_a_stop_finishes_requests_in_progress(tmp_path: Path) -> None:
    ending = Served(tmp_path)
    try:
        busy, reader, idle, half = (ending.client() for _ in range(4))
        assert idle.get("/")[0] == 200
        half.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n\r\nab")
        busy.send(b"GET /slow HTTP/1.1\r\n" + HOST + b"\r\n")
        reader.send(b"GET /file HTTP/1.1\r\n" + HOST + b"\r\n")
        time.sleep(0.2)
        os.kill(ending.child.pid, signal.SIGTERM)
        time.sleep(0.1)
        half.send(b"cd")
        assert half.answer()[2].endswith(b" | 4 | abcd")
        status, fields, _ = idle.get("/")
        assert (status, fields["connection"]) == (200, "close")
        assert busy.answer()[0] == 200
        assert len(reader.answer()[2]) == ALL_OF_IT
        assert ending.child.wait(10) == 0
    finally:
        ending.hang_up()
        ending.stop()


def workers(served: Served) -> list[int]:
    pid = served.child.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident(pid: int) -> float:
    """Resident memory, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
