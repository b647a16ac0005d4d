"""A dialect file together with what is to be added to it: its own lines and comments stay as they are."""

from __future__ import annotations

import re
import tomllib

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(#.*)?")
_KEY = re.compile(r"""\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")
_PROPOSED = re.compile(
    r"# (decide:|A dialect file, proposed|The clinic has a dialect|Never came|Perhaps, for|  |absent_means_none|Parameters that changed)"
)
"""Comments of a proposal: those of an earlier one are left out."""


def merged(text: str, additions: str) -> str:
    """The file's text with the additions, each in its table; a key that the file has already is given its new value.

    Returns only the additions if the file's tables can't be extended, for instance inline tables.
    """
    head, added = _tables(additions)
    own_head, own = _tables(text)
    own_head = [line for line in own_head if not _PROPOSED.match(line)]
    for title, lines in added.items():
        table = own.setdefault(title, [])
        for line in lines:
            _put(table, line)
    kept = [*head, "", *own_head, *own.pop("", [])]
    for title, lines in own.items():
        kept += ["", f"[{title}]", *lines]
    whole = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip() + "\n"
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError:
        return additions
    return whole


def _tables(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """The comments that a file begins with, and the lines of each table by its title ("" for what stands before any)."""
    head: list[str] = []
    tables: dict[str, list[str]] = {"": []}
    title = ""
    for line in text.splitlines():
        header = _HEADER.fullmatch(line)
        if header:
            title = header[1].strip()
            tables.setdefault(title, [])
        elif not title and line.startswith("#") and not tables[""]:
            head.append(line)
        elif line.strip():
            tables[title].append(line)
    return head, tables


def _put(table: list[str], line: str) -> None:
    """Put a line where its key stands, or at the table's end."""
    key = _KEY.match(line)
    for place, own in enumerate(table):
        there = _KEY.match(own)
        if key and there and there[1].strip("\"'") == key[1].strip("\"'"):
            table[place] = line
            return
    if line not in table:
        table.append(line)
