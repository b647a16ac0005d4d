"""Which rows the table of mutants keeps for modules that were measured on another machine."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from tools import mutants

LIST = """
[[target]]
about = "Guard"
module = "portal/guard.py"
tests = ["tests/test_guard.py::test_one"]

[[target]]
about = "Headers"
module = "portal/headers.py"
tests = ["tests/test_headers.py"]

[[equivalent]]
module = "portal/"
line = "*,"
operator = "Mul_Div"
why = "a mark"

[[equivalent]]
module = "portal/"
line = "never seen"
operator = "AddNot"
why = "unknown"
"""
ROW = "| Guard | `portal/guard.py` | 20 | 18 | 1 | 95% | `tests/test_guard.py::test_one` |"
SURVIVED = "- `portal/guard.py` line 3, `return True`: ReplaceTrueWithFalse"
KNOWN = "- `portal/`: `*,` (Mul_Div): a mark"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose table was written elsewhere, for one of its two modules."""
    for name in ("portal/guard.py", "portal/headers.py", "tests/test_guard.py", "tests/test_headers.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("one = 1\n")
    (tmp_path / "list.toml").write_text(LIST)
    (tmp_path / "tests/MUTANTS.md").write_text("\n".join((ROW, KNOWN, SURVIVED)))
    for command in (
        ("init", "-q"),
        ("add", "."),
        (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "-c",
            "commit.gpgsign=false",
            "commit",
            "-qm",
            "One",
        ),
    ):
        subprocess.run(("git", *command), cwd=tmp_path, check=True)
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "TABLE", tmp_path / "tests/MUTANTS.md")
    monkeypatch.setattr(mutants, "LIST", tmp_path / "list.toml")
    monkeypatch.setattr(mutants, "_WORK", tmp_path / "var")
    return tmp_path


def test_rows_measured_elsewhere_are_kept(project: Path) -> None:
    lines = mutants.table(date(2026, 1, 2)).splitlines()
    assert ROW in lines
    assert lines[lines.index("## Equivalent") :] == [
        "## Equivalent",
        "",
        KNOWN,
        "",
        "## Survived",
        "",
        SURVIVED,
    ]
    assert sum("not yet run" in line for line in lines) == 1


@pytest.mark.parametrize("changed", ["portal/guard.py", "tests/test_guard.py"])
def test_a_row_is_dropped_when_its_module_or_a_test_changes(project: Path, changed: str) -> None:
    (project / changed).write_text("two = 2\n")
    text = mutants.table(date(2026, 1, 2))
    assert ROW not in text
    assert SURVIVED not in text
    assert text.count("not yet run") == 2


def test_a_row_is_kept_when_another_module_changes(project: Path) -> None:
    (project / "portal/headers.py").write_text("two = 2\n")
    assert ROW in mutants.table(date(2026, 1, 2))


def test_only_what_a_test_noticed_counts_as_killed(project: Path) -> None:
    target = mutants.targets()[0]
    target.session.parent.mkdir(parents=True)
    ended = [
        ("NORMAL", "KILLED"),
        ("NORMAL", "SURVIVED"),
        ("EXCEPTION", "INCOMPETENT"),
        ("SKIPPED", None),
        (None, None),
    ]
    with closing(sqlite3.connect(target.session)) as session, session:
        session.execute(
            "CREATE TABLE mutation_specs (job_id, operator_name, start_pos_row, start_pos_col, definition_name)"
        )
        session.execute("CREATE TABLE work_results (job_id, worker_outcome, test_outcome, output)")
        for number, (worker, outcome) in enumerate(ended):
            session.execute("INSERT INTO mutation_specs VALUES (?, 'core/AddNot', 1, 0, 'f')", (number,))
            if worker:
                session.execute("INSERT INTO work_results VALUES (?, ?, ?, '')", (number, worker, outcome))
    lines = mutants.table(date(2026, 1, 2)).splitlines()
    row = "| Guard | `portal/guard.py` | 2 of 3 | 1 | 0 | 50% | `tests/test_guard.py::test_one` |"
    assert row in lines, [line for line in lines if "guard" in line]
