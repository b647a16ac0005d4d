"""The line numbers of tables and keys in a TOML file, for fault messages; the parser doesn't provide them."""

from __future__ import annotations

import re

_TABLE_LINE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$")
_KEY_LINE = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_KEY = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    """The line of each table and key; keys inside an inline table have the table's line."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _TABLE_LINE.match(line):
            table = _parts(header[1])
            found.setdefault(table, number)
        elif key := _KEY_LINE.match(line):
            found.setdefault((*table, *_parts(key[1])), number)
    return found


def _parts(key: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in _KEY.findall(key))
