"""Modules that a clinic has switched off: they have no pages, links or records, and cause no calls of the care API.

Views and blueprints are assigned to a module by `part_of` and `whole`. If it is off, their addresses return 404 and
`url_for` reports links to them. The client of the API calls none of its endpoints, and
leaves its records out of an episode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flask import Blueprint, Flask, abort, current_app, request

from portal.config.modules import Module
from portal.request_values import clinic

T = TypeVar("T", bound=Callable[..., object])

_OF_BLUEPRINT: dict[str, Module] = {}
_MARK = "module"
_NONE = frozenset[Module]()


def whole(module: Module, bp: Blueprint) -> Blueprint:
    """Assign a blueprint, including those nested in it, to the module."""
    _OF_BLUEPRINT[bp.name] = module
    return bp


def part_of(module: Module) -> Callable[[T], T]:
    """Assign a view to the module (decorator)."""

    def mark(view: T) -> T:
        setattr(view, _MARK, module)
        return view

    return mark


def off() -> frozenset[Module]:
    return getattr(clinic(), "modules_off", _NONE)


def has_module(name: str) -> bool:
    return Module(name) not in off()


def module_at(endpoint: str) -> Module | None:
    of_blueprint = _OF_BLUEPRINT.get(endpoint.partition(".")[0])
    return of_blueprint or getattr(current_app.view_functions.get(endpoint), _MARK, None)


def is_off(endpoint: str) -> bool:
    modules_off = off()
    return bool(modules_off) and module_at(endpoint) in modules_off


def init_app(app: Flask) -> None:
    """Return 404 for endpoints of modules that are off, and report links to them."""

    def refuse() -> None:
        if request.endpoint and is_off(request.endpoint):
            abort(404)

    def refuse_links(endpoint: str, _values: dict[str, object]) -> None:
        """A link to a module that is off raises in tests; in production it is logged, and leads to a 404."""
        if is_off(endpoint) and not is_off(request.endpoint or ""):
            if current_app.testing:
                raise LookupError(f"a link to {endpoint}, whose module is off: ask has_module first")
            current_app.logger.error("a link to %s, whose module is switched off", endpoint)

    app.before_request(refuse)
    app.url_defaults(refuse_links)
