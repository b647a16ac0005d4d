"""Bootstraps a database: the latest schema, a signing key and, if configured, the sample clinics."""

from __future__ import annotations

from sqlalchemy import Engine, select

from portal.careservice import database, migrations
from portal.careservice.clock import Clock, system_clock
from portal.careservice.identity import keys
from portal.careservice.identity.tables import Client, Tenant
from portal.careservice.sample import large, people, records
from portal.careservice.settings import Settings


def bootstrap(engine: Engine, settings: Settings, clock: Clock = system_clock) -> None:
    """Prepare the database for the service to start; existing data is kept."""
    with database.startup_lock(engine):
        migrations.upgrade(engine)
        _fill(engine, settings, clock)


def _fill(engine: Engine, settings: Settings, clock: Clock) -> None:
    with database.new_session(engine) as session:
        keys.ensure_key(session)
        if settings.sample != "none":
            if session.scalar(select(Tenant.id).limit(1)) is None:
                people.add(session, settings.sample_password)
                session.flush()
                records.add(session, clock())
                if settings.sample == "large":
                    large.add(session, clock())
            people.refresh(
                session, settings.sample_password, settings.client_secrets, settings.portal_origins
            )
        for client_id, keys_of_client in settings.client_keys.items():
            session.get_one(Client, client_id).jwks = dict(keys_of_client)
        session.commit()
