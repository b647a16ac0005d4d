"""`make dev`: the demo reloads on each change of code, templates, styles, scripts and translations; it keeps its data
and sign-ins.

A syntax error is shown, and both keep running the old code. If the new code can't start, portal or care service stops, the
reason is shown, and it starts again with the next change.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from portal.demo.processes import ROOT, DemoError, Process

_EVERY_SECONDS = 0.2
_KINDS = {".py", ".toml", ".po", ".html", ".css", ".js", ".svg", ".mako", ".txt"}
_BUILT = {
    f"{page}{kind}"
    for page in ("", "staff-", "conversations-", "passkey-")
    for kind in ("scripts.js", "styles.css")
}
"""Written by portal.web.static when the portal starts."""

_COMPILE_WORDS = ["-m", "babel.messages.frontend", "--quiet", "compile", "-d", "portal/i18n/translations"]
_CARE_SERVICE = (Path("portal/careservice"), Path("portal/server"))


class Files:
    """The sources below a folder, and which of them have changed since the last look."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self._seen = dict(self._stamps())

    def changed(self) -> set[Path]:
        """Return the paths, relative to the root, that were created, written or removed since the last call."""
        now = dict(self._stamps())
        changed = {path for path, _stamp in self._seen.items() ^ now.items()}
        self._seen = now
        return changed

    def _stamps(self) -> Iterator[tuple[Path, int]]:
        folders = [self.root / name for name in ("portal", "templates", "static")]
        for folder, _folders, names in (found for top in folders for found in os.walk(top)):
            for name in names:
                path = Path(folder, name)
                if path.suffix not in _KINDS or name in _BUILT:
                    continue
                try:
                    yield path.relative_to(self.root), path.stat().st_mtime_ns
                except FileNotFoundError:  # removed since it was listed
                    continue


def watch(portal: Process, care_service: Process) -> None:
    """Reload the processes on each change until Ctrl-C."""
    files = Files()
    reloaded, told = False, set[str]()
    while True:
        time.sleep(_EVERY_SECONDS)
        if changed := files.changed():
            told.clear()
            if take(changed, care_service):
                reloaded = portal.is_running
                portal.reload() if reloaded else portal.start()
        if not portal.is_running and reloaded:
            # It couldn't start with a change; another may have been made before it stopped.
            reloaded = False
            portal.start()
        for process in (portal, care_service):
            if not process.is_running and process.name not in told:
                told.add(process.name)
                print(
                    f"{process.last_words()}\nThe {process.name} stopped; it starts again with the next change.",
                    flush=True,
                )


def take(changed: set[Path], care_service: Process) -> bool:
    """Compile what changed and restart the care service if needed; return whether the portal must be reloaded."""
    names = ", ".join(sorted(map(str, changed))[:3]) + (" …" if len(changed) > 3 else "")
    if fault := _fault(changed):
        print(f"Not taken: {names}\n{fault}", flush=True)
        return False
    print(f"Changed: {names}", flush=True)
    is_its = any(path.is_relative_to(folder) for path in changed for folder in _CARE_SERVICE)
    if is_its or not care_service.is_running:
        care_service.stop()
        care_service.start()
        with suppress(DemoError):  # `watch` says so
            care_service.wait()
    return not all(path.is_relative_to("portal/careservice") for path in changed)


def _fault(changed: set[Path]) -> str:
    """Compile translations and Python; return the error, or an empty string."""
    for path in changed:
        file = ROOT / path
        if path.suffix == ".py" and file.exists():
            try:
                compile(file.read_bytes(), str(path), "exec")
            except (SyntaxError, ValueError) as error:
                return f"{type(error).__name__}: {error}"
    if all(path.suffix != ".po" for path in changed):
        return ""
    done = subprocess.run(
        [sys.executable, *_COMPILE_WORDS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stderr if done.returncode else ""
