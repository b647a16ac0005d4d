"""Security headers on every response: every route, every kind of person, every status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import requests

from portal.careservice.ids import sample_id
from portal.demo.stack import DemoSetup
from portal.store import StoreDown
from tests.support.stack import CareService, PortalThread, free_port
from tests.support.visitor import Visitor

FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SHARED = {"branding.stylesheet", "branding.manifest"}
"""What is the same for everyone, and may be kept."""

SANDBOX = "sandbox; default-src 'none'; frame-ancestors 'self'"
ALONE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
STRICT = re.compile(
    r"default-src 'none'; script-src 'nonce-([\w-]{24})' 'strict-dynamic'; style-src 'self'; img-src 'self'; "
    r"font-src 'self'; connect-src 'self'; frame-src 'self'; manifest-src 'self'; "
    r"form-action 'self'( http://[\w.:]+)?; frame-ancestors 'none'; base-uri 'none'; "
    r"require-trusted-types-for 'script'; trusted-types htmx"
)
PART = re.compile(
    r"default-src 'none'; script-src 'nonce-([\w-]{24})'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HTMX = {"HX-Request": "true", "HX-Request-Type": "partial", "HX-Target": "div#bell"}


class Collector:
    """Judges each answer, and remembers statuses and nonces."""

    def __init__(self) -> None:
        self.statuses: set[int] = set()
        self.nonces: list[str] = []

    def judge(self, answer: requests.Response, *, is_shared: bool = False) -> None:
        where = f"{answer.request.method} {answer.url} ({answer.status_code})"
        headers = answer.raw.headers
        self.statuses.add(answer.status_code)
        for name, value in FIXED.items():
            assert headers.getlist(name) == [value], f"{where}: {name} is {headers.getlist(name)}"
        is_page = answer.headers.get("Content-Type", "").startswith("text/html")
        permissions = headers.getlist("Permissions-Policy")
        is_part = answer.request.headers.get("HX-Request") == "true"
        assert len(permissions) == (is_page and not is_part), where
        assert all("camera=()" in one and "*" not in one for one in permissions), where
        (policy,) = headers.getlist("Content-Security-Policy")
        if policy not in (SANDBOX, ALONE):
            strict = (PART if is_part else STRICT).fullmatch(policy)
            assert strict and is_page, f"{where}: {policy}"
            self.nonces.append(strict[1])
        assert "unsafe" not in policy, where
        if not is_shared or answer.status_code >= 400:
            assert headers.getlist("Cache-Control") == ["no-store"], (
                f"{where}: {headers.getlist('Cache-Control')}"
            )
        if answer.content:
            kind = answer.headers["Content-Type"]
            assert "charset=utf-8" in kind.replace('"', "") or not kind.startswith("text/"), (
                f"{where}: {kind}"
            )
        assert "Access-Control-Allow-Origin" not in headers, where

    def judge_nonces(self) -> None:
        assert len(self.nonces) == len(set(self.nonces)), "a nonce was used twice"
        assert len(self.nonces) > 20


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made


def ask(visitor: Visitor, method: str, path: str, **more: Any) -> requests.Response:
    return visitor.http.request(
        method, visitor.origin + path, allow_redirects=False, timeout=30, **{"headers": {}, **more}
    )


def routes(portal: PortalThread) -> list[tuple[str, str, str]]:
    """Method, path and endpoint of every rule, with ids that exist where the sample has one."""
    known = {
        "episode_id": sample_id("episode", "amelia-antagonist"),
        "step": "read",
        "decision": "keep",
        "handle": "x",
        "signed": "x",
    }
    made: list[tuple[str, str, str]] = []
    for rule in portal.app.url_map.iter_rules():
        path = re.sub(
            r"<(?:[^:<>]*(?:\([^)]*\))?:)?(\w+)>",
            lambda m: known.get(m[1], sample_id("none", m[1])),
            rule.rule,
        )
        made += [
            (method, path, rule.endpoint) for method in sorted((rule.methods or set()) & {"GET", "POST"})
        ]
    return made


@pytest.mark.parametrize("name", [None, "amelia", "ada"])
@pytest.mark.asvs("3.4.2", "3.4.3", "3.4.4", "3.4.5", "3.4.6", "3.5.1", "4.1.1", "13.4.4", "14.3.2")
def test_every_route_has_the_security_headers_for_everyone(
    portal: PortalThread, collector: Collector, name: str | None
) -> None:
    visitor = portal.sign_in(name) if name else portal.visitor()
    found = routes(portal)
    assert len(found) > 90, "too few routes were found"
    for (method, path, endpoint), headers in product(found, [{}, HTMX]):
        if headers and method == "POST":
            continue
        answer = ask(visitor, method, path, headers={**headers, "HX-Current-URL": visitor.origin + "/"})
        collector.judge(answer, is_shared=endpoint in SHARED)
        assert answer.status_code < 500 or answer.status_code == 501, f"{method} {path}: {answer.status_code}"
        needs_none = ("sign_in.back_channel", "page_speed.report", *(() if name else ("sign_in.sign_out",)))
        if method == "POST" and endpoint not in needs_none:
            assert answer.status_code == 400, f"{path} without a token: {answer.status_code}"
    for _, path, endpoint in found[:20]:
        collector.judge(ask(visitor, "PUT", path), is_shared=endpoint in SHARED)
        collector.judge(ask(visitor, "OPTIONS", path), is_shared=endpoint in SHARED)
        assert ask(visitor, "TRACE", path).status_code == 405
    collector.judge_nonces()
    assert {400, 404, 405} <= collector.statuses


@pytest.mark.asvs("3.4.4", "3.4.6", "14.3.2")
def test_pages_fragments_files_and_errors_have_the_security_headers(
    portal: PortalThread, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = portal.sign_in("amelia")
    for path in ("/", "/consents", "/episodes", "/notifications", "/me", "/me/devices", "/conversations"):
        collector.judge(ask(visitor, "GET", path))
        collector.judge(ask(visitor, "HEAD", path))
    collector.judge(ask(visitor, "GET", "/notifications/bell", headers=HTMX))
    documents = visitor.get("/episodes").select("a[href^='/episodes/'][href$='/documents']")[0]["href"]
    file = visitor.get(documents).select("a[href^='/files/']")[0]["href"]
    address = "/files/" + str(file).split("/")[2].partition("?")[0]
    whole = ask(visitor, "GET", address)
    collector.judge(whole)
    collector.judge(ask(visitor, "GET", address, headers={"Range": "bytes=0-9"}))
    collector.judge(ask(visitor, "GET", address, headers={"Range": "bytes=99999999-"}))
    collector.judge(ask(visitor, "GET", address, headers={"If-None-Match": whole.headers["ETag"]}))
    collector.judge(ask(visitor, "GET", f"{address}/preview"))
    collector.judge(ask(visitor, "GET", f"{address}?download=1"))
    collector.judge(ask(visitor, "POST", "/sign-out", data={"x": "y" * 1_100_000}))
    collector.judge(ask(visitor, "GET", "/nowhere"))
    collector.judge(requests.get(f"http://127.0.0.1:{portal.port}/", timeout=30))  # a host of no clinic
    fault = {"me.show": ZeroDivisionError(), "devices.index": StoreDown("down")}
    for endpoint, error in fault.items():

        def fail(error: Exception = error) -> None:
            raise error

        monkeypatch.setitem(portal.app.view_functions, endpoint, _marked(portal, endpoint, fail))
    for path in ("/me", "/me/devices"):
        collector.judge(ask(visitor, "GET", path))
        collector.judge(ask(visitor, "GET", path, headers=HTMX))
    assert collector.statuses >= {200, 206, 304, 404, 413, 416, 421, 500, 503}, collector.statuses
    collector.judge_nonces()


def _marked(portal: PortalThread, endpoint: str, fail: Any) -> Any:
    """Fail as this handler would: behind the same guard."""
    real = portal.app.view_functions[endpoint]

    def handler(**ids: str) -> None:
        real(**ids)
        fail()

    handler.__dict__.update(real.__dict__)
    return handler


@pytest.mark.asvs("3.4.4", "3.4.6", "4.1.1", "13.4.3")
def test_static_files_have_the_security_headers_and_are_cached(
    portal: PortalThread, collector: Collector
) -> None:
    visitor = portal.sign_in("amelia")
    page = visitor.get("/")
    addresses = {
        str(tag.get("href") or tag.get("src")) for tag in page.select("link[href], script[src], img[src]")
    }
    static = [address for address in addresses if address.startswith("/static/")]
    assert len(static) >= 3
    for address in static:
        answer = ask(visitor, "GET", address.partition("#")[0])
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        collector.judge(answer, is_shared=True)
        collector.judge(ask(visitor, "GET", address.replace("/static/", "/static/0")), is_shared=False)
    for nothing in ("/static/../portal/app.py", "/static/", static[0].rpartition("/")[0] + "/"):
        answer = ask(visitor, "GET", nothing)
        collector.judge(answer)
        assert answer.status_code == 404, nothing


@pytest.fixture
def behind_tls(service: CareService, tmp_path: Path) -> Iterator[PortalThread]:
    """A portal that believes one proxy in front, where an address may try to sign in once an hour."""
    known = service.plan
    running = PortalThread(
        DemoSetup(free_port(), known.service_port, tmp_path, known.secrets),
        PORTAL_PROXY_HOPS="1",
        PORTAL_LIMIT_SIGN_IN="1 per hour",
    )
    yield running
    running.stop()


@pytest.mark.asvs("3.4.1")
def test_responses_over_tls_have_hsts(behind_tls: PortalThread, collector: Collector) -> None:
    visitor = behind_tls.visitor()
    static = str(visitor.get("/signed-out").select("link[rel=stylesheet]")[0]["href"])
    paths = ["/signed-out", "/nowhere", static, "/sign-in/callback?state=x", "/sign-in/callback?state=x", "/"]
    for path in paths:
        for scheme in ("https", "http"):
            answer = ask(visitor, "GET", path, headers={"X-Forwarded-Proto": scheme})
            collector.judge(answer, is_shared=path == static)
            told = answer.headers.get("Strict-Transport-Security")
            assert told == ("max-age=63072000; includeSubDomains" if scheme == "https" else None), path
    assert 429 in collector.statuses
