"""Every page with members of the API's answers missing or odd: never a server error, never technical text.

Each page is read again and again while one member of what the care API answers is another thing: of another type, out
of range, endless, doubled, gone. A page then shows the rest, or says that it couldn't be read.
"""

from __future__ import annotations

import html
import os
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import inspect

from portal.services.endpoints import ALL
from tests.pages import test_facts as facts
from tests.pages.test_facts import CASES, ROLES, Case
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi
from tests.support.in_process import InProcess
from tests.support.marks import source_of

portal = facts.portal
TIMES = 40 if os.environ.get("CARE_TEST_FULL") else 5
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


class Oddity:
    """Puts one odd value into each JSON answer, at a place and of a kind that `seed` chooses: half of them for a record or list."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.done: list[str] = []

    def __call__(self, path: str, answer: Any) -> Any:
        chance = random.Random(f"{self.seed} {path}")
        places = list(_places(answer, ()))
        if not places:
            return answer
        whole = [place for place in places if isinstance(_at(answer, place), dict | list)]
        place = chance.choice(whole if whole and chance.random() < 0.5 else places)
        odd = chance.choice((*ODD, "gone"))
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


def _at(value: Any, place: tuple[str | int, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


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


PATIENT = {"id", "firstName", "lastName", "preferredName"}
LEFT_OUT = {"caseNumber": {"notes", "diagnosis"}, "embryoCode": {"notes", "pgtResultId"}}
"""By a member that tells the kind of record: what is left out of it."""
ROWS = {"MRN", "Born", "E-mail", "Diagnosis", "Notes", "Your number at the clinic"}
"""The terms of what is left out."""


def without(path: str, answer: Any) -> Any:
    """The answer as patients get it of a partner: with names alone, and without what is kept from patients."""
    if isinstance(answer, list):
        return [without(path, item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    gone = set[str]().union(*(names for told, names in LEFT_OUT.items() if told in answer))
    kept = PATIENT if {"mrn", "firstName"} <= answer.keys() else answer.keys() - gone
    return {name: without(path, value) for name, value in answer.items() if name in kept}


def read(portal: InProcess, fake_api: FakeApi, case: Case, change: Any) -> Any:
    """The answer to opening a page while the API's answers are changed."""
    fake_api.forget()
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    fake_api.change = change
    visitor = portal.visitor(case.who, ROLES.get(case.who, "patient"))
    return visitor.http.get(visitor.origin + case.path, allow_redirects=False)


def told(source: str) -> str:
    """What a person reads of a page."""
    return re.sub(r"<[^>]*>", " ", html.unescape(re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", source)))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    """A portal that remembers no odd answer: what somebody has read is compared with what they read next."""
    return InProcess(tmp_path_factory.mktemp("undisturbed"), Clock(NOW.timestamp))


every_page = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.who} {case.path} {case.note}")


@every_page
def test_a_page_works_with_invalid_members(portal: InProcess, fake_api: FakeApi, case: Case) -> None:
    for number in range(TIMES):
        oddity = Oddity(f"{case.who} {case.path} {number}")
        answer = read(portal, fake_api, case, oddity)
        done = f"{case.path} ({'; '.join(oddity.done)})"
        assert answer.status_code in (200, 204, 303, 403, 404, 502, 503), f"{done}: {answer.status_code}"
        source = source_of(answer)
        odd = PROGRAMS_WORDS.search(words := told(source)) if "'None'" not in done else None
        assert odd is None, f"{done}: …{words[max(0, odd.start() - 80) : odd.end() + 20]}…"
        if answer.status_code >= 400:
            assert "<h1" in source, f"{done}: says nothing"


@every_page
def test_a_page_works_with_missing_members(undisturbed: InProcess, fake_api: FakeApi, case: Case) -> None:
    """`userId` says whose record it is: without it, and unless the id is the person's own, nobody may change the record."""
    answer = read(undisturbed, fake_api, case, without)
    expected = 404 if case.path.startswith("/relationships/") else 200
    assert answer.status_code == expected, told(answer.text)[:400]
    terms = {term.strip() for term in re.findall(r"<dt[^>]*>([^<]*)<", answer.text)}
    assert not terms & ROWS, "a row without a value"
    words = told(source_of(answer))
    odd = PROGRAMS_WORDS.search(words)
    assert odd is None, f"…{words[max(0, odd.start() - 80) : odd.end() + 20]}…"


@every_page
def test_a_page_works_with_only_the_required_members(
    undisturbed: InProcess, fake_api: FakeApi, case: Case
) -> None:
    answer = read(undisturbed, fake_api, case, only_required)
    # Without signatures, the receipt of a form leads back to the form.
    assert answer.status_code in (200, 303, 403, 404, 501), told(answer.text)[:400]
    assert not PROGRAMS_WORDS.search(told(source_of(answer)))


def only_required(path: str, answer: Any) -> Any:
    """The answer with only the members that the portal requires."""
    row = next(
        row for row in ALL if row.is_safe and re.fullmatch(re.sub(r"{\w+}", "[^/]+", row.template), path)
    )
    shape = inspect.type_info(row.answer)
    return _required(answer, shape)


def _required(value: Any, shape: inspect.Type) -> Any:
    if isinstance(shape, inspect.VarTupleType):
        return [_required(item, shape.item_type) for item in value]
    if isinstance(shape, inspect.StructType) and isinstance(value, dict):
        needed = [field for field in shape.fields if field.required or field.encode_name == "items"]
        return {field.encode_name: _required(value[field.encode_name], field.type) for field in needed}
    return value
