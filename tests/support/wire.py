"""What a browser receives for each request: compressed bytes with headers (Chrome DevTools Protocol)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from playwright.sync_api import Page

_NOT_COUNTED = re.compile(r"/(favicon|icon-)[^/]*$|\.webmanifest$")
"""The browser's own affairs, which no page waits for."""


@dataclass(frozen=True, slots=True)
class Received:
    """One answer: the path, and its bytes over the wire with the headers."""

    path: str
    size: int


class Recorder:
    """Listens to what a page loads; a copy from the browser's own cache costs nothing and isn't told."""

    def __init__(self, page: Page) -> None:
        self._paths: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._pending: set[str] = set()
        session = page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", self._asked)
        session.on("Network.loadingFinished", self._ended)
        session.on("Network.loadingFailed", lambda event: self._pending.discard(event["requestId"]))
        session.send("Network.enable")
        self._page = page

    def during(self, act: Callable[[], object]) -> list[Received]:
        """Return what was received while `act` ran and the page came to rest."""
        self._paths.clear()
        self._sizes.clear()
        act()
        self._page.wait_for_load_state("networkidle")
        until = time.monotonic() + 10
        while self._pending and time.monotonic() < until:
            self._page.wait_for_timeout(5)  # processes the browser's events
        return [
            Received(path, self._sizes[id_])
            for id_, path in self._paths.items()
            if self._sizes.get(id_) and not _NOT_COUNTED.search(path)
        ]

    def _asked(self, event: dict[str, object]) -> None:
        asked = event["request"]
        assert isinstance(asked, dict)
        self._pending.add(str(event["requestId"]))
        self._paths[str(event["requestId"])] = urlsplit(str(asked["url"])).path

    def _ended(self, event: dict[str, object]) -> None:
        length = event["encodedDataLength"]
        assert isinstance(length, int | float)
        self._sizes[str(event["requestId"])] = int(length)
        self._pending.discard(str(event["requestId"]))
