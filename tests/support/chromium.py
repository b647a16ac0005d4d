"""The Chromium of this machine, which resolves `*.localhost` by itself, as every browser but Safari does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from playwright.sync_api import Browser, Playwright, sync_playwright

HEADLESS_SHELL = "chromium-headless-shell"
"""Chromium without what draws windows: pages are the same, and tests take two thirds of the processor time."""
_NAMES = (HEADLESS_SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
RESOLVER_RULES = "MAP *.localhost 127.0.0.1"
"""Chromium does so by itself; this leaves nothing to a build that doesn't."""


def path() -> str | None:
    """Return where a Chromium is on this machine, or None when only Playwright's own may be there."""
    given = os.environ.get("CHROMIUM")
    return given or next((found for name in _NAMES if (found := shutil.which(name))), None)


def is_preferred() -> bool:
    """Return whether the tests would get the headless shell, or the one that was asked for."""
    return bool(os.environ.get("CHROMIUM") or shutil.which(HEADLESS_SHELL))


def is_installed() -> bool:
    """Return whether there is one to launch, the system's or Playwright's."""
    if path():
        return True
    with sync_playwright() as playwright:
        return Path(playwright.chromium.executable_path).exists()


def launch(playwright: Playwright) -> Browser:
    """Start it without a window."""
    return playwright.chromium.launch(
        executable_path=path(),
        args=["--no-sandbox", "--disable-gpu", f"--host-resolver-rules={RESOLVER_RULES}"],
    )
