"""What the portal writes to its error stream and its audit record."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread

AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")


class Stream(io.StringIO):
    """What the portal writes to its error stream."""


def audit_text(portal: PortalThread) -> str:
    folder = Path(portal.context.settings.audit)
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl")))


def log_lines(errors: Stream) -> list[dict[str, Any]]:
    return [json.loads(line) for line in errors.getvalue().splitlines() if line.startswith("{")]
