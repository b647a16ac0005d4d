"""A sign-in by `profile = "fapi2"` (FAPI 2.0 Security Profile) at the embedded identity server, which signs with PS256 then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey
from werkzeug.serving import make_server

from portal.careservice import database
from portal.careservice.app import create_app
from portal.careservice.identity import keys
from portal.careservice.identity.tables import Client
from portal.careservice.sample import people
from portal.careservice.settings import Settings
from portal.demo.stack import DemoSetup, tenants_file
from portal.operate.identity_check import check_identity
from portal.state.session_records import record_name
from tests.support.stack import PASSWORD, SECRETS, PortalThread, plan

KEY = ECKey.generate_key("P-256", auto_kid=True)


def seed(where: DemoSetup, url: str) -> Any:
    """A database in which the portal's clients at Riverside have a key instead of a secret."""
    engine = database.connect(url)
    database.Base.metadata.create_all(engine)
    secrets = {client: SECRETS[variable] for client, variable in people.SECRET_VARIABLES.items()}
    with database.new_session(engine) as session:
        keys.ensure_key(session)
        people.add(session, PASSWORD)
        session.flush()
        people.refresh(
            session,
            PASSWORD,
            secrets,
            {"riverside": tuple(f"http://{host}" for host in where.hosts("riverside"))},
        )
        for client in ("riverside-portal", "riverside-service"):
            session.get_one(Client, client).jwks = {"keys": [KEY.as_dict(private=False)]}
        session.commit()
    return engine


@pytest.fixture
def portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PortalThread]:
    where = plan(tmp_path_factory.mktemp("fapi2"))
    url = f"sqlite:///{where.data / 'care.db'}"
    settings = Settings(database_url=url, issuer=where.service, signing_algorithm="PS256")
    app = create_app(settings, engine=seed(where, url))
    server = make_server("127.0.0.1", where.service_port, app, threaded=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    text = tenants_file(where).replace(
        'client_secret_env = "RIVERSIDE_CLIENT_SECRET"', 'client_key_env = "KEY"'
    )
    text = text.replace('client_secret_env = "RIVERSIDE_SERVICE_SECRET"', 'client_key_env = "KEY"')
    file = where.data / "fapi2.toml"
    file.write_text(text.replace("[tenants.riverside]\n", '[tenants.riverside]\nprofile = "fapi2"\n'))
    key_file = where.data / "key.pem"
    key_file.write_bytes(KEY.as_pem(private=True))
    running = PortalThread(where, PORTAL_TENANTS=str(file), KEY_FILE=str(key_file))
    yield running
    running.stop()
    server.shutdown()


def test_people_sign_in_and_the_check_finds_no_broken_rule(portal: PortalThread) -> None:
    tenant = portal.context.settings.tenants.by_key["riverside"]
    provider = portal.context.providers.of(tenant.auth_url, tenant.identity_origins)
    found = list(check_identity([tenant], provider, portal.context.settings.timeouts))
    assert [one for one in found if one.is_fault] == []
    visitor = portal.visitor()
    assert visitor.sign_in("amelia", "/sign-in?next=/signed-out").path == "/signed-out"
    cookie = visitor.session_id
    tokens = portal.context.sessions.tokens_of(record_name(cookie))
    assert tokens.dpop_key
    assert jws.extract_compact(tokens.access_token.encode()).headers()["alg"] == "PS256"
