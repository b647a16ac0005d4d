"""Every page in the states that its template and the code behind it tell apart: what is different in each.

`states/` has a page as it is in `test_facts.py` (a sum of all that it consists of), and each state with the lines
that differ: of what the API is asked and sent, of the audit record, and of the page with its attributes. After a change that is meant,
WRITE_FACTS=1 writes the files anew, and the pages under var/pages: compare those with the ones before. `find_states.py` finds new states.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages.states import CASE_OF, Opener, Shown, State, written
from tests.pages.test_facts import ROLES
from tests.support import conditions
from tests.support.clock import Clock
from tests.support.conditions import Turn
from tests.support.fake_api import NOW, FakeApi
from tests.support.in_process import InProcess
from tests.support.whole import difference, shown, sum_of

FOLDER = Path(__file__).parent / "states"
FILES = sorted(file.stem for file in FOLDER.glob("*.txt"))
UNSEEN = Path(__file__).with_name("unseen_conditions.txt")
PAGES = Path(__file__).parents[2] / "var" / "pages"


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[InProcess, set[Turn]]]:
    """A portal whose templates note their conditions, and where they note them."""
    with pytest.MonkeyPatch.context() as patch:
        turns = conditions.watch(patch)
        yield InProcess(tmp_path_factory.mktemp("portal"), Clock(NOW.timestamp), PORTAL_BREAKER="0"), turns


@pytest.mark.parametrize("file", FILES)
def test_a_page_differs_in_each_state_as_it_should(
    seen: tuple[InProcess, set[Turn]], fake_api: FakeApi, file: str
) -> None:
    path = FOLDER / f"{file}.txt"
    before = path.read_text(encoding="utf-8")
    now = "\n".join(_shown(Opener(seen[0], fake_api), before))
    _read.add(file)
    if os.environ.get("WRITE_FACTS"):
        path.write_text(now, encoding="utf-8")
        return
    other = "\n".join(
        difflib.unified_diff(before.split("\n"), now.split("\n"), "expected", "shown", lineterm="", n=3)
    )
    assert not other, f"{other}\nIf this is meant, run WRITE_FACTS=1 make t F=tests/pages/test_states.py"


_read: set[str] = set()
_ASKS = re.compile(r"(?i)\b(?:ask|tell|call) (?:the|your) clinic\b|\bask there\b")
"""What only patients are told, on pages and in the documents that staff print for them."""


def _shown(opener: Opener, text: str) -> Iterator[str]:
    usual: Shown | None = None
    lines: list[str] = []
    for title, state, _ in written(text):
        now = opener.open(CASE_OF[title], state)
        told = now.lines()
        is_for_staff = CASE_OF[title].who in ROLES and not CASE_OF[title].path.endswith(".pdf")
        misled = [line for line in told if _ASKS.search(line)] if is_for_staff else []
        assert not misled, f"{title}: {state}: staff have no clinic to ask: {misled}"
        if state == State():
            usual, lines = now, told
            all_ = shown(lines, now.answers)
            if os.environ.get("WRITE_FACTS"):
                PAGES.mkdir(parents=True, exist_ok=True)
                (PAGES / f"{re.sub('[^a-z0-9]+', '-', title)}.txt").write_text(
                    "\n".join(all_), encoding="utf-8"
                )
            yield from (f"== {title}", f"all {sum_of(all_)}", "")
        else:
            assert usual, "a page comes before its states"
            yield f"== {title}: {state}"
            yield from difference(lines, told, usual.answers, now.answers)
            yield ""


def test_conditions_of_templates_are_seen_to_hold_and_not_to(
    seen: tuple[InProcess, set[Turn]], fake_api: FakeApi
) -> None:
    """And each loop with none, one and several: `unseen_conditions.txt` counts those that aren't, by template."""
    opener = Opener(seen[0], fake_api)
    for file in {*FILES} - _read:
        for title, state, _ in written((FOLDER / f"{file}.txt").read_text(encoding="utf-8")):
            opener.open(CASE_OF[title], state)
    unseen = [one for one in conditions.all_conditions() if one.turns - seen[1]]
    count = Counter(one.template for one in unseen)
    held = UNSEEN.read_text(encoding="utf-8")
    expected = dict(re.findall(r"(?m)^(\S+\.html) (\d+)$", held))
    if os.environ.get("WRITE_FACTS"):  # fewer alone
        expected = {
            name: min(number, int(expected[name])) for name, number in count.items() if name in expected
        }
        lines = (f"{name} {number}" for name, number in sorted(expected.items()))
        UNSEEN.write_text("\n".join([held.partition("\n\n")[0], "", *lines]) + "\n")
    more = {name for name, number in count.items() if number > int(expected.get(name, 0))}
    told = "\n".join(f"{one.template}:{one.line}: {one.text}" for one in unseen if one.template in more)
    assert not more, f"{told}\nLet a state show the new ones: .venv/bin/python -m tests.pages.find_states"
    fewer = {name: number for name, number in expected.items() if count[name] < int(number)}
    assert not fewer, "take the ones that are seen now off unseen_conditions.txt"
