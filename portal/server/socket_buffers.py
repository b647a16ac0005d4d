"""What the kernel buffers for a client that reads slowly (tcp(7))."""

from __future__ import annotations

import fcntl
import socket
import struct
import termios

_UNSENT = 128 * 1024
"""How many unsent bytes are buffered for a slow client."""

_NOTSENT_LOWAT = getattr(socket, "TCP_NOTSENT_LOWAT", 25)


def limit_unsent(sock: socket.socket) -> None:
    """Let the kernel buffer little of what isn't sent yet (TCP_NOTSENT_LOWAT)."""
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, _NOTSENT_LOWAT, _UNSENT)


def unacknowledged(sock: socket.socket) -> int | None:
    """How many bytes the client hasn't acknowledged (SIOCOUTQ); None if the socket is closed."""
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0\0\0\0"))
    except OSError:
        return None
    return count
