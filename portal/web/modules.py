"""Modules that a clinic has switched off: nothing of them is left, no page, link, record or call of the care API.

Each view or blueprint of a module is declared by `part_of`; its addresses then answer 404, and `url_for` refuses to make
one. The records of a module are taken out of what is read (`portal.services.modules`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flask import Blueprint, Flask, abort, current_app, g, has_app_context, request

from portal.config.modules import Module

T = TypeVar("T", bound=Callable[..., object])

_OF_BLUEPRINT: dict[str, Module] = {}
_MARK = "module"


def whole(module: Module, bp: Blueprint) -> Blueprint:
    """Declare that all of a blueprint, with those registered on it, belongs to the module."""
    _OF_BLUEPRINT[bp.name] = module
    return bp


def part_of(module: Module) -> Callable[[T], T]:
    """Declare that a view belongs to the module."""

    def mark(view: T) -> T:
        setattr(view, _MARK, module)
        return view

    return mark


def off() -> frozenset[Module]:
    """The modules that this request's clinic has switched off."""
    tenant = g.get("tenant") if has_app_context() else None
    return getattr(tenant, "modules_off", frozenset[Module]())


def has_module(name: str) -> bool:
    """Whether the clinic uses the module."""
    return Module(name) not in off()


def module_at(endpoint: str) -> Module | None:
    """The module that an endpoint belongs to, or None."""
    whole_one = _OF_BLUEPRINT.get(endpoint.partition(".")[0])
    return whole_one or getattr(current_app.view_functions.get(endpoint), _MARK, None)


def is_off(endpoint: str) -> bool:
    """Whether an endpoint belongs to a module that is switched off."""
    gone = off()
    return bool(gone) and module_at(endpoint) in gone


def init_app(app: Flask) -> None:
    """Answer 404 for what is switched off, and let nothing link to it."""

    def refuse() -> None:
        if request.endpoint and is_off(request.endpoint):
            abort(404)

    def refuse_links(endpoint: str, _values: dict[str, object]) -> None:
        """In tests a forgotten link is an error; in use it is logged, and leads to the page that says 404."""
        if is_off(endpoint) and not is_off(request.endpoint or ""):
            if current_app.testing:
                raise LookupError(f"a link to {endpoint}, whose module is off: ask has_module first")
            current_app.logger.error("a link to %s, whose module is switched off", endpoint)

    app.before_request(refuse)
    app.url_defaults(refuse_links)
