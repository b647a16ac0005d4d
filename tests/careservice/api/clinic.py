"""A care service in this process, with a clock that the test sets."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from portal.careservice import clock, database
from portal.careservice.app import create_app
from portal.careservice.bootstrap import bootstrap
from portal.careservice.identity.tables import Client, Grant, Person
from portal.careservice.identity.tokens import access_token
from portal.careservice.ids import new_id, sample_id
from portal.careservice.settings import Settings
from tests.support.half_hourly import half_hourly, shared_folder
from tests.support.postgres import copy_of, database_url


class Clinic:
    """A service in this process, its clock the test's."""

    def __init__(self, app: Flask, moment: datetime) -> None:
        self.app = app
        self.moment = moment

    def __call__(self, who: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """A call with a token of somebody who signed in just now."""
        return self.call(self.token(who), method, path, body, **headers)

    def call(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """A call with this token."""
        with self.app.test_client() as client:
            sent = {"Authorization": f"Bearer {token}"} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            return client.open(path, method=method, json=body, headers=sent)

    def get(self, who: str, path: str) -> Any:
        """The body of a GET that has to work."""
        answer = self(who, "GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json

    def token(self, who: str, signed_in: timedelta = timedelta()) -> str:
        """An access token of a person who signed in so long ago."""
        with self.app.app_context(), database.new_session(database.engine()) as session:
            person = session.get_one(Person, sample_id("person", who))
            client = session.scalars(
                select(Client).where(
                    Client.tenant_id == person.tenant_id, Client.client_id.endswith("-portal")
                )
            ).one()
            grant = Grant(
                id=new_id(),
                client_id=client.client_id,
                person_id=person.id,
                sid=new_id(),
                scope="ClientelePortal",
                auth_time=clock.now() - signed_in,
                amr=["pwd"],
                acr="sfa",
                ends_at=clock.now() + timedelta(days=1),
            )
            session.add(grant)
            session.flush()
            token = access_token(session, client, "ClientelePortal", grant, person)
            session.commit()
            return token

    def change(self, change: Callable[[Session], None]) -> None:
        """Change what the database holds, past all rules."""
        with self.app.app_context(), database.new_session(database.engine()) as session:
            change(session)
            session.commit()


def settings_for(url: str, **more: Any) -> Settings:
    """Settings of a service with the sample records over the database at `url`."""
    return Settings(
        database_url=url,
        issuer="http://127.0.0.1:1",
        sample="small",
        sample_password="a password for tests",
        client_secrets={
            f"{name}-{kind}": "s" for name in ("riverside", "harbour") for kind in ("portal", "service")
        },
        **more,
    )


def new_clinic(folder: Path) -> Clinic:
    """A service with the sample records, at the present moment."""
    settings = settings_for(copy_of(_sample(), folder / "care.db"))
    return clinic_of(settings, database.connect(settings.database_url))


@half_hourly
def _sample() -> str:
    """The URL of a database with the sample records, to be copied."""
    if (url := database_url(Path("care.db"))).startswith("sqlite"):
        return (
            f"sqlite:///{shared_folder('api', lambda folder: _fill(f'sqlite:///{folder}/care.db'))}/care.db"
        )
    _fill(url)
    return url


def _fill(url: str) -> None:
    settings = settings_for(url)
    engine = database.connect(settings.database_url)
    bootstrap(engine, settings)
    engine.dispose()


def clinic_of(settings: Settings, engine: Engine) -> Clinic:
    """The service over a database that is ready."""
    now: Callable[[], datetime] = lambda: made.moment  # noqa: E731 - it has to see the clinic made below
    made = Clinic(create_app(settings, engine=engine, time=now), datetime.now(UTC))
    return made
