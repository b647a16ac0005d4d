"""Static files under an address that changes with their content, so that browsers keep them for ever."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from wsgiref.headers import Headers

from flask import Flask
from whitenoise import WhiteNoise

FOLDER = Path(__file__).parents[2] / "static"


def init_app(app: Flask) -> None:
    """Serve the folder by WhiteNoise (pre-compressed siblings included) and make `static()` known to templates."""
    _drop_stale_copies()
    prefix = f"static/{_digest()}"
    app.wsgi_app = WhiteNoise(  # pyright: ignore[reportAttributeAccessIssue]
        app.wsgi_app,
        root=str(FOLDER),
        prefix=prefix,
        immutable_file_test=_always,
        add_headers_function=_headers,
    )
    app.jinja_env.globals["static"] = lambda name: f"/{prefix}/{name}"  # pyright: ignore[reportArgumentType, reportUnknownLambdaType]


def _drop_stale_copies() -> None:
    """Remove compressed siblings that are older than their file: WhiteNoise would serve yesterday's sheet."""
    for copy in [*FOLDER.rglob("*.br"), *FOLDER.rglob("*.gz")]:
        source = copy.with_suffix("")
        if not source.exists() or source.stat().st_mtime > copy.stat().st_mtime:
            with suppress(OSError):
                copy.unlink()


def _digest() -> str:
    content = hashlib.sha256()
    for file in sorted(FOLDER.rglob("*")):
        if file.is_file() and file.suffix not in (".gz", ".br"):
            content.update(file.relative_to(FOLDER).as_posix().encode())
            content.update(file.read_bytes())
    return content.hexdigest()[:12]


def _always(path: str, url: str) -> bool:
    return True


def _headers(headers: Headers, path: str, url: str) -> None:
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    del headers["Access-Control-Allow-Origin"]
