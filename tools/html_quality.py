"""Checks every page of the running product with the Nu HTML checker (vnu): errors and warnings, none may be left.

`python -m tools.html_quality`: collects the pages as the browser's tests do (by the links, by each form sent
blank, by `states.py`), takes out htmx's attributes, and gives them to vnu. It needs Java and npm, by which vnu comes.
"""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from portal.demo.programs import install_missing, request_to_install
from tests.browser.album import LANGUAGES, Album, Leaf
from tests.browser.states import collect
from tests.support.stack import CareService, PortalThread, plan
from tools.machine import JAVA, NPM

_VNU = "vnu-jar@26.9.27"
_HTMX = re.compile(r"""\s(?:hx-[\w:-]+)(?:=(?:"[^"]*"|'[^']*'))?""")
_KNOWN = (
    # Forms are redisplayed with the submitted values, valid or not.
    re.compile(r"Bad value .* for attribute “value” on element “input”"),
    # The clinic's own texts aren't translated.
    re.compile(r"This document appears to be written in"),
)


def main() -> int:
    if missing := install_missing(JAVA, NPM):
        print(request_to_install(missing), file=sys.stderr)
        return 2
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        leaves = [leaf for language in LANGUAGES for leaf in _leaves(work / language, language)]
        faults = check(leaves, work / "pages", _vnu(work / "vnu"))
    for fault in faults:
        print(fault)
    print(f"{len(leaves)} pages, {len(faults)} messages")
    return 1 if faults else 0


def _leaves(folder: Path, language: str) -> list[Leaf]:
    folder.mkdir()
    service = CareService(plan(folder))
    portal = PortalThread(service.plan)
    try:
        album = Album()
        collect(portal, album, lambda _name: language)
        return album.leaves
    finally:
        portal.stop()
        service.stop()


def _vnu(folder: Path) -> Path:
    """Fetch the checker, of one version, into a folder that goes away."""
    folder.mkdir()
    subprocess.run(
        ["npm", "install", "--silent", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), _VNU],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return next(folder.rglob("vnu.jar"))


def check(leaves: list[Leaf], folder: Path, jar: Path) -> list[str]:
    """What vnu says of these pages, one line for each, the same message of many pages once."""
    folder.mkdir()
    names: dict[str, str] = {}
    for number, leaf in enumerate(leaves):
        file = folder / f"{number:04}.html"
        file.write_text(_HTMX.sub("", leaf.html), encoding="utf-8")
        names[file.name] = leaf.name
    done = subprocess.run(
        ["java", "-jar", str(jar), "--format", "json", "--stdout", "--exit-zero-always", str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, list[str]] = {}
    for message in json.loads(done.stdout)["messages"]:
        words = message["message"]
        if any(known.search(words) for known in _KNOWN):
            continue
        kind = "error" if message["type"] == "error" else "warning"
        extract = re.sub(r"\s+", " ", message.get("extract", ""))
        found.setdefault(f"{kind}: {words} {extract[:160]}", []).append(
            names[message["url"].rpartition("/")[2]]
        )
    return [f"{words} [{len(pages)} pages, first {pages[0]}]" for words, pages in sorted(found.items())]


if __name__ == "__main__":
    sys.exit(main())
