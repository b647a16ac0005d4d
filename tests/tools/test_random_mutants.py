"""The mutants that are drawn by chance: the same in one week, anywhere, each a program or template that can be read."""

from __future__ import annotations

import ast

import pytest

from tools.mutants import ROOT
from tools.random_mutants import Change, Mutant, area_of, changes_of, drawn, nearest_tests, section

WEEK = "2026-W48"


def test_a_week_draws_the_same_mutants_and_another_week_others() -> None:
    assert drawn(WEEK, 20) == drawn(WEEK, 20)
    assert drawn(WEEK, 20) != drawn("2026-W49", 20)


def test_mutants_are_of_all_areas_and_differ_from_what_they_change() -> None:
    mutants = drawn(WEEK)
    assert len({(mutant.path, mutant.line) for mutant in mutants}) == 200
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


def test_the_nearest_tests_are_tried_first_then_their_folder() -> None:
    near, wide = nearest_tests("portal/web/act_once.py")
    assert "tests/web/test_act_once.py" in near
    assert wide == ("tests/web",)
    near, wide = nearest_tests("templates/storage/show.html")
    assert near[0] == "tests/pages"
    assert wide == ("tests/views/storage",)


def test_the_result_is_told_by_area_with_what_survived() -> None:
    mutants = [
        Mutant(path, 3, "a < b", Change(0, 1, "", "turned")) for path in ("portal/audit/a.py", "wsgi.py")
    ]
    text = section(WEEK, [(mutants[0], "noticed"), (mutants[0], "survived"), (mutants[1], "")])
    assert "| audit | 2 | 2 | 1 | 50% |" in text
    assert "| all | 3 | 2 | 1 | 50% |" in text
    assert text.endswith("- `portal/audit/a.py` line 3, `a < b`: turned\n")
