"""Finds where the portal's code changes something at the care API, and whether it goes through `act_once`.

A call of a function of `portal.services` that uses an endpoint which isn't safe (RFC 9110 §9.2.1) is guarded when it
stands in what is handed to `act_once` as `send` (`portal.views.creation.Creation` hands it on), or to
`portal.web.editing.Editing` as `write`; in what a function of the same module takes only to hand it on to one of them; or in
a function that is used from such places alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import cast

from tools.coverage_table import constants, functions_of
from tools.definitions import ROOT, Name, modules, sources, tree

_GATES = {
    "act_once": ("send", 1),
    "create_once": ("send", 1),
    "Creation": ("send", None),
    "Editing": ("write", None),
}
"""Who sends: the parameter that sends, by name and by place."""

_SETTLING = {"claim", "finish", "lose", "reopen", "restart", "drop"}


@dataclass(frozen=True)
class Place:
    """A node of a module's syntax tree."""

    module: str
    node: ast.AST

    def __str__(self) -> str:
        return f"{self.module.replace('.', '/')}, line {getattr(self.node, 'lineno', '?')}"


def acts() -> dict[str, tuple[Name, ...]]:
    """The functions of `portal.services` that change something, by the endpoint that they use."""
    return {name: functions_of(name) for name, endpoint in constants().items() if not endpoint.is_safe}


def unguarded() -> Iterator[tuple[str, Place]]:
    """Yield each call that goes past `act_once`, by the name of the function that acts."""
    for act in sorted({function for functions in acts().values() for function in functions}):
        for place in _index().functions.get(act, ()):
            if not _is_guarded(place, frozenset()):
                yield f"{act[0].removeprefix('portal.services.')}.{act[1]}", place


def settlings() -> Iterator[Place]:
    """Yield each place that settles an operation by itself."""
    for method in sorted(_SETTLING):
        for place in _index().attributes.get(method, ()):
            if ast.unparse(cast("ast.Attribute", place.node).value).rpartition(".")[2] == "operations":
                yield place


@dataclass(frozen=True)
class Index:
    """The modules that may act: the parent of each node, and where each function and attribute is used, and what each defines."""

    parents: dict[ast.AST, ast.AST]
    functions: dict[Name, list[Place]]
    attributes: dict[str, list[Place]]
    definitions: dict[Name, ast.FunctionDef]


@cache
def _index() -> Index:
    index = Index({}, {}, {}, {})
    for path in (*sources("portal/views"), *sources("portal/web")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        imports = modules()[module].imports
        for node in ast.walk(tree(path)):
            index.parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
            if isinstance(node, ast.FunctionDef):
                index.definitions[module, node.name] = node
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                meant = imports.get(node.id, (module, node.id))
                index.functions.setdefault(meant, []).append(Place(module, node))
            elif isinstance(node, ast.Attribute):
                index.attributes.setdefault(node.attr, []).append(Place(module, node))
                if isinstance(node.value, ast.Name) and node.value.id in imports:
                    meant = (".".join(imports[node.value.id]), node.attr)
                    index.functions.setdefault(meant, []).append(Place(module, node))
    return index


def _is_guarded(place: Place, seen: frozenset[ast.AST]) -> bool:
    """Whether a gate sends this place, or it stands in a function that is used from guarded places alone."""
    parents, node = _index().parents, place.node
    while (parent := parents.get(node)) is not None:
        if _is_handed_to_a_gate(node, parent) or _is_handed_on(place.module, node, parent, seen):
            return True
        if isinstance(parent, ast.FunctionDef):
            users = _uses_of(place.module, parent)
            is_known = parent in seen
            return is_known or (bool(users) and all(_is_guarded(user, seen | {parent}) for user in users))
        node = parent
    return False


def _is_handed_to_a_gate(node: ast.AST, parent: ast.AST) -> bool:
    call = _index().parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return False
    name, at = _GATES.get(ast.unparse(call.func).rpartition(".")[2], ("", None))
    if isinstance(parent, ast.keyword):
        return parent.arg == name
    return at is not None and len(call.args) > at and call.args[at] is node


def _is_handed_on(module: str, node: ast.AST, parent: ast.AST, seen: frozenset[ast.AST]) -> bool:
    """Whether it is an argument of a function of its module that uses the parameter in guarded places alone."""
    call = _index().parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    function = _index().definitions.get((module, call.func.id))
    if function is None:
        return False
    parameters = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    taken = dict(zip(map(id, call.args), parameters, strict=False))
    name = parent.arg if isinstance(parent, ast.keyword) else taken.get(id(node))
    users = [
        Place(module, used)
        for used in ast.walk(function)
        if isinstance(used, ast.Name) and used.id == name and isinstance(used.ctx, ast.Load)
    ]
    return bool(users) and all(_is_guarded(user, seen) for user in users)


def _uses_of(module: str, function: ast.FunctionDef) -> list[Place]:
    """Where a function of a module is used: a method by its name, wherever that stands."""
    if isinstance(_index().parents[function], ast.ClassDef):
        return _index().attributes.get(function.name, [])
    return _index().functions.get((module, function.name), [])
