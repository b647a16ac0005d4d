"""A clinic whose identity server answers as a test says, and a sign-in there."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import requests

from portal.config.identity import Client, Par
from portal.config.tenants import Roles
from portal.signin.discovery import ClientRefused, Metadata, ProviderDown, ProviderRefused
from portal.signin.dpop import Nonces
from portal.signin.flow import SignIn, Started
from portal.signin.tokens import Expected

ISSUER = "https://id.example"
BACK = "https://portal.example/sign-in/callback"
METADATA = Metadata(
    issuer=ISSUER,
    authorization_endpoint=f"{ISSUER}/a?x=1",
    token_endpoint=f"{ISSUER}/t",
    jwks_uri=f"{ISSUER}/k",
)


@dataclass
class Identity:
    """An identity server as the flow sees it: a test sets its answers and reads what it was asked."""

    metadata_: Metadata = METADATA
    answer: dict[str, Any] = field(
        default_factory=lambda: {"access_token": "access", "id_token": "id", "expires_in": 100}
    )
    claims: dict[str, Any] = field(
        default_factory=lambda: {
            "sub": "amelia",
            "role": "patient",
            "tenantid": "clinic",
            "auth_time": 1_000_000,
        }
    )
    userinfo: dict[str, Any] | Exception = field(default_factory=dict)
    fault: Exception | None = None
    pushed: requests.Response = field(default_factory=requests.Response)
    asked: list[Any] = field(default_factory=list)
    nonces: Nonces = field(default_factory=Nonces)
    expected: Expected | None = None
    called_as: str = ""
    roles_in_userinfo: dict[Any, bool] = field(default_factory=dict)

    def metadata(self) -> Metadata:
        if isinstance(self.fault, (ProviderDown, ProviderRefused)):
            raise self.fault
        return self.metadata_

    @contextmanager
    def token_call(self, client_id: str) -> Any:
        self.called_as = client_id
        yield

    def client_refused(self, client_id: str, seconds: float) -> ClientRefused:
        assert 0 <= seconds < 60
        return ClientRefused(client_id)


def tenant(**changes: Any) -> Any:
    members = {
        "key": "riverside", "auth_url": ISSUER, "identity_origins": ("https://login.example",),
        "client": Client("portal", "secret"), "scope": "openid", "authorize_params": {"acr": "high"},
        "tenant_claim": ("tenantid",), "tenant_id": "clinic", "record_claim": None, "id_token_hint": True, "par": Par.AUTO,
        "roles": Roles(staff=frozenset({"nurse"})), "strong": None, "dpop": False, "profile": None,
    }  # fmt: skip
    return SimpleNamespace(**(members | changes))


def start(sign_in: SignIn, cookie: str | None = None, of: Any = None, **changes: Any) -> Started:
    given: dict[str, Any] = {"redirect_uri": BACK, "next_path": "/consents", "language": "es", **changes}
    return sign_in.start(of or tenant(), cookie=cookie, **given)


def query_of(started: Started) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(urlsplit(started.location).query).items()}


def finish(sign_in: SignIn, started: Started, of: Any = None, **answer: str) -> Any:
    given = {"state": query_of(started)["state"], "code": "c", **answer}
    return sign_in.finish(of or tenant(), cookie=started.cookie, answer=given)
