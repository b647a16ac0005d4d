"""gunicorn with the portal's worker and a small application: one worker, two threads."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stack import Process, free_port


class Client:
    """One connection, byte by byte as a test wants it."""

    def __init__(self, port: int, *, receive: int | None = None) -> None:
        self.socket = socket.socket()
        if receive is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(10)
        self.socket.connect(("127.0.0.1", port))
        self._came = bytearray()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def get(self, path: str, *fields: str) -> tuple[int, dict[str, str], bytes]:
        lines = [f"GET {path} HTTP/1.1", "Host: small.test", *fields, "", ""]
        self.send("\r\n".join(lines).encode("latin-1"))
        return self.answer()

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer: status, fields by their names in lower case, body."""
        while b"\r\n\r\n" not in self._came:
            self._receive()
        end = self._came.index(b"\r\n\r\n")
        head = bytes(self._came[:end])
        del self._came[: end + 4]
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split()[1])
        if status == 100:
            return status, fields, b""
        if fields.get("transfer-encoding") == "chunked":
            while not self._came.endswith(b"0\r\n\r\n"):
                self._receive()
            body = _joined(bytes(self._came))
            self._came.clear()
            return status, fields, body
        length = int(fields["content-length"])
        while len(self._came) < length:
            self._receive()
        body = bytes(self._came[:length])
        del self._came[:length]
        return status, fields, body

    def _receive(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(len(self._came))
        self._came += data

    def is_closed(self) -> bool:
        """Whether the server ends the connection, and sends nothing before that."""
        try:
            return not self._came and self.socket.recv(65536) == b""
        except ConnectionError:
            return True

    def is_closed_to_more(self) -> bool:
        """Whether the server answers no other request, not even one that comes before the connection times out."""
        try:
            self.send(b"GET / HTTP/1.1\r\nHost: small.test\r\n\r\n")
        except ConnectionError:
            return True
        return self.is_closed()

    def close(self) -> None:
        self.socket.close()


def _joined(chunks: bytes) -> bytes:
    body = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        body += rest[: int(size, 16)]
        chunks = rest[int(size, 16) + 2 :]
    return body


class Served(Process):
    """gunicorn with the small application."""

    def __init__(self, folder: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self.port = free_port()
        command = [
            *(sys.executable, "-m", "gunicorn", "tests.server.small_app:app", "--config", "/dev/null"),
            *("--worker-class", "tests.server.small_app.ImpatientWorker", "--bind", f"127.0.0.1:{self.port}"),
            *("--workers", "1", "--threads", "2", "--keep-alive", "3", "--graceful-timeout", "5"),
            *("--no-control-socket", "--forwarded-allow-ips", ""),
            *options,
        ]
        super().__init__(command, environment or {}, folder / "gunicorn.log")
        self.wait_for(f"http://127.0.0.1:{self.port}/")
        self._clients: list[Client] = []

    def client(self, *, receive: int | None = None) -> Client:
        self._clients.append(Client(self.port, receive=receive))
        return self._clients[-1]

    def get(self, path: str, *fields: str) -> tuple[int, dict[str, str], bytes]:
        return self.client().get(path, *fields)

    def send(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        client = self.client()
        client.send(data)
        return client.answer()

    def hang_up(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = Served(tmp_path_factory.mktemp("server"), environment={"SCRIPT_NAME": ""})
    yield served
    served.stop()


@pytest.fixture
def served(running: Served) -> Iterator[Served]:
    yield running
    running.hang_up()
