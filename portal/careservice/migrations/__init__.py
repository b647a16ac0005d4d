"""The database's migrations (Alembic); every start runs `upgrade`.

A released database stays what its migrations made it, so none is changed once it is out (`tests/state/released`): each change adds
one, written by `python -m portal.careservice.migrations "what changes"`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.types import TypeDecorator

import portal.careservice.api  # pyright: ignore[reportUnusedImport]  # defines the records' tables
import portal.careservice.domain.storage_ends  # pyright: ignore[reportUnusedImport]
import portal.careservice.identity.tables  # noqa: F401  # pyright: ignore[reportUnusedImport]

FOLDER = Path(__file__).parent


class UnusableDatabase(Exception):
    """The database has tables that no migration created, or a later version of the service migrated it."""


def upgrade(engine: Engine, to: str = "head") -> None:
    """Migrate a database, empty or of any earlier version, to the latest schema, or to that of an earlier migration.

    Raises UnusableDatabase. Callers that may run concurrently hold `database.startup_lock`.
    """
    config = Config()
    config.set_main_option("script_location", FOLDER.as_posix().replace("%", "%%"))
    with engine.begin() as connection:
        tables = inspect(connection).get_table_names()
        if tables and "alembic_version" not in tables:
            raise UnusableDatabase("The database has tables but no version: start with an empty one.")
        _require_known(connection, config)
        if connection.dialect.name != "sqlite":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # a migration waits for readers of a table
        config.attributes["connection"] = connection
        command.upgrade(config, to)


def _require_known(connection: Connection, config: Config) -> None:
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    newer = set(MigrationContext.configure(connection).get_current_heads()) - known
    if newer:
        raise UnusableDatabase(
            f"The database is of a later version ({', '.join(sorted(newer))}): start that version of the "
            "service, or restore a backup from before it."
        )


def render_item(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Render columns of our own types as the portable types that they are stored in."""
    if kind == "type" and isinstance(item, TypeDecorator):
        return f"sa.{item.impl_instance!r}"  # pyright: ignore[reportUnknownMemberType]
    return False
