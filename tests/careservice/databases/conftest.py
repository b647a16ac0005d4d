"""A care service in this process on SQLite and PostgreSQL, and concurrent calls to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from sqlalchemy import Engine

from portal.careservice import database
from portal.careservice.bootstrap import bootstrap
from portal.careservice.ids import new_id
from portal.careservice.settings import WEBHOOKS
from portal.careservice.webhooks.signature import new_secret, sign
from tests.careservice.api.clinic import Clinic, clinic_of, settings_for
from tests.support.postgres import ENGINES, copy_of, database_url

SECRET = new_secret()
_FORM = "application/x-www-form-urlencoded"


class Place:
    """A service over one database of either kind; `engine` reaches the same database past it."""

    def __init__(self, kind: str, clinic: Clinic, engine: Engine) -> None:
        self.kind = kind
        self.clinic = clinic
        self.engine = engine

    def text(self, body: str = "Hello", **fields: str) -> Any:
        form = {"MessageSid": f"SM{new_id()}", "From": "+447700900599", "To": "+447700900321", **fields}
        return self.hook("/smsinbound", urlencode({"Body": body, **form}).encode(), _FORM)

    def payment(self, event: dict[str, Any], webhook_id: str | None = None) -> Any:
        path = "/api/payment/webhook/payment-provider"
        return self.hook(path, msgspec.json.encode(event), "application/json", webhook_id)

    def hook(self, path: str, body: bytes, kind: str, webhook_id: str | None = None) -> Any:
        headers = sign(SECRET, webhook_id or f"msg_{new_id()}", datetime.now(UTC), body)
        with self.clinic.app.test_client() as client:
            return client.post(path, data=body, content_type=kind, headers=headers)

    def rows(self, *tables: type[database.Base]) -> list[int]:
        """How many rows each table has."""
        with database.new_session(self.engine, writes=False) as session:
            return [session.query(table).count() for table in tables]


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A database of each kind with the sample records, to be copied."""
    folder = tmp_path_factory.mktemp("databases")
    urls = {kind: database_url(folder / "seeded.db", kind) for kind in ENGINES}
    for url in urls.values():
        engine = database.connect(url)
        bootstrap(engine, settings_for(url))
        engine.dispose()
    return urls


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, seeded: dict[str, str], tmp_path: Path) -> Iterator[Place]:
    """The service over a fresh database of each kind."""
    url = copy_of(seeded[request.param], tmp_path / "care.db")
    engine = database.connect(url)
    settings = settings_for(url, webhook_secrets=dict.fromkeys(WEBHOOKS, (SECRET,)))
    yield Place(request.param, clinic_of(settings, engine), engine)
    engine.dispose()


def meet_at(patch: pytest.MonkeyPatch, module: Any, name: str, number: int = 2) -> None:
    """Let `number` threads wait for each other, once, where each has read and is to write: before `module.name`.

    A database that lets only one of them come so far makes it go on after a moment.
    """
    together, seen, real = threading.Barrier(number), threading.local(), getattr(module, name)

    def met(*args: Any, **kwargs: Any) -> Any:
        if not hasattr(seen, "before"):
            seen.before = True
            with contextlib.suppress(threading.BrokenBarrierError):
                together.wait(timeout=0.3)
        return real(*args, **kwargs)

    patch.setattr(module, name, met)
