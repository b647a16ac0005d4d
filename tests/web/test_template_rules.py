"""Rules for templates: no hard-coded addresses, no comparison with enumeration values, no words of records in titles,
nothing kept in forms by browsers, and a maximum line width."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

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


def faults(files: list[Path], found_in: Callable[[Path], Sequence[object]]) -> dict[str, Sequence[object]]:
    """What this finds, by the template it is in."""
    return {name_of(file): found for file in files if (found := found_in(file))}


def written_paths(template: nodes.Template) -> Iterator[str]:
    for text in template.find_all(nodes.TemplateData):
        yield from PATH_IN_MARKUP.findall(text.data)
    for constant in template.find_all(nodes.Const):
        if isinstance(constant.value, str) and constant.value.startswith("/"):
            yield constant.value


def test_addresses_come_from_url_for_or_the_view() -> None:
    found = faults(FILES, lambda file: [*written_paths(parsed(file))])
    assert not found, "name the endpoint with url_for, or take the address from the view"


def test_template_lines_keep_to_the_maximum_width() -> None:
    def wide(file: Path) -> list[int]:
        lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        return [number for number, line in lines if len(line) > WIDTH and not SENTENCE.search(line)]

    found = faults(FILES, wide)
    assert not found, f"break these lines at {WIDTH} columns"


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


def test_templates_do_not_compare_enumeration_values() -> None:
    def compared(file: Path) -> list[str]:
        return [
            constant.value
            for comparison in parsed(file).find_all(nodes.Compare)
            for constant in comparison.find_all(nodes.Const)
            if isinstance(constant.value, str) and constant.value in ENUMERATED
        ]

    found = faults(PAGES, compared)
    assert not found, (
        "give the record or the page a property that says what it means, such as `form.is_draft`"
    )


def test_enumeration_values_are_collected_from_the_code() -> None:
    assert {"PartiallySigned", "OnHold", "NoResult", "staff"} <= ENUMERATED


FIXED_WORDS = {
    "title": "set in the same template, or the heading of a failure",
    "heading": "set in the same template",
    "tab.label": "a treatment's tabs",
    "decision.title": "the decisions about an embryo",
    "to|protocol_step": "what can be done with a protocol",
}
"""Expressions in titles that stand for one of the portal's own texts."""


def words_in_title(template: nodes.Template) -> Iterator[nodes.Expr]:
    """The expressions whose text goes into the page's title."""
    waiting: list[nodes.Expr] = [
        expression
        for block in template.find_all(nodes.Block)
        if block.name == "title"
        for output in block.find_all(nodes.Output)
        for expression in output.nodes
        if not isinstance(expression, nodes.TemplateData)
    ]
    while waiting:
        expression = waiting.pop()
        if isinstance(expression, nodes.CondExpr):
            waiting += [expression.expr1, *([expression.expr2] if expression.expr2 else [])]
        else:
            yield expression


def is_own_text(expression: nodes.Expr) -> bool:
    """Whether this is one of the portal's own texts: `_()` of a literal, with numbers at most, or of FIXED_WORDS."""
    if isinstance(expression, nodes.Call) and isinstance(expression.node, nodes.Name):
        numbers = {"step", "steps", "name"}
        return expression.node.name == "_" and {one.key for one in expression.kwargs} <= numbers
    return written(expression) in FIXED_WORDS


def written(expression: nodes.Node | None) -> str:
    match expression:
        case nodes.Name(name=name):
            return name
        case nodes.Getattr(node=node, attr=attribute):
            return f"{written(node)}.{attribute}"
        case nodes.Filter(node=node, name=name):
            return f"{written(node)}|{name}"
        case _:
            return "?"


TITLED = [file for file in FILES if file.parent.name != "print"]
"""A PDF's title names the record; browsers save PDFs and don't list them."""


def test_a_title_names_a_kind_of_page_and_no_record() -> None:
    def others(file: Path) -> list[str]:
        return [written(one) for one in words_in_title(parsed(file)) if not is_own_text(one)]

    found = faults(TITLED, others)
    assert not found, (
        "the browser's history keeps titles: name the kind of page there, and the record in the heading"
    )


FORM = re.compile(r'<form(?! autocomplete="off" )')


def test_browsers_restore_nothing_into_a_form() -> None:
    found = faults(FILES, lambda file: FORM.findall(file.read_text(encoding="utf-8")))
    assert not found, (
        'begin with <form autocomplete="off" …, or use ui.form: a browser restores what was typed into a form, whoever is signed in now'
    )
