"""Forged, truncated, replayed, oversized and duplicated values: sign-in or a 4xx page, one audit line, never a 500."""

import socket
from urllib.parse import quote

import pytest

from tests.support.stack import PortalThread


class Audit:
    """What is recorded from here on."""

    def __init__(self, portal: PortalThread) -> None:
        self._portal, self._before = portal, len(portal.audited())

    def events(self) -> list[tuple[str, str]]:
        return [(line["audit"], line["outcome"]) for line in self._portal.audited()[self._before :]]


@pytest.fixture
def audit(portal: PortalThread) -> Audit:
    return Audit(portal)


@pytest.mark.parametrize(
    "cookie",
    [
        *("x", "a" * 43, "a" * 7000, "'; DROP TABLE records; --", "\x7f", "%00", "é", '"quoted"'),
        *("session:" + "0" * 64, "../../etc/passwd", "=", "a; __Host-sid=b"),
    ],
)
@pytest.mark.asvs("7.2.1", "16.3.3")
def test_an_invalid_session_cookie_leads_to_sign_in(portal: PortalThread, audit: Audit, cookie: str) -> None:
    headers = {"Cookie": f"__Host-sid={cookie}"}
    page = portal.visitor().request("GET", "/consents", headers=headers, status=303, follow=False)
    assert page.headers["Location"] == "/sign-in?next=%2Fconsents"
    assert audit.events() == [("session", "unknown")]


@pytest.mark.asvs("15.3.7")
def test_two_session_cookies_do_not_combine(portal: PortalThread) -> None:
    cookie = portal.sign_in("amelia").session_id
    for both, status in [(f"__Host-sid=x; __Host-sid={cookie}", 303), (f"__Host-sid={cookie[:-1]}", 303)]:
        portal.visitor().request("GET", "/consents", headers={"Cookie": both}, status=status, follow=False)


@pytest.mark.parametrize(
    "address",
    ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/a\r\nX: y", "é"],
)
@pytest.mark.asvs("3.7.2", "16.3.1", "16.3.3")
def test_a_return_address_on_another_site_is_ignored(
    portal: PortalThread, audit: Audit, address: str
) -> None:
    visitor = portal.visitor()
    page = visitor.request("GET", f"/sign-in?next={quote(address)}", status=None)
    page = visitor.fill_sign_in(page, "amelia")
    assert page.url == f"{portal.origin()}/"
    assert audit.events()[0] == ("sign-in.next", "refused")
    assert [event for event in audit.events() if event[0] == "sign-in"] == [("sign-in", "done")]


@pytest.mark.parametrize("token", ["", "forged", "a" * 100_000, "é", "\x00", ["one", "two"]])
@pytest.mark.asvs("3.5.1", "16.3.3")
def test_a_form_with_a_wrong_token_changes_nothing(
    portal: PortalThread, audit: Audit, token: str | list[str]
) -> None:
    visitor = portal.sign_in("amelia")
    before = len(audit.events())
    page = visitor.request("POST", "/sign-out", data={"csrf_token": token}, status=400)
    assert "Nothing was changed" in page.words
    assert audit.events()[before:] == [("sign_in.sign_out", "csrf-refused")]
    visitor.get("/")


@pytest.mark.asvs("3.5.1")
def test_a_token_of_another_session_changes_nothing(portal: PortalThread) -> None:
    mine, other = portal.sign_in("amelia"), portal.sign_in("grace")
    other.post("/sign-out", {"csrf_token": mine.csrf_token()}, status=400)
    other.get("/")


@pytest.mark.parametrize(
    "host", ["evil.example", "", "riverside.localhost", "riverside.localhost:1", "[::1", "a b"]
)
def test_an_unknown_host_is_misdirected(portal: PortalThread, audit: Audit, host: str) -> None:
    answer = raw(portal, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")
    assert answer.split(" ", 2)[1] in ("400", "421"), answer[:200]
    assert "evil.example" not in answer
    assert len(audit.events()) == 1


def test_a_body_over_the_size_limit_is_refused(portal: PortalThread, audit: Audit) -> None:
    visitor = portal.sign_in("amelia")
    before = len(audit.events())
    page = visitor.request("POST", "/sign-out", data={"x": "y" * 1_100_000}, status=None)
    assert page.status in (400, 413)
    assert len(audit.events()) == before + 1
    visitor.get("/")


@pytest.mark.parametrize(("fields", "status"), [(9_000, 400), (20_000, 413)])
def test_a_form_of_too_many_fields_is_refused_before_it_is_read(
    portal: PortalThread, fields: int, status: int
) -> None:
    """Half a million fields fit into what is accepted, and take a second to read."""
    body = "a&" * fields
    answer = raw(
        portal,
        f"POST /sign-out/back-channel HTTP/1.1\r\nHost: {portal.origin().partition('//')[2]}\r\nConnection: close\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}",
    )
    assert answer.split(" ", 2)[1] == str(status)


def raw(portal: PortalThread, request: str) -> str:
    with socket.create_connection(("127.0.0.1", portal.port), timeout=10) as connection:
        connection.sendall(request.encode())
        read = b""
        while piece := connection.recv(65536):
            read += piece
    return read.decode("latin-1")


@pytest.mark.asvs("4.1.3", "15.3.4")
def test_a_browser_cannot_set_forwarded_headers(portal: PortalThread) -> None:
    """No proxy is configured, so that what one would say is not believed of anybody."""
    said = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "192.0.2.9",
        "X-Request-Id": "chosen-by-a-browser",
    }
    page = portal.visitor().request("GET", "/", headers=said, status=303, follow=False)
    assert page.headers["Location"].startswith("/sign-in")
    assert "Strict-Transport-Security" not in page.headers
    assert page.headers["X-Request-Id"] != said["X-Request-Id"]


@pytest.mark.parametrize("cookie", ["x", "a" * 43, "é", "a" * 7000, '"quoted"', "\x7f"])
def test_an_invalid_sign_in_cookie_is_ignored(portal: PortalThread, audit: Audit, cookie: str) -> None:
    headers = {"Cookie": f"__Host-signin={cookie}"}
    page = portal.visitor().request("GET", "/sign-in/callback?state=x&code=y", headers=headers, status=400)
    assert page.heading
    assert audit.events() == [("sign-in", "unknown")]
    portal.visitor().request("GET", "/sign-in", headers=headers, status=303, follow=False)


@pytest.mark.parametrize(
    "query",
    ["", "state=", "state=a&state=b&code=c", "state=%00&code=%FF", f"state={'a' * 5000}", "error=x&state=y"],
)
def test_an_unexpected_authorization_response_is_one_audit_line_and_one_page(
    portal: PortalThread, audit: Audit, query: str
) -> None:
    page = portal.visitor().request("GET", f"/sign-in/callback?{query}", status=400)
    assert page.link("Sign in again") == "/"
    assert audit.events() == [("sign-in", "unknown")]


@pytest.mark.asvs("15.3.7")
def test_duplicated_values_do_not_bypass_checks(portal: PortalThread, audit: Audit) -> None:
    visitor = portal.visitor()
    page = visitor.request("GET", "/sign-in?next=//evil.example&next=/consents", status=None)
    assert visitor.fill_sign_in(page, "amelia").url == f"{portal.origin()}/"
    token = visitor.csrf_token()
    before = len(audit.events())
    fields = [("csrf_token", "forged"), ("csrf_token", token)]
    visitor.request("POST", "/sign-out", data=fields, status=400)
    assert audit.events()[before:] == [("sign_in.sign_out", "csrf-refused")]
