"""The image's health check, `python -m portal.operate.health_check`: asks for /healthz where the portal listens.

Standard library only: it runs every few seconds.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from http.client import HTTPConnection

_SECONDS = 2.0
_ANY = ("", "0.0.0.0", "[::]")  # noqa: S104


def status(environ: Mapping[str, str]) -> int | None:
    """Return the answer's status; None if the socket was opened before, where nobody can tell its address."""
    address = environ.get("PORTAL_HEALTH_BIND") or environ["PORTAL_BIND"]
    if address.startswith("fd:"):
        return None
    with _connected(address) as connected:
        connection = HTTPConnection("localhost")
        connection.sock = connected
        connection.request("GET", "/healthz")
        return connection.getresponse().status


def _connected(address: str) -> socket.socket:
    if address.startswith("unix:"):
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(_SECONDS)
        connected.connect(address.removeprefix("unix:").removeprefix("//"))
        return connected
    host, _, port = address.rpartition(":")
    return socket.create_connection(("127.0.0.1" if host in _ANY else host.strip("[]"), int(port)), _SECONDS)


if __name__ == "__main__":
    sys.exit(status(os.environ) not in (200, None))
