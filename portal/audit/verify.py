"""Verification of the audit files: every chain is recomputed and compared with its checkpoint.

A line is vouched for by its signature, under a secret key that is listed, and by a checkpoint not long before it.

Reads chain files, and logs that contain audit lines among others (`PORTAL_AUDIT=stderr`). A line is recognized by how
it begins; anything that a log collector puts in front is ignored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from portal.audit.checkpoints import Checkpoint
from portal.audit.signature import is_signed, keys_of
from portal.audit.trail import BEGIN, CHECKPOINT_SECONDS, GAP
from portal.parse import instant
from portal.values import Value

_FIRST = b'{"audit":'


class ChainVerdict(StrEnum):
    GOOD = "good"
    GAP = "gap"
    UNVOUCHED = "unvouched"
    BROKEN = "BROKEN"
    TRUNCATED = "TRUNCATED"
    MISSING = "MISSING"


class ChainResult(Value, frozen=True):
    where: str
    verdict: ChainVerdict
    words: str

    @property
    def is_bad(self) -> bool:
        return self.verdict in (ChainVerdict.BROKEN, ChainVerdict.TRUNCATED, ChainVerdict.MISSING)

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against the chain: it is good, or the portal itself recorded its gaps."""
        return self.verdict in (ChainVerdict.GOOD, ChainVerdict.GAP)


def verify(
    paths: Iterable[Path], checkpoints: Iterable[Checkpoint], secret_keys: Iterable[str]
) -> list[ChainResult]:
    """Verify every chain in these files or folders, and every chain that a checkpoint says should be there.

    Lines signed under other keys than `secret_keys` are unvouched.

    Raises OSError when a file can't be read.
    """
    by_chain = {checkpoint.chain: checkpoint for checkpoint in checkpoints}
    keys = keys_of(secret_keys)
    read: dict[str, _Reading] = {}
    unreadable: list[ChainResult] = []
    for file in _files(paths):
        unreadable += _read(file, read, by_chain, keys)
    found = [chain.finding() for _, chain in sorted(read.items())]
    lost = [_missing(checkpoint) for name, checkpoint in sorted(by_chain.items()) if name not in read]
    return [*found, *unreadable, *lost]


def report(findings: Sequence[ChainResult]) -> str:
    """Return the findings as text: one line for each chain, then what to do."""
    lines = [f"{finding.verdict:<9}  {finding.where}: {finding.words}" for finding in findings]
    bad = sum(finding.is_bad for finding in findings)
    unvouched = sum(finding.verdict is ChainVerdict.UNVOUCHED for finding in findings)
    gaps = sum(finding.verdict is ChainVerdict.GAP for finding in findings)
    lines += [
        "",
        f"{len(findings)} chains: {len(findings) - bad - unvouched - gaps} good, "
        + (f"{gaps} with gaps, " if gaps else "")
        + f"{unvouched} unvouched, {bad} bad.",
    ]
    if bad:
        lines.append(
            "Lines were changed or removed after they were written, or a folder was not given. Keep the files as "
            "they are, take a copy, and find out who could write to them and when; a backup or a log collector's "
            "copy shows what is missing."
        )
    if gaps:
        lines.append(
            "Gap: the portal itself recorded that lines couldn't be written, how many and when; nothing was changed since. "
            "Look for a full disk at that time. Pages were viewed meanwhile; no act was carried out without being recorded."
        )
    if unvouched:
        lines.append(
            "Unvouched: each line follows from the one before, but nothing shows that the portal wrote them all, and no "
            "more: a line has no signature, or one under a key that isn't listed (name former keys with --old-keys); or "
            "the store holds no checkpoint or only an earlier one (it has expired, the store was emptied or down when the "
            "process was killed), so that lines may be missing at the end."
        )
    return "\n".join(lines)


class _Line(msgspec.Struct):
    chain: str
    line: int
    before: str
    audit: str = ""
    at: str = ""
    lost: int = 0
    since: str = ""
    key: str = ""
    mac: str = ""


@dataclass(slots=True)
class _Reading:
    """One chain, as far as it has been read."""

    checkpoint: Checkpoint | None
    keys: Mapping[str, bytes]
    files: list[str] = field(default_factory=list[str])
    lines: int = 0
    head: str = BEGIN
    last_at: str = ""
    fault: str = ""
    gaps: list[str] = field(default_factory=list[str])
    unvouched: str = ""

    def take(self, line: _Line, text: bytes, where: str) -> None:
        if self.fault:
            return
        self.fault = self._fault(line, where) or self._forgery(line, text, where)
        self.unvouched = self.unvouched or self._doubt(line)
        self.lines, self.head, self.last_at = self.lines + 1, hashlib.sha256(text).hexdigest(), line.at
        if line.audit == GAP:
            self.gaps.append(f"{line.lost} lines of {line.since} to {line.at} couldn't be written")
        checkpoint = self.checkpoint
        if not self.fault and checkpoint and self.lines == checkpoint.lines and self.head != checkpoint.head:
            self.fault = (
                f"broken at line {self.lines} ({where}): it isn't the line that was checkpointed on "
                f"{_moment(checkpoint.at)}; this line, or every line up to it, was rewritten"
            )

    def _fault(self, line: _Line, where: str) -> str:
        expected = self.lines + 1
        if line.line > expected:
            gone = (
                f"line {expected} is"
                if line.line == expected + 1
                else f"lines {expected} to {line.line - 1} are"
            )
            return f"broken at line {expected} ({where}): {gone} missing before line {line.line}"
        if line.line < expected:
            return f"broken at line {expected} ({where}): found line {line.line} here: added, copied or moved"
        if line.before != self.head:
            before = f"line {self.lines}" if self.lines else "the beginning"
            return (
                f"broken at line {max(1, self.lines)} ({where}): line {expected} doesn't follow from {before}; "
                "one of them was changed"
            )
        return ""

    def _forgery(self, line: _Line, text: bytes, where: str) -> str:
        key = self.keys.get(line.key)
        if not line.mac or key is None or is_signed(text, key):
            return ""
        return f"broken at line {line.line} ({where}): its signature is wrong; it was changed, or the portal didn't write it"

    def _doubt(self, line: _Line) -> str:
        """Why nobody vouches for the line; empty if the portal does."""
        if not line.mac:
            return f"line {line.line} isn't signed"
        if line.key not in self.keys:
            return f"line {line.line} is signed under the key {line.key}, which isn't listed"
        checkpoint = self.checkpoint
        if (
            checkpoint
            and line.line > checkpoint.lines
            and _seconds(line.at) > checkpoint.at + CHECKPOINT_SECONDS
        ):
            return f"line {line.line} of {line.at} follows the last checkpoint by more than a minute"
        return ""

    def finding(self) -> ChainResult:
        verdict, words = self._judged()
        return ChainResult(", ".join(self.files), verdict, words)

    def _judged(self) -> tuple[ChainVerdict, str]:
        checkpoint = self.checkpoint
        if self.fault:
            return (
                ChainVerdict.BROKEN,
                f"{self.fault}. The lines before it are intact; from there on nothing is proven.",
            )
        held = f"{self.lines} lines, the last of {self.last_at}"
        if checkpoint is None:
            doubt = self.unvouched or "the store holds no checkpoint"
            return ChainVerdict.UNVOUCHED, "; ".join((held, doubt, *self.gaps))
        if self.lines < checkpoint.lines:
            return ChainVerdict.TRUNCATED, (
                f"{held}; but {checkpoint.lines} were written by {_moment(checkpoint.at)}: "
                f"the last {checkpoint.lines - self.lines} are gone"
            )
        if checkpoint.closed and self.lines > checkpoint.lines:
            return ChainVerdict.BROKEN, (
                f"broken at line {checkpoint.lines + 1}: the process ended with line {checkpoint.lines} on "
                f"{_moment(checkpoint.at)}; what follows was added"
            )
        if self.unvouched:
            return ChainVerdict.UNVOUCHED, "; ".join((held, self.unvouched, *self.gaps))
        gaps = [*self.gaps]
        if self.lines > checkpoint.lines:
            held = f"{held}; checkpointed up to line {checkpoint.lines} on {_moment(checkpoint.at)}"
        else:
            held = f"{held}; fully checkpointed"
            if checkpoint.lost:
                gaps.append(_lost(checkpoint))
        return (ChainVerdict.GAP, f"{held}; {'; '.join(gaps)}") if gaps else (ChainVerdict.GOOD, held)


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(path.glob("*.jsonl"))
        else:
            yield path


def _read(
    file: Path, read: dict[str, _Reading], checkpoints: dict[str, Checkpoint], keys: Mapping[str, bytes]
) -> list[ChainResult]:
    """Add the file's audit lines to their chains; return findings that belong to no chain."""
    found: list[ChainResult] = []
    is_chain = file.stem.startswith("audit-") and file.suffix == ".jsonl"
    with file.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            text = raw.rstrip(b"\n")
            begin = text.find(_FIRST)
            line = _decoded(text[begin:]) if begin >= 0 else None
            if line is None:
                is_being_written = not raw.endswith(b"\n")
                if is_chain and not is_being_written and not found:
                    words = f"broken at line {number}: it can't be read as an audit line"
                    found.append(ChainResult(str(file), ChainVerdict.BROKEN, words))
                continue
            reading = read.setdefault(line.chain, _Reading(checkpoints.get(line.chain), keys))
            if str(file) not in reading.files:
                reading.files.append(str(file))
            reading.take(line, text[begin:], f"{file.name}:{number}")
    return found


def _decoded(text: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _missing(checkpoint: Checkpoint) -> ChainResult:
    if not checkpoint.lines:
        return ChainResult(checkpoint.chain, ChainVerdict.GAP, _lost(checkpoint))
    return ChainResult(
        checkpoint.chain,
        ChainVerdict.MISSING,
        f"{checkpoint.lines} lines were written on host {checkpoint.host} to {checkpoint.target} by {_moment(checkpoint.at)}, "
        "but are in none of the given files: removed, emptied, or in a folder that was not given",
    )


def _lost(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.lost} lines up to {_moment(checkpoint.at)} couldn't be written"


def _seconds(at: str) -> float:
    moment = instant(at)
    return float("inf") if moment is None else moment.timestamp()


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "seconds")
