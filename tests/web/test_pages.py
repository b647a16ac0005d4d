"""A page's context is a typed value whose names don't collide with the frame's."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import NamedTuple

import pytest
from jinja2 import Environment, meta, nodes

from portal.web.pages import FRAME, Page, all_pages, refuse_collisions
from tools.coverage_table import application


@pytest.mark.parametrize("name", sorted(FRAME))
def test_a_page_field_named_like_a_frame_variable_is_an_error(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        type("Wrong", (Page,), {"__annotations__": {name: str}}, template="wrong.html")


def test_a_page_field_named_like_a_template_global_is_an_error() -> None:
    class Fine(Page, template="fine.html"):
        url_for: str

    try:
        with pytest.raises(TypeError, match=r"Fine: url_for means something else"):
            refuse_collisions(["url_for", "nonce"])
    finally:
        Fine.__annotations__.clear()
        Fine.__dataclass_fields__.clear()  # pyright: ignore


def test_a_pages_context_is_exactly_its_fields() -> None:
    class Fields(Page, template="fields.html"):
        title: str
        count: int = 0

    page = Fields(title="A")
    assert page.context() == {"title": "A", "count": 0}
    assert page.template == "fields.html"
    with pytest.raises(dataclasses.FrozenInstanceError):
        page.title = "B"  # pyright: ignore


@pytest.fixture(scope="module")
def environment() -> Environment:
    return application().jinja_env


def test_a_template_uses_only_names_that_its_page_has(environment: Environment) -> None:
    known = FRAME | environment.globals.keys() | {"ui"}
    wrong = {
        f"{page.__qualname__} ({page.template})": sorted(unknown)
        for page in pages()
        if (unknown := names_of(environment, page.template).needed - fields(page) - known)
    }
    assert not wrong, f"let the page hold these names, or leave them out of its template: {wrong}"


def test_a_page_has_no_field_that_its_template_does_not_use(environment: Environment) -> None:
    wrong = {
        f"{page.__qualname__} ({page.template})": sorted(unused)
        for page in pages()
        if (unused := fields(page) - names_of(environment, page.template).read)
    }
    assert not wrong, f"take these fields out of the page: {wrong}"


def pages() -> list[type[Page]]:
    """The portal's own pages."""
    return [
        page for page in all_pages() if page.__module__.startswith("portal.") and hasattr(page, "template")
    ]


def fields(page: type[Page]) -> set[str]:
    return {field.name for field in dataclasses.fields(page)}  # pyright: ignore


class Names(NamedTuple):
    """What a template reads, with all that it extends and includes; `needed` is what none of them sets itself."""

    read: set[str]
    needed: set[str]


@cache
def names_of(environment: Environment, template: str) -> Names:
    assert environment.loader
    tree = environment.parse(environment.loader.get_source(environment, template)[0])
    read = meta.find_undeclared_variables(tree)
    # Jinja reports variables that a block sets and a `call` inside it reads as undeclared.
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    own |= {macro.name for macro in tree.find_all(nodes.Macro)}
    optional = {
        one.node.name
        for one in tree.find_all(nodes.Filter)
        if one.name == "default" and isinstance(one.node, nodes.Name)
    }
    needed = read - own - optional
    for node in tree.find_all((nodes.Extends, nodes.Include)):
        assert isinstance(node.template, nodes.Const), f"{template}: named by an expression"
        found = names_of(environment, node.template.value)
        read = read | found.read
        needed |= found.needed if isinstance(node, nodes.Extends) else found.needed - own
    return Names(read, needed)
