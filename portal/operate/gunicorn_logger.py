"""Formats gunicorn's own log lines like the portal's: `logger_class` in gunicorn.conf.py."""

# gunicorn has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedBaseClass=false

from __future__ import annotations

from typing import Any

from gunicorn import glogging

from portal.operate import log_lines


class Logger(glogging.Logger):
    """Logs JSON unless PORTAL_LOG is text."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        if log_lines.are_wanted():
            for handler in self.error_log.handlers:
                handler.setFormatter(log_lines.JsonLines())
