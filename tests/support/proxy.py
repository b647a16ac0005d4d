"""A small HTTP server on this machine that stands in front of the care service and changes what passes."""

from __future__ import annotations

import http.client
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class Proxy(ABC):
    """Stands at `base_url` in front of the service at `service`; `calls` are method, path and status of what was answered.

    `faults` are errors of the proxy itself, which a test must look at: to the caller they are a broken connection.
    """

    def __init__(self, service: str) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.faults: list[str] = []
        self._upstream = urlsplit(service).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                try:
                    proxy.answer(self)
                except Exception as error:
                    proxy.faults.append(f"{self.command} {self.path}: {error!r}")
                    raise

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 (the names are http.server's)

            def log_message(self, format: str, *args: Any) -> None:
                """Calls are noted in `calls`."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join(timeout=5)
        self.server.server_close()

    @abstractmethod
    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer a call, by `forward` and `end`."""

    def forward(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[int, dict[str, str], bytes]:
        """What the service answers: status, headers by their name in lower case, body."""
        connection = http.client.HTTPConnection(self._upstream, timeout=30)
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def end(
        self, handler: BaseHTTPRequestHandler, path: str, status: int, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Send the answer, and note the call under `path`."""
        self.calls.append((handler.command, path, status))
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        if status not in (204, 304):
            handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True


def body_of(handler: BaseHTTPRequestHandler) -> bytes:
    """What was sent with a call."""
    return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
