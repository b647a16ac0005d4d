"""Prepares the machine for the tests: installs all missing system packages at once.

As root by apt; otherwise only Chromium, by Playwright unless there is one. If neither is possible, one line names what is
missing and the exit status is 2. REQUIREMENTS lists everything that the tests use of the system.
"""

from __future__ import annotations

import subprocess
import sys

from portal.demo.programs import PANGO, Requirement, find, install_missing, program, request_to_install
from portal.demo.scale import SERVERS
from tests.support import chromium, resolver


def _has_arabic_font() -> bool:
    listing = find("fc-list")
    if listing is None:
        return False
    return bool(subprocess.run([listing, ":lang=ar"], capture_output=True, check=False).stdout)


CHROMIUM = Requirement("Chromium", (chromium.HEADLESS_SHELL,), chromium.is_preferred)
FONTS = Requirement(
    "an Arabic font", ("fontconfig", "fonts-dejavu-core", "fonts-noto-core"), _has_arabic_font
)
PDFSIG = Requirement("pdfsig", ("poppler-utils",), lambda: find("pdfsig") is not None)
CERTUTIL = Requirement("certutil", ("libnss3-tools",), lambda: find("certutil") is not None)
PROMTOOL = Requirement("promtool", ("prometheus",), lambda: find("promtool") is not None)
KUBECTL = Requirement("kubectl", ("kubernetes-client",), lambda: find("kubectl") is not None)
SYSTEMD = Requirement("systemd-analyze", ("systemd",), lambda: find("systemd-analyze") is not None)
REQUIREMENTS = (
    *(*SERVERS, PANGO, CHROMIUM, FONTS, PDFSIG, CERTUTIL, PROMTOOL, KUBECTL, SYSTEMD),
    *(program("openssl"), program("caddy")),
)
JAVA = Requirement("Java", ("default-jre-headless",), lambda: find("java") is not None)
NODE = Requirement("Node", ("nodejs",), lambda: find("node") is not None)
NPM = program("npm")


def main() -> int:
    """Print what the system's resolver knows, and return 0 when all is there, else 2."""
    print(resolver.report(), flush=True)
    missing = install_missing(*REQUIREMENTS)
    if CHROMIUM in missing and (chromium.is_installed() or _installed_by_playwright()):
        missing.remove(CHROMIUM)
    if missing:
        print(request_to_install(missing), file=sys.stderr)
        return 2
    return 0


def _installed_by_playwright() -> bool:
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    return subprocess.run(command, check=False).returncode == 0 and chromium.is_installed()


if __name__ == "__main__":
    sys.exit(main())
