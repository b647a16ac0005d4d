"""A `care` that calls a scripted server as a person."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

from portal.config.variables import Timeouts
from portal.services.api import AnyEndpoint
from portal.services.client import Care
from portal.services.errors import NotSignedIn
from tests.support.upstream import Upstream


class Bearer:
    """A token, and the one after it."""

    def __init__(self) -> None:
        self.now = "first"

    def token(self) -> str:
        return self.now

    def renew(self, refused: str) -> str:
        if refused == "second":
            raise NotSignedIn
        self.now = "second"
        return self.now


def untyped(endpoint: AnyEndpoint) -> AnyEndpoint:
    """The endpoint, with any JSON as its answer."""
    return replace(endpoint, answer=object)


def care_of(server: Upstream, **more: Any) -> Care:
    """Return a `care` with a page of three seconds; `more` are other fields of it."""
    references = cast("Any", type("Nothing", (), {"move_on": lambda self, care: None})())
    return Care(
        base_url=server.url,
        bearer=Bearer(),
        timeouts=Timeouts(connect=1, read=1, page=3),
        deadline=time.monotonic() + 3,
        language="en",
        correlation_id="a-test",
        references=references,
        partition=("issuer", "clinic", "person", "epoch"),
        **more,
    )
