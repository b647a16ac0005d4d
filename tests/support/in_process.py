"""The portal in this process, without a socket: a page in milliseconds, for a person who is signed in already."""

from __future__ import annotations

import io
import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPMessage
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote, urlsplit

import requests
from flask import Flask
from requests.adapters import HTTPAdapter
from urllib3 import HTTPHeaderDict, HTTPResponse
from werkzeug.test import create_environ, run_wsgi_app

from portal.app import create_app
from portal.config.settings import Settings
from portal.config.tenants import Side, Tenant
from portal.connect.answers.members import Members
from portal.http.circuit_breaker import Breakers
from portal.services.capabilities import Capabilities
from portal.state.session_records import Person, SessionRecord, Tokens
from portal.state.sessions import COOKIE
from tests.support.clock import Clock
from tests.support.fake_api import ZONE
from tests.support.visitor import LocalSession, Visitor

ISSUER = "http://id.localhost"
CLINICS = ("riverside", "harbour")
_MINUTE, _HOUR = 60.0, 3600.0

CLINIC = """
[tenants.{key}]
hosts = ["{key}.localhost"]
name = "{name}"
client_id = "{key}"
client_secret_env = "CLIENT_SECRET"
tenant_claim = "tenantid"
tenant_id = "{key}-id"
time_zone = "{zone}"
country = "GB"
languages = ["en", "es", "ar"]
accent = "#0b6e4f"
storage_payment = "https://pay.example/{key}"

[tenants.{key}.roles]
claim = "role"
patient = ["patient"]
staff = ["nurse", "physician", "embryologist", "coordinator", "admin"]

[tenants.{key}.contact]
telephone = "020 7946 0120"

[[tenants.{key}.medicines]]
drug = "Follitropin"
brand = "Follisample"
how.en = "Take it out of the fridge first."
missed.en = "Up to six hours late: inject it now."
guide = "https://clinic.example/pen"

[[tenants.{key}.medicines]]
drug = "Cetrorelix"
how.en = "Let it warm up in your hand."

[[tenants.{key}.medicines]]
drug = "Choriogonadotropin"
missed.en = "Call at once, whatever the hour."
guide = "https://clinic.example/trigger"

[[tenants.{key}.places]]
location = "Quayside"
address = "Riverside House\\n1 Quayside"
map = "https://maps.example/quayside"

[[tenants.{key}.visits]]
kind = "Monitoring scan"
arrive_minutes = 10
prepare.en = "Come with an empty bladder."
"""


class InProcess:
    """The portal of two clinics over a store of its own; `dialect` is that of their API."""

    def __init__(self, folder: Path, clock: Clock, *, dialect: str = "", **environment: str) -> None:
        tenants = folder / "tenants.toml"
        tables = [CLINIC.format(key=key, name=key.capitalize(), zone=ZONE) for key in CLINICS]
        care = f'[care]\nbase_url = "http://api.localhost"\nauth_url = "{ISSUER}"\nidempotency = true\n'
        if dialect:
            (folder / "api.dialect.toml").write_text(dialect, encoding="utf-8")
            care += 'dialect = "api.dialect.toml"\n'
        tenants.write_text("\n".join((care, *tables)), encoding="utf-8")
        settings = {
            "PORTAL_TENANTS": str(tenants),
            "PORTAL_SECRET_KEYS": "a-key-for-tests-a-key-for-tests-a-key-for-tests",
            "PORTAL_STORE_URL": f"sqlite:///{folder / 'store.db'}",
            "PORTAL_AUDIT": str(folder / "audit"),
            "CLIENT_SECRET": "a-secret-for-tests-a-secret-for-tests",
        }
        self.clock = clock
        self._cookies: list[str] = []
        self._audit, self._told, self._store = folder / "audit", dict[str, int](), folder / "store.db"
        self.app = create_app(Settings.from_env({**settings, **environment}), clock=clock)
        self.app.extensions["portal"].vault.store.get("any")  # which makes its tables

    def audited(self) -> list[dict[str, Any]]:
        """The lines that were written to the audit record since this was last asked, oldest first."""
        lines: list[str] = []
        for file in sorted(self._audit.glob("*.jsonl")):
            with file.open(encoding="utf-8") as written:
                written.seek(self._told.get(file.name, 0))
                lines += written.readlines()
                self._told[file.name] = written.tell()
        return [json.loads(line) for line in lines]

    def move_to(self, moment: float) -> None:
        """Set the clock, also back: whoever is signed in has just come."""
        self.clock.now = moment

        def come(record: SessionRecord) -> None:
            record.created_at, record.used_at = moment - _MINUTE, moment

        for cookie in self._cookies:
            self.app.extensions["portal"].sessions.amend(cookie, come)

    def forget(self) -> None:
        """Lose all that is kept: of people, sessions and the clinics' APIs."""
        self._cookies.clear()
        with closing(sqlite3.connect(self._store)) as store, store:
            store.execute("PRAGMA synchronous = OFF")  # nothing needs to outlast the machine
            store.execute("DELETE FROM records WHERE name NOT LIKE 'naming-key%'")
        the = self.app.extensions["portal"]
        the.answers.members = Members(the.vault, self.clock)
        self.app.extensions["portal"] = replace(
            the,
            breakers=Breakers(the.settings.breaker, self.clock),
            capabilities=Capabilities(the.vault, self.clock),
        )

    @contextmanager
    def clinic(self, *keys: str, **settings: Any) -> Iterator[None]:
        """Let these settings of the clinics be others meanwhile, of Riverside if none is named."""
        tenants = self.app.extensions["portal"].settings.tenants
        usual = [tenants.by_key[key] for key in keys or CLINICS[:1]]

        def use(clinics: list[Tenant]) -> None:
            for clinic in clinics:
                tenants.by_key[clinic.key] = clinic
                tenants.by_host.update(dict.fromkeys(clinic.hosts, clinic))

        use([replace(clinic, **settings) for clinic in usual])
        try:
            yield
        finally:
            use(usual)

    def kept(self) -> sqlite3.Connection:
        """A copy of all that is kept, for `restore`."""
        copy = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(self._store)) as store:
            store.backup(copy)
        return copy

    def restore(self, kept: sqlite3.Connection) -> None:
        """Keep what was kept then, and nothing else."""
        with closing(sqlite3.connect(self._store)) as store:
            kept.backup(store)

    def visitor(
        self, sub: str, *roles: str, clinic: str = "riverside", signed_in_ago: float = 0.0, **claims: Any
    ) -> Visitor:
        """Somebody with these roles, signed in so many seconds ago."""
        side = Side.PATIENT if set(roles) <= {"patient"} else Side.STAFF
        now = self.clock()
        names = {"name": sub.capitalize(), "given_name": sub.capitalize()}
        person = Person(
            sub=sub,
            issuer=ISSUER,
            side=side,
            roles=frozenset(roles or {"patient"}),
            auth_time=now - signed_in_ago,
            **{**names, **claims},
        )
        host, cookie = f"{clinic}.localhost", secrets.token_urlsafe(32)
        record = SessionRecord(
            tenant=clinic,
            host=host,
            created_at=now - _MINUTE,  # another time than that of its last use
            used_at=now,
            epoch=secrets.token_urlsafe(9),
            person=person,
        )
        tokens = Tokens(access_token=f"token-of-{sub}", expires_at=now + _HOUR, refresh_at=now + _HOUR)
        self.app.extensions["portal"].sessions.insert(cookie, record, tokens)
        self._cookies.append(cookie)
        visitor = Visitor(f"http://{host}")
        visitor.http = _Wsgi(self.app)
        visitor.http.cookies.set(COOKIE, cookie, domain=host, path="/", secure=True)
        return visitor


class _Wsgi(LocalSession):
    """A browser-like session whose requests are answered by an application in this process."""

    def __init__(self, app: Flask) -> None:
        super().__init__()
        self.mount("http://", _WsgiAdapter(app))


class _WsgiAdapter(HTTPAdapter):
    """Calls a WSGI application (PEP 3333) where requests would open a connection."""

    def __init__(self, app: Flask) -> None:
        super().__init__()
        self._app = app

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        """Answer one request."""
        body = request.body.encode() if isinstance(request.body, str) else request.body
        parts = urlsplit(request.url or "")
        environ = create_environ(
            unquote(parts.path),
            f"{parts.scheme}://{parts.netloc}",
            query_string=parts.query,
            method=request.method or "GET",
            headers=dict(request.headers),
            data=body,
            environ_base={"REMOTE_ADDR": "127.0.0.1"},
        )
        pieces, status, headers = run_wsgi_app(self._app, environ)  # buffered, it would lose what is written
        body = b"".join(pieces)
        close = getattr(pieces, "close", None)
        if close:
            close()
        message = HTTPMessage()
        for name, value in headers:
            message.add_header(name, value)
        raw = HTTPResponse(
            io.BytesIO(body),
            headers=HTTPHeaderDict(headers.items()),
            status=int(status.split()[0]),
            preload_content=False,
            original_response=SimpleNamespace(msg=message, isclosed=lambda: True, close=lambda: None),
        )
        return self.build_response(request, raw)
