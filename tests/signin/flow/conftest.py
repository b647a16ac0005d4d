"""An identity server without a network, and sign-ins there."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.signin import flow
from portal.signin.flow import SignIn
from portal.signin.tokens import Expected
from portal.signin.tokens import oauth_session as real_session
from portal.store import open_store
from portal.store.vault import Vault
from tests.signin.flow.clinic import ISSUER, Identity
from tests.support.clock import Clock


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    """Replaces the network below Authlib's client, and the check of signatures."""
    server = Identity()

    def session(*given: Any, **settings: Any) -> Any:
        client: Any = real_session(*given, **settings)

        def fetch_token(url: str, **form: Any) -> Mapping[str, Any]:
            server.asked.append((url, form))
            if server.fault:
                raise server.fault
            return server.answer

        def post(url: str, **sent: Any) -> requests.Response:
            server.asked.append((url, sent))
            if server.fault:
                raise server.fault
            return server.pushed

        client.fetch_token, client.post = fetch_token, post
        return client

    def verify(token: object, _provider: object, expected: Expected, now: float) -> dict[str, Any]:
        assert (token, now) == ("id", 1_000_000.0)
        server.expected = expected
        return server.claims

    def userinfo(
        _tenant: Tenant, provider: object, answer: object, sub: str, _timeouts: Timeouts, _prover: object
    ) -> dict[str, Any]:
        assert (provider, answer) == (server, server.answer)
        server.asked.append(("userinfo", sub))
        if isinstance(server.userinfo, Exception):
            raise server.userinfo
        return server.userinfo

    monkeypatch.setattr(flow, "oauth_session", session)
    monkeypatch.setattr(flow, "verify_id_token", verify)
    monkeypatch.setattr(flow, "userinfo", userinfo)
    return server


@pytest.fixture
def sign_in(identity: Identity, sqlite: str, clock: Clock) -> SignIn:
    def of(auth_url: str, origins: tuple[str, ...]) -> Identity:
        assert (auth_url, origins) == (ISSUER, ("https://login.example",))
        return identity

    providers: Any = SimpleNamespace(of=of)
    vault = Vault(open_store(sqlite, clock), ("k" * 40,), clock)
    return SignIn(vault, providers, Timeouts(), clock, max_age=900)
