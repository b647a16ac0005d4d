"""PDF documents, made by WeasyPrint in a process of their own: `pdf(html)`.

WeasyPrint with Pango would make every worker twice as large, and a document that it chokes on would take the worker
down with it. So each document has a short-lived child (`python -m portal.printing`): it gets the HTML on stdin, has a
limit of time and of memory, and knows none of the portal's secrets. It may open its own style sheet, fonts and the
clinics' logos and nothing else: no file, no connection. Nothing here imports WeasyPrint.

The child seals the document too, where that is asked for. It alone reads the clinic's key, before it sees the page.
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
"""How long one document may take, on a machine that is busy; `LONGEST` lets none begin that takes more than half of it."""
WAIT_SECONDS = 5.0
"""How long a document waits for its turn."""
AT_ONCE = 4
"""How many documents one process has made at the same time."""
LONGEST = 700_000
"""Bytes of HTML that can be set in time: WeasyPrint takes about a second and one more for each 100 kB of running text."""
NO_PANGO = 3
"""The child's exit status when the system's libraries are missing."""
UNSEALED = "unsealed: "
"""How the child's line begins that says why it sealed nothing."""
PACKAGES = ("libpango-1.0-0", "libpangoft2-1.0-0", "libharfbuzz-subset0")
"""The Debian packages that WeasyPrint needs."""

_places = threading.BoundedSemaphore(AT_ONCE)
_memory = Path("/dev/shm")  # noqa: S108 (a folder of its own is made in it)


class Attached(msgspec.Struct, frozen=True):
    """A file that travels inside the PDF; `made_at` is what the PDF says of its age."""

    name: str
    description: str
    content: bytes
    made_at: datetime


class Seal(msgspec.Struct, frozen=True):
    """What a document is sealed with, PEM files by their absolute paths, and what the seal says of itself."""

    certificate: str
    key_file: str
    name: str
    reason: str
    made_at: datetime


class Order(msgspec.Struct, frozen=True):
    """What the child is asked for: a page of HTML that says its language and title, the files in it, its seal."""

    html: str
    attached: tuple[Attached, ...] = ()
    seal: Seal | None = None


class CannotPrint(Exception):
    """There is no PDF; `args[0]` says why, without a word of the document.

    `is_busy`: others are printing. `is_too_long`: trying again won't help.
    """

    def __init__(self, why: str, *, is_busy: bool = False, is_too_long: bool = False) -> None:
        super().__init__(why)
        self.is_busy = is_busy
        self.is_too_long = is_too_long


def pdf(
    html: str,
    *attached: Attached,
    seal: Seal | None = None,
    seconds: float = SECONDS,
    wait_seconds: float = WAIT_SECONDS,
) -> bytes:
    """Return the page as a tagged PDF (PDF/UA-1, ISO 14289-1), the same bytes for the same page without a seal.

    With `seal` it is sealed (see `portal.printing.sealing`); where that can't be done it comes without, and the log
    says why. The style sheet shows elements with `data-when="sealed"` or `data-when="unsealed"` when that is so.

    Raises CannotPrint at once when it is longer than can be set in time (`LONGEST`); later when it takes longer than
    `seconds`, needs too much memory, when as many as may are printing and none ends within `wait_seconds`, or when the
    system lacks Pango.
    """
    if len(html.encode()) > LONGEST:
        raise CannotPrint(f"{len(html)} characters are too many", is_too_long=True)
    order = msgspec.json.encode(Order(html, attached, seal))
    with _place(wait_seconds), _folder() as folder:
        return _child(order, folder, seconds)


def fault() -> str | None:
    """Return None when PDFs can be made here, else why not, in a few words."""
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
    """A folder for the fonts that the child unpacks, in memory where that is possible, gone with the child."""
    with tempfile.TemporaryDirectory(
        prefix="portal-print-", dir=_memory if _memory.is_dir() else None, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _child(order: bytes, folder: Path, seconds: float) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 (our own module)
            [sys.executable, "-m", __name__],
            input=order,
            capture_output=True,
            timeout=seconds,
            check=False,
            cwd=ROOT,
            # Nothing of the portal's environment: its secrets are no business of this process.
            env={
                "PATH": "/usr/bin:/bin",
                "LC_ALL": "C.UTF-8",
                "TZ": "UTC",
                "HOME": str(folder),
                "TMPDIR": str(folder),
            },
        )
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
