"""Static files, each at an address that changes with its content, so browsers cache it for good.

A page needs one script and one sheet to render, joined from the modules in `static/scripts` and the parts in
`static/styles` and minified: on a slow network a first visit waits for each request and each kilobyte. The clinic's
colours are therefore the end of that sheet, and the script loads htmx with its extensions after the page has rendered.
`python -m portal.web.static` makes and compresses them when the portal is installed; a start makes again what changed
since.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, cast
from wsgiref.headers import Headers

import rcssmin
import rjsmin
from flask import Flask
from whitenoise import WhiteNoise
from whitenoise.compress import Compressor

from portal.web.compression import Encoding, compress_fully

FOLDER = Path(__file__).parents[2] / "static"
_jsmin = cast("Callable[[str], str]", cast("Any", rjsmin).jsmin)
_cssmin = cast("Callable[[str], str]", cast("Any", rcssmin).cssmin)
_SCRIPT_IMPORT = re.compile(r'^import (?:\{ ([\w$, ]+) \} from )?"(\.[\w./]+\.js)";\n', re.M)
_EXPORT = re.compile(r"^export (?=(?:const|let) ([\w$]+))", re.M)
_MODULE_SYNTAX = re.compile(r"^(?:import|export)\b(?!\().*", re.M)
_IMPORTS = re.compile(r'(?:@import "[\w/]+\.css" layer\(\w+\);\s*)+')
_IMPORT = re.compile(r'@import "([\w/]+\.css)" layer\((\w+)\);')
_DESCENDANT = re.compile(r"(?<=[\w)\]]) :(?=[a-z-])")
"""`.table :is(td)`: rcssmin takes the colon for a declaration's when it stands in a nested block, and drops the space."""

SCRIPTS = {
    "scripts.js": "portal.js",
    "staff-scripts.js": "staff.js",
    "conversations-scripts.js": "conversations.js",
    "passkey-scripts.js": "passkeys.js",
    "page-speed-scripts.js": "page_speed.js",
}
"""Each script with the module in `static/scripts` that imports its parts in order."""

SHEETS = {
    "styles.css": "portal.css",
    "staff-styles.css": "staff.css",
    "conversations-styles.css": "conversations.css",
    "booking-styles.css": "booking.css",
    "care-team-styles.css": "care_team.css",
    "notification-settings-styles.css": "notification_settings.css",
    "as-seen-styles.css": "as_seen.css",
}
"""Each sheet with the file in `static/styles` that imports its parts in order."""

_COPIES = {".br", ".gz"}
"""How the names of compressed copies end."""

_CLINICS = 128
"""Whose sheets are kept compressed: 11 kB each; every browser asks once a release."""


def init_app(app: Flask) -> None:
    """Serve what pages load by WhiteNoise (pre-compressed siblings included) and make `static()` known to templates."""
    make()
    _drop_stale_copies()
    app.config["STATIC_VERSION"] = version()
    prefix = f"static/{app.config['STATIC_VERSION']}"
    whitenoise = cast("Any", WhiteNoise)(
        app.wsgi_app, immutable_file_test=_always, add_headers_function=_headers
    )
    for file in served():
        whitenoise.add_file_to_dictionary(f"/{prefix}/{file.relative_to(FOLDER).as_posix()}", str(file))
    app.wsgi_app = whitenoise
    app.jinja_env.globals["static"] = lambda name: f"/{prefix}/{name}"  # pyright: ignore[reportArgumentType, reportUnknownLambdaType]


def make() -> None:
    """Write the scripts and the sheets that pages load, if their sources have changed."""
    for name, source in SCRIPTS.items():
        _write(name, short_script(joined_script(source)))
    for name, source in SHEETS.items():
        _write(name, short_sheet(joined_sheet(source)))


def served() -> list[Path]:
    """Return the files that browsers may load: what the scripts and sheets are joined from stays here."""
    files = [*FOLDER.glob("*.*"), *FOLDER.glob("brand/*.*"), *FOLDER.glob("vendor/*.js")]
    return sorted(file for file in files if file.suffix not in _COPIES)


def compress() -> None:
    """Write compressed copies beside what is served, where they are smaller, and remove all others."""
    compressor = cast("Any", Compressor(quiet=True))
    written: set[str] = set()
    for file in served():
        if compressor.should_compress(file.name):
            written.update(compressor.compress(str(file)))
    for copy in _copies():
        if str(copy) not in written:
            copy.unlink()


def version() -> str:
    """Return the version in the addresses of static files, a digest of their content."""
    content = hashlib.sha256()
    for file in sorted(FOLDER.rglob("*")):
        if file.is_file() and file.suffix not in _COPIES:
            content.update(file.relative_to(FOLDER).as_posix().encode())
            content.update(file.read_bytes())
    return content.hexdigest()[:12]


@lru_cache(_CLINICS)
def sheet(accent: str, on_accent: str, encoding: Encoding | None) -> bytes:
    """Return the sheet with a clinic's colours (`#rrggbb`; no inline style is needed, or allowed), in this encoding."""
    text = f"{_read('styles.css')}:root{{--accent:{accent};--on-accent:{on_accent}}}"
    return compress_fully(text.encode(), encoding)


def joined_script(name: str) -> str:
    """Return a module of `static/scripts` after those it imports, in one function that hides their names from the page.

    Raises ValueError for an imported name that isn't exported, modules that import each other, and other import forms.
    """
    modules: dict[str, str] = {}
    _join(f"scripts/{name}", modules, ())
    joined = "\n".join(filter(None, modules.values()))
    if left := _MODULE_SYNTAX.search(joined):
        raise ValueError(f"{name}: {left[0]} isn't understood")
    return f"(() => {{\n{joined}}})();\n"


def joined_sheet(name: str) -> str:
    """Return a sheet of `static/styles` with the parts it imports in their place, each in its cascade layer."""
    return _IMPORTS.sub(_imported, _read(f"styles/{name}"))


def short_script(text: str) -> str:
    """Return the script without comments, and with spaces only where they mean something."""
    return _jsmin(text)


def short_sheet(text: str) -> str:
    """Return the sheet without comments, and with spaces only where they mean something."""
    return _cssmin(_DESCENDANT.sub(" *:", text))


def _join(name: str, modules: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add the module to those joined so far, unless it is among them, and before it those that it imports."""
    if name in importers:
        raise ValueError(f"{' imports '.join((*importers, name))}")
    if name in modules:
        return
    text = _read(name)
    for names, path in _SCRIPT_IMPORT.findall(text):
        imported = posixpath.normpath(f"{posixpath.dirname(name)}/{path}")
        _join(imported, modules, (*importers, name))
        if unknown := set(names.replace(",", " ").split()) - set(_EXPORT.findall(_read(imported))):
            raise ValueError(f"{name} imports {', '.join(sorted(unknown))}, which {imported} doesn't export")
    modules[name] = _EXPORT.sub("", _SCRIPT_IMPORT.sub("", text))


def _imported(imports: re.Match[str]) -> str:
    parts = _IMPORT.findall(imports[0])
    return "".join(
        f"@layer {layer} {{\n{''.join(_read(f'styles/{name}') for name, _layer in same)}}}\n"
        for layer, same in groupby(parts, key=itemgetter(1))
    )


def _read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _write(name: str, text: str) -> None:
    file = FOLDER / name
    if not file.is_file() or _read(name) != text:
        written = FOLDER.parent / f".{name}-{os.getpid()}"  # not in the folder, which other workers read now
        written.write_text(text, encoding="utf-8")
        written.replace(file)


def _drop_stale_copies() -> None:
    """Remove compressed siblings that are older than their file: WhiteNoise would serve yesterday's sheet."""
    for copy in _copies():
        source = copy.with_suffix("")
        if not source.exists() or source.stat().st_mtime > copy.stat().st_mtime:
            with suppress(OSError):
                copy.unlink()


def _copies() -> list[Path]:
    return [file for file in FOLDER.rglob("*") if file.suffix in _COPIES]


def _always(path: str, url: str) -> bool:
    return True


def _headers(headers: Headers, path: str, url: str) -> None:
    del headers["Access-Control-Allow-Origin"]


if __name__ == "__main__":
    make()
    compress()
