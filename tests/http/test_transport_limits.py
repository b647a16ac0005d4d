"""What no call may do: use other protocols, trust unverified servers, or send passwords from the environment."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import certifi
import pycurl
import pytest
import requests

from portal.config.variables import Timeouts
from portal.http import requests_adapter, transfer, transport
from portal.http.transfer import Answer, Call, TransportError
from tests.support.certificates import self_signed
from tests.support.upstream import Make, ok


def test_a_file_over_the_size_limit_is_refused(upstream: Make) -> None:
    server = upstream(lambda line, number: ok(b"x" * 300_000))
    with pytest.raises(TransportError, match="too large"):
        b"".join(transport.stream(Call("GET", server.url, max_bytes=100_000))[2])


@pytest.mark.parametrize("scheme", ["file", "ftp", "gopher", "ldap"])
@pytest.mark.asvs("1.3.6")
def test_protocols_other_than_http_are_refused(scheme: str) -> None:
    call = Call("GET", f"{scheme}://127.0.0.1:1/etc/passwd" if scheme != "file" else "file:///etc/passwd")
    for way in (transport.send, transport.stream):
        with pytest.raises(TransportError, match=f"curl {pycurl.E_UNSUPPORTED_PROTOCOL}"):
            way(call)


def test_netrc_passwords_are_not_sent(
    upstream: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """libcurl and requests both know `.netrc`."""
    server = upstream(lambda line, number: ok())
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login someone password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    with requests.Session() as session:
        requests_adapter.mount(session, Timeouts())
        assert session.get(server.url).status_code == 200
    transport.send(Call("GET", server.url))
    assert len(server.heads) == 2
    assert all("authorization" not in head.lower() for head in server.heads)


def test_a_server_that_never_accepts_times_out_after_the_connect_timeout() -> None:
    """Its queue is full, so the kernel lets further connections wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        waiting = [socket.socket() for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        began = time.monotonic()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(TransportError, match="timed out") as caught:
            transport.send(Call("POST", url, connect_timeout=0.2))
        assert time.monotonic() - began < 2
        assert not caught.value.sent
        for one in waiting:
            one.close()


@pytest.mark.asvs("15.3.2")
def test_libraries_with_their_own_session_obey_the_same_limits(
    upstream: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Authlib: no redirect, no cookie, no proxy, a bounded body."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    moved = b"HTTP/1.1 302 Found\r\nLocation: /else\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"

    def script(line: str, number: int) -> bytes:
        if "/large" in line:
            return ok(b"x" * 2_000_000)
        return moved if "/moved" in line else ok(b"{}", "Set-Cookie: a=b")

    server = upstream(script)
    with requests.Session() as session:
        requests_adapter.mount(session, Timeouts())
        with pytest.raises(requests.TooManyRedirects):
            session.get(f"{server.url}/moved")
        session.get(f"{server.url}/one")
        session.get(f"{server.url}/two")
        assert not session.cookies
        with pytest.raises(requests.ConnectionError, match="too large"):
            session.get(f"{server.url}/large")
        with pytest.raises(requests.exceptions.InvalidSchema):
            session.get("file:///etc/passwd")
    assert [line.split()[1] for line in server.seen] == ["/moved", "/one", "/two", "/large"]
    assert all("cookie:" not in head.lower() for head in server.heads)


class SecureUpstream:
    """An https server whose certificate is signed by itself."""

    def __init__(self, folder: Path, host: str = "127.0.0.1", *, expired: bool = False) -> None:
        key, certificate = self_signed(host, expired=expired)
        (folder / "ca.pem").write_bytes(certificate)
        (folder / "server.pem").write_bytes(certificate + key)
        self.ca_file = str(folder / "ca.pem")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.pem")
        self.requests = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                plain, _ = self.listener.accept()
            except OSError:
                return
            plain.settimeout(5)
            try:
                with self.context.wrap_socket(plain, server_side=True) as connection:
                    if connection.recv(4096):
                        self.requests += 1
                        connection.sendall(ok(b"{}", "Connection: close"))
            except OSError:  # the client refused the certificate
                plain.close()


@pytest.fixture
def trust() -> Iterator[Callable[[str], None]]:
    """Believes another file's authorities; the public ones again afterwards."""
    yield transfer.trust
    transfer.trust(certifi.where())


def sent_anew(call: Call) -> Answer | TransportError:
    """Send it from a thread of its own, which has no kept connection or handle."""
    results: list[Answer | TransportError] = []

    def run() -> None:
        try:
            results.append(transport.send(call))
        except TransportError as error:
            results.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    return results[0]


@pytest.mark.asvs("12.3.2")
def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    server = SecureUpstream(tmp_path)
    answer = sent_anew(Call("GET", server.url))
    with pytest.raises(TransportError, match="certificate refused"):
        transport.stream(Call("GET", server.url))
    server.listener.close()
    assert isinstance(answer, TransportError)
    assert (answer.reason, server.requests) == ("certificate refused", 0)


@pytest.mark.parametrize(
    ("host", "expired", "good"),
    [("127.0.0.1", False, True), ("127.0.0.2", False, False), ("127.0.0.1", True, False)],
    ids=["good", "another-host", "expired"],
)
@pytest.mark.asvs("12.3.2", "12.3.4")
def test_only_valid_certificates_of_a_private_authority_are_trusted(
    tmp_path: Path, trust: Callable[[str], None], host: str, expired: bool, good: bool
) -> None:
    server = SecureUpstream(tmp_path, host, expired=expired)
    trust(server.ca_file)
    answer = sent_anew(Call("GET", server.url))
    server.listener.close()
    assert server.requests == (1 if good else 0)
    if good:
        assert isinstance(answer, Answer)
    else:
        assert isinstance(answer, TransportError)
        assert answer.reason == "certificate refused"
