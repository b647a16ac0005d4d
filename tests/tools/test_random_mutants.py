"""The mutants that are drawn by chance: the same in one week, anywhere, each a program or template that can be read."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tools.fork_server import made
from tools.mutants import ROOT
from tools.random_mutants import Change, Mutant, Watched, area_of, changes_of, drawn, section
from tools.reach import Reached

WEEK = "2026-W48"


def test_a_week_draws_the_same_mutants_and_another_week_others() -> None:
    assert drawn(WEEK, 5) == drawn(WEEK, 5)
    assert drawn(WEEK, 5) != drawn("2026-W49", 5)


def test_mutants_are_of_all_areas_and_differ_from_what_they_change() -> None:
    mutants = drawn(WEEK, 60)
    assert len({(mutant.path, mutant.line) for mutant in mutants}) == 60
    assert {area_of(mutant.path) for mutant in mutants} >= {"templates", "pages", "care service", "services"}
    assert area_of("static/scripts/toasts.js") == "scripts"
    for mutant in mutants:
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
        made = mutant.change.made_in(text)
        assert made != text
        if mutant.path.endswith(".py"):
            assert ast.dump(ast.parse(made)) != ast.dump(ast.parse(text)), mutant


@pytest.mark.parametrize(
    ("suffix", "text", "made"),
    [
        (".py", "é = a < b", "é = (a <= b)"),
        (".py", "if not a and b:\n    c(1)", "if (not a or b):\n    c(1)"),
        (".py", "if a:\n    c(1)", "if a:\n    pass"),
        (".py", "a = name(x, tenant=y)", "a = name(x)"),
        (".html", "{{ form.title }}", "{{ '' }}"),
        (".html", "{% if form.is_open %}", "{% if not (form.is_open) %}"),
        (".html", "{{ form.sent_at }}{{ form.due_at }}", "{{ form.due_at }}{{ form.due_at }}"),
        (".js", "if (a === b) c();", "if (a !== b) c();"),
        (".js", "  form.submit();", ";"),
    ],
)
def test_each_kind_of_file_has_its_slips(suffix: str, text: str, made: str) -> None:
    assert made in [change.made_in(text) for change in changes_of(suffix, text)]


def test_notes_and_types_are_left_alone() -> None:
    assert not [*changes_of(".py", '"""A note: 1."""\n\ndef f(a: Literal[1]) -> bool: ...')]
    assert not [*changes_of(".html", "{# {{ form.title }} #}")]
    assert not [*changes_of(".js", "// a === b")]


def test_a_change_is_tried_with_the_tests_that_run_its_function(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "portal").mkdir()
    (tmp_path / "portal/a.py").write_text(
        "LIMIT = 1\n\n\n@cache\ndef f():\n    return 1\n\n\ndef g():\n    return 2\n"
    )
    of_f, of_g, template = ("portal/a.py", "f"), ("portal/a.py", "g"), ("templates/b.html", "root")
    reached = [
        Reached("tests/web/test_b.py::wide", 1.0, frozenset({of_f, of_g})),
        Reached("tests/web/test_b.py::narrow", 1.0, frozenset({of_f})),
        Reached("tests/web/test_a.py::test", 1.0, frozenset({of_f, of_g, template})),
        Reached("tests/pages/test_b.py::test", 100.0, frozenset({of_f, template})),
    ]
    tests = Watched(reached, tmp_path)

    def tried(path: str, line: int) -> list[str]:
        return tests.for_(Mutant(path, line, "", Change(0, 1, "", "")))

    assert tried("portal/a.py", 6) == [
        "tests/web/test_b.py::narrow",
        "tests/web/test_b.py::wide",
        "tests/web/test_a.py::test",
    ], "no slow one"
    assert tried("portal/a.py", 10) == ["tests/web/test_b.py::wide", "tests/web/test_a.py::test"]
    (tmp_path / "tests/test_a.py").touch()
    assert tried("templates/a.html", 1) == ["tests/test_a.py", "tests/pages/test_facts.py"]
    (tmp_path / "tests/web").mkdir(exist_ok=True)
    (tmp_path / "tests/web/test_b.py").write_text("portal/a.py")
    assert tried("portal/a.py", 6)[:2] == ["tests/web/test_b.py::narrow", "tests/web/test_b.py::wide"]
    assert tried("templates/b.html", 7) == ["tests/web/test_a.py::test"]


def test_the_result_is_told_by_area_with_what_survived() -> None:
    mutants = [
        Mutant(path, 3, "a < b", Change(0, 1, "", "turned")) for path in ("portal/audit/a.py", "wsgi.py")
    ]
    text = section(WEEK, [(mutants[0], "noticed"), (mutants[0], "survived"), (mutants[1], "")])
    assert "| audit | 2 | 2 | 1 | 50% |" in text
    assert "| all | 3 | 2 | 1 | 50% |" in text
    assert text.endswith("- `portal/audit/a.py` line 3, `a < b`: turned\n")


_MODULE = """
LIMIT = 1
ALL = [one for one in (1, 2)]

def below(a, given=3):
    return a < 1

def over(a):
    return lambda b: b < a

class Held:
    limit = 5

    def shown(self):
        return self.limit
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("return a < 1", "return a <= 1", (True, False, 5)),
        ("lambda b: b < a", "lambda b: b <= a", (False, True, 5)),
        ("return self.limit", "return self.limit + 1", (False, False, 6)),
        ("LIMIT = 1", "LIMIT = 2", None),
        ("limit = 5", "limit = 6", None),
        ("given=3", "given=4", None),
        ("[one for", "[one + 1 for", None),
        ("a, given=3", "a, given=True", None),
    ],
)
def test_a_warm_server_puts_a_change_into_functions_or_says_that_it_is_of_more(
    tmp_path: Path, old: str, new: str, told: tuple[bool, bool, int] | None
) -> None:
    file, before = tmp_path / "changed.py", tmp_path / "before"
    before.write_text(_MODULE)
    file.write_text(_MODULE.replace(old, new))
    module: dict[str, Any] = {}
    exec(compile(_MODULE, str(file), "exec"), module)  # noqa: S102
    over_two = module["over"](2)
    assert made(file, before) == (told is not None)
    assert (module["below"](1), over_two(2), module["Held"]().shown()) == (told or (False, False, 5))
