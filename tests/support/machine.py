"""Makes the machine ready for the tests: Chromium, nginx, PostgreSQL and redis-server are found, or installed.

On the system's path first; else by apt when root; for Chromium else Playwright's own. One clear line and exit status 2
when none of these is possible.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from portal.demo_parts import DemoError
from portal.demo_programs import install, need_pdf
from portal.demo_scale import need_everything

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None when only Playwright's own may be there."""
    given = os.environ.get("CHROMIUM")
    if given:
        return given
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def main() -> int:
    try:
        need_everything()
    except DemoError as error:
        return _say(str(error))
    if missing := need_pdf():
        return _say(missing)
    if chromium() or _playwright_has_one():
        return 0
    if install("chromium", "fonts-dejavu-core", "fonts-noto-core") and chromium():
        return 0
    done = subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if done.returncode == 0 and _playwright_has_one():
        return 0
    return _say("The tests need Chromium: install it (apt-get install chromium) and run them again.")


def _say(line: str) -> int:
    print(line, file=sys.stderr)
    return 2


def _playwright_has_one() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


if __name__ == "__main__":
    sys.exit(main())
