"""PDF documents, made by WeasyPrint in a separate process: `pdf(html)`.

WeasyPrint and Pango would double every worker's memory, and a document that crashes them would take the worker down. So
each document is made by a short-lived child process (`python -m portal.printing`): it gets the HTML on stdin, has limited
time and memory, and has none of the portal's secrets. It may open its own style sheet, fonts and the clinics' logos and
nothing else: no other file, no connection. Nothing here imports WeasyPrint.

The child also seals the document on request. Only the child reads the clinic's key, and it does so before it parses the
page.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

log = logging.getLogger("portal")

ROOT = Path(__file__).parents[2]
SECONDS = 20.0
"""How long one document may take on a busy machine; `LONGEST` rejects those that would take more than half of it."""
WAIT_SECONDS = 5.0
"""How long a document waits for its turn."""
AT_ONCE = 4
"""How many documents a process makes at the same time."""
LONGEST = 700_000
"""Bytes of HTML that can be rendered in time: WeasyPrint takes about a second, plus one per 100 kB of running text."""
NO_PANGO = 3
"""The child's exit status when the system's libraries are missing."""
UNSEALED = "unsealed: "
"""Prefix of the line in which the child says why it didn't seal the document."""
PACKAGES = ("libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0")
"""The Debian packages that WeasyPrint needs."""

_places = threading.BoundedSemaphore(AT_ONCE)
_memory = Path("/dev/shm")  # noqa: S108 (only a unique folder is created in it)


class AttachedFile(msgspec.Struct, frozen=True):
    """A file attached to the PDF; `made_at` is its date in the PDF."""

    name: str
    description: str
    content: bytes
    made_at: datetime


class Seal(msgspec.Struct, frozen=True):
    """The PEM files that a document is sealed with, by absolute path, and the seal's own details."""

    certificate: str
    key_file: str
    name: str
    reason: str
    made_at: datetime


class PrintJob(msgspec.Struct, frozen=True):
    """The child's input: an HTML page with language and title, the files to attach, the seal."""

    html: str
    attached: tuple[AttachedFile, ...] = ()
    seal: Seal | None = None


class CannotPrint(Exception):
    """No PDF could be made; `args[0]` says why, without quoting the document.

    `is_busy`: too many documents are being made. `is_too_long`: trying again won't help.
    """

    def __init__(self, why: str, *, is_busy: bool = False, is_too_long: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy
        self.is_too_long = is_too_long


def pdf(
    html: str,
    *attached: AttachedFile,
    seal: Seal | None = None,
    seconds: float = SECONDS,
    wait_seconds: float = WAIT_SECONDS,
) -> bytes:
    """Return the page as a tagged PDF (PDF/UA-1, ISO 14289-1). Without a seal, the same page gives the same bytes.

    With `seal` it is sealed (see `portal.printing.sealing`); if that fails, it is returned unsealed and the log says why.
    Elements with `data-when="sealed"` or `data-when="unsealed"` are shown accordingly.

    Raises CannotPrint at once if the page is too long (`LONGEST`); later if it takes longer than `seconds` or too much
    memory, if `AT_ONCE` documents are being made and none ends within `wait_seconds`, or if the system lacks Pango.
    """
    if len(html.encode()) > LONGEST:
        raise CannotPrint(f"{len(html)} characters are too many", is_too_long=True)
    job = msgspec.json.encode(PrintJob(html, attached, seal))
    with _place(wait_seconds), _folder() as folder:
        return _child(job, folder, seconds)


def fault() -> str | None:
    """Return None if PDFs can be made here, else the reason in a few words."""
    try:
        pdf('<html lang="en"><title>.</title><p>.')
    except CannotPrint as error:
        return str(error)
    return None


@contextmanager
def _place(wait_seconds: float) -> Generator[None]:
    if not _places.acquire(timeout=wait_seconds):
        raise CannotPrint(f"{AT_ONCE} documents are being made, and none was done in time", is_busy=True)
    try:
        yield
    finally:
        _places.release()


@contextmanager
def _folder() -> Generator[Path]:
    """A temporary folder for the fonts that the child unpacks, in memory if possible."""
    with tempfile.TemporaryDirectory(
        prefix="portal-print-", dir=_memory if _memory.is_dir() else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _child(job: bytes, folder: Path, seconds: float) -> bytes:
    try:
        done = _run(job, folder, seconds)
    except subprocess.TimeoutExpired:
        raise CannotPrint(f"it took more than {seconds:g} s") from None
    except OSError as error:
        raise CannotPrint(f"no process could be started ({error.strerror})") from error
    if done.returncode == NO_PANGO:
        raise CannotPrint("the system lacks Pango")
    if done.returncode != 0 or not done.stdout.startswith(b"%PDF-"):
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
        raise CannotPrint(f"the process ended with {done.returncode} {said}".strip())
    for line in done.stderr.decode(errors="replace").splitlines():
        if line.startswith(UNSEALED):
            log.error("a PDF without its seal: %s", line.removeprefix(UNSEALED))
    return done.stdout


def _run(job: bytes, folder: Path, seconds: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 (our own module)
        [sys.executable, "-m", __name__],
        input=job,
        capture_output=True,
        timeout=seconds,
        check=False,
        cwd=ROOT,
        env=environment(folder),
    )


def environment(folder: Path) -> dict[str, str]:
    """Return the child's environment: the portal's isn't passed on, because it contains secrets."""
    return {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
