"""The pages: one module for each resource, with the same name as in `portal.services` and `templates`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

from flask import Blueprint


def blueprints() -> Iterator[Blueprint]:
    """Yield the blueprint of each module that has one, as `bp`."""
    for found in iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        if blueprint := getattr(module, "bp", None):
            yield blueprint
