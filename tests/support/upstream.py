"""A scripted server that responds with any bytes or none."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

Script = Callable[[str, int], bytes | None]
"""Gives the raw answer to (first line, number of the request on its connection); None closes it without one."""


class Upstream:
    """A scripted server on a port of its own; `seen` are the first lines of what it was asked, `heads` the whole heads."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[str] = []
        self.heads: list[str] = []
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(ConnectionError), connection, connection.makefile("rb") as stream:
            number = 0
            while line := stream.readline():
                head = [line]
                while (header := stream.readline()).strip():
                    head.append(header)
                length = next(
                    (int(h.split(b":")[1]) for h in head if h.lower().startswith(b"content-length")), 0
                )
                stream.read(length)
                number += 1
                first = line.decode().strip()
                self.seen.append(first)
                self.heads.append(b"".join(head).decode())
                answer = self.script(first, number)
                if answer is None:
                    return
                connection.sendall(answer)

    def close(self) -> None:
        self.listener.close()


def ok(body: bytes = b"{}", *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


Make = Callable[[Script], Upstream]
"""What the fixture `upstream` is."""
