"""Consents when the care API is slow, silent or down: nothing is signed twice, and unknown outcomes are reported as such."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from portal.demo.stack import tenants_file
from portal.web.extensions import limiter
from tests.support.signing import consent, fresh_form, signatures, to_step
from tests.support.stack import PortalThread


class Line(ThreadingHTTPServer):
    """The way from the portal to the care API, which can be cut at a chosen place.

    `fault` is None, "before" (the API never hears of it), "after" (it acts, and the answer is lost) or a status
    that is answered in its place; it holds for calls whose address ends in `at`, and `left` times.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Forward)
        self.upstream = port
        self.method = "POST"
        self.mend()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def cut(self, at: str, fault: str | int) -> None:
        self.at, self.fault = at, fault

    def mend(self) -> None:
        self.at, self.fault = "", None

    def fault_of(self, path: str) -> str | int | None:
        return self.fault if path.partition("?")[0].endswith(self.at) else None


class _Forward(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server: Any = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = server.fault_of(self.path) if self.command == server.method else None
        if fault == "before":
            return self._hang_up()
        if isinstance(fault, int):
            return self._answer(fault, [("Content-Type", "text/html")], b"<html>Bad gateway</html>")
        upstream = http.client.HTTPConnection("127.0.0.1", server.upstream, timeout=20)
        upstream.request(self.command, self.path, body or None, dict(self.headers))
        answer = upstream.getresponse()
        content = answer.read()
        upstream.close()
        if fault == "after":
            return self._hang_up()
        return self._answer(answer.status, answer.getheaders(), content)

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


@pytest.fixture(scope="module")
def line(service: Any) -> Iterator[Line]:
    server = Line(service.plan.service_port)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def portal(service: Any, line: Line, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The portal, whose way to the care API (not to the identity server) leads through `line`."""
    tenants: Path = tmp_path_factory.mktemp("tenants") / "tenants.toml"
    text = tenants_file(service.plan)
    assert f'base_url = "{service.plan.service}"' in text
    tenants.write_text(text.replace(f'base_url = "{service.plan.service}"', f'base_url = "{line.address}"'))
    running = PortalThread(service.plan, PORTAL_TENANTS=str(tenants))
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def whole_line(line: Line, portal: Any) -> Iterator[None]:
    with portal.app.app_context():
        limiter.reset()
    line.method = "POST"
    yield
    line.mend()


def test_a_signature_with_a_lost_response_ends_at_the_receipt(amelia: Any, line: Line, form: str) -> None:
    page = to_step(amelia, form, "Sign this form")
    line.cut("/sign", "after")
    assert page.form(f"{form}/sign").submit(signature="Amelia Hart").path == f"{form}/receipt"
    assert signatures(amelia, form) == ["Amelia Hart"]


@pytest.mark.parametrize("fault", ["before", 502, 500])
def test_a_signature_that_never_arrived_is_reported_and_can_be_repeated(
    portal: Any, amelia: Any, line: Line, form: str, fault: str | int
) -> None:
    page = to_step(amelia, form, "Sign this form")
    line.cut("/sign", fault)
    unknown = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=503)
    assert "We couldn’t confirm your signature yet" in unknown.words
    assert "your signature is not in the record" in unknown.words
    again = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=202)
    assert "couldn’t confirm" in again.words, "must not be resent while the first may still arrive"
    line.mend()
    portal.clock.advance(30)
    page = unknown.follow("Look again")
    assert page.heading == "Sign this form" and "You can sign again" in page.words
    assert page.tree.select_one("#signature")["value"] == "Amelia Hart"
    assert page.form(f"{form}/sign").submit().path == f"{form}/receipt"
    assert signatures(amelia, form) == ["Amelia Hart"]
    portal.clock.advance(-30)


def test_rechecking_a_signature_stays_in_the_worklist(portal: Any, line: Line, form: str) -> None:
    victor = portal.sign_in("victor")
    page = victor.get(f"{form}/sign?list=open")
    line.cut("/sign", "before")
    unknown = page.form(f"{form}/sign").submit(check_all=True, signature="Victor Castellanos", status=503)
    line.mend()
    portal.clock.advance(30)
    page = unknown.follow("Look again")
    assert page.select(".queue-place"), page.url
    receipt = page.form(f"{form}/sign").submit(check_all=True, signature="Victor Castellanos")
    assert "list=open" in receipt.url
    portal.clock.advance(-30)


def test_a_withdrawal_with_a_lost_response_is_found_in_the_record(
    amelia: Any, line: Line, service: Any
) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(f"{form}/revoke")
    line.cut("/revoke", "after")
    assert page.form(f"{form}/revoke").submit(reason="Second thoughts").heading == "This consent is withdrawn"


def test_a_withdrawal_that_never_arrived_is_reported(
    portal: Any, amelia: Any, line: Line, service: Any
) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(f"{form}/revoke")
    line.cut("/revoke", "before")
    unknown = page.form(f"{form}/revoke").submit(reason="Second thoughts", status=503)
    assert "the consent is not withdrawn" in unknown.words
    line.mend()
    portal.clock.advance(30)
    again = unknown.follow("Look again")
    assert "You can send it again" in again.words
    assert "Second thoughts" in again.tree.select_one("textarea").text_content()
    assert again.form(f"{form}/revoke").submit().heading == "This consent is withdrawn"
    portal.clock.advance(-30)


@pytest.mark.parametrize("fault", ["after", "before"])
def test_a_new_form_with_a_lost_response_is_created_once(
    portal: Any, nora: Any, line: Line, fault: str
) -> None:
    title = f"Made once, answer lost {fault}"
    page = nora.get(f"/consents/new?copy={consent('amelia-treatment-2').rpartition('/')[2]}")
    page = page.form("/consents/new/fill").submit(title=title)
    line.cut("/consent-forms", fault)
    made = page.form("/consents/new").submit(status=None)
    if fault == "before":
        assert made.status == 503 and "there is no such form" in made.words
        line.mend()
        portal.clock.advance(30)
        made = made.follow("Look again")
        assert "Nothing is sent yet" in made.words
        made = made.form("/consents/new").submit()
        portal.clock.advance(-30)
    assert made.heading == title
    assert len(nora.get(f"/consents?q={title}").select("tbody tr")) == 1


def test_unavailable_parts_are_reported_and_not_shown_as_empty(amelia: Any, nora: Any, line: Line) -> None:
    line.method = "GET"
    for visitor, path, at in (
        (amelia, "/consents", "/consent-forms"),
        (amelia, consent("amelia-genetic"), ""),
        (amelia, f"{consent('amelia-genetic')}/sign", ""),
        (nora, "/consents", "/consent-forms"),
    ):
        line.cut(at, 503)
        page = visitor.get(path, status=503)
        assert "This can’t be shown right now" in page.words and "Nothing to sign" not in page.words
    line.cut("/consent-forms", 503)
    page = nora.get("/consents/new")
    assert "The clinic’s forms can’t be shown right now" in page.words
    assert "Consent to the storage of embryos made with my eggs or sperm" in page.words, (
        "templates are still there"
    )
