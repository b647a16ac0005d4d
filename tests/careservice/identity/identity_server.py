"""An identity server in this process with a movable clock, and a client for it."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import KeySet
from sqlalchemy import Engine

from portal.careservice import database
from portal.careservice.app import create_app
from portal.careservice.identity import keys
from portal.careservice.identity.tokens import InvalidToken, verify_access_token
from portal.careservice.sample import people
from portal.careservice.settings import Settings
from tests.support.elements import parsed

ISSUER = "http://127.0.0.1:8001"
PASSWORD = "a password for tests only"
SECRETS = {client: f"secret of {client}" for client in people.SECRET_VARIABLES}
ORIGINS = {
    "riverside": ("http://riverside.localhost:8000", "http://localhost:8000"),
    "harbour": ("http://harbour.localhost:8000",),
}
CALLBACK = "http://riverside.localhost:8000/sign-in/callback"
SIGNED_OUT = "http://riverside.localhost:8000/signed-out"
VERIFIER = "a-verifier-of-at-least-forty-three-characters-0123456789"
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
SCOPE = "openid profile email roles offline_access ClientelePortal"


class MovableClock:
    """The present moment, moved by the test."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **by: float) -> None:
        self.moment += timedelta(**by)


def seed(url: str) -> None:
    """Fill a database with clinics, people, clients and a key."""
    engine = database.connect(url)
    database.Base.metadata.create_all(engine)
    with database.new_session(engine) as session:
        keys.ensure_key(session)
        people.add(session, PASSWORD)
        session.flush()
        people.refresh(session, PASSWORD, SECRETS, ORIGINS)
        session.commit()
    engine.dispose()


@dataclass
class IdentityServer:
    """The server over a database of the test's own."""

    url: str
    demo: bool = False
    clock: MovableClock = field(default_factory=MovableClock)

    def __post_init__(self) -> None:
        self.engine: Engine = database.connect(self.url)
        settings = Settings(database_url=self.url, issuer=ISSUER, demo=self.demo)
        self.app = create_app(settings, engine=self.engine, time=self.clock)

    def browser(self) -> Browser:
        """A browser with no cookies yet."""
        return Browser(self, self.app.test_client())

    def post(self, path: str, client: str | None = "riverside-portal", **form: Any) -> Any:
        """A client's call, its secret in the header."""
        auth = (client, SECRETS[client]) if client else None
        return self.app.test_client().post(path, data=form, auth=auth)

    def token(self, client: str | None = "riverside-portal", **form: Any) -> Any:
        return self.post("/connect/token", client, **form)

    def exchange(self, code: str, **changes: Any) -> Any:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
        }
        return self.token(**{**form, **changes})

    def refresh(self, refresh_token: str, **changes: Any) -> Any:
        return self.token(**{"grant_type": "refresh_token", "refresh_token": refresh_token, **changes})

    def tokens(
        self, username: str = "amelia", browser: Browser | None = None, **changes: Any
    ) -> dict[str, Any]:
        """Everything that one sign-in gives."""
        code = (browser or self.browser()).sign_in(username, **changes)["code"]
        answer = self.exchange(code)
        assert answer.status_code == 200, answer.text
        return answer.get_json()

    def userinfo(self, access_token: str) -> Any:
        headers = {"Authorization": f"Bearer {access_token}"}
        return self.app.test_client().get("/connect/userinfo", headers=headers)

    def read(self, token: str) -> jwt.Token:
        """The token, its signature checked against the published keys."""
        published = self.app.test_client().get("/.well-known/jwks").get_json()
        return jwt.decode(token, KeySet.import_key_set(published), algorithms=["RS256"])


@dataclass
class Browser:
    """A person's browser at the identity server; the client's pages are where it is sent."""

    server: IdentityServer
    http: FlaskClient

    def authorize(self, **changes: Any) -> Any:
        """The answer to the client's authorization request; a change to None leaves the parameter out."""
        asked: dict[str, Any] = {
            "response_type": "code",
            "client_id": "riverside-portal",
            "redirect_uri": CALLBACK,
            "scope": SCOPE,
            "state": "a state",
            "nonce": "a nonce",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "acr_values": "tenant:riverside",
        }
        asked.update(changes)
        return self.http.get(
            "/connect/authorize",
            query_string={name: value for name, value in asked.items() if value is not None},
        )

    def page(self, **changes: Any) -> Any:
        """The sign-in page that the request leads to."""
        answer = self.authorize(**changes)
        assert answer.status_code == 303, answer.text
        return self.http.get(answer.location)

    def submit(self, page: Any, username: str, password: str = PASSWORD) -> Any:
        """The answer to the page's form, filled in."""
        form = parsed(page.text).select_one("form")
        assert form is not None, page.text
        fields = {str(field["name"]): str(field.get("value", "")) for field in form.select("input")}
        return self.http.post(
            str(form["action"]), data={**fields, "username": username, "password": password}
        )

    def sign_in(self, username: str = "amelia", password: str = PASSWORD, **changes: Any) -> dict[str, str]:
        """What comes back to the client."""
        return answer_in(self.submit(self.page(**changes), username, password))


def answer_in(response: Any) -> dict[str, str]:
    """The parameters that a redirect takes to the client."""
    assert response.status_code == 303, response.text
    assert re.match(r"http://(\w+\.)?localhost:8000/", response.location), response.location
    return dict(parse_qsl(urlsplit(response.location).query))


def is_good(server: IdentityServer, token: str) -> bool:
    """Whether the care API would take this token."""
    with server.app.app_context(), database.new_session(server.engine, writes=False) as session:
        try:
            verify_access_token(session, token)
        except InvalidToken:
            return False
        return True
