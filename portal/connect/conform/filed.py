"""A summary of a run that an operator can file: when, of which API and dialect, what was found and what was accepted."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from portal import metrics
from portal.connect.conform.report import Report


def summary(report: Report, dialect: Path | None, key: str, now: float) -> bytes:
    """The summary as JSON. Its `seal` is the HMAC-SHA256 of the rest under the portal's newest secret key."""
    told = {
        "date": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "portal": metrics.code(),
        "clinic": report.clinic,
        "baseUrl": report.base_url,
        "side": report.side,
        "dialectSha256": hashlib.sha256(dialect.read_bytes()).hexdigest() if dialect else None,
        "exitStatus": report.status,
        "endpoints": {one.endpoint: one.not_tried or sorted(one.statuses.items()) for one in report.verdicts},
        "gaps": [one.endpoint for one in report.verdicts if one.has_gap],
        "doubts": [one.about for one in report.doubts],
        "duties": report.duties,
        "accepted": sorted(report.accepted),
        "questions": len(report.proposal.undecided),
    }
    seal = hmac.new(key.encode(), msgspec.json.encode(told, order="sorted"), hashlib.sha256).hexdigest()
    return msgspec.json.format(msgspec.json.encode({**told, "seal": seal}), indent=2) + b"\n"
