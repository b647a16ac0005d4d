"""gunicorn's own collection of valid and invalid requests (`requests/`, MIT licence), read by this worker.

`valid.json` has what gunicorn reads from each valid file: method, path, query and body of each request. The worker reads
the same, and refuses the invalid files, except those in `REFUSED` and `ACCEPTED`, with the reason.
"""

from __future__ import annotations

import json
import logging
import re
import selectors
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pytest
from gunicorn.config import Config
from gunicorn.http.wsgi import base_environ

from portal.server.connection import Connection
from portal.server.request import Limits, Request
from portal.server.state import ClientTimeouts, ConnectionState
from portal.server.worker import Worker

FOLDER = Path(__file__).parent / "requests"
EXPECTED: dict[str, list[Any]] = json.loads((FOLDER / "valid.json").read_text())

LIMITS = {
    "invalid/006": Limits(line=4094),
    "invalid/008": Limits(field=8150),
    "invalid/010": Limits(field=10),
    "invalid/011": Limits(fields=2),
    "invalid/012": Limits(field=80),
    "invalid/013": Limits(field=14),
    "invalid/017": Limits(field=8150),
    "invalid/limit_header_default_01": Limits(field=8150),
    "valid/024": Limits(line=8200, field=8210),
    "valid/026": Limits(line=8200, field=8210),
}
"""Limits of gunicorn's tests; a field counts name and value here, there also what is around them."""

_CODING = (
    "a proxy and this server could disagree about a transfer coding that isn't just chunked (RFC 9112 §6.1)"
)
_FOLDED = (
    "folded lines are obsolete (RFC 9112 §5.2), and gunicorn accepts them only with permit_obsolete_folding"
)
_PROXY = "the PROXY protocol isn't supported; the worker doesn't start with the setting proxy_protocol"
_METHOD = "llhttp knows the registered methods only"
_CONNECT = "the portal is no tunnel (RFC 9110 §9.3.6)"

REFUSED = {
    "005": "a fragment isn't part of a request's target (RFC 9112 §3.2)",
    "012": "trailer fields are refused, because no limit on heads applies to them",
    "013": "no whitespace is allowed around a chunk extension's name (RFC 9112 §7.1.1)",
    "023": "the connection is closed after a chunked body, and the second request not read",
    "025": _CODING,
    "025_line": _CODING,
    "028": "whitespace before the colon (RFC 9112 §5.1); gunicorn accepts it only with strip_header_spaces",
    "029": _CODING,
    "030": _CODING,
    "031": _METHOD,
    "031compat": _METHOD,
    "031compat2": _METHOD,
    "099": "the body is shorter than its Content-Length: the application never gets a part of a request",
    "compat_obs_fold": _FOLDED,
    "compat_obs_fold_huge": _FOLDED,
    "pp_01": _PROXY,
    "pp_02": _PROXY,
    "pp_04": _PROXY,
    "pp_05": _PROXY,
    "rfc9112_smuggle_gzip_chunked_01": _CODING,
    "rfc9112_smuggle_te_identity_chunked_01": _CODING,
    "rfc9112_target_absolute_userinfo_01": "userinfo in a target is an error (RFC 9110 §4.2.4)",
    "rfc9112_target_authority_connect_01": _CONNECT,
    "rfc9112_target_authority_ipv6_01": _CONNECT,
}
"""Valid for gunicorn, refused here, in whole or from the second request on."""

ACCEPTED = {
    "019": "scheme headers that contradict each other: the portal's settings trust none (forwarded_allow_ips)",
    "040": "fields with an underscore are dropped, as gunicorn does unless header_map is “refuse”",
    "chunked_07": "fields with an underscore are dropped, as gunicorn does unless header_map is “refuse”",
    "rfc9112_leading_crlf_02": "empty lines before a request are skipped, not only one (RFC 9112 §2.2)",
}
"""Invalid for gunicorn, accepted here."""


class Loop:
    """A worker's loop for one connection, whose application answers at once."""

    poller = selectors.DefaultSelector()
    timeouts = ClientTimeouts()
    largest_body = 1024 * 1024
    errors = logging.getLogger("gunicorn.error")
    error_headers: Mapping[str, str] = {}
    error_headers_over_tls: Mapping[str, str] = {}

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.requests: list[list[Any]] = []

    def keepalive(self) -> float:
        return 15

    def dispatch(self, connection: Connection, request: Request, body: bytes | None) -> None:
        assert body is not None
        environ = request.complete_environ(body)
        target = [request.method, environ["PATH_INFO"], environ["QUERY_STRING"]]
        self.requests.append([*target, body.decode("latin-1")])
        connection.mark_busy()
        connection.send_response([b""], closes=connection.closes or not request.keep_alive)

    def schedule(self, connection: Connection) -> None:
        connection.resume()

    def count_body_bytes(self, more: int) -> None: ...

    def limit_body_bytes(self) -> None: ...

    def remove(self, connection: Connection) -> None: ...


def read(path: Path, size: int) -> tuple[list[list[Any]], bool]:
    """Send a file's bytes in pieces of `size`; return what the application gets, and whether all was accepted."""
    loop = Loop(LIMITS.get(f"{path.parent.name}/{path.stem}", Limits()))
    data = content(path)
    client, server = socket.socketpair()
    with client, server:
        server.setblocking(False)
        connection = Connection(loop, server, {"SCRIPT_NAME": "", "wsgi.url_scheme": "http"}, trusted=False)
        for start in range(0, len(data), size):
            client.send(data[start : start + size])
            connection.on_event(selectors.EVENT_READ)
            if connection.state is ConnectionState.LINGERING:
                break
        is_unfinished = connection.is_receiving
        connection.drop()
        responses = client.recv(65536)
    is_refused = re.search(rb"^HTTP/1\.1 [45]", responses, re.M) is not None
    return loop.requests, not is_refused and not is_unfinished


def content(path: Path) -> bytes:
    """The request in a file: lines are joined, and line ends, tabs and other bytes are written as escapes."""
    data = path.read_bytes().replace(b"\n", b"")
    for escape, value in ((rb"\r\n", b"\r\n"), (rb"\0", b"\0"), (rb"\n", b"\n"), (rb"\t", b"\t")):
        data = data.replace(escape, value)
    data = re.sub(rb"\\x([0-9a-fA-F]{2})", lambda found: bytes([int(found[1], 16)]), data)
    if path.stem == "020" or b"host:" in data.lower():  # the body of 020 looks like a request
        return data
    # gunicorn doesn't require a Host field, this worker does (RFC 9112 §3.2).
    return data.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nHost: small.test\r\n")


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_valid_request_is_read_as_gunicorn_reads_it(name: str, size: int) -> None:
    requests, is_accepted = read(FOLDER / "valid" / f"{name}.http", size)
    expected = [[method, unquote(path, "latin-1"), *rest] for method, path, *rest in EXPECTED[name]]
    assert (requests == expected and is_accepted) != (name in REFUSED)
    assert requests == expected[: len(requests)], "what isn't refused is read as gunicorn reads it"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
@pytest.mark.parametrize("name", sorted(path.stem for path in (FOLDER / "invalid").glob("*.http")))
def test_an_invalid_request_is_refused(name: str, size: int) -> None:
    _requests, is_accepted = read(FOLDER / "invalid" / f"{name}.http", size)
    assert is_accepted == (name in ACCEPTED)


@pytest.mark.parametrize(("workers", "threads"), [(1, 2), (2, 1)])
def test_the_environ_says_what_gunicorns_own_says_of_processes(workers: int, threads: int) -> None:
    cfg = Config()
    cfg.set("workers", workers)
    cfg.set("threads", threads)
    worker: Any = SimpleNamespace(cfg=cfg, express_listener=None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        environ = Worker._base_environ(worker, listener)
        assert environ["SERVER_PORT"] == str(listener.getsockname()[1])
    usual = base_environ(cfg)
    for name in ("wsgi.version", "wsgi.multiprocess", "wsgi.run_once", "wsgi.input_terminated"):
        assert environ[name] == usual[name], name
    assert environ["wsgi.multithread"] is (threads > 1)


def test_what_a_client_does_not_accept_of_a_part_at_once_is_kept_for_then() -> None:
    part = bytes(range(256)) * 20_000
    client, server = socket.socketpair()
    with client, server:
        server.setblocking(False)
        client.setblocking(False)
        connection = Connection(Loop(Limits()), server, {}, trusted=False)
        came = b""
        for data in (part, b"and more"):
            connection.send_part(data)
            with suppress(BlockingIOError):
                while piece := client.recv(65536):
                    came += piece
        assert 0 < len(came) < len(part)
        assert came + b"".join(connection._output) == part + b"and more"
