"""A summary of a run that an operator can file: when, of which API and dialect, what was found and what was accepted."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from portal import metrics
from portal.connect.conform.report import Report


def summary(report: Report, dialect: Path | None, key: str, now: float) -> bytes:
    """The summary as JSON. Its `seal` is the HMAC-SHA256 of the file with an empty one under the portal's newest secret key.

    Raises OSError if the dialect can't be read.
    """
    told = {
        "date": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "portal": metrics.code(),
        "clinic": report.clinic,
        "baseUrl": report.base_url,
        "side": report.side,
        "dialectSha256": hashlib.sha256(dialect.read_bytes()).hexdigest() if dialect else None,
        "exitStatus": report.status,
        "endpoints": {
            verdict.endpoint: verdict.not_tried or sorted(verdict.statuses.items())
            for verdict in report.verdicts
        },
        "gaps": [verdict.endpoint for verdict in report.verdicts if verdict.has_gap],
        "doubts": [doubt.about for doubt in report.doubts],
        "duties": report.duties,
        "accepted": sorted(report.accepted),
        "questions": len(report.proposal.undecided),
    }
    unsealed = msgspec.json.format(msgspec.json.encode({**told, "seal": ""}), indent=2) + b"\n"
    return unsealed.removesuffix(_END) + _seal(unsealed, key) + _END


def is_sealed(content: bytes, keys: Iterable[str]) -> bool:
    """Whether a summary is, byte for byte, what was sealed under one of these keys."""
    found = _SEALED.fullmatch(content)
    return found is not None and any(
        hmac.compare_digest(found[2], _seal(found[1] + _END, key)) for key in keys
    )


_END = b'"\n}\n'
_SEALED = re.compile(rb'(.*"seal": ")([0-9a-f]{64})"\n\}\n', re.DOTALL)


def _seal(unsealed: bytes, key: str) -> bytes:
    return hmac.new(key.encode(), b"conform\n" + unsealed, hashlib.sha256).hexdigest().encode()
