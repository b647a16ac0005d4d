"""What each module of the project defines, what that uses, and where a name leads, read from the syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
Name = tuple[str, str]
"""A module and something that it defines at its top level."""


@dataclass(slots=True)
class Module:
    """A module's own definitions with the names that each uses, and what its imports stand for."""

    name: str
    uses: dict[str, set[str]] = field(default_factory=dict)
    imports: dict[str, Name] = field(default_factory=dict)


def reach(start: Name) -> set[Name]:
    """Everything of the portal that `start` leads to, itself included."""
    seen: set[Name] = set()
    waiting = [start]
    while waiting:
        at = waiting.pop()
        if at in seen or (used := _used_by(at)) is None:
            continue
        seen.add(at)
        waiting += used
    return seen


@cache
def _used_by(at: Name) -> list[Name] | None:
    """What a definition of the portal's uses; None if it is no such definition."""
    module = modules().get(at[0])
    if module is None or at[1] not in module.uses:
        return None
    return [name for one in module.uses[at[1]] if (name := resolve(module, one))]


@cache
def modules() -> dict[str, Module]:
    """The portal's modules by their names."""
    return {
        _module_name(path): _read(_module_name(path), tree(path))
        for path in sources("portal")
        if "careservice" not in path.parts
    }


def sources(folder: str) -> list[Path]:
    """The Python files below a folder of the project."""
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """A file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _read(name: str, source: ast.Module) -> Module:
    module = Module(name)
    for node in ast.walk(source):
        if isinstance(node, ast.ImportFrom) and node.module:
            module.imports |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    for node in source.body:
        for defined in _defines(node):
            module.uses[defined] = set(_names(node))
    return module


def _defines(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name()):
            return [node.target.id]
        case _:
            return []


def _names(node: ast.stmt) -> Iterator[str]:
    """The names used in a definition, not its own: `list_consents`, and `consents.list_consents` of a module."""
    parts = list(ast.walk(node))
    own = {part.arg for part in parts if isinstance(part, ast.arg)}
    if isinstance(node, ast.FunctionDef):
        own |= {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for part in parts:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in own:
            yield part.id
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            yield f"{part.value.id}.{part.attr}"


def resolve(module: Module, used: str) -> Name | None:
    """What a name means in a module, through as many imports as it takes."""
    base, _, attribute = used.partition(".")
    if base not in module.imports:
        return (module.name, used) if not attribute and used in module.uses else None
    source, name = module.imports[base]
    if f"{source}.{name}" in _module_names():
        return _defined_at(f"{source}.{name}", attribute) if attribute else None
    return None if attribute else _defined_at(source, name)


def _defined_at(module_name: str, name: str) -> Name:
    module = modules().get(module_name)
    is_passed_on = module is not None and name not in module.uses and name in module.imports
    return _defined_at(*module.imports[name]) if module and is_passed_on else (module_name, name)


@cache
def _module_names() -> frozenset[str]:
    return frozenset(_module_name(path) for path in sources("portal"))
