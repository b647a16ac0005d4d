"""Keeps tests from asking the system for `*.localhost`: browsers resolve these names, many systems don't (RFC 6761 §6.3).

Clients in tests connect to 127.0.0.1 and name the clinic in the Host header, as `tests.support.visitor` does.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CLINIC = "riverside.localhost"


class AskedTheSystem(AssertionError):
    """A test used the system's resolver for a clinic's host name."""


@contextmanager
def guarded() -> Iterator[list[str]]:
    """Refuse to resolve `*.localhost` by the system while the block runs; lend the list of names that were asked."""
    asked: list[str] = []

    def refusing(resolve: Any) -> Any:
        def guard(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
            if name.lower().rstrip(".").endswith(".localhost"):
                asked.append(name)
                raise AskedTheSystem(
                    f"{name}: connect to 127.0.0.1 with a Host header (tests.support.visitor)"
                )
            return resolve(host, *args, **kwargs)

        return guard

    with pytest.MonkeyPatch.context() as patch:
        for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
            patch.setattr(socket, name, refusing(getattr(socket, name)))
        yield asked


def report() -> str:
    """Return a line that says whether this system resolves a clinic's host name."""
    try:
        socket.getaddrinfo(CLINIC, None)
    except socket.gaierror:
        return f"{CLINIC} is not resolved by this system; the suite doesn't need it"
    return f"{CLINIC} is resolved by this system; the suite doesn't need it"
