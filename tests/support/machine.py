"""Makes the machine ready for the tests: Chromium is found, or installed.

On the system's path first; else by apt when root; else Playwright's own. One clear line and exit status 2 when none
of these is possible.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the path of a Chromium on this machine, or None when only Playwright's own may be there."""
    given = os.environ.get("CHROMIUM")
    if given:
        return given
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def main() -> int:
    if chromium() or _playwright_has_one():
        return 0
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("Installing Chromium by apt …", flush=True)
        quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)  # type: ignore[call-overload]
        done = subprocess.run(
            [
                "apt-get",
                "install",
                "-y",
                "-qq",
                "--no-install-recommends",
                "chromium",
                "fonts-dejavu-core",
                "fonts-noto-core",
            ],
            check=False,
            **quiet,  # type: ignore[call-overload]
        )
        if done.returncode == 0 and chromium():
            return 0
    done = subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if done.returncode == 0 and _playwright_has_one():
        return 0
    print(
        "The tests need Chromium: install it (apt-get install chromium) and run them again.", file=sys.stderr
    )
    return 2


def _playwright_has_one() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


if __name__ == "__main__":
    sys.exit(main())
