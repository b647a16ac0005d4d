"""Which conditions of the templates pages were shown with, and which way each turned out.

Each `{% if %}`, `… if … else …` and `{% for %}` is numbered in the order it stands in; while pages are watched, it notes
whether it held, or whether there was nothing, one or more to go through.

A loop that stands under a condition on what it goes through is never without any, and one through a tuple that is written out has as many each time.
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
    ways: tuple[int, ...]
    """In which ways it can turn out."""

    @property
    def turns(self) -> set[Turn]:
        return {(self.template, self.number, way) for way in self.ways}


@cache
def all_conditions() -> tuple[Condition, ...]:
    """Return every condition of every template."""
    found: list[Condition] = []
    plain = Environment(extensions=["jinja2.ext.do"], autoescape=True)
    for file in sorted(templates.FOLDER.rglob("*.html")):
        source = file.read_text(encoding="utf-8")
        lines = source.splitlines()
        name = file.relative_to(templates.FOLDER).as_posix()
        tree = plain.parse(source)
        ways = dict(_ways(tree, []))
        found += [
            Condition(name, number, node.lineno, lines[node.lineno - 1].strip(), ways[id(node)])
            for number, node in enumerate(_conditions(tree))
        ]
    return tuple(found)


def _ways(node: nodes.Node, known: list[nodes.Expr]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """By the identity of each condition: how it can turn out where these are known to hold."""
    if isinstance(node, (nodes.Block, nodes.Macro)):  # shown from elsewhere too
        known = []
    if isinstance(node, (nodes.If, nodes.CondExpr)):
        yield id(node), (0, 1)
    elif isinstance(node, nodes.For):
        yield id(node), _ways_of_loop(node.iter, known)
    for child in node.iter_child_nodes():
        if isinstance(node, nodes.If) and any(child is part for part in node.body):
            yield from _ways(child, [*known, *_holding(node)])
        else:
            yield from _ways(child, known)


def _ways_of_loop(through: nodes.Expr, known: list[nodes.Expr]) -> tuple[int, ...]:
    if isinstance(through, (nodes.Tuple, nodes.List)):
        return (min(len(through.items), 2),)
    is_ordered = isinstance(through, nodes.Filter) and through.name == "sort"
    is_first_few = isinstance(through, nodes.Getitem) and isinstance(through.arg, nodes.Slice)
    whole = cast("Any", through).node if is_ordered or is_first_few else through
    return (1, 2) if whole in known else (0, 1, 2)


def _holding(condition: nodes.If) -> Iterator[nodes.Expr]:
    """What holds in the body of a condition: each of what it joins with `and`, unless a name in it is set anew there."""
    changed = {name.name for part in condition.body for name in _names(part) if name.ctx == "store"}
    parts = [condition.test]
    while parts:
        part = parts.pop()
        if isinstance(part, nodes.And):
            parts += [part.left, part.right]
        elif not {name.name for name in _names(part)} & changed:
            yield part


def _names(node: nodes.Node) -> Iterator[nodes.Name]:
    if isinstance(node, nodes.Name):
        yield node
    yield from node.find_all(nodes.Name)


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
