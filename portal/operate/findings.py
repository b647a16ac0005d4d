"""What a check finds, and how it asks a server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from portal import parse
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.transfer import Answer, Call, TransportError
from portal.signin.tokens import LEEWAY
from portal.values import Value


class Finding(Value, frozen=True):
    """The result of one check: what was checked, what was found, and what to do if that isn't right."""

    what: str
    found: str
    advice: str = ""
    is_fault: bool = False

    def __str__(self) -> str:
        word = "FAULT" if self.is_fault else "note " if self.advice else "ok   "
        return f"{word} {self.what}: {self.found}" + (f". {self.advice}" if self.advice else "")


def clock_of(what: str, answer: Answer) -> Iterator[Finding]:
    there = parse.http_date(answer.headers.get("date"))
    if there is None:
        return
    ahead = there.timestamp() - time.time()
    advice = "" if abs(ahead) <= LEEWAY else f"Synchronize both clocks with NTP: tokens tolerate {LEEWAY} s"
    yield Finding(f"clock of {what}", f"{ahead:+.0f} s from this machine's", advice, is_fault=bool(advice))


def get(url: str, timeouts: Timeouts) -> Answer | str:
    return _call(Call("GET", url, [("Accept", "application/json")]), timeouts)


def _call(call: Call, timeouts: Timeouts) -> Answer | str:
    """Return the response, or a phrase that says why there is none."""
    try:
        return transport.send(replace(call, connect_timeout=timeouts.connect, timeout=timeouts.read))
    except TransportError as error:
        return f"no answer ({error.reason})"
