"""Every test asserts something, or its docstring says how it fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
ASSERTING = {"raises", "warns", "fail", "expect", "check_call", "check_output", "run_state_machine_as_test"}
"""What fails by itself where something isn't as it should be."""
STATED = {"status", "check"}
"""Parameters that say what has to come: of a visitor's calls, the HTTP status; of `subprocess.run`, success."""


def test_each_test_asserts_something_or_says_how_it_fails() -> None:
    silent = [
        f"{path.relative_to(TESTS)}::{function.name}"
        for path, function in _functions()
        if function.name.startswith("test_") and not _asserts(function) and not ast.get_docstring(function)
    ]
    assert not silent, f"assert something, or say in the docstring how these fail: {silent}"


def test_a_test_that_only_calls_is_found() -> None:
    for body, does in (
        ("visitor.get('/')", False),
        ("helper()", False),
        ("visitor.get('/', status=404)", True),
        ("visitor.get('/', status=None)", False),
        ("lint(page)", True),
        ("with raises(ValueError): parse('')", True),
        ("for line in lines: assert line", True),
    ):
        (function,) = ast.parse(f"def test_it():\n    {body}").body
        assert isinstance(function, ast.FunctionDef)
        assert _asserts(function) == does, body


@cache
def _functions() -> list[tuple[Path, ast.FunctionDef]]:
    found: list[tuple[Path, ast.FunctionDef]] = []
    for path in sorted(TESTS.rglob("*.py")):
        top = ast.parse(path.read_text(encoding="utf-8")).body
        within = [node for a_class in top if isinstance(a_class, ast.ClassDef) for node in a_class.body]
        found += [(path, node) for node in (*top, *within) if isinstance(node, ast.FunctionDef)]
    return found


def _asserts(function: ast.FunctionDef) -> bool:
    """Whether it has an assertion itself, or calls what has one."""
    return _has_assertion(function) or any(name in _helpers() for name in _called(function))


@cache
def _has_assertion(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and (_name(node) in ASSERTING or _states(node)))
        for node in ast.walk(function)
    )


def _states(call: ast.Call) -> bool:
    return any(
        keyword.arg in STATED and (not isinstance(keyword.value, ast.Constant) or keyword.value.value)
        for keyword in call.keywords
    )


@cache
def _helpers() -> frozenset[str]:
    """The functions of the tests that assert, but for those named as a visitor's, which do so only of a status that is stated."""
    found = [(path.name == "visitor.py", function) for path, function in _functions()]
    of_visitors = {function.name for is_visitors, function in found if is_visitors} - {"lint"}
    helpers = {function.name for _, function in found if _has_assertion(function)}
    return frozenset(name for name in helpers - of_visitors if not name.startswith("test_"))


def _called(function: ast.FunctionDef) -> Iterator[str]:
    return (_name(node) for node in ast.walk(function) if isinstance(node, ast.Call))


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
