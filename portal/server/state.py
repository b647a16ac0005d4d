"""What a connection waits for, and how long."""

from __future__ import annotations

from enum import IntEnum

from portal.values import Value

COMPLETE_AT = "server.complete_at"
"""The environ's key for the time (`time.monotonic`) at which the request was complete, before it waited for a thread."""


class ClientTimeouts(Value, frozen=True):
    """Timeouts for a client, in seconds.

    `head` for a request's complete head; `body` for its body, plus one second per `rate` bytes received; `stall` without
    accepting a byte of the response; `linger` to read the last response before the connection is cut; `shutdown` to send
    another request on a kept connection while the worker shuts down.
    """

    head: float = 10.0
    body: float = 10.0
    rate: int = 4096
    stall: float = 120.0
    linger: float = 5.0
    shutdown: float = 2.0


class ConnectionState(IntEnum):
    HEAD = 0  # a request, or the rest of its head
    BODY = 1  # the rest of a body
    BUSY = 2  # the thread that handles the request
    WRITING = 3  # the client, to accept the response
    LINGERING = 4  # the client, to read the response before the connection is cut
    CLOSED = 5
