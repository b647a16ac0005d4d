"""`python -m portal.careservice.migrations "the room of a physician"`: write a migration for changed models."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from portal.careservice import database
from portal.careservice.migrations import FOLDER, upgrade


def main() -> int:
    """Compare the models with the result of the migrations so far, in a temporary database, and write the next one."""
    what = " ".join(sys.argv[1:]).strip()
    if not what:
        print(
            'Describe the change: python -m portal.careservice.migrations "the room of a physician"',
            file=sys.stderr,
        )
        return 2
    with _migrated() as connection:
        if not compare_metadata(MigrationContext.configure(connection), database.Base.metadata):
            print("The migrations already match the models: change a model first.", file=sys.stderr)
            return 2
        print(_write(connection, what))
    return 0


@contextmanager
def _migrated() -> Generator[Connection]:
    """A temporary database with the result of the migrations so far."""
    with tempfile.TemporaryDirectory() as folder:
        engine = database.connect(f"sqlite:///{folder}/care.db")
        try:
            upgrade(engine)
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()


def _write(connection: Connection, what: str) -> Path:
    config = Config(FOLDER / "alembic.ini", attributes={"connection": connection})
    count = len(list(ScriptDirectory.from_config(config).walk_revisions()))
    made = command.revision(config, what, autogenerate=True, rev_id=f"v{count + 1:04}")
    assert made is not None
    assert not isinstance(made, list)
    return Path(made.path).relative_to(Path.cwd())


if __name__ == "__main__":
    sys.exit(main())
