"""The whole portal under gunicorn behind the documented nginx, over TLS: headers, cookies, limits and logs as people meet them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests

from portal.demo.stack import tenants_file
from tests.support.nginx import Nginx
from tests.support.stack import PASSWORD, CareService, PortalProcess, plan, sample_database
from tests.support.visitor import LocalAdapter, Visitor
from tests.web.test_headers import Collector, ask

STARTS = 12
CANARY = "kanary"


@dataclass(frozen=True)
class Site:
    """nginx, the portal behind it, and where both write."""

    nginx: Nginx
    portal: PortalProcess
    folder: Path
    origin: str

    def visitor(self) -> Visitor:
        visitor = Visitor(self.origin, PASSWORD)
        visitor.http.mount("https://", LocalAdapter())
        visitor.http.verify = str(self.nginx.authority)
        return visitor

    def logged(self) -> str:
        """Everything that nginx, gunicorn and the audit wrote."""
        files = [self.nginx.log, self.nginx.folder / "error.log", self.nginx.folder / "portal.log"]
        return "".join(file.read_text() for file in files) + self.written()

    def written(self) -> str:
        """What the portal wrote: log and audit."""
        files = [self.portal.log, *self.folder.glob("audit/*.jsonl")]
        return "".join(file.read_text() for file in files)

    def audited(self, answer: requests.Response) -> list[dict[str, Any]]:
        """The audit's lines about the request that got this answer."""
        text = "".join(file.read_text() for file in self.folder.glob("audit/*.jsonl"))
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if line["request"] == answer.headers["X-Request-Id"]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    where = plan(folder)
    nginx = Nginx(folder / "nginx", where.portal_port)
    host = f"riverside.localhost:{nginx.port}"
    shutil.copyfile(sample_database(), where.data / "care.db")
    care = CareService(where, "--portal-origin", f"riverside=https://{host}")
    tenants = folder / "tenants.toml"
    tenants.write_text(tenants_file(where).replace(json.dumps(where.hosts("riverside")), json.dumps([host])))
    portal = PortalProcess(
        where,
        PORTAL_TENANTS=str(tenants),
        PORTAL_PROXY_HOPS="1",
        PORTAL_LIMIT_SIGN_IN=f"{STARTS} per hour",
        PORTAL_AUDIT=str(folder / "audit"),
        PORTAL_DEMO="0",
        PORTAL_METRICS_TOKEN="a token for the tests of metrics",
    )
    yield Site(nginx, portal, folder, f"https://{host}")
    for one in (nginx, portal, care):
        one.stop()


@pytest.fixture(scope="module")
def amelia(site: Site) -> Visitor:
    visitor = site.visitor()
    visitor.sign_in("amelia")
    return visitor


@pytest.mark.asvs("3.4.1", "3.4.4", "3.4.6", "14.3.2")
def test_answers_of_each_kind_carry_the_headers_once(site: Site, amelia: Visitor) -> None:
    collector = Collector()
    page = amelia.get("/")
    static = {str(tag["href"]) for tag in page.select("link[rel=stylesheet]")}
    for path in ("/", "/me", "/consents", "/nowhere", "/signed-out", "/healthz", "/metrics", *static):
        for method in ("GET", "HEAD", "PUT"):
            answer = ask(amelia, method, path)
            collector.judge(answer, is_shared=path in static)
            told = answer.raw.headers.getlist("Strict-Transport-Security")
            assert told == ["max-age=63072000; includeSubDomains"], f"{method} {path}"
    collector.judge(ask(amelia, "POST", "/sign-out", data={"x": "y" * 1_100_000}))
    collector.judge(ask(amelia, "POST", "/sign-out", data={"x": "y"}))
    collector.judge(requests.get(f"http://127.0.0.1:{site.portal.port}/", timeout=30))
    assert collector.statuses >= {200, 400, 401, 404, 405, 413, 421}


@pytest.mark.asvs("3.3.1", "3.3.2", "3.3.3", "3.3.4")
def test_every_cookie_is_secure_host_bound_and_http_only(site: Site) -> None:
    visitor, given = site.visitor(), dict[str, str]()

    def note(answer: requests.Response, **_: object) -> None:
        if (answer.url or "").startswith(site.origin):
            for line in answer.raw.headers.getlist("Set-Cookie"):
                given.update(dict.fromkeys(SimpleCookie(line), line))

    visitor.http.hooks["response"].append(note)
    visitor.get("/signed-out")
    visitor.sign_in("amelia")
    visitor.post("/language", {"language": "es", "next": "/"}, status=None)
    assert {"__Host-sid", "__Host-signin", "__Host-form", "__Host-language"} <= given.keys()
    for name, line in given.items():
        attributes = {part.strip().partition("=")[0].lower() for part in line.split(";")[1:]}
        assert name.startswith("__Host-"), line
        assert {"secure", "httponly", "path", "samesite"} <= attributes, line
        assert "domain" not in attributes, line
        assert "samesite=lax" in line.lower() or "samesite=strict" in line.lower(), line
        assert "path=/;" in f"{line.lower()};", line


@pytest.mark.asvs("10.1.1", "14.2.1")
def test_no_token_reaches_the_browser(site: Site) -> None:
    visitor, seen = site.visitor(), list[str]()

    def note(answer: requests.Response, **_: object) -> None:
        if (answer.url or "").startswith(site.origin):
            seen.append(f"{answer.url} {answer.headers} {answer.text}")

    visitor.http.hooks["response"].append(note)
    visitor.sign_in("amelia")
    for path in ("/me", "/me/devices", "/consents"):
        visitor.get(path)
    assert len(seen) > 5
    for one in seen:
        assert "eyJ" not in one, "a JSON Web Token"
        assert "access_token" not in one
        assert "refresh_token" not in one


@pytest.mark.asvs("16.2.1")
def test_an_audit_line_has_time_place_person_and_event(site: Site, amelia: Visitor) -> None:
    href = str(amelia.get("/consents").select("a[href^='/consents/']")[0]["href"])
    id_ = href.split("/")[2].partition("?")[0]
    grace = site.visitor()
    grace.sign_in("grace")
    began = datetime.now(UTC) - timedelta(milliseconds=1)
    (read,) = site.audited(ask(amelia, "GET", f"/consents/{id_}"))
    (refused,) = site.audited(ask(grace, "GET", f"/consents/{id_}"))
    (list_,) = site.audited(ask(amelia, "GET", "/consents"))
    for line, what, outcome in (
        (read, "consent.read", "done"),
        (refused, "consents.show", "NotFound"),
        (list_, "consent.list", "done"),
    ):
        assert (line["audit"], line["outcome"]) == (what, outcome)
        assert began <= datetime.fromisoformat(line["at"]) <= datetime.now(UTC)
        assert (line["tenant"], line["role"]) == ("riverside", "patient")
    assert (read["kind"], read["id"]) == (refused["kind"], refused["id"]) == ("consent", id_)
    assert id_ in list_["ids"]
    assert read["actor"] == list_["actor"] != refused["actor"]
    logged = [json.loads(line) for line in site.portal.log.read_text().splitlines()]
    of_it = [line for line in logged if line.get("request") == read["request"]]
    assert {line.get("route") for line in of_it} == {"/consents/<record:consent_id>"}
    proxied = site.nginx.logged(read["request"])
    assert (proxied["status"], proxied["upstream_status"]) == (200, "200")


@pytest.mark.asvs("2.4.1", "15.2.2", "15.3.4")
def test_a_rate_limit_counts_the_address_seen_by_nginx(site: Site) -> None:
    """Whatever the browser says of itself: all of these come from one address."""
    statuses = [
        ask(
            site.visitor(),
            "GET",
            "/sign-in/callback?state=x&code=y",
            headers={"X-Forwarded-For": f"192.0.2.{number}", "Forwarded": f"for=192.0.2.{number}"},
        ).status_code
        for number in range(STARTS + 1)
    ]
    assert statuses[-1] == 429
    assert set(statuses) == {400, 429}


@pytest.mark.asvs("13.4.5")
def test_operator_and_debug_addresses_are_not_public(amelia: Visitor) -> None:
    assert ask(amelia, "GET", "/metrics").status_code == 401
    for path in ("/styles", "/openapi.json", "/docs", "/debug", "/.git/config", "/portal/app.py", "/static/"):
        assert ask(amelia, "GET", path).status_code == 404, path


@pytest.mark.asvs("14.2.1", "16.2.5")
def test_no_url_reaches_a_log(site: Site, amelia: Visitor) -> None:
    for path in (f"/?{CANARY}", f"/{CANARY}", f"/sign-in?next=/{CANARY}", f"/me?x={CANARY}"):
        ask(amelia, "GET", path, headers={"Referer": f"{site.origin}/{CANARY}", "User-Agent": CANARY})
    ask(amelia, "GET", "/" + CANARY * 2000)
    logged = site.logged()
    assert CANARY not in logged
    assert '"route"' in logged, "no log line names a route"


@pytest.mark.asvs("16.4.1")
def test_request_data_cannot_inject_log_lines(site: Site) -> None:
    """Through nginx in addresses and forms, and past it in the fields that it would have set itself."""
    forged = '\n{"audit":"forged","level":"forged","message":"forged"}\r\n\u2028\x85'
    visitor = site.visitor()
    for path in (f"/{quote(forged)}", f"/consents/{quote(forged)}", f"/sign-in?next={quote(forged)}"):
        ask(visitor, "GET", path)
    ask(visitor, "GET", f"/sign-in/callback?state={quote(forged)}&error={quote(forged)}")
    ask(visitor, "POST", "/language", data={"language": forged, "next": forged, "csrf_token": forged})
    one_line = "x" + forged.replace("\r", "").replace("\n", "\t").replace("\u2028", "")
    straight = f"http://127.0.0.1:{site.portal.port}/"
    for header in ("X-Request-Id", "User-Agent", "X-Forwarded-For", "Cookie", "Referer", "HX-Target"):
        requests.get(straight, headers={header: one_line}, timeout=30)
    lines = [json.loads(line) for line in site.written().splitlines()]
    assert len(lines) > 10
    for line in lines:
        assert isinstance(line, dict) and "at" in line, line
        assert "forged" not in json.dumps(line), line
