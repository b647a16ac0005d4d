"""The cost of a dialect: additional CPU for reading the page's two responses in one that changes everything."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import msgspec

from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.connect.dialects.writing import Writing
from portal.services import decoding
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode
from tools.bench.answers import EPISODE, answers
from tools.bench.measures import Row, Size, _ratio, cost_of, in_turns
from tools.bench.servers import PAGE, Bench

EVERYTHING = """
[names]
members = "snake_case"
enumerations = "UPPER_CASE"
[envelopes]
answers = ["data"]
[lists]
items = "data"
total = "meta.total"
[times]
instants = "epoch_ms"
days = "dd/MM/yyyy"
[values]
booleans = ["Y", "N"]
numbers = "text"
"""


def dialect_of_a_page(bench: Bench, size: Size) -> list[Row]:
    """The page without a dialect, and the cost of one measured in this process, in turns."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "nora"))
    rules = parse_dialect(EVERYTHING)
    dialect, writing = Dialect(rules), Writing(rules)
    added = [_added(dialect, writing, body, into) for body, into in _answers()]
    costs = in_turns(
        {"page": cost_of(portal, PAGE, size.pages), "dialect": lambda: sum(one() for one in added)},
        size.rounds,
    )
    portal.stop()
    cost = sorted(costs["dialect"])[len(costs["dialect"]) // 2]
    return [_ratio("CPU added by a dialect ÷ a page", 0.15, costs["dialect"], costs["page"], cost)]


def _answers() -> list[tuple[bytes, Any]]:
    told = answers()
    episode = next(body for path, body in told.items() if path.endswith(f"/episodes/{EPISODE}"))
    forms = next(body for path, body in told.items() if path.endswith("/consent-forms"))
    return [(episode, Episode), (forms, PagedResult[ConsentForm])]


def _added(dialect: Dialect, writing: Writing, body: bytes, into: Any) -> Callable[[], float]:
    """Additional CPU milliseconds for reading `body` in the dialect."""
    record: Any = decoding.decode(body, into)
    if into is Episode:
        theirs: Any = {"data": writing.record(Episode)(msgspec.to_builtins(record))}
    else:
        rows = [writing.record(ConsentForm)(msgspec.to_builtins(form)) for form in record.items]
        theirs = {"data": rows, "meta": {"total": str(record.total)}}
    written = json.dumps(theirs).encode()

    def read() -> Any:
        return decoding.decode(written, into, dialect.translation(into))

    assert read() == record
    return lambda: _milliseconds(read) - _milliseconds(lambda: decoding.decode(body, into))


def _milliseconds(work: Callable[[], Any], times: int = 200) -> float:
    begun = time.thread_time()
    for _ in range(times):
        work()
    return (time.thread_time() - begun) / times * 1000
