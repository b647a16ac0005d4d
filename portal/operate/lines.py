"""Lines of JSON for what isn't the portal's own log: gunicorn's master, and settings that are wrong.

The shape is that of `portal.web.logs`. The standard library alone: gunicorn's master loads none of the portal.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime


def are_wanted() -> bool:
    """Whether logs are JSON (PORTAL_LOG)."""
    return (os.environ.get("PORTAL_LOG") or "json") == "json"


def line(level: str, message: str, *, at: float | None = None, error: str | None = None) -> str:
    """Return one line without its end; `at` is in seconds since 1970, now unless given."""
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    entry = {"at": moment.isoformat(timespec="milliseconds"), "level": level, "message": message}
    return json.dumps({**entry, "error": error} if error else entry, ensure_ascii=False)


def say(level: str, text: str) -> None:
    """Write each line of the text to stderr, in the form that logs have."""
    for one in text.splitlines():
        sys.stderr.write(f"{line(level, one) if are_wanted() else one}\n")


class JsonLines(logging.Formatter):
    """A record as one line; of an exception its kind and where it was raised, for its text may hold anything."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if message.startswith("Invalid request from"):  # with an address behind it, and what was sent
            message = "Invalid request"
        return line(record.levelname.lower(), message, at=record.created, error=raised_at(record))


def raised_at(record: logging.LogRecord) -> str | None:
    """The kind of exception and where it was raised: an exception's own text may hold what a person typed."""
    if not record.exc_info or record.exc_info[0] is None:
        return None
    frames: list[str] = []
    trace = record.exc_info[2]
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{record.exc_info[0].__name__} at {' > '.join(frames[-8:])}"
