"""nginx as in deploy/nginx, in front of the server: what it forwards, refuses and logs."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from portal.web.headers import FIXED, OVER_TLS
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


def test_nginx_sets_client_address_scheme_and_host(nginx: Nginx) -> None:
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


def test_plain_http_redirects_to_https(nginx: Nginx) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", nginx.plain_port, timeout=20)) as connection:
        connection.request("GET", "/x?y", headers={"Host": "clinic.test"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Location"]) == (301, "https://clinic.test/x?y")


def test_large_bodies_pass_without_being_written_to_disk(nginx: Nginx) -> None:
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
def test_refused_and_failed_requests_leave_no_url_in_nginxs_log(
    nginx: Nginx, running: Served, path: str, fields: dict[str, str], status: int
) -> None:
    assert get(nginx, f"{path}?kanary", **fields)[0] == status
    for log in (nginx.log, nginx.folder / "error.log", nginx.folder / "portal.log", running.log):
        assert "kanary" not in log.read_text()


def test_a_crashing_worker_does_not_take_the_upstream_out(nginx: Nginx, running: Served) -> None:
    for _ in range(4):
        for worker in workers(running):
            os.kill(worker, signal.SIGKILL)
        assert get(nginx, "/")[0] == 200


def refused(nginx: Nginx, sent: bytes, *, secure: bool = True) -> int:
    """The status of nginx's own answer, which carries what the portal's do and says what to do in three languages.

    The id on the page is the one in nginx's log."""
    with closing(socket.create_connection(("127.0.0.1", nginx.port), timeout=20)) as plain:
        connection = nginx.trust().wrap_socket(plain, server_hostname="localhost") if secure else plain
        connection.sendall(sent)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        body = answer.read().decode()
        connection.close()
    for name, value in {**FIXED, **OVER_TLS, "Content-Type": "text/html; charset=utf-8"}.items():
        assert answer.headers.get_all(name) == [value], f"{answer.status}: {name}"
    assert "camera=()" in answer.headers["Permissions-Policy"]
    assert "nginx" not in body
    assert re.search("<h1>.+</h1>\n<p>", body) and 'lang="es"' in body and 'lang="ar" dir="rtl"' in body
    assert (answer.headers["Retry-After"] == "10") == (answer.status >= 500)
    id_ = answer.headers["X-Request-Id"]
    assert body.count(f'<code dir="ltr">{id_}</code>') == 3
    assert nginx.logged(id_)["status"] == answer.status
    return answer.status


@pytest.mark.asvs("3.4.1", "3.4.4", "3.4.6", "14.3.2", "16.5.2")
def test_nginxs_own_error_pages_have_the_security_headers_and_advice(tmp_path: Path) -> None:
    request = b"%s /x HTTP/1.1\r\nHost: clinic.test\r\n%s\r\n"
    with ExitStack() as held:
        portal = held.enter_context(socket.socket())
        portal.bind(("127.0.0.1", 0))
        port = portal.getsockname()[1]
        nginx = Nginx(tmp_path / "nginx", port)
        held.callback(nginx.stop)
        assert refused(nginx, request % (b"GET", b"")) == 502
        assert refused(nginx, request % (b"POST", b"Content-Length: 3\r\n") + b"a=b") == 502
        portal.listen(0)
        held.enter_context(socket.create_connection(("127.0.0.1", port)))  # the backlog is full
        assert refused(nginx, request % (b"GET", b"")) == 504
        assert refused(nginx, request % (b"POST", b"Content-Length: 3000000\r\n")) == 413
        assert refused(nginx, request % (b"GET", b"X-Large: %s\r\n" % (b"a" * 9000))) == 400
        assert refused(nginx, b"GET /%s HTTP/1.1\r\nHost: clinic.test\r\n\r\n" % (b"a" * 9000)) == 414
        assert refused(nginx, b"GET /x HTTP/1.1\r\n\r\n") == 400
        assert refused(nginx, b"what is this\r\n\r\n") == 400
        assert refused(nginx, request % (b"GET", b""), secure=False) == 400
        assert refused(nginx, request % (b"TRACE", b"")) == 405
