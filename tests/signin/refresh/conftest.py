"""A session of Amelia's whose tokens are refreshed without a server."""

from __future__ import annotations

from typing import Any

import pytest

from portal import metrics
from portal.signin import refresh
from portal.store import open_store
from tests.signin.refresh.refreshed_session import Identity, RefreshedSession
from tests.support.clock import Clock


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    server = Identity()
    monkeypatch.setattr(
        refresh, "oauth_session", lambda client, *_, **__: server if client.client_id else None
    )
    monkeypatch.setattr(refresh, "verify_refreshed_id_token", server.verify)
    monkeypatch.setattr(refresh, "userinfo", server.told)
    return server


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outcome of each refresh, as the metrics count it."""
    found: list[str] = []
    monkeypatch.setattr(metrics, "refreshed", found.append)
    return found


@pytest.fixture
def session(identity: Identity, sqlite: str, clock: Clock) -> RefreshedSession:
    made = RefreshedSession(open_store(sqlite, clock), clock, identity)
    made.signed_in()
    return made


@pytest.fixture
def revoked(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The refresh tokens that the identity server is told to forget."""
    told: list[str | None] = []

    def note(_tenant: object, _provider: object, tokens: Any, _timeouts: object) -> None:
        told.append(tokens.refresh_token)

    monkeypatch.setattr("portal.signin.refresh.revoke_soon", note)
    return told
