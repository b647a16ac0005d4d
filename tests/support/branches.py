"""Notes how the conditions of the portal's own code turn out: `watch()` before anything of it is imported.

Each comparison, `not`, operand of `and` and `or`, `if` and `match` case is noted with whether it held; of `<` and its like also that
both sides were equal.
"""

from __future__ import annotations

import ast
import builtins
import operator
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any, TypeVar, cast

Node = TypeVar("Node", bound=ast.AST)
Branch = tuple[str, object]
"""A place (module, line and column), and how it turned out: True, False or "equal"."""

_WATCHED = ("portal.views", "portal.web", "portal.services", "portal.printing")
_NOT_WATCHED = "portal.web.framework_internals"
_NOTED, _COMPARED = "__noted__", "__compared__"
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}


def watch() -> set[Branch]:
    """Return the set in which modules that are imported from now on note their conditions."""
    seen: set[Branch] = set()

    def noted(place: str, value: object) -> object:
        seen.add((place, bool(value)))
        return value

    def compared(place: str, order: str, left: object, right: object) -> bool:
        if left == right:
            seen.add((place, "equal"))
        return bool(noted(place, _ORDER[order](left, right)))

    vars(builtins).update({_NOTED: noted, _COMPARED: compared})
    sys.meta_path.insert(0, _Finder())
    return seen


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find a module of the portal, to be compiled with its conditions noted."""
        if not fullname.startswith(_WATCHED) or fullname == _NOT_WATCHED:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, cast("str", spec.loader.path))
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = _Noting(fullname).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)


class _Noting(ast.NodeTransformer):
    """Wraps conditions in calls; leaves annotations, decorators and base classes alone."""

    def __init__(self, module: str) -> None:
        self._module = module

    def _call(self, name: str, at: ast.expr | ast.stmt, *arguments: ast.expr) -> ast.Call:
        place = ast.Constant(f"{self._module}:{at.lineno}:{at.col_offset}")
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [place, *arguments], []), at)

    def _noted(self, node: ast.expr) -> ast.expr:
        is_noted = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in (_NOTED, _COMPARED)
        )
        return node if is_noted else self._call(_NOTED, node, node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        order = type(node.ops[0]).__name__
        if order in _ORDER:
            return self._call(_COMPARED, node, ast.Constant(order), node.left, node.comparators[0])
        return self._noted(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return self._noted(node) if isinstance(node.op, ast.Not) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        node.values = [self._noted(value) for value in node.values]
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        node.test = self._noted(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        self.generic_visit(node)
        node.test = self._noted(node.test)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.ifs = [self._noted(one) for one in node.ifs]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.match_case:
        self.generic_visit(node)
        node.body.insert(
            0, ast.copy_location(ast.Expr(self._call(_NOTED, node.body[0], ast.Constant(True))), node.body[0])
        )
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign:
        if node.value:
            node.value = self.visit(node.value)
        return node

    def _body_alone(self, node: Any) -> Any:
        node.body = [self.visit(one) for one in node.body]
        return node

    visit_FunctionDef = visit_ClassDef = _body_alone  # noqa: N815
