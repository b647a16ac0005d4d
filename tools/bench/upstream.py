"""`python -m tools.bench.upstream PORT`: a small, fast stub of the care API, in a process of its own.

The portal and all baselines get the same responses. `GET /delay/MILLISECONDS` sets a delay before each response;
`GET /calls` returns the calls since it was last asked, by path. Files have 100 MB, generated on the fly.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from typing import cast

from tools.bench.answers import Answers, answers

_PIECE = b"x" * 65536
_FILE_BYTES = 100 * 1024 * 1024


class Upstream:
    """State shared by all connections."""

    def __init__(self, answers: Answers) -> None:
        self.answers = {path: _whole(body) for path, body in answers.items()}
        self.delay = 0.0
        self.calls: Counter[str] = Counter()

    def answer(self, method: str, path: str) -> bytes:
        if path.startswith("/delay/"):
            self.delay = int(path.rpartition("/")[2]) / 1000
            return _whole(b"{}")
        if path == "/calls":
            told = json.dumps(self.calls).encode()
            self.calls.clear()
            return _whole(told)
        self.calls[path] += 1
        if method != "GET":
            return _whole(b"{}")
        return self.answers.get(path, _MISSING)


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive, for requests without a body or with a Content-Length."""

    def __init__(self, upstream: Upstream) -> None:
        self.upstream = upstream
        self.received = b""
        self.writing: asyncio.Task[None] | None = None
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end]
            length = _length(head)
            if len(self.received) < end + 4 + length:
                return
            self.received = self.received[end + 4 + length :]
            method, target, _ = head[: head.index(b"\r\n")].decode("latin-1").split(" ", 2)
            path = target.partition("?")[0]
            if path.startswith("/api/file-management/"):
                self.writing = asyncio.ensure_future(self._send_file())
                return
            answer = self.upstream.answer(method, path)
            if self.upstream.delay and path.startswith("/api/"):
                asyncio.get_running_loop().call_later(self.upstream.delay, self._write, answer)
            else:
                self._write(answer)

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.writing is not None:
            self.writing.cancel()

    def _write(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)

    async def _send_file(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: {_FILE_BYTES}\r\n\r\n"
        self.transport.write(head.encode() + b"%PDF-" + _PIECE[5:])
        for _ in range(_FILE_BYTES // len(_PIECE) - 1):
            await self.writable.wait()
            self.transport.write(_PIECE)


def _whole(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line[:15].lower() == b"content-length:":
            return int(line[15:])
    return 0


async def main(port: int) -> None:
    upstream = Upstream(answers())
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(upstream), "127.0.0.1", port, backlog=512)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
