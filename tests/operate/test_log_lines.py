"""gunicorn's own log lines: in the format of the portal's, and without what an exception or a request says."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from portal.operate.log_lines import JsonLines


@pytest.mark.parametrize(
    ("message", "arguments", "said"),
    [
        ("Invalid request from ip=%s: %s", ("203.0.113.7", "GET /?name=Amelia"), "Invalid request"),
        ("Booting worker with pid: %s", (7,), "Booting worker with pid: 7"),
    ],
)
def test_a_line_has_its_time_in_utc_and_nothing_of_a_request_or_of_what_was_typed(
    message: str, arguments: tuple[object, ...], said: str
) -> None:
    try:
        raise ValueError("Amelia Hart")
    except ValueError:
        record = logging.LogRecord("gunicorn", logging.ERROR, __file__, 1, message, arguments, sys.exc_info())
    record.created = 1_798_535_000.5
    line = json.loads(JsonLines().format(record))
    assert line.pop("error").startswith("ValueError at test_log_lines.py:")
    assert line == {"at": "2026-12-29T09:03:20.500+00:00", "level": "error", "message": said}
