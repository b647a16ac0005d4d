"""What a connection needs of the event loop, and what the threads need of a connection."""

from __future__ import annotations

import logging
import selectors
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from portal.server.request import Limits, Request
from portal.server.state import ClientTimeouts
from portal.server.stream import Stream

Client = TypeVar("Client", contravariant=True)


class Loop(Protocol[Client]):
    """The worker's event loop, to its connections."""

    poller: selectors.BaseSelector
    timeouts: ClientTimeouts
    limits: Limits
    largest_body: int
    errors: logging.Logger
    error_headers: Mapping[str, str]
    error_headers_over_tls: Mapping[str, str]

    def keepalive(self) -> float:
        """How long a connection is kept for another request, in seconds."""
        ...

    def dispatch(self, connection: Client, request: Request, body: bytes | None) -> None:
        """Hand a request to a thread; a `body` of None was too large to be accepted."""
        ...

    def schedule(self, connection: Client) -> None:
        """Have the loop continue with a connection; threads may call this."""
        ...

    def count_body_bytes(self, more: int) -> None:
        """Count this many more bytes of request bodies as held; threads may call this."""
        ...

    def limit_body_bytes(self) -> None:
        """Drop the oldest unfinished bodies while all bodies together take too much memory."""
        ...

    def remove(self, connection: Client) -> None: ...


class ResponseWriter(Protocol):
    """A connection, to the thread that handles its request."""

    closes: bool

    def error_headers(self, environ: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the headers of the server's own response to this request."""
        ...

    def send_part(self, data: bytes) -> None:
        """Send a part of a response whose rest isn't known yet."""
        ...

    def send_response(self, pieces: list[bytes], *, closes: bool) -> None:
        """Send a complete response, or the rest of one."""
        ...

    def send_stream(self, head: list[bytes], stream: Stream, *, closes: bool) -> None: ...

    def body_progressed(self) -> None:
        """Notify the loop that the body has made progress."""
        ...
