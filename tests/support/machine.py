"""Makes the machine ready for the tests: Chromium and redis-server are found, or installed.

On the system's path first; else by apt when root; for Chromium else Playwright's own. One clear line and exit status 2
when none of these is possible.
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
    if not (_has_redis() or (_apt_install("redis-server") and _has_redis())):
        return _say(
            "The tests need redis-server: install it (apt-get install redis-server) and run them again."
        )
    if chromium() or _playwright_has_one():
        return 0
    if _apt_install("chromium", "fonts-dejavu-core", "fonts-noto-core") and chromium():
        return 0
    done = subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=False)
    if done.returncode == 0 and _playwright_has_one():
        return 0
    return _say("The tests need Chromium: install it (apt-get install chromium) and run them again.")


def _has_redis() -> bool:
    return shutil.which("redis-server") is not None


def _apt_install(*packages: str) -> bool:
    """Install packages where that is possible; False where it isn't."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"Installing {packages[0]} by apt …", flush=True)
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)  # type: ignore[call-overload]
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    return subprocess.run(install, check=False, **quiet).returncode == 0  # type: ignore[call-overload]


def _say(line: str) -> int:
    print(line, file=sys.stderr)
    return 2


def _playwright_has_one() -> bool:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


if __name__ == "__main__":
    sys.exit(main())
