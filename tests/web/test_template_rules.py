"""Rules for templates: no hard-coded addresses, no comparison with enumeration values, and a maximum line width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from portal.web import templates

FILES = sorted(templates.FOLDER.rglob("*.html"))
PAGES = [file for file in FILES if file.parent.name != "ui"]
"""Macros compare the words that they take as arguments."""

WIDTH = 140
SENTENCE = re.compile(r"""(["'])(?:(?!\1).){75,}\1""")
"""A message to be translated, which is one literal however long it is."""

PATH_IN_MARKUP = re.compile(r"""\b(?:href|src|action|formaction|hx-[\w-]+)=["']/""")


@cache
def parsed(file: Path) -> nodes.Template:
    return Environment(extensions=["jinja2.ext.do"], autoescape=True).parse(file.read_text(encoding="utf-8"))


def name_of(file: Path) -> str:
    return file.relative_to(templates.FOLDER).as_posix()


def written_paths(template: nodes.Template) -> Iterator[str]:
    for text in template.find_all(nodes.TemplateData):
        yield from PATH_IN_MARKUP.findall(text.data)
    for constant in template.find_all(nodes.Const):
        if isinstance(constant.value, str) and constant.value.startswith("/"):
            yield constant.value


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_addresses_come_from_url_for_or_the_view(file: Path) -> None:
    assert not [*written_paths(parsed(file))], (
        "name the endpoint with url_for, or take the address from the view"
    )


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_template_lines_keep_to_the_maximum_width(file: Path) -> None:
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    wide = [number for number, line in lines if len(line) > WIDTH and not SENTENCE.search(line)]
    assert not wide, f"break these lines at {WIDTH} columns: {wide}"


def enumerated() -> frozenset[str]:
    """Every value of the portal's enumerations, such as a form's status."""
    found: set[str] = set()
    waiting: list[type[StrEnum]] = [StrEnum]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("portal.") and "careservice" not in kind.__module__:
            found.update(kind)
    return frozenset(found)


ENUMERATED = enumerated()


@pytest.mark.parametrize("file", PAGES, ids=name_of)
def test_templates_do_not_compare_enumeration_values(file: Path) -> None:
    compared = [
        constant.value
        for comparison in parsed(file).find_all(nodes.Compare)
        for constant in comparison.find_all(nodes.Const)
        if isinstance(constant.value, str) and constant.value in ENUMERATED
    ]
    assert not compared, (
        "give the record or the page a property that says what it means, such as `form.is_draft`"
    )


def test_enumeration_values_are_collected_from_the_code() -> None:
    assert {"PartiallySigned", "OnHold", "NoResult", "staff"} <= ENUMERATED
