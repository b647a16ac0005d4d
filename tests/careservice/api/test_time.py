"""What time does by itself, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from portal.careservice import clock, database
from portal.careservice.app import create_app
from portal.careservice.bootstrap import bootstrap
from portal.careservice.domain.policies import ClinicPolicy
from portal.careservice.identity.tables import Client, Grant, Person
from portal.careservice.identity.tokens import access_token
from portal.careservice.ids import new_id, sample_id
from portal.careservice.settings import Settings
from tests.careservice.api.calls import CONSENTS, form, signature
from tests.support.postgres import database_url


class Clinic:
    """A service in this process, at a time of one's own choosing."""

    def __init__(self, app: Flask, moment: datetime) -> None:
        self.app = app
        self.moment = moment

    def __call__(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        with self.app.test_client() as client:
            sent = {"Authorization": f"Bearer {self._token(who)}"} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            return client.open(path, method=method, json=body, headers=sent)

    def _token(self, who: str) -> str:
        with self.app.app_context(), database.new_session(database.engine()) as session:
            person = session.get_one(Person, sample_id("person", who))
            client = session.get_one(Client, "riverside-portal")
            grant = Grant(
                id=new_id(),
                client_id=client.client_id,
                person_id=person.id,
                sid=new_id(),
                scope="ClientelePortal",
                ends_at=clock.now() + timedelta(days=1),
            )
            session.add(grant)
            session.flush()
            token = access_token(session, client, "ClientelePortal", grant, person)
            session.commit()
            return token


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    settings = Settings(
        database_url=database_url(tmp_path / "care.db"),
        issuer="http://127.0.0.1:1",
        sample="small",
        sample_password="a password for tests",
        client_secrets={
            f"{name}-{kind}": "s" for name in ("riverside", "harbour") for kind in ("portal", "service")
        },
    )
    engine = database.connect(settings.database_url)
    bootstrap(engine, settings)
    now: Callable[[], datetime] = lambda: made.moment  # noqa: E731 - it has to see the clinic made below
    made = Clinic(create_app(settings, engine=engine, time=now), datetime.now(UTC))
    yield made
    engine.dispose()


def test_a_form_expires_when_its_time_has_come(clinic: Clinic) -> None:
    until = (clinic.moment + timedelta(hours=3)).isoformat()
    made = clinic("nora", "POST", CONSENTS, form(expiresAt=until)).json
    path = f"{CONSENTS}/{made['id']}"
    clinic.moment += timedelta(hours=4)
    expired = clinic("amelia", "GET", path).json
    assert expired["status"] == "Expired"
    refused = clinic("amelia", "POST", f"{path}/sign", signature(made))
    assert refused.json["error"]["code"] == "ClientelePortal:FormExpired"


def test_a_key_is_forgotten_after_a_day(clinic: Clinic) -> None:
    def create(title: str) -> Any:
        return clinic("nora", "POST", CONSENTS, form(title=title), Idempotency_Key="one")

    first = create("First").json
    clinic.moment += timedelta(hours=23)
    assert create("First").json == first
    assert create("Second").status_code == 400
    clinic.moment += timedelta(hours=2)
    assert create("Second").json["title"] == "Second"


def test_a_module_that_a_clinic_switches_off_is_not_offered(clinic: Clinic) -> None:
    path = "/api/messaging/getconversations"
    assert clinic("nora", "GET", path).status_code == 200
    with clinic.app.app_context(), database.new_session(database.engine()) as session:
        session.add(ClinicPolicy(tenant_id=sample_id("tenant", "riverside"), modules_off=["Messaging"]))
        session.commit()
    assert clinic("nora", "GET", path).status_code == 501
    assert clinic("nora", "GET", CONSENTS).status_code == 200
