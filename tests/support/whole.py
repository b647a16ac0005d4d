"""All that a page consists of, in lines: its elements with their attributes, and its texts, each value by the member it came from.

`tests/support/facts.py` reads a page as people do. This reads what they don't see too: addresses, names and values of
fields, roles, descriptions, classes, drawings. Left out is what is made by chance, and the versions of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from hashlib import blake2b
from urllib.parse import unquote

from lxml.etree import _Element as Element
from lxml.html import document_fromstring

from tests.support.facts import Answers

_BY_CHANCE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16}\b|[\w-]{32,}={0,2}|(?<=/static/)[0-9a-f]{12}/|(?<=operation=)[\w-]{22}"
)
_LEFT_OUT = frozenset(("nonce", "hx-nonce", "data-session", "novalidate", "autocomplete"))
_KEYS = frozenset(("csrf_token", "operation", "step"))
_LONGEST = 110
_MOST = 12
"""A difference of more lines is told by its first ones and a sum of all."""


def whole(html: str) -> list[str]:
    """Return the lines of a page: title and body without script."""
    if not html.strip():
        return []
    root = document_fromstring(html)
    return [f"title {root.findtext('.//title') or ''}", *_lines(root.body)]


def _lines(element: Element) -> Iterator[str]:
    if not isinstance(element.tag, str) or element.tag == "script":
        return
    text = _BY_CHANCE.sub("…", " ".join((element.text or "").split()))
    yield " ".join((element.tag, *_attributes(element), *([text] if text else ())))
    for child in element:
        yield from _lines(child)
        if after := " ".join((child.tail or "").split()):
            yield after


def _attributes(element: Element) -> Iterator[str]:
    for name, value in element.items():
        if name in _LEFT_OUT or (name == "value" and element.get("name") in _KEYS):
            continue
        if name == "name" and element.get("type") == "hidden" and not element.get("value"):
            continue  # tells one window from another
        plain = _BY_CHANCE.sub("…", unquote(value))
        yield f"{name}={' '.join(plain.split())}" if value else name


def shown(lines: list[str], answers: Answers) -> list[str]:
    """Return the lines with each value replaced by its member, long ones shortened to their beginning and a sum."""
    named = [answers.named(line) for line in lines]
    return [line if len(line) <= _LONGEST else f"{line[: _LONGEST - 20]}… {sum_of([line])}" for line in named]


def sum_of(lines: list[str]) -> str:
    """Return a short sum of lines, which is another one where any of them is."""
    return blake2b("\n".join(lines).encode(), digest_size=6).hexdigest()


def difference(before: list[str], after: list[str], told: Answers, then: Answers) -> list[str]:
    """Return the lines that only one of both has, marked - and +, each with what was told; of many the first, and a sum."""
    found: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if kind != "equal":
            found += [f"- {line}" for line in shown(before[start:end], told)]
            found += [f"+ {line}" for line in shown(after[new_start:new_end], then)]
    if len(found) <= _MOST:
        return found
    gone, new = ([line for line in found if line[0] == sign] for sign in "-+")
    return [*new[: _MOST // 2], f"… {len(gone)} gone, {len(new)} new: {sum_of(found)}"]
