"""Alembic's entry point: runs migrations on the connection that `upgrade` passes, or on `-x database=URL`."""

from __future__ import annotations

from typing import cast

from alembic import context
from sqlalchemy import Connection

from portal.careservice import database
from portal.careservice.migrations import render_item


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=database.Base.metadata,
        render_as_batch=True,  # SQLite can alter a table only by recreating it
        render_item=render_item,
    )
    with context.begin_transaction():
        context.run_migrations()


_given = cast("Connection | None", context.config.attributes.get("connection"))
if _given is not None:
    _run(_given)
else:
    with database.connect(context.get_x_argument(as_dictionary=True)["database"]).begin() as _connection:
        _run(_connection)
