"""JSON log lines from outside the application: gunicorn's master process and invalid settings.

They have the same members as those of `portal.web.logs`. Standard library only: gunicorn's master doesn't load the
portal.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime


def are_wanted() -> bool:
    """Whether logs are JSON (PORTAL_LOG)."""
    return os.environ.get("PORTAL_LOG") != "text"


def line(level: str, message: str, *, at: float | None = None, error: str | None = None) -> str:
    """Return one line without a newline; `at` is in seconds since 1970, by default now."""
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    entry = {"at": moment.isoformat(timespec="milliseconds"), "level": level, "message": message}
    return json.dumps({**entry, "error": error} if error else entry, ensure_ascii=False)


def say(level: str, text: str) -> None:
    """Write each line of the text to stderr, in the format of the logs."""
    for part in text.splitlines():
        sys.stderr.write(f"{line(level, part) if are_wanted() else part}\n")


class JsonLines(logging.Formatter):
    """Formats a record as one line; of an exception only its type and where it was raised (see `raised_at`)."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if message.startswith("Invalid request from"):  # followed by the client's address and the request
            message = "Invalid request"
        return line(record.levelname.lower(), message, at=record.created, error=raised_at(record))


def raised_at(record: logging.LogRecord) -> str | None:
    """The exception's type and where it was raised, without its message, which may contain what a person typed."""
    if not record.exc_info or record.exc_info[0] is None:
        return None
    frames: list[str] = []
    trace = record.exc_info[2]
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{record.exc_info[0].__name__} at {' > '.join(frames[-8:])}"
