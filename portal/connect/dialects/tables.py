"""Reads the tables of a dialect file; an invalid value is recorded with its line, and the default is used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import cast

from portal.connect.dialects.keys import KEYS
from portal.connect.dialects.naming import folded_name

Table = Mapping[str, object]

_PATH = re.compile(r"(/([A-Za-z0-9._~!$&'()*+,;=:@-]|\{\w+\})+)+")


class TableReader:
    """Reads tables and collects `faults`, each with its line number."""

    def __init__(self, lines: Mapping[tuple[str, ...], int], name: str, environ: Mapping[str, str]) -> None:
        self.lines = lines
        self.name = name
        self.environ = environ
        self.faults: list[tuple[int, str]] = []

    def fault(self, path: tuple[str, ...], what: str) -> None:
        line = next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)
        key = ".".join(part if re.fullmatch(r"[\w-]+", part) else f'"{part}"' for part in path)
        self.faults.append((line, f"{self.name}:{line}: {key}: {what}"))

    def _table(self, document: Table, key: str) -> Table:
        value = document.get(key, {})
        if not isinstance(value, dict):
            self.fault((key,), "must be a table")
            return {}
        table = cast("Table", value)
        if key in KEYS:
            self._known(key, table)
        return table

    def _known(self, where: str, table: Table) -> None:
        for key in table:
            if key not in KEYS[where]:
                path = (where, key) if where else (key,)
                self.fault(path, f"isn't a setting of a dialect{near(key, KEYS[where])}")

    def _one_of(self, table: Table, where: str, key: str, default: str, words: Iterable[str]) -> str:
        value = table.get(key, default)
        if isinstance(value, str) and value in words:
            return value
        self.fault((where, key) if where else (key,), f"must be one of {', '.join(words)} (found {value!r})")
        return default

    def _text(self, table: Table, where: str, key: str) -> str | None:
        value = table.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.fault((where, key), "must be a non-empty string")
        return None

    def _texts(self, table: Table, where: str, key: str) -> tuple[str, ...]:
        value = table.get(key, [])
        items = cast("list[object]", value) if isinstance(value, list) else [None]
        if all(isinstance(item, str) and item for item in items):
            return tuple(str(item) for item in items)
        self.fault((where, key) if where else (key,), "must be a list of strings")
        return ()

    def _whole(self, table: Table, where: str, key: str, default: int, *, least: int) -> int:
        value = table.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and (key not in table or value >= least):
            return value
        self.fault((where, key), f"must be a whole number, {least} or more")
        return default

    def _paths(self, table: Table, where: str, key: str) -> tuple[str, ...]:
        """The names in a dotted path; none if it isn't given."""
        text = self._text(table, where, key)
        if text is None or all(text.split(".")):
            return tuple(text.split(".")) if text else ()
        self.fault((where, key), "must be a dotted path of names")
        return ()

    def _named_texts(self, table: Table, where: str, key: str) -> dict[str, str]:
        value = self._within(table, where, key) if where else self._table(table, key)
        found = {name: text for name, text in value.items() if isinstance(text, str) and text}
        for name in value.keys() - found.keys():
            self.fault((where, key, name) if where else (key, name), "must be a non-empty string")
        return found

    def _flag(self, table: Table, key: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self.fault((key,), "must be true or false")
        return value is True

    def _path(self, value: object, where: tuple[str, ...]) -> str:
        is_path = isinstance(value, str) and (not value or _PATH.fullmatch(value))
        if is_path and not {".", ".."} & set(str(value).split("/")):
            return str(value)
        self.fault(
            where, 'must be a path that begins with "/" and doesn\'t end with one, such as "/fertility/v2"'
        )
        return ""

    def _within(self, table: Table, where: str, key: str) -> Table:
        value = table.get(key, {})
        if isinstance(value, dict):
            return cast("Table", value)
        self.fault((where, key), "must be a table")
        return {}


def near(word: str, known: Iterable[str]) -> str:
    """The known word that may be meant, as the end of a fault message."""
    folded_names = {folded_name(name): name for name in known}
    found = get_close_matches(folded_name(word), folded_names, 1, 0.7)
    return f": is {folded_names[found[0]]} meant?" if found else ""
