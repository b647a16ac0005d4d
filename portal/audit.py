"""Who did what, apart from the logs: one line of JSON for each event, chained by hash.

An event names a pseudonymous actor, a kind of record and its opaque id, never names, bodies, addresses, tokens or
free text. Each process start begins a chain of its own; every line carries the SHA-256 of the line before.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import msgspec

from portal.clock import Clock


class Audit:
    """An append-only stream of events, to a file for each process in a folder, or to stderr."""

    def __init__(self, target: str, secret_key: str, clock: Clock) -> None:
        self._target = target
        self._key = hashlib.sha256(b"audit" + secret_key.encode()).digest()
        self._clock = clock
        self._lock = threading.Lock()
        self._process = 0
        self._stream: TextIO = sys.stderr
        self._last = ""

    def record(
        self,
        event: str,
        outcome: str,
        *,
        tenant: str,
        request_id: str,
        actor: str | None = None,
        role: str | None = None,
        kind: str | None = None,
        id_: str | None = None,
    ) -> None:
        """Append one event, such as `("consent.sign", "done")`."""
        entry = {
            "audit": event,
            "outcome": outcome,
            "at": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds"),
            "tenant": tenant,
            "actor": self.pseudonym(actor) if actor else None,
            "role": role,
            "kind": kind,
            "id": id_,
            "request": request_id,
        }
        with self._lock:
            if self._process != os.getpid():
                self._begin_chain()
            line = {
                **{name: value for name, value in entry.items() if value is not None},
                "before": self._last,
            }
            text = msgspec.json.encode(line).decode()
            self._last = hashlib.sha256(text.encode()).hexdigest()
            print(text, file=self._stream, flush=True)

    def close(self) -> None:
        """Close this process's chain; a later event begins another."""
        with self._lock:
            if self._stream is not sys.stderr:
                self._stream.close()
            self._process = 0

    def pseudonym(self, sub: str) -> str:
        """Return a stable name for a person that tells nothing without the portal's key."""
        return hmac.new(self._key, sub.encode(), hashlib.sha256).hexdigest()[:24]

    def _begin_chain(self) -> None:
        self._process = os.getpid()
        self._last = "begin"
        if self._target == "stderr":
            self._stream = sys.stderr
            return
        folder = Path(self._target)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"audit-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(self._clock()))}-{self._process}.jsonl"
        self._stream = (folder / name).open("a", encoding="utf-8")
