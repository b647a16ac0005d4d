"""The audit trail: who did what, separate from the logs, as one hash-chained line of JSON per event.

An event names a pseudonymous actor, a kind of record and its opaque id (for several records the first 100 `ids` and
their `count`), never names, bodies, addresses, tokens or free text. Each process starts its own chain; every line
carries the chain's name, its number, the SHA-256 of the previous line and a signature (`portal.audit.signature`). Once a
minute, and when the process ends, the chain's head is checkpointed in the store (`portal.audit.checkpoints`); `python -m portal audit verify`
compares the two (`portal.audit.verify`).

Before changing anything, callers make sure that it can be recorded (`assure`), which reserves room for the line. A
line that can't be written doesn't fail the request: it is counted, and the next line that can be written is preceded
by one that says how many are missing and since when (`GAP`), itself an ordinary line of the chain.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import hmac
import logging
import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from portal import metrics
from portal.audit import output, signature
from portal.audit.checkpoints import Checkpoint, Checkpoints
from portal.clock import Clock
from portal.store import StoreDown
from portal.values import Value

BEGIN = "begin"
"""Takes the place of the previous line's hash in a chain's first line."""

GAP = "audit.gap"
"""The event that stands for lines that couldn't be written: how many were `lost`, and `since` when."""

CHECKPOINT_SECONDS = 60.0
"""How often a running process checkpoints its chain, whether or not it has grown."""

_MOST_IDS = 100

log = logging.getLogger("portal")


class AuditDown(Exception):
    """An act couldn't be recorded; `args[0]` says why, in a word for logs."""


class _Gap(Value, frozen=True):
    """Lines that couldn't be written: how many, and when the first was lost (seconds since 1970)."""

    lost: int
    since: float


class Audit:
    """An append-only stream of events, to one file per process in a folder, or to stderr."""

    def __init__(self, target: str, secret_key: str, clock: Clock, checkpoints: Checkpoints) -> None:
        self._target = target
        self._secret_key = secret_key
        self._clock = clock
        self._checkpoints = checkpoints
        self._lock = threading.Lock()
        self._chain: _Chain | None = None
        self._gap: _Gap | None = None
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
        reason: str | None = None,
        acr: str | None = None,
        amr: Sequence[str] | None = None,
        also: Mapping[str, str] | None = None,
        is_promised: bool = False,
    ) -> None:
        """Append one event, such as `("consent.sign", "done")`; `ids` replaces `id_` where it concerns several records.

        `declared` is the portal's name for the declared sentence, with its language; `reason` is the portal's own words;
        `acr` and `amr` tell how the actor had signed in (OpenID Connect Core §2, RFC 8176);
        `also` holds ids of other kinds that were asked for, the pseudonyms of other people who took part, or a passkey's assertion. `is_promised`
        marks lines that `assure` reserved room for. A line that can't be written is counted
        as lost.
        """
        told: dict[str, object] = {
            "audit": event,
            "outcome": outcome,
            "at": _moment(self._clock()),
            "tenant": tenant,
            "actor": self.pseudonym(actor) if actor else None,
            "role": role,
            "kind": kind,
            "id": id_,
            "ids": None if ids is None else ids[:_MOST_IDS],
            "count": None if ids is None else len(ids),
            "declared": declared,
            "reason": reason,
            "acr": acr,
            "amr": amr,
            "also": also,
            "request": request_id,
        }
        entry = {name: value for name, value in told.items() if value is not None}
        with self._lock:
            try:
                self._append(entry, is_promised=is_promised)
            except OSError as error:
                self._lose(error)

    def assure(self) -> None:
        """Reserve room to record the act that follows; raise AuditDown if there is none."""
        with self._lock:
            try:
                self._current_chain().reserve()
                if self._gap:
                    self._append(None, is_promised=True)
            except OSError as error:
                raise AuditDown(_reason(error)) from error

    def probe(self) -> None:
        """Check that lines can be written, without writing one; raise AuditDown if not."""
        with self._lock:
            chain = self._chain
            try:
                if chain is None or chain.process != os.getpid() or chain.is_removed:
                    output.check_writable(self._target)
                else:
                    chain.reserve()
            except OSError as error:
                raise AuditDown(_reason(error)) from error

    def _append(self, entry: Mapping[str, object] | None, *, is_promised: bool) -> None:
        """Write the entry, preceded by a `GAP` line if lines are missing; raise OSError."""
        chain, gap = self._current_chain(), self._gap
        missing = gap and {"audit": GAP, "outcome": "lost", "lost": gap.lost, "since": _moment(gap.since)}
        missing = missing and {**missing, "at": _moment(self._clock())}
        begins = chain.state == (0, BEGIN)
        chain.append([event for event in (missing, entry) if event], is_promised=is_promised)
        if begins:
            # A separate thread, so that no request waits for a checkpoint, and the last lines before a quiet time are
            # checkpointed too. It starts with the first event, hence in a worker and not before the fork.
            threading.Thread(
                target=self._checkpoint_regularly, args=(chain,), name="audit", daemon=True
            ).start()
        if gap:
            self._gap = None
            log.warning("audit goes on after %d lost lines", gap.lost)

    def _lose(self, error: OSError) -> None:
        if self._gap is None:
            log.error("audit lines are being lost: %s", _reason(error))
        before = self._gap or _Gap(0, self._clock())
        self._gap = _Gap(before.lost + 1, before.since)
        metrics.audit_lost()

    def _current_chain(self) -> _Chain:
        """Return this process's chain, started if there is none or its file was removed; raise OSError."""
        chain = self._chain
        if chain is not None and chain.process != os.getpid():
            chain = self._chain = self._gap = None  # the parent process's
        if chain is not None and chain.is_removed:
            log.error("an audit file was removed while lines were written to it: another is begun")
            chain.ended.set()  # its thread checkpoints it
            chain.close()
            chain = self._chain = None
        if chain is None:
            chain = self._chain = _Chain(self._target, self._clock(), self._secret_key)
        return chain

    def close(self) -> None:
        """End and checkpoint this process's chain; a later event starts another."""
        with self._lock:
            chain = self._chain
            if chain is None or chain.process != os.getpid():
                self._chain = None
                return
            try:
                if self._gap:
                    self._append(None, is_promised=True)
            except OSError as error:
                log.error("audit ended with %s lost lines: %s", self._gap and self._gap.lost, _reason(error))
            chain, self._chain = self._chain, None
        if chain is None:
            return
        chain.ended.set()
        self.checkpoint(chain)
        chain.close()

    def pseudonym(self, sub: str) -> str:
        """Return a stable pseudonym for a person, meaningless without the portal's key."""
        return pseudonym(self._secret_key, sub)

    def checkpoint(self, chain: _Chain, *, again: bool = False) -> None:
        """Checkpoint the chain's head, if it changed or `again`; while the store is down, the next round tries again."""
        with chain.checkpointing:
            ended = chain.ended.is_set()
            lines, head = chain.state
            gap = self._gap
            lost = gap.lost if gap else 0
            is_known = (lines, ended, lost) == chain.checkpointed
            if (is_known and not again) or not (lines or lost):
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
                        lost=lost,
                    )
                )
                chain.checkpointed = lines, ended, lost
            except StoreDown as error:
                log.warning("audit head not checkpointed: %s", error)

    def _checkpoint_regularly(self, chain: _Chain) -> None:
        self.checkpoint(chain, again=True)
        while not chain.ended.wait(CHECKPOINT_SECONDS):
            self.checkpoint(chain, again=True)
        self.checkpoint(chain)


@lru_cache(maxsize=1024)
def pseudonym(secret_key: str, sub: str) -> str:
    """Return the pseudonym of a person (`sub`) in lines written under this key."""
    key = hashlib.sha256(b"audit" + secret_key.encode()).digest()
    return hmac.digest(key, sub.encode(), "sha256").hex()[:24]


class _Chain:
    """The lines of one process, each with the hash of the previous one, and signed."""

    def __init__(self, target: str, now: float, secret_key: str) -> None:
        ((self._key_name, self._key),) = signature.keys_of([secret_key]).items()
        self.process = os.getpid()
        begun = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
        # Containers may share process ids and folders; the last part keeps their chains apart.
        self.name = f"audit-{begun}-{self.process}-{secrets.token_hex(4)}"
        self.state: tuple[int, str] = (0, BEGIN)
        self.checkpointed: tuple[int, bool, int] = (0, False, 0)
        self.checkpointing = threading.Lock()
        self.ended = threading.Event()
        self._output = output.output(target, self.name)

    @property
    def is_removed(self) -> bool:
        return self._output.is_removed

    def reserve(self) -> None:
        self._output.reserve()

    def append(self, entries: Sequence[Mapping[str, object]], *, is_promised: bool) -> None:
        """Write a line for each entry, all or none; raise OSError."""
        lines, head = self.state
        written: list[bytes] = []
        for entry in entries:
            told = {**entry, "chain": self.name, "line": lines + 1, "before": head, "key": self._key_name}
            text = signature.signed(msgspec.json.encode(told), self._key)
            lines, head = lines + 1, hashlib.sha256(text).hexdigest()
            written.append(text + b"\n")
        self._output.write(b"".join(written), is_promised=is_promised)
        self.state = lines, head

    def close(self) -> None:
        self._output.close()


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _reason(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
