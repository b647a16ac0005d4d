"""A bare application around the part under test, with its own store and a recorded audit."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from flask import Flask, g

from portal.clock import Clock
from portal.state.operations import Operations
from portal.store import open_store
from portal.store.vault import Vault


@dataclass
class NotedAudit:
    """Keeps what was noted, as (event, outcome, id)."""

    lines: list[tuple[str, str, str | None]] = field(default_factory=list)

    def record(self, event: str, outcome: str, **more: str | None) -> None:
        self.lines.append((event, outcome, more["id_"]))

    def pseudonym(self, id_: str) -> str:
        return id_


def bare_app(folder: Path, clock: Clock, audit: NotedAudit) -> Flask:
    """An application that has no pages: a clock, a store in this folder, operations and the audit."""
    app = Flask(__name__)
    vault = Vault(open_store(f"sqlite:///{folder}/s.db", clock), ("k" * 32,))
    app.extensions["portal"] = SimpleNamespace(
        clock=clock, vault=vault, operations=Operations(vault, clock), audit=audit
    )

    @app.before_request
    def begin() -> None:
        g.started, g.request_id = time.monotonic(), "request"

    return app
