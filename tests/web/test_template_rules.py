"""What templates leave to others: where pages are, and what a value of the care API means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from portal.web import templates

FILES = sorted(templates.FOLDER.rglob("*.html"))
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
