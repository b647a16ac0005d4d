"""Each control of the hazard log, statement of the assurance documents and drill is held by a test that exists, by its name."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.stack import ROOT
from tools.drills import drills

LOG = ROOT / "docs" / "assurance" / "hazards.md"
NO_TEST = "no test:"
"""How a row says that no test can hold its control, and why."""


def rows() -> list[tuple[str, str, str]]:
    """Number, controls and tests of each hazard, from the log's table."""
    cells = (
        [cell.strip() for cell in line.strip("| \n").split(" | ")]
        for line in LOG.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| \d+ \|", line)
    )
    return [(row[0], row[3], row[4]) for row in cells]


@cache
def named_in(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize(
    ("number", "controls", "tests"), rows(), ids=lambda value: value if value.isdigit() else ""
)
def test_each_control_of_a_hazard_is_held_by_a_test_that_exists(
    number: str, controls: str, tests: str
) -> None:
    assert controls, f"hazard {number} has no control: say what holds it, or that nothing does"
    named = re.findall(r"\[([^\]]+)\]\(([^)]+)\)", tests)
    assert named or tests.startswith(NO_TEST), f"hazard {number}: name the tests that hold its controls"
    gone = [
        name for name, file in named if f"test_{name.replace(' ', '_')}" not in named_in(LOG.parent / file)
    ]
    assert not gone, f"hazard {number}: these tests are gone; restore them or name what holds the control now"


def test_hazards_are_numbered_in_order() -> None:
    assert [int(number) for number, _, _ in rows()] == list(range(1, len(rows()) + 1))


def stated() -> list[tuple[str, str]]:
    """The rows of the tables that say what holds them: the document's name, and the last cell."""
    found: list[tuple[str, str]] = []
    for file in sorted(LOG.parent.glob("*.md")):
        for table in re.findall(
            r"^\|.*\| Held by \|\n\|[-| ]+\|\n((?:\|.*\n)+)", file.read_text("utf-8"), re.MULTILINE
        ):
            found += [(file.name, row.strip("| ").rpartition(" | ")[2]) for row in table.splitlines()]
    return found


def test_each_statement_of_the_assurance_documents_is_held_by_a_test_or_says_why_not() -> None:
    assert len(stated()) > 40
    for document, held in stated():
        named = re.findall(r"\[([^\]]+)\]\(([^)]+)\)", held)
        assert named or held.startswith("no test"), f"{document}: {held}"
        for name, file in named:
            assert f"test_{name.replace(' ', '_')}" in named_in(LOG.parent / file), f"{document}: {name}"


def test_each_drill_is_a_test_that_exists_and_fires_alerts_that_exist() -> None:
    alerts = set(re.findall(r"alert: (\w+)", (ROOT / "docs/alerts.yml").read_text("utf-8")))
    known = drills()
    assert len(known) >= 12
    for name, (test, fires) in known.items():
        file, _, function = test.partition("::")
        assert function in named_in(ROOT / file), f"{name}: {test}"
        assert fires.startswith("none") or {*fires.split(", ")} <= alerts, f"{name}: {fires}"
