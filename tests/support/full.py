"""What `make test-all` tries of many and `make test` only some of: CARE_TEST_FULL=1 asks for all."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TypeVar

_Kind = TypeVar("_Kind")
_Case = TypeVar("_Case")

FULL = os.environ.get("CARE_TEST_FULL") == "1"
WEEK = int(os.environ.setdefault("CARE_TEST_WEEK", str(int(time.time() // (7 * 24 * 3600)))))
"""In the environment, so that all workers of a run have the same; to see again what failed, set it."""


def examples(of_all: int) -> int:
    """Return how many examples Hypothesis makes: so many, or a third of them."""
    return of_all if FULL else of_all // 3


def some(cases: Iterable[_Case], every: int) -> list[_Case]:
    """Return one of so many of these, or all of them."""
    return [*cases][:: 1 if FULL else every]


def this_week(cases: Iterable[_Case], weeks: int) -> list[_Case]:
    """Return this week's share of these, which all have been tried after so many weeks; or all of them."""
    return [*cases] if FULL else [*cases][WEEK % weeks :: weeks]


def in_turns(kinds: Sequence[_Kind], cases: Sequence[_Case]) -> list[tuple[_Kind, _Case]]:
    """Return each case with one of the kinds, which take turns, or with each of them; in the order of the kinds."""
    return [
        (kind, case)
        for turn, kind in enumerate(kinds)
        for number, case in enumerate(cases)
        if FULL or number % len(kinds) == turn
    ]
