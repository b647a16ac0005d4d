"""What `make test-all` tries of many and `make test` only some of: CARE_TEST_FULL=1 asks for all."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

_Kind = TypeVar("_Kind")
_Case = TypeVar("_Case")

FULL = os.environ.get("CARE_TEST_FULL") == "1"


def examples(of_all: int) -> int:
    """Return how many examples Hypothesis makes: so many, or a third of them."""
    return of_all if FULL else of_all // 3


def some(cases: Iterable[_Case], every: int) -> list[_Case]:
    """Return one of so many of these, or all of them."""
    return [*cases][:: 1 if FULL else every]


def in_turns(kinds: Sequence[_Kind], cases: Sequence[_Case]) -> list[tuple[_Kind, _Case]]:
    """Return each case with one of the kinds, which take turns, or with each of them; in the order of the kinds."""
    return [
        (kind, case)
        for turn, kind in enumerate(kinds)
        for number, case in enumerate(cases)
        if FULL or number % len(kinds) == turn
    ]
