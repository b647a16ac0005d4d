"""Makes SQL statements and addresses once in a process of tests, however many care services and portals it starts."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import pytest
from sqlalchemy import Engine
from sqlalchemy.util import LRUCache
from werkzeug.routing import Rule

from portal.careservice import app, database

_first_engine: list[Any] = []


def share(patch: pytest.MonkeyPatch) -> None:
    """Let all applications of this process share them."""
    _share_statements(patch)
    _share_addresses(patch)
    patch.setattr(app, "_resolve_structs", cache(app._resolve_structs))


def _share_statements(patch: pytest.MonkeyPatch) -> None:
    """Let all care services of this process compile an SQL statement once: on a new database that takes longer than to run it."""
    connects = database.connect

    def connect(url: str) -> Engine:
        engine: Any = connects(url)
        if engine.dialect.name == "sqlite":
            if not _first_engine:
                own: Any = connects("sqlite://")
                own._compiled_cache = LRUCache(5000)
                own.connect().close()  # from then on its dialect knows SQLite's version
                _first_engine.append(own)
            first = _first_engine[0]
            engine.dialect = engine.pool._dialect = first.dialect  # what is compiled is kept by its dialect
            engine._compiled_cache = first._compiled_cache
        return engine

    patch.setattr(database, "connect", connect)


def _share_addresses(patch: pytest.MonkeyPatch) -> None:
    """Let all applications of this process compile once what makes an address of a route: a sixth of a second in each."""
    makes = cast("Any", Rule)._compile_builder
    made: dict[object, Any] = {}

    def make_once(self: Any, append_unknown: bool = True) -> Any:
        if self.defaults:
            return makes(self, append_unknown)
        key = (self.rule, *self._trace, append_unknown)
        if key not in made:
            made[key] = makes(self, append_unknown)
        return made[key]

    patch.setattr(Rule, "_compile_builder", make_once)
