"""Answers with one invalid member, on every page: never a server error, never technical text.

Each page is read again and again while one member of what the care API answers is another thing: of another type, out
of range, endless, doubled, gone. A page then shows the rest, or says that it couldn't be read.
"""

from __future__ import annotations

import html
import os
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.marks import source_of
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.web.test_call_budget import BUDGET

TIMES = 40 if os.environ.get("CARE_TEST_FULL") else 2
"""How often each page is read, each time with another oddity."""

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e300, float("inf"), 10**60, "", " ", "‮", "None", "0", "true", "2026-13-40", "9999-12-31", "0001-01-01", "9999-12-31T23:59:59-14:00",
    "0001-01-01T00:00:00+14:00", "x" * 20_000, "<img src=x onerror=alert(1)>", [], [None], [[]], {}, {"": None}, DEEP,
)  # fmt: skip
PROGRAMS_WORDS = re.compile(
    r"(?<![\w/.#-])(?:None(?! has reached)|null|undefined|nan|inf|Infinity|Traceback)(?![\w/-])"
    r"|<(?:\w+\.)+\w+ object|\{'\w+':|datetime\.\w+\("
)
GETS = [(name, path) for cases in BUDGET.values() for name, path, _calls in cases]


class Oddity:
    """Puts one odd value into each JSON answer, at a place and of a kind that `seed` chooses."""

    def __init__(self) -> None:
        self.seed = ""
        self.done: list[str] = []

    def __call__(self, method: str, path: str, answer: Any) -> Any:
        if method != "GET" or not self.seed:
            return answer
        chance = random.Random(f"{self.seed} {path}")
        places = list(_places(answer, ()))
        if not places:
            return answer
        place, odd = chance.choice(places), chance.choice((*ODD, "gone"))
        self.done.append(f"{path}: {'.'.join(map(str, place))} is {str(odd)[:40]!r}")
        return _with(answer, place, odd)


def _places(value: Any, at: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if at:
        yield at
    if isinstance(value, dict):
        for name, member in value.items():
            yield from _places(member, (*at, name))
    if isinstance(value, list):
        for number, member in enumerate(value):
            yield from _places(member, (*at, number))


def _with(value: Any, place: tuple[str | int, ...], odd: Any) -> Any:
    first, *rest = place
    changed = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        changed[first] = _with(value[first], tuple(rest), odd)
    elif odd == "gone":
        del changed[first]
    else:
        changed[first] = odd
    return changed


oddity = Oddity()


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    proxy = DialectProxy(service.base_url, Dialect(change=oddity))
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


@pytest.fixture(scope="module")
def person(portal: PortalThread) -> Callable[[str], Visitor]:
    """Everyone signs in once for the module."""
    return cache(portal.sign_in)


@pytest.mark.parametrize(("name", "path"), GETS, ids=[f"{name} {path}" for name, path in GETS])
def test_a_page_works_with_invalid_members(person: Callable[[str], Visitor], name: str, path: str) -> None:
    visitor = person(name)
    for number in range(TIMES):
        oddity.seed, oddity.done = f"{name} {path} {number}", []
        try:
            answer = visitor.http.get(visitor.origin + path, allow_redirects=False, timeout=30)
        finally:
            oddity.seed = ""
        told = f"{path} ({'; '.join(oddity.done)})"
        assert answer.status_code in (200, 204, 303, 403, 404, 502, 503), f"{told}: {answer.status_code}"
        source = source_of(answer)
        words = re.sub(r"<[^>]*>", " ", html.unescape(re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", source)))
        odd = PROGRAMS_WORDS.search(words) if "'None'" not in told else None
        assert odd is None, f"{told}: …{words[max(0, odd.start() - 80) : odd.end() + 20]}…"
        if answer.status_code >= 400:
            assert "<h1" in source, f"{told}: says nothing"
