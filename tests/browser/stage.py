"""The running product, its people, and the album that they fill; and lost answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from portal.demo.stack import PEOPLE
from portal.http import transport
from portal.http.transfer import TransportError
from tests.browser.album import Album, Collector
from tests.support.stack import PASSWORD, PortalThread


class Stage:
    """The running product, its people, and the album that they fill."""

    def __init__(self, portal: PortalThread, album: Album, language_of: Callable[[str], str]) -> None:
        self.portal = portal
        self.album = album
        self.language_of = language_of
        self.person = cache(self.fresh)

    def fresh(self, name: str) -> Collector:
        """This person in a browser of their own, just signed in."""
        tenant = next(key for key, people in PEOPLE.items() if name in dict(people))
        visitor = Collector(self.portal.origin(tenant), PASSWORD, self.album, name, self.language_of(name))
        visitor.arrive()
        return visitor

    def nobody(self) -> Collector:
        visitor = Collector(self.portal.origin(), PASSWORD, self.album, "nobody", self.language_of("nobody"))
        visitor.http.headers["Accept-Language"] = visitor.language
        return visitor


@contextmanager
def answers_lost(*, acts_alone: bool = True) -> Iterator[None]:
    """No answer comes from the care API: to acts, or to anything."""
    sends = transport.send

    def send(call: transport.Call, **more: Any) -> transport.Answer:
        if "/api/" in call.url and (call.method != "GET" or not acts_alone):
            raise TransportError("timed out", sent=True)
        return sends(call, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", send)
        yield
