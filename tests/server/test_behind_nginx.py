"""nginx as docs/operations.md sets it up, in front of the server: what it says of a request, and what it keeps off."""

from __future__ import annotations

import http.client
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.server.conftest import Served
from tests.server.small_app import ALL_OF_IT
from tests.server.test_slow_clients import workers
from tests.support.nginx import Nginx


@pytest.fixture(scope="module")
def nginx(running: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    started = Nginx(tmp_path_factory.mktemp("nginx"), running.port)
    yield started
    started.stop()


def get(nginx: Nginx, path: str, **fields: str) -> tuple[int, bytes]:
    connection = http.client.HTTPSConnection("localhost", nginx.port, timeout=20, context=nginx.trust())
    with closing(connection):
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_it_says_itself_who_asked_and_how(nginx: Nginx) -> None:
    claimed = {
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Proto": "gopher",
        "X-Forwarded-Host": "other.test",
    }
    status, body = get(nginx, "/", Host="clinic.test", **claimed)
    assert status == 200
    for said in (
        "HTTP_X_FORWARDED_FOR=127.0.0.1",
        "HTTP_X_FORWARDED_PROTO=https",
        "HTTP_X_FORWARDED_HOST=clinic.test",
        "HTTP_HOST=clinic.test",
    ):
        assert f"{said} |".encode() in body


def test_who_comes_without_tls_is_sent_there(nginx: Nginx) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", nginx.plain_port, timeout=20)) as connection:
        connection.request("GET", "/x?y", headers={"Host": "clinic.test"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, "https://clinic.test/x?y")


def test_a_large_answer_and_a_large_body_pass_and_leave_nothing_on_the_disk(nginx: Nginx) -> None:
    readers = [slow_reader(nginx) for _ in range(5)]
    assert len(get(nginx, "/file")[1]) == ALL_OF_IT
    connection = http.client.HTTPSConnection("localhost", nginx.port, timeout=20, context=nginx.trust())
    with closing(connection):
        connection.request("POST", "/", b"x" * 1_000_000)
        assert connection.getresponse().status == 200
    assert nginx.files_held() == []
    for reader in readers:
        reader.close()


def slow_reader(nginx: Nginx) -> socket.socket:
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.settimeout(10)
    plain.connect(("127.0.0.1", nginx.port))
    secure = nginx.trust().wrap_socket(plain, server_hostname="localhost")
    secure.sendall(b"GET /file HTTP/1.1\r\nHost: clinic.test\r\n\r\n")
    secure.recv(1)
    return secure


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [("/" + "a" * 9000, {}, 414), ("/", {"X-Large": "a" * 9000}, 400), ("/fail", {}, 500)],
)
def test_what_it_refuses_and_what_fails_leaves_no_address_in_a_log(
    nginx: Nginx, running: Served, path: str, fields: dict[str, str], status: int
) -> None:
    assert get(nginx, f"{path}?kanary", **fields)[0] == status
    for log in (nginx.log, nginx.folder / "error.log", running.log):
        assert "kanary" not in log.read_text()


def test_a_worker_that_crashes_takes_the_server_out_for_nobody(nginx: Nginx, running: Served) -> None:
    for _ in range(4):
        for worker in workers(running):
            os.kill(worker, signal.SIGKILL)
        assert get(nginx, "/")[0] == 200
