"""PDF documents: their content, the sandbox, and what happens when one can't be made."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from pypdf import PdfReader

from portal import printing
from portal.printing import AttachedFile, CannotPrint, pdf

PAGE = (
    '<!doctype html><html lang="{lang}" dir="{dir}"><head><meta charset="utf-8"><title>A form</title>'
    '<meta name="dcterms.created" content="2026-11-21T09:30:00Z">'
    '<link rel="stylesheet" href="portal:print.css"></head><body><main>{body}</main></body></html>'
)
FILE = AttachedFile("signed.json", "What was signed", b'{"a":1}', datetime(2026, 11, 21, tzinfo=UTC))


def page(body: str, lang: str = "en", dir_: str = "ltr") -> str:
    return PAGE.format(body=body, lang=lang, dir=dir_)


def read(document: bytes) -> PdfReader:
    return PdfReader(io.BytesIO(document))


def words(document: bytes) -> str:
    return " ".join(" ".join(one.extract_text() for one in read(document).pages).split())


def test_the_same_page_gives_the_same_bytes() -> None:
    html = page(
        "<h1>Consent</h1><p>Ünïcode, Łódź, <b>bold</b>, <code>0a1b</code></p><p>نص عربي</p>", "ar", "rtl"
    )
    first, second = pdf(html, FILE), pdf(html, FILE)
    assert hashlib.sha256(first).digest() == hashlib.sha256(second).digest()


def test_an_attached_file_is_unchanged() -> None:
    assert read(pdf(page("<p>x"), FILE)).attachments["signed.json"] == [FILE.content]


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """A server that notes every request that reaches it."""
    asked: list[str] = []

    class Noting(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = http.server.HTTPServer(("127.0.0.1", 0), Noting)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_port, asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_hostile_page_reaches_neither_files_nor_the_network(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the-secret-in-a-file")
    with listening() as (port, asked):
        there, file = f"http://127.0.0.1:{port}", secret.as_uri()
        document = pdf(
            page(
                f'<base href="{there}/base/"><link rel="stylesheet" href="{there}/sheet.css">'
                f'<link rel="attachment" href="{file}"><a rel="attachment" href="{file}">a</a>'
                f"<style>@import url({there}/import.css); @font-face{{font-family:x;src:url({there}/font)}}"
                f"p{{background:url({there}/background);font-family:x}} p::after{{content:url({file})}}</style>"
                f'<img src="{there}/picture" alt=""><img src="{file}" alt=""><img src="relative.png" alt="">'
                '<img src="data:image/svg+xml,<svg xmlns=\'http://www.w3.org/2000/svg\'/>" alt="">'
                f'<object data="{file}"></object><embed src="{there}/embed"><iframe src="{file}"></iframe>'
                f'<svg><image href="{there}/svg"/><use href="{file}#x"/></svg>'
                "<img src=\"portal:../../settings.py\" alt=''><img src='portal:__main__.py' alt=''><p>Still here</p>"
            )
        )
    assert asked == []
    assert "Still here" in words(document)
    assert b"the-secret-in-a-file" not in document
    assert not read(document).attachments


def test_the_printing_process_cannot_connect_start_processes_or_write_files(tmp_path: Path) -> None:
    tries = """
import contextlib, socket, subprocess, sys
from portal.printing.__main__ import _Confinement
sys.addaudithook(_Confinement(sys.argv[1]))
for attempt in (
    lambda: socket.create_connection(("127.0.0.1", 9)),
    lambda: subprocess.run(["true"]),
    lambda: open("/etc/passwd"),
    lambda: open(sys.argv[1] + "/../outside", "w"),
    lambda: open("/proc/self/environ"),
):
    try:
        attempt()
    except PermissionError:
        print("refused")
open(sys.argv[1] + "/inside", "w").close()
print("written")
"""
    own = tmp_path / "own"
    own.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", tries, str(own)], capture_output=True, text=True, check=True, cwd=printing.ROOT
    )
    assert done.stdout.split() == ["refused"] * 5 + ["written"]


def test_the_printing_process_ends_without_pythons_clean_up(tmp_path: Path) -> None:
    """The clean-up unloads Pango; a thread of Pango's that still ran crashed it now and then."""
    order = msgspec.json.encode(printing.PrintJob(page("<p>Hello</p>")))
    run = """
import atexit, os, runpy
atexit.register(os.write, 2, b"cleaned up")
runpy.run_module("portal.printing", run_name="__main__")
"""
    done = subprocess.run(
        [sys.executable, "-c", run],
        input=order, capture_output=True, cwd=printing.ROOT, check=False, env={"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert words(done.stdout) == "Hello"


def test_the_printing_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PORTAL_SECRET_KEYS", "known-to-the-portal-alone")
    seen = tmp_path / "seen"
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\nenv > {seen}\n")
    spy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(spy))
    with pytest.raises(CannotPrint):
        pdf(page("x"))
    assert "LC_ALL" in seen.read_text()
    assert "known-to-the-portal-alone" not in seen.read_text()


def test_a_document_that_takes_too_long_is_cancelled() -> None:
    with pytest.raises(CannotPrint, match=r"more than 0\.05 s"):
        pdf(page("<p>slow</p>"), seconds=0.05)


def test_a_document_that_needs_too_much_memory_is_cancelled_without_logging_its_text() -> None:
    greedy = page("<table><tr><td colspan='100000000'>private words</td></tr></table>")
    with pytest.raises(CannotPrint, match="MemoryError") as failed:
        pdf(greedy)
    assert "private" not in str(failed.value)


def test_two_documents_are_made_at_once_and_a_third_waits() -> None:
    def make(number: int) -> str:
        return words(pdf(page(f"<p>Number {number}</p>"), wait_seconds=60, seconds=90))

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(make, range(3))) == ["Number 0", "Number 1", "Number 2"]


def test_waiting_too_long_for_printing_is_reported_as_busy() -> None:
    taken = [printing._places.acquire() for _ in range(printing.AT_ONCE)]
    try:
        with pytest.raises(CannotPrint) as failed:
            pdf(page("<p>x"), wait_seconds=0.01)
    finally:
        for _ in taken:
            printing._places.release()
    assert failed.value.is_busy


def test_a_missing_pango_is_reported_as_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lacking = tmp_path / "lacking.sh"
    lacking.write_text(f"#!/bin/sh\nexit {printing.NO_PANGO}\n")
    lacking.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(lacking))
    assert printing.fault() == "the system lacks Pango"


def test_importing_the_portal_does_not_import_weasyprint() -> None:
    asked = "import portal.app, sys; sys.exit('weasyprint' in sys.modules)"
    subprocess.run([sys.executable, "-c", asked], check=True, cwd=printing.ROOT, env={**os.environ})


def test_printing_leaves_no_files_or_processes_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "_memory", tmp_path)
    pdf(page("<p>x"))
    with pytest.raises(CannotPrint):
        pdf(page("<p>x"), seconds=0.05)
    assert list(tmp_path.iterdir()) == []


def test_only_a_whole_address_is_a_link() -> None:
    document = pdf(page('<p><a href="/consents/c-1">Form</a> <a href="tel:+442079460120">Call</a></p>'))
    links = [note.get_object()["/A"]["/URI"] for one in read(document).pages for note in one["/Annots"]]
    assert links == ["tel:+442079460120"]


def test_what_a_process_wrote_before_it_failed_is_no_document(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], returncode=1, stdout=b"%PDF-1.7\n", stderr=b"MemoryError\n")
    monkeypatch.setattr(printing, "_run", lambda *_: done)
    with pytest.raises(CannotPrint, match="ended with 1 MemoryError"):
        pdf("<p>.")
