"""Each request is one transaction: committed if its status is below 400, else rolled back; retried on a conflict.

Requests that write are serializable, on SQLite by its single write lock, on PostgreSQL by SERIALIZABLE: of two
requests that each depend on what the other changes, the database fails one, which is then retried on the new state.
A long one among short ones might fail again and again, so after its second failure it runs alone.
"""

from __future__ import annotations

import logging
import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import count
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.orm.exc import StaleDataError

from portal.careservice import database

PATIENCE_SECONDS = 5.0
"""How long a request is retried while other transactions block it; three tries it has in any case, the third alone."""

RETRY_AFTER_SECONDS = 1
"""The Retry-After of a request that couldn't be completed in that time."""

_ATTEMPTS = 3
_FAILURES_BEFORE_ALONE = 2
_LONGEST_PAUSE_SECONDS = 0.4
_BUSY_STATES = frozenset({"40001", "40P01", "55P03"})  # serialization failure, deadlock, lock not available
_BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_log = logging.getLogger(__name__)


class Busy(Exception):
    """The database couldn't complete the request; nothing was changed.

    `is_conflict` is true where the request contradicts what the database holds, so that retrying is pointless.
    """

    def __init__(self, *, is_conflict: bool) -> None:
        super().__init__()
        self.is_conflict = is_conflict


def init_app(app: Flask, blueprints: Iterable[Blueprint]) -> None:
    """Run each view of `blueprints` as a transaction; one that can't be completed raises Busy."""
    names = {blueprint.name for blueprint in blueprints}
    for endpoint, view in app.view_functions.items():
        if endpoint.rpartition(".")[0] in names:
            app.view_functions[endpoint] = _transaction(view)


def _transaction(view: Callable[..., Any]) -> Callable[..., Response]:
    @wraps(view)
    def answer(**path: Any) -> Response:
        until = time.monotonic() + PATIENCE_SECONDS
        for attempt in count(1):
            try:
                response = current_app.make_response(view(**path))
                database.finish(response)
            except (IntegrityError, OperationalError, StaleDataError) as error:
                database.close()
                may_retry = attempt < _ATTEMPTS or (_is_busy(error) and time.monotonic() < until)
                if not may_retry:
                    kind = type(error.orig if isinstance(error, DBAPIError) else error).__name__
                    _log.warning(
                        "%s %s: given up after %d attempts: %s",
                        request.method,
                        request.endpoint,
                        attempt,
                        kind,
                    )
                    raise Busy(is_conflict=not isinstance(error, OperationalError)) from error
                if attempt >= _FAILURES_BEFORE_ALONE and _is_busy(error):
                    database.run_alone()
                time.sleep(random.uniform(0, min(0.02 * 2**attempt, _LONGEST_PAUSE_SECONDS)))  # noqa: S311
            else:
                return response
        raise AssertionError

    return answer


def _is_busy(error: Exception) -> bool:
    """Whether only other transactions are in the way, so that the same work can succeed later."""
    cause = error.orig if isinstance(error, OperationalError) else None
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorcode & 0xFF in _BUSY_CODES
    return getattr(cause, "sqlstate", None) in _BUSY_STATES
