"""An identity server that lies, breaks or is down, and a portal whose clinic uses it.

Whatever the server does, a sign-in is refused on one clear page, without a loop. OpenID Connect Core §3.1.3.7 and §5.3.2,
Discovery §4.3, RFC 9207, RFC 9700, RFC 8725.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.config.tenants_file import load_tenants
from tests.signin.hostile_identity.sign_ins import PORTALS
from tests.support.hostile import HostileServer
from tests.support.stack import PortalThread, plan


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileServer, PortalThread]]:
    where = plan(tmp_path_factory.mktemp("hostile"))
    portal = PortalThread(where)
    tenants = load_tenants(where.data / f"tenants-{portal.port}.toml", where.secrets)
    server = HostileServer(where, tenants.by_key["riverside"].tenant_id or "")
    PORTALS[portal.origin().removeprefix("http://")] = portal
    yield server, portal
    portal.stop()
    server.stop()


@pytest.fixture
def portal(running: tuple[HostileServer, PortalThread]) -> Iterator[PortalThread]:
    """The portal, with nothing cached about its identity server."""
    _, portal = running
    portal.context.providers._made.clear()
    portal.clock.ahead = 0
    yield portal
    portal.clock.ahead = 0


@pytest.fixture
def identity(running: tuple[HostileServer, PortalThread]) -> HostileServer:
    server, _ = running
    server.behave()
    return server
