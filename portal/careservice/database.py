"""The database: one engine per process, one session per request.

SQLite and PostgreSQL both serve, so types are the portable ones. A request's work is kept when its answer
is below 400 and dropped otherwise; whatever must outlast a refusal commits by itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, cast

from flask import Flask, Response, current_app, g, request
from sqlalchemy import JSON, Connection, DateTime, Engine, MetaData, String, create_engine, event
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, Session, mapped_column
from sqlalchemy.types import TypeDecorator

_EXTENSION = "careservice.engine"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_WRITES = "writes"

Id = Annotated[str, mapped_column(String(36))]
"""A column that holds an identifier made by `ids`."""


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: aware on the way in, aware and in UTC on the way out, whatever the database keeps."""

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
    """The parent of every table."""

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
    engine = create_engine(url, pool_size=10, pool_pre_ping=not url.startswith("sqlite"))
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def create_tables(engine: Engine) -> None:
    """Make the tables that are not there yet."""
    Base.metadata.create_all(engine)


def new_session(engine: Engine, *, writes: bool = True) -> Session:
    """A session outside of any request, to be used as a context manager; its work needs a `commit()`."""
    return Session(engine.execution_options(**{_WRITES: writes}), expire_on_commit=False)


def init_app(app: Flask, engine: Engine) -> None:
    """Give every request of `app` a session of its own, kept or dropped by the status of its answer."""
    app.extensions[_EXTENSION] = engine
    app.after_request(_finish)
    app.teardown_appcontext(_close)


def engine() -> Engine:
    """The engine of the running app."""
    return cast("Engine", current_app.extensions[_EXTENSION])


def session() -> Session:
    """The session of this request.

    One that may write (any method but GET, HEAD, OPTIONS) takes SQLite's write lock when it first touches
    the database, so that what it reads is still so when it writes. A GET that writes says so first by
    `session_for_writing()`.
    """
    return _session(writes=request.method not in _SAFE_METHODS)


def session_for_writing() -> Session:
    """The session of a GET that writes: to be asked for before any `session()` of the same request."""
    return _session(writes=True)


def _session(*, writes: bool) -> Session:
    if "database_session" not in g:
        g.database_session = new_session(engine(), writes=writes)
    return cast("Session", g.database_session)


def _finish(response: Response) -> Response:
    if "database_session" in g:
        current = cast("Session", g.database_session)
        if response.status_code < 400:
            current.commit()
        else:
            current.rollback()
    return response


def _close(_error: BaseException | None) -> None:
    current = cast("Session | None", g.pop("database_session", None))
    if current is not None:
        current.close()


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # SQLite's own lower() knows ASCII letters alone; searching has to find the others too.
    connection.create_function("lower", 1, _lower, deterministic=True)
    connection.isolation_level = None  # the driver would begin transactions late; `_begin_sqlite` does it
    for pragma in ("journal_mode=WAL", "foreign_keys=ON", "busy_timeout=5000", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads and then writes fails at once when another wrote in between, whatever the
    # busy timeout (SQLITE_BUSY_SNAPSHOT); so one that may write takes the lock first, and waits for it.
    writes = connection.get_execution_options().get(_WRITES, True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
