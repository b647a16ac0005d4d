"""One call on one of libcurl's handles: what is asked, what came, and the limits that always hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import certifi
import greenlet
import pycurl

_MEGABYTE = 1024 * 1024
_CONNECTION_SECONDS = 40
_NAME_SECONDS = 15
"""How long a connection and a host's address are used, so that an upstream that moved is followed within a minute."""
_LISTS = frozenset({"cache-control", "vary"})


class TransportError(Exception):
    """No complete answer came. `reason` is a word for logs; `sent` is whether the other side may have acted."""

    def __init__(self, reason: str, *, sent: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Call:
    """One request to send. Timeouts in seconds, `max_bytes` the largest body accepted."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = field(default=None, repr=False)
    connect_timeout: float = 2.0
    timeout: float = 8.0
    max_bytes: int = 8 * _MEGABYTE


@dataclass(slots=True)
class Answer:
    """The answer; header names in lower case, the last value of a repeated one, but all values of a list."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Transfer:
    """A call under way on one easy handle."""

    __slots__ = ("body", "curl", "done", "error", "header_lines", "limit", "size", "too_large", "waiter")

    def __init__(self, curl: pycurl.Curl, limit: int) -> None:
        self.curl = curl
        self.limit = limit
        self.size = 0
        self.too_large = False
        self.body: list[bytes] = []
        self.header_lines: list[bytes] = []
        self.done = False
        self.error: tuple[int, str] | None = None
        self.waiter: greenlet.greenlet | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers that have come, of the last of several heads."""
        headers: dict[str, str] = {}
        for line in self.header_lines:
            name, colon, value = line.partition(b":")
            if colon:
                key, text = name.decode("latin-1").lower(), value.strip().decode("latin-1")
                headers[key] = f"{headers[key]}, {text}" if key in _LISTS and key in headers else text
            elif line.startswith(b"HTTP/"):
                headers.clear()
        return headers

    def take_body(self, data: bytes) -> int:
        self.size += len(data)
        if self.size > self.limit:
            self.too_large = True
            return 0
        self.body.append(data)
        return len(data)

    def answer(self) -> Answer:
        self.raise_error()
        return Answer(int(self.curl.getinfo(pycurl.RESPONSE_CODE)), self.headers, b"".join(self.body))

    def raise_error(self) -> None:
        if self.error is None:
            return
        code, _ = self.error
        if self.too_large:
            raise TransportError("too large", sent=True)
        raise TransportError(
            _REASONS.get(code, f"curl {code}"), sent=int(self.curl.getinfo(pycurl.REQUEST_SIZE)) > 0
        )


_REASONS = {
    pycurl.E_COULDNT_RESOLVE_HOST: "no such host",
    pycurl.E_COULDNT_CONNECT: "connection refused",
    pycurl.E_OPERATION_TIMEDOUT: "timed out",
    pycurl.E_SSL_CONNECT_ERROR: "tls failed",
    pycurl.E_PEER_FAILED_VERIFICATION: "certificate refused",
    pycurl.E_GOT_NOTHING: "empty reply",
    pycurl.E_RECV_ERROR: "connection reset",
    pycurl.E_SEND_ERROR: "connection reset",
    pycurl.E_PARTIAL_FILE: "cut short",
}


_authorities = certifi.where()


def trust(ca_file: str) -> None:
    """From now on trust only the authorities in this PEM file, in the whole process."""
    global _authorities
    _authorities = ca_file


def new_handle() -> pycurl.Curl:
    """Return a handle with the limits that always hold."""
    curl = pycurl.Curl()
    curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
    curl.setopt(pycurl.FOLLOWLOCATION, False)
    curl.setopt(pycurl.PATH_AS_IS, True)
    curl.setopt(pycurl.PROXY, "")
    curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
    curl.setopt(pycurl.NOSIGNAL, True)
    curl.setopt(pycurl.CAINFO, _authorities)
    curl.setopt(pycurl.SSL_VERIFYPEER, True)
    curl.setopt(pycurl.SSL_VERIFYHOST, 2)
    curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
    curl.setopt(pycurl.TCP_NODELAY, True)
    curl.setopt(pycurl.MAXLIFETIME_CONN, _CONNECTION_SECONDS)
    curl.setopt(pycurl.DNS_CACHE_TIMEOUT, _NAME_SECONDS)
    return curl


def prepare(curl: pycurl.Curl, call: Call, transfer: Transfer, seconds: float) -> None:
    """Set what differs from call to call; it may take so many `seconds`."""
    curl.setopt(pycurl.URL, call.url)
    # An empty "Expect:" keeps libcurl from waiting for 100 Continue before it sends a body.
    curl.setopt(pycurl.HTTPHEADER, [*(f"{name}: {value}" for name, value in call.headers), "Expect:"])
    curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(min(call.connect_timeout, seconds) * 1000)))
    curl.setopt(pycurl.TIMEOUT_MS, max(1, int(seconds * 1000)))
    curl.setopt(pycurl.WRITEFUNCTION, transfer.take_body)
    curl.setopt(pycurl.HEADERFUNCTION, transfer.header_lines.append)
    # On a kept connection that dies before the first byte of an answer libcurl sends the request once more by
    # itself; an act must not be sent twice, so it gets a connection of its own.
    curl.setopt(pycurl.FRESH_CONNECT, call.method != "GET")
    if call.body is None and call.method == "GET":
        curl.setopt(pycurl.HTTPGET, True)
        curl.unsetopt(pycurl.CUSTOMREQUEST)
        return
    curl.setopt(pycurl.POST, True)
    curl.setopt(pycurl.POSTFIELDS, call.body or b"")
    curl.setopt(pycurl.CUSTOMREQUEST, call.method)
