"""Access tokens of the sample people, obtained by the code flow over HTTP as the portal does."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from portal.demo.stack import PEOPLE
from tests.support.stack import PASSWORD, SECRETS, CareService

_RENEWED_AFTER = 120.0
"""Seconds after which a token is got anew, so that its sign-in is always a fresh one."""
SCOPE = "openid profile email roles offline_access ClientelePortal"


class TokenMaker:
    """A running care service and the tokens that it gives."""

    def __init__(self, service: CareService) -> None:
        self.service = service
        self.base_url = service.base_url
        self.password = PASSWORD
        self.database_path: Path = service.plan.data / "care.db"
        self._kept: dict[str, tuple[float, str]] = {}

    def token(self, username: str) -> str:
        """An access token whose sign-in is at most some minutes old."""
        until, token = self._kept.get(username, (0.0, ""))
        if time.monotonic() >= until:
            token = str(self.tokens(username)["access_token"])
            self._kept[username] = (time.monotonic() + _RENEWED_AFTER, token)
        return token

    def tokens(self, username: str, scope: str = SCOPE) -> dict[str, Any]:
        """Sign in in a browser of its own and return the token answer."""
        tenant = next(key for key, people in PEOPLE.items() if username in dict(people))
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        redirect_uri = f"http://{self.service.plan.hosts(tenant)[0]}/sign-in/callback"
        browser = requests.Session()
        browser.trust_env = False
        page = browser.get(
            f"{self.base_url}/connect/authorize",
            params={
                "client_id": f"{tenant}-portal",
                "redirect_uri": redirect_uri,
                "response_type": "code",
                "scope": scope,
                "state": "s",
                "nonce": "n",
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            },
            timeout=20,
        )
        handle = re.search(r'name="request" value="([^"]+)"', page.text)
        assert handle, page.text
        back = browser.post(
            f"{self.base_url}/sign-in",
            data={"request": handle[1], "username": username, "password": PASSWORD},
            allow_redirects=False,
            timeout=20,
        )
        code = parse_qs(urlsplit(back.headers["Location"]).query)["code"][0]
        answer = requests.post(
            f"{self.base_url}/connect/token",
            data={
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": verifier,
            },
            auth=(f"{tenant}-portal", SECRETS[f"{tenant.upper()}_CLIENT_SECRET"]),
            timeout=20,
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def service_token(self, tenant: str) -> str:
        """A token by Client Credentials, exactly as the care API specification §5 shows."""
        tenant = tenant.removesuffix("-service")
        answer = requests.post(
            f"{self.base_url}/connect/token",
            data={
                "grant_type": "client_credentials",
                "client_id": f"{tenant}-service",
                "client_secret": SECRETS[f"{tenant.upper()}_SERVICE_SECRET"],
                "scope": "ClientelePortal",
            },
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            timeout=20,
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["access_token"])
