"""Responses whose first part the application writes before it knows the rest (PEP 3333, `write`)."""

from __future__ import annotations

import pytest

from tests.server.conftest import Served
from tests.server.small_app import LONG_PART


@pytest.mark.parametrize("how", ["", "measured"])
def test_a_part_that_was_written_comes_before_the_rest_is_known(served: Served, how: str) -> None:
    reader = served.client()
    reader.send(f"GET /parts?{how} HTTP/1.1\r\nHost: small.test\r\n\r\n".encode())
    first = b""
    while b"first " not in first:
        first += reader.socket.recv(4096)
    assert first.startswith(b"HTTP/1.1 200 OK\r\n") and b"and" not in first
    assert served.get("/go")[0] == 200
    rest = reader.socket.recv(4096)
    assert rest == (b"and" if how else b"3\r\nand\r\n0\r\n\r\n")
    assert reader.get("/")[0] == 200, "the connection is kept"


def test_a_long_rest_is_streamed_after_the_first_part(served: Served) -> None:
    reader = served.client()
    reader.send(b"GET /parts?long HTTP/1.1\r\nHost: small.test\r\n\r\n")
    served.get("/go")
    status, _fields, body = reader.answer()
    assert (status, body[:6], len(body)) == (200, b"first ", 6 + 8 * 65536)


def test_a_second_part_waits_for_the_rest_of_a_long_first_one(served: Served) -> None:
    reader = served.client()
    reader.send(b"GET /parts?twice HTTP/1.0\r\n\r\n")
    came = bytearray()
    while len(came) < LONG_PART:
        came += reader.socket.recv(65536)
    served.get("/go")
    while piece := reader.socket.recv(65536):
        came += piece
    assert came.partition(b"\r\n\r\n")[2] == b"first " * LONG_PART + b"second and"


def test_an_http_1_0_client_gets_the_parts_until_the_connection_is_closed(served: Served) -> None:
    reader = served.client()
    reader.send(b"GET /parts HTTP/1.0\r\n\r\n")
    served.get("/go")
    came = b""
    while piece := reader.socket.recv(4096):
        came += piece
    assert came.endswith(b"\r\n\r\nfirst and")


def test_a_head_request_gets_no_part(served: Served) -> None:
    served.get("/go")
    reader = served.client()
    reader.send(b"HEAD /parts HTTP/1.1\r\nHost: small.test\r\nConnection: close\r\n\r\n")
    came = b""
    while piece := reader.socket.recv(4096):
        came += piece
    assert came.startswith(b"HTTP/1.1 200 OK") and came.endswith(b"\r\n\r\n")


def test_a_failure_after_the_first_part_ends_the_connection_without_the_last_chunk(served: Served) -> None:
    reader = served.client()
    reader.send(b"GET /parts?fail HTTP/1.1\r\nHost: small.test\r\n\r\n")
    served.get("/go")
    came = b""
    while piece := reader.socket.recv(4096):
        came += piece
    assert came.endswith(b"6\r\nfirst \r\n")


def test_a_client_that_left_before_the_rest_costs_nothing(served: Served) -> None:
    reader = served.client()
    reader.send(b"GET /parts HTTP/1.1\r\nHost: small.test\r\n\r\n")
    reader.socket.recv(4096)
    reader.close()
    served.get("/go")
    assert served.get("/")[0] == 200
