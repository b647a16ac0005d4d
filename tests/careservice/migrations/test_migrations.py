"""The schema, made step by step from empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from portal.careservice import database, migrations
from portal.careservice.domain.documents import File
from portal.careservice.identity.tables import Person, RefreshToken
from tests.support.postgres import database_url


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = database.connect(database_url(tmp_path / "care.db"))
    yield made
    made.dispose()


def test_the_migrations_make_what_the_models_say(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, database.Base.metadata) == []


def test_a_second_start_changes_nothing(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO tenants (id, name, display_name, accent) VALUES ('1', 'x', 'X', '#000000')")
        )
    migrations.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM tenants")) == 1
        assert connection.scalar(text("SELECT count(*) FROM alembic_version")) == 1


def test_tables_of_another_origin_are_left_alone(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tenants (id INTEGER)"))
    with pytest.raises(migrations.OlderDatabase):
        migrations.upgrade(engine)
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["tenants"]


def to_version(engine: Engine, version: str) -> None:
    config = Config()
    config.set_main_option("script_location", Path(migrations.__file__).parent.as_posix())
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)


OF_BEFORE = (
    "INSERT INTO tenants (id, name, display_name, accent) VALUES ('t', 'x', 'X', '#000000')",
    "INSERT INTO people (id, tenant_id, username, password_hash, given_name, family_name, email, locale, roles,"
    " is_active) VALUES ('p', 't', 'a', '-', 'A', 'B', 'a@x.example', 'en', '[\"patient\"]', true)",
    "INSERT INTO files (id, tenant_id, name, media_type, size, sha256, creation_time)"
    " VALUES ('f', 't', 'Report.pdf', 'application/pdf', 1, '-', '2026-01-01 00:00:00+00:00')",
    "INSERT INTO clients (client_id, name, tenant_id, secret_hash, grant_types, scopes, redirect_uris,"
    " post_logout_redirect_uris) VALUES ('c', 'C', 't', '', '[]', '[]', '[]', '[]')",
    "INSERT INTO grants (id, client_id, person_id, sid, scope, ends_at)"
    " VALUES ('g', 'c', 'p', 's', 'openid', '2026-01-01 00:00:00+00:00')",
    "INSERT INTO refresh_tokens (token_hash, grant_id, issued_at, expires_at)"
    " VALUES ('r', 'g', '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')",
)


def test_people_files_and_sign_ins_of_before_are_kept_and_taken_for_the_careful_case(engine: Engine) -> None:
    to_version(engine, "v0001")
    with engine.begin() as connection:
        for statement in OF_BEFORE:
            connection.execute(text(statement))
    migrations.upgrade(engine)
    with database.new_session(engine) as session:
        kept = session.get_one(RefreshToken, "r")
        assert kept.grant.auth_time is None, "nobody knows when, so no act that asks for it goes on"
        assert session.get_one(Person, "p").email_verified is False
        assert session.get_one(File, "f").is_patient_copy is False
