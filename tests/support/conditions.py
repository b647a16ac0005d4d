"""Which conditions of the templates pages were shown with, and which way each turned out.

Each `{% if %}`, `… if … else …` and `{% for %}` is numbered in the order it stands in; while pages are watched, it notes
whether it held, or whether there was nothing, one or more to go through.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pytest
from jinja2 import Environment, nodes

from portal.web import templates
from portal.web.templates import PortalEnvironment

Turn = tuple[str, int, int]
"""A template, the number of its condition, and how it turned out: 0 or 1, of a loop how many, up to 2."""


@dataclass(frozen=True)
class Condition:
    """A condition in a template: its line, and the text of that line."""

    template: str
    number: int
    line: int
    text: str
    is_loop: bool

    @property
    def turns(self) -> set[Turn]:
        return {(self.template, self.number, way) for way in range(3 if self.is_loop else 2)}


@cache
def all_conditions() -> tuple[Condition, ...]:
    """Return every condition of every template."""
    found: list[Condition] = []
    plain = Environment(extensions=["jinja2.ext.do"], autoescape=True)
    for file in sorted(templates.FOLDER.rglob("*.html")):
        source = file.read_text(encoding="utf-8")
        lines = source.splitlines()
        name = file.relative_to(templates.FOLDER).as_posix()
        found += [
            Condition(name, number, node.lineno, lines[node.lineno - 1].strip(), isinstance(node, nodes.For))
            for number, node in enumerate(_conditions(plain.parse(source)))
        ]
    return tuple(found)


def watch(patch: pytest.MonkeyPatch) -> set[Turn]:
    """Return the set in which the conditions of templates that are compiled from now on note how they turn out."""
    seen: set[Turn] = set()
    compiles = cast("Any", PortalEnvironment).compile

    def noted(value: Any, name: str, number: int, is_loop: bool) -> Any:
        if is_loop:
            value = value if isinstance(value, Sized) else [*value]
        seen.add((name, number, min(len(value), 2) if is_loop else int(bool(value))))
        return value

    def compile_watched(self: Any, source: Any, name: Any = None, *args: Any, **options: Any) -> Any:
        self.filters["noted"] = noted
        tree = self.parse(source, name)
        for number, node in enumerate(_conditions(tree)):
            if isinstance(node, nodes.For):
                node.iter = _noted(node.iter, name, number, is_loop=True)
            else:
                node.test = _noted(node.test, name, number, is_loop=False)
        tree = templates._ConstantFolding(self).visit(tree) if self.language else tree
        return compiles(self, tree, name, *args, **options)

    patch.setattr(PortalEnvironment, "compile", compile_watched)
    return seen


def _conditions(tree: nodes.Template) -> Iterator[nodes.If | nodes.CondExpr | nodes.For]:
    """In an order that is the same however the template's text is laid out."""
    yield from cast("Any", tree.find_all((nodes.If, nodes.CondExpr, nodes.For)))


def _noted(node: nodes.Expr, name: str | None, number: int, *, is_loop: bool) -> nodes.Expr:
    arguments: list[nodes.Expr] = [nodes.Const(name), nodes.Const(number), nodes.Const(is_loop)]
    wrapped = nodes.Filter(node, "noted", arguments, [], None, None)
    wrapped.set_lineno(node.lineno)
    return wrapped
