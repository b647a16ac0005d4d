"""The database: one engine per process, one session per request.

SQLite and PostgreSQL are both supported, so column types are portable ones. A request is committed if its
status is below 400 and rolled back otherwise (`transactions`); what must outlast a refusal is committed explicitly.

On PostgreSQL, serializable transactions share a lock that one can also take for itself alone, when it has failed before
because of others (`run_alone`). It belongs to the connection, so a pooler between must keep connections (PgBouncer's
session pooling).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, cast

from flask import Flask, Response, current_app, g, request
from sqlalchemy import JSON, Connection, DateTime, Engine, MetaData, String, create_engine, event, text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.types import TypeDecorator

_EXTENSION = "careservice.engine"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITES = "writes"
_LOCK_WAIT_MILLISECONDS = 2000  # for one lock; `transactions` retries the whole request
_TURN_WAIT_MILLISECONDS = 5000  # until those before have ended, who let nobody else begin
_START_LOCK = 0x636172652D7365  # arbitrary numbers that are used for no other lock
_WRITE_LOCK = 0x636172652D7772
_TURN = "turn"
_SHARED, _ALONE = "shared", "alone"

Id = Annotated[str, mapped_column(String(36))]
"""A column for an identifier made by `ids`."""

T = TypeVar("T")
RETURNED = object()
Returned = Annotated[T, RETURNED]
"""The type of a column that the API returns; one whose type isn't `Returned` stays within the service."""


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: aware on the way in, aware and in UTC on the way out, whatever the database stores."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs its time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        instant = cast("datetime", value)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


class Base(DeclarativeBase):
    """The base class of every table."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[dict[str, Any]]: JSON,
    }


def connect(url: str) -> Engine:
    """An engine for `url` (`sqlite:///path` or `postgresql+psycopg://…`); opens no connection yet."""
    if url.startswith("sqlite"):
        engine = create_engine(url, pool_size=10)
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    options = f"-c lock_timeout={_LOCK_WAIT_MILLISECONDS}"
    engine = create_engine(url, pool_size=10, pool_pre_ping=True, connect_args={"options": options})
    event.listen(engine, "begin", _take_turn)
    event.listen(engine, "reset", _end_turn)
    return engine


@contextmanager
def startup_lock(engine: Engine) -> Generator[None]:
    """Hold the lock that lets one process at a time start with this database."""
    if engine.dialect.name == "sqlite":
        file = engine.url.database
        if not file or file == ":memory:":
            yield
            return
        # Locks the folder: closing the database file itself would release SQLite's own locks (POSIX.1 fcntl).
        folder = os.open(Path(file).absolute().parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)
        return
    with engine.connect() as connection:
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _START_LOCK})
        yield


def new_session(
    engine: Engine, *, writes: bool = True, serializable: bool = False, alone: bool = False
) -> Session:
    """A session outside any request, for use as a context manager; the caller commits.

    A serializable one that is `alone` waits until no other serializable one is open, and keeps others waiting.
    """
    options: dict[str, Any] = {_WRITES: writes}
    if serializable and engine.dialect.name != "sqlite":
        options |= {"isolation_level": "SERIALIZABLE", _TURN: _ALONE if alone else _SHARED}
    return Session(engine.execution_options(**options), expire_on_commit=False)


def init_app(app: Flask, engine: Engine) -> None:
    """Give each request of `app` its own session, committed or rolled back by the status of its response."""
    app.extensions[_EXTENSION] = engine
    app.after_request(finish)
    app.teardown_appcontext(_end)


def engine() -> Engine:
    """The engine of the running app."""
    return cast("Engine", current_app.extensions[_EXTENSION])


def session() -> Session:
    """The session of this request.

    For methods that may write (all but GET, HEAD, OPTIONS) it is serializable: on SQLite it takes the write lock
    when it first touches the database. A GET that writes calls `session_for_writing()` first.
    """
    return _session(writes=request.method not in _SAFE_METHODS)


def session_for_writing() -> Session:
    """The session of a GET that writes; to be called before any `session()` in the same request."""
    return _session(writes=True)


def use_row_locks() -> None:
    """Run this request at READ COMMITTED on PostgreSQL, since it locks the rows that its decisions depend on."""
    g.locks_rows = True


def run_alone() -> None:
    """Run what follows of this request while no other serializable transaction is open, so that none can fail it."""
    g.runs_alone = True


def lock_table(session: Session, table: type[Base]) -> None:
    """Make other transactions that call this wait for this one; to be called before anything is read.

    SQLite's write lock does so anyway. On PostgreSQL it avoids serialization failures and their retries.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text(f'LOCK TABLE "{table.__tablename__}" IN SHARE ROW EXCLUSIVE MODE'))


def _session(*, writes: bool) -> Session:
    if "database_session" not in g:
        serializable = writes and "locks_rows" not in g
        alone = "runs_alone" in g
        g.database_session = new_session(engine(), writes=writes, serializable=serializable, alone=alone)
    return cast("Session", g.database_session)


def finish(response: Response) -> Response:
    """Commit the request's work if the status is below 400, else roll it back."""
    if "database_session" in g:
        current = cast("Session", g.database_session)
        if response.status_code < 400:
            current.commit()
        else:
            current.rollback()
    return response


def _end(_error: BaseException | None) -> None:
    close()


def close() -> None:
    """Discard the request's session and its uncommitted work; the next `session()` opens another."""
    current = cast("Session | None", g.pop("database_session", None))
    if current is not None:
        current.close()


def _take_turn(connection: Connection) -> None:
    """Take PostgreSQL's lock of this transaction's turn (Explicit Locking, Advisory Locks), before anything else.

    Taken by a statement of its own, since a serializable transaction sees the database as it was when its first
    statement began: one that waited for the lock inside it would come to what others have changed meanwhile. It is the
    first lock of every transaction and the only one of its kind, so nobody who has it waits for anybody who hasn't.
    """
    turn = connection.get_execution_options().get(_TURN)
    if turn is None:
        return
    function = "pg_advisory_lock" if turn == _ALONE else "pg_advisory_lock_shared"
    psycopg: Any = connection.connection.dbapi_connection
    connection.info[_TURN] = turn
    psycopg.autocommit = True
    try:
        if turn == _ALONE:
            connection.exec_driver_sql(f"SET lock_timeout = {_TURN_WAIT_MILLISECONDS}")
        connection.exec_driver_sql(f"SELECT {function}({_WRITE_LOCK})")
    finally:
        psycopg.autocommit = False


def _end_turn(psycopg: Any, record: ConnectionPoolEntry, _state: object) -> None:
    """Release the lock when the connection goes back to the pool; a connection that can't is closed by the pool."""
    if record.info.pop(_TURN, None) is None:
        return
    psycopg.rollback()
    psycopg.autocommit = True
    try:
        psycopg.execute("SELECT pg_advisory_unlock_all()")
        psycopg.execute("RESET lock_timeout")
    finally:
        psycopg.autocommit = False


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # SQLite's own lower() handles only ASCII letters; searches have to ignore the case of others too.
    connection.create_function("lower", 1, _lower, deterministic=True)
    connection.isolation_level = None  # the driver would begin transactions late; `_begin_sqlite` does it
    connection.execute(f"PRAGMA busy_timeout={_LOCK_WAIT_MILLISECONDS}")
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads and then writes fails at once when another wrote in between, whatever the
    # busy timeout (SQLITE_BUSY_SNAPSHOT); so one that may write takes the lock first, and waits for it.
    writes = connection.get_execution_options().get(_WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
