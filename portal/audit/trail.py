"""Who did what, apart from the logs: one line of JSON for each event, chained by hash.

An event names a pseudonymous actor, a kind of record and its opaque id (of several records the first 100 `ids` and
their `count`), never names, bodies, addresses, tokens or free text. Each process start begins a chain of its own; every
line carries the chain's name, its own number and the SHA-256 of the line before. About once a minute, and when the
process ends, the chain's head is checkpointed in
the store (`portal.audit.checkpoints`); `python -m portal audit verify` compares both (`portal.audit.verify`).
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import logging
import os
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import msgspec

from portal.audit.checkpoints import Checkpoint, Checkpoints
from portal.clock import Clock
from portal.store import StoreDown

BEGIN = "begin"
"""What stands in a chain's first line instead of a hash."""

_ANCHOR_SECONDS = 60.0
_MOST_IDS = 100

log = logging.getLogger("portal")


class Audit:
    """An append-only stream of events, to a file for each process in a folder, or to stderr."""

    def __init__(self, target: str, secret_key: str, clock: Clock, checkpoints: Checkpoints) -> None:
        self._target = target
        self._secret_key = secret_key
        self._clock = clock
        self._checkpoints = checkpoints
        self._lock = threading.Lock()
        self._chain: _Chain | None = None
        atexit.register(self.close)

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
        ids: Sequence[str] | None = None,
        declared: str | None = None,
    ) -> None:
        """Append one event, such as `("consent.sign", "done")`; `ids` in place of `id_` where it concerns several.

        `declared` is the portal's own name of a sentence, with its language.
        """
        entry: dict[str, object] = {
            "audit": event,
            "outcome": outcome,
            "at": datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds"),
            "tenant": tenant,
            "actor": self.pseudonym(actor) if actor else None,
            "role": role,
            "kind": kind,
            "id": id_,
            "ids": None if ids is None else ids[:_MOST_IDS],
            "count": None if ids is None else len(ids),
            "declared": declared,
            "request": request_id,
        }
        with self._lock:
            chain = self._chain
            begins = chain is None or chain.process != os.getpid()
            if chain is None or begins:
                chain = self._chain = _Chain(self._target, self._clock())
            chain.append({name: value for name, value in entry.items() if value is not None})
        if begins:
            # A thread of its own, so that no request waits for a checkpoint and a quiet tail is checkpointed like a busy
            # one. It begins with the first event, in a worker: the process that forks workers has none.
            threading.Thread(target=self._keep_anchored, args=(chain,), name="audit", daemon=True).start()

    def close(self) -> None:
        """End and checkpoint this process's chain; a later event begins another."""
        with self._lock:
            chain, self._chain = self._chain, None
        if chain is None or chain.process != os.getpid():
            return
        chain.ended.set()
        self.checkpoint(chain)
        chain.close()

    def pseudonym(self, sub: str) -> str:
        """Return a stable name for a person that tells nothing without the portal's key."""
        return pseudonym(self._secret_key, sub)

    def checkpoint(self, chain: _Chain) -> None:
        """Checkpoint the chain's head; while the store is down nothing is lost but time: the next turn makes it up."""
        with chain.anchoring:
            ended = chain.ended.is_set()
            lines, head = chain.state
            if (lines, ended) == chain.checkpointed:
                return
            try:
                self._checkpoints.put(
                    Checkpoint(
                        chain=chain.name,
                        lines=lines,
                        head=head,
                        host=os.uname().nodename,
                        target=self._target,
                        at=self._clock(),
                        closed=ended,
                    )
                )
                chain.checkpointed = lines, ended
            except StoreDown as error:
                log.warning("audit head not checkpointed: %s", error)

    def _keep_anchored(self, chain: _Chain) -> None:
        while not chain.ended.is_set():
            self.checkpoint(chain)
            chain.ended.wait(_ANCHOR_SECONDS)


@lru_cache(maxsize=1024)
def pseudonym(secret_key: str, sub: str) -> str:
    """Return what a person (`sub`) is called in lines written under this key."""
    key = hashlib.sha256(b"audit" + secret_key.encode()).digest()
    return hmac.digest(key, sub.encode(), "sha256").hex()[:24]


class _Chain:
    """The lines of one process, each with the hash of the one before."""

    def __init__(self, target: str, now: float) -> None:
        self.process = os.getpid()
        begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        # Containers share process ids and folders; the last part tells their chains apart.
        self.name = f"audit-{begun}-{self.process}-{secrets.token_hex(4)}"
        self.state: tuple[int, str] = (0, BEGIN)
        self.checkpointed: tuple[int, bool] = (0, False)
        self.anchoring = threading.Lock()
        self.ended = threading.Event()
        self._file = None if target == "stderr" else _new_file(Path(target), self.name)

    def append(self, entry: dict[str, object]) -> None:
        lines, head = self.state
        text = msgspec.json.encode({**entry, "chain": self.name, "line": lines + 1, "before": head}).decode()
        # Before it is written: what a full disk keeps in the buffer is written with the next line.
        self.state = lines + 1, hashlib.sha256(text.encode()).hexdigest()
        stream = self._file or sys.stderr
        stream.write(f"{text}\n")  # in one piece, for the processes that share stderr
        stream.flush()

    def close(self) -> None:
        if self._file:
            self._file.close()


def _new_file(folder: Path, name: str) -> TextIO:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return (folder / f"{name}.jsonl").open("x", encoding="utf-8", newline="\n")
