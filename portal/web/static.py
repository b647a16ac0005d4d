"""Static files under an address that changes with their content, so that browsers keep them for ever.

The scripts are one file, `scripts.js`, joined from their sources: a first visit on a slow network waits for each
request. `python -m portal.web.static` joins and compresses when the portal is installed; a start joins again what
changed since.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, cast
from wsgiref.headers import Headers

from flask import Flask
from whitenoise import WhiteNoise

FOLDER = Path(__file__).parents[2] / "static"
_SCRIPTS = ("vendor/htmx.js", "portal.js")
_JOINED = FOLDER / "scripts.js"


def init_app(app: Flask) -> None:
    """Serve the folder by WhiteNoise (pre-compressed siblings included) and make `static()` known to templates."""
    join_scripts()
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


def join_scripts() -> None:
    """Write the one script that pages load, if it isn't what its sources are now."""
    joined = b"".join((FOLDER / name).read_bytes().rstrip(b";\n") + b";\n" for name in _SCRIPTS)
    if not _JOINED.is_file() or _JOINED.read_bytes() != joined:
        written = FOLDER.parent / f".scripts-{os.getpid()}"  # not in the folder, which other workers read now
        written.write_bytes(joined)
        written.replace(_JOINED)


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
    del headers["Access-Control-Allow-Origin"]


if __name__ == "__main__":
    import whitenoise.compress

    join_scripts()
    sys.exit(cast("Any", whitenoise.compress).main(["--quiet", str(FOLDER)]))
