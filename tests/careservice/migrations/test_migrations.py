"""The schema, migrated from an empty database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, inspect, text

from portal.careservice import database, migrations
from portal.careservice.__main__ import main
from tests.support.postgres import database_url
from tests.support.stack import free_port


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = database.connect(database_url(tmp_path / "care.db"))
    yield made
    made.dispose()


def test_the_migrations_create_the_schema_of_the_models(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, database.Base.metadata) == []


def test_a_second_start_changes_nothing(engine: Engine) -> None:
    migrations.upgrade(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO tenants (id, name, display_name, accent, time_zone)"
                " VALUES ('1', 'x', 'X', '#000000', 'UTC')"
            )
        )
    migrations.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM tenants")) == 1
        assert connection.scalar(text("SELECT count(*) FROM alembic_version")) == 1


def test_what_was_written_before_titles_were_folded_is_found(engine: Engine) -> None:
    migrations.upgrade(engine, to="v0001")
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO tenants (id, name, display_name, accent, time_zone) VALUES ('1', 'x', 'X', '#000000', 'UTC')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO conversations (id, tenant_id, subject, channel, last_message_at)"
                " VALUES ('2', '1', 'Congelación', 'Email', '2026-11-26 12:00:00')"
            )
        )
        connection.execute(
            text(
                "INSERT INTO physicians (id, tenant_id, name, folded_name, title, specialty, time_zone, is_active, working_hours)"
                " VALUES ('3', '1', 'Inés', 'ines', 'Dr', 'Genética', 'UTC', true, '[]')"
            )
        )
    migrations.upgrade(engine)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT folded_subject FROM conversations")) == "congelacion"
        assert connection.scalar(text("SELECT folded_name FROM physicians")) == "ines genetica "


def test_foreign_tables_are_left_alone(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE tenants (id INTEGER)"))
    with pytest.raises(migrations.UnusableDatabase):
        migrations.upgrade(engine)
    url = engine.url.render_as_string(hide_password=False)
    assert main(["--database", url, "--port", str(free_port())]) == 2
    assert f"start with an empty one. (--database {url})" in capsys.readouterr().err
    with engine.connect() as connection:
        assert inspect(connection).get_table_names() == ["tenants"]
