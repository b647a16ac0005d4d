"""What a connection needs of the worker's loop, and what the threads need of a connection."""

from __future__ import annotations

import logging
import selectors
from typing import Protocol, TypeVar

from portal.server.request import Limits, Request
from portal.server.state import Patience
from portal.server.stream import Stream

Client = TypeVar("Client", contravariant=True)


class Loop(Protocol[Client]):
    """The worker's event loop, to its connections."""

    poller: selectors.BaseSelector
    patience: Patience
    limits: Limits
    largest_body: int
    errors: logging.Logger

    def keepalive(self) -> float:
        """How long a connection is kept for another request, in seconds."""
        ...

    def dispatch(self, connection: Client, request: Request, body: bytes | None) -> None:
        """Hand a request to a thread; a `body` of None was too large to be accepted."""
        ...

    def post(self, connection: Client) -> None:
        """Have the loop continue with a connection; threads may call this."""
        ...

    def hold(self, more: int) -> None:
        """Count this many more bytes of request bodies as held; threads may call this."""
        ...

    def make_room_for_bodies(self) -> None:
        """Drop the oldest unfinished bodies while all bodies together take too much memory."""
        ...

    def forget(self, connection: Client) -> None:
        """Forget a closed connection."""
        ...


class Respondent(Protocol):
    """A connection, to the thread that handles its request."""

    closes: bool

    def answered(self, pieces: list[bytes], *, closes: bool) -> None:
        """Send a complete response."""
        ...

    def streams(self, head: list[bytes], stream: Stream, *, closes: bool) -> None:
        """Send a response whose body is streamed."""
        ...

    def moved(self) -> None:
        """Notify the loop that the body has made progress."""
        ...
