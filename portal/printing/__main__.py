"""The child process: reads a `PrintJob` from stdin and writes the PDF to stdout. It doesn't trust the page.

It reads the certificate and key, then confines itself, and only then parses the page.
"""

# WeasyPrint has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import gc
import importlib
import logging
import mimetypes
import os
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from unicodedata import bidirectional

import msgspec

from portal.printing import NO_PANGO, ROOT, SECONDS, UNSEALED, AttachedFile, PrintJob, Seal

if TYPE_CHECKING:
    from portal.printing.sealing import DocumentSealer

_INLINE = ("bdi", "span", "strong", "em", "time", "code")
_ISOLATE, _END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"
_MEMORY = 1 << 30
_FILES = 128
_HERE = Path(__file__).parent
_TYPES = {".css": "text/css", ".ttf": "font/ttf", ".svg": "image/svg+xml", ".png": "image/png"}
OURS = {
    f"portal:{file.name}": file
    for folder in (_HERE, _HERE / "fonts", ROOT / "static" / "brand")
    for file in sorted(folder.iterdir())
    if file.suffix in _TYPES
}
"""The only resources that a page may refer to, by address."""


def main() -> int:
    """Return the exit status: 0 when the PDF is written, NO_PANGO, or 1 after a line that names the failure."""
    _limit()
    gc.disable()  # a tenth of the time; this process lives for one document, and its memory is bounded
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=PrintJob)
    try:
        importlib.import_module("weasyprint")
    except OSError:  # a system library is missing
        return NO_PANGO
    mimetypes.init(())
    sealer = _sealer(job.seal) if job.seal else None
    sys.addaudithook(_Confinement(os.environ.get("TMPDIR", "/nonexistent")))
    try:
        document = _document(job, sealer)
    except Exception as error:  # noqa: BLE001 (only the exception's name is printed: its message may quote the page)
        print(type(error).__name__, file=sys.stderr)  # noqa: T201
        return 1
    sys.stdout.buffer.write(document)
    return 0


def _sealer(seal: Seal) -> DocumentSealer | None:
    """Return a sealer with the given files, or None after a line that says why there is none."""
    from portal.printing.credentials import CannotSeal, read_credentials

    try:
        credentials = read_credentials(Path(seal.certificate), Path(seal.key_file))
        credentials.check_time(seal.made_at)
        from portal.printing.sealing import DocumentSealer

        return DocumentSealer(credentials)
    except CannotSeal as error:
        _say_unsealed(str(error))
    except Exception as error:  # noqa: BLE001 (only the exception's name is printed: its message may quote the key)
        _say_unsealed(type(error).__name__)
    return None


def _say_unsealed(why: str) -> None:
    print(f"{UNSEALED}{' '.join(why.split())}", file=sys.stderr, flush=True)  # noqa: T201


def _document(job: PrintJob, sealer: DocumentSealer | None) -> bytes:
    """Return the PDF, sealed if possible, with the page's text for the sealed or unsealed case."""
    if job.seal is not None and sealer is not None:
        document = _made(job, is_sealed=True)
        try:
            return sealer.sealed(document, job.seal)
        except Exception as error:  # noqa: BLE001 (as above)
            _say_unsealed(type(error).__name__)
    return _made(job, is_sealed=False)


def _limit() -> None:
    """Limit memory, time and files."""
    seconds = int(SECONDS) + 5
    for what, most in (
        (resource.RLIMIT_AS, _MEMORY),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


class _Confinement:
    """An audit hook (PEP 578) that forbids connections, processes, and files other than the portal's own."""

    def __init__(self, own: str) -> None:
        self._readable = tuple(
            os.path.join(str(folder), "")  # noqa: PTH118 (asked for every file that is opened)
            for folder in (own, _HERE, ROOT / "static" / "brand", sys.prefix, sys.base_prefix)
        )
        self._writable = os.path.join(own, "")  # noqa: PTH118

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event.startswith(("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system")):
            raise PermissionError(event)
        if event == "open" and not isinstance(arguments[0], int):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            reads_only = not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not path.startswith(self._readable if reads_only else self._writable):
                raise PermissionError(event)


def _made(job: PrintJob, *, is_sealed: bool) -> bytes:
    from weasyprint import HTML, Attachment
    from weasyprint.urls import URLFetcher, URLFetcherResponse

    class Ours(URLFetcher):
        """Serves the files of `OURS` and refuses every other address, whatever its scheme."""

        def fetch(self, url: str, headers: Any = None) -> Any:
            file = OURS.get(url)
            if file is None:
                raise ValueError("not ours")
            return URLFetcherResponse(url, file.read_bytes(), {"Content-Type": _TYPES[file.suffix]})

    def attachment(file: AttachedFile) -> Any:
        return Attachment(
            string=file.content,
            name=file.name,
            description=file.description,
            created=file.made_at,
            modified=file.made_at,
        )

    logging.getLogger("weasyprint").setLevel(logging.CRITICAL)
    page = HTML(string=job.html, base_url="portal:", url_fetcher=Ours(), media_type="print")
    if job.seal is not None:
        page.etree_element.set("data-seal", "sealed" if is_sealed else "unsealed")
    for link in page.etree_element.iter("a"):
        if link.get("href", "").startswith("/"):
            del link.attrib["href"]  # leads nowhere from a file
    for facts in list(page.etree_element.iter("dl")):
        _make_table(facts)
    for foreign in [
        element
        for element in page.etree_element.iter()
        if element.tag == "bdi" or element.get("dir") == "auto"
    ]:
        _set_apart(foreign)
    document = page.write_pdf(
        pdf_variant="pdf/ua-1",
        pdf_identifier=b"",
        attachments=[attachment(file) for file in job.attached] or None,
    )
    return document or b""


def _set_apart(foreign: Any) -> None:
    """Isolate texts of unknown direction, because WeasyPrint supports neither dir=auto nor bdi (UAX #9 §2.4)."""
    kinds = (bidirectional(letter) for letter in "".join(foreign.itertext()))
    strong = next((kind for kind in kinds if kind in ("L", "R", "AL")), "L")
    foreign.set("dir", "ltr" if strong == "L" else "rtl")
    if foreign.tag not in _INLINE:
        return
    foreign.text = _ISOLATE + (foreign.text or "")
    if len(foreign):
        foreign[-1].tail = (foreign[-1].tail or "") + _END
    else:
        foreign.text += _END


def _make_table(facts: Any) -> None:
    """Turn a description list into a table: PDF has no such list (ISO 32000-1 §14.8.4.3.3), and in a table a screen
    reader says which term a value belongs to."""
    becomes = {"div": "tr", "dt": "th", "dd": "td"}
    for element in facts.iter():
        element.tag = becomes.get(element.tag, element.tag)
    rows = list(facts)
    facts.tag, facts[:] = "table", []
    body = facts.makeelement("tbody", {})
    body.extend(rows)
    facts.append(body)


def _end(status: int) -> NoReturn:
    """End without Python's clean-up: it would unload Pango, in which a thread may still run, and crash."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(main())
