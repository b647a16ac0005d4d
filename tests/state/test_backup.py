"""A backup that is restored elsewhere."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from portal.audit.verify import verify
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi, fake_api
from tests.support.in_process import InProcess

__all__ = ["fake_api"]


def test_a_backup_of_the_store_and_the_audit_serves_on_another_machine(
    tmp_path: Path, fake_api: FakeApi
) -> None:
    """As docs/operations.md says: people stay signed in, and what was recorded verifies."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    portal = InProcess(one, Clock(NOW.timestamp))
    amelia = portal.visitor("amelia", "patient")
    amelia.get("/consents")
    portal.app.extensions["portal"].audit.close()
    with closing(sqlite3.connect(one / "store.db")) as store:
        store.execute("VACUUM INTO ?", (str(other / "store.db"),))
    shutil.copytree(one / "audit", other / "audit")
    restored = InProcess(other, Clock(NOW.timestamp))
    context = restored.app.extensions["portal"]
    findings = verify([other / "audit"], context.audit._checkpoints.all(), context.settings.secret_keys)
    assert [one.holds for one in findings] == [True]
    again = restored.visitor("nora", "nurse")
    again.http.cookies = amelia.http.cookies
    assert again.get("/consents").path == "/consents"
