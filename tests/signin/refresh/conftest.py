"""A session of Amelia’s whose tokens are renewed without a server."""

from __future__ import annotations

import pytest

from portal.operate import metrics
from portal.signin import refresh
from portal.store import open_store
from tests.signin.refresh.renewing import Identity, Renewing
from tests.support.clock import Clock


@pytest.fixture
def identity(monkeypatch: pytest.MonkeyPatch) -> Identity:
    server = Identity()
    monkeypatch.setattr(refresh, "oauth_session", lambda client, *_: server if client.client_id else None)
    monkeypatch.setattr(refresh, "verify_refreshed_id_token", server.verify)
    monkeypatch.setattr(refresh, "userinfo", server.told)
    return server


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the metrics say became of each renewal."""
    found: list[str] = []
    monkeypatch.setattr(metrics, "refreshed", found.append)
    return found


@pytest.fixture
def it(identity: Identity, sqlite: str, clock: Clock) -> Renewing:
    made = Renewing(open_store(sqlite, clock), clock, identity)
    made.signed_in()
    return made
