"""Record names in the store reveal nothing about people."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread

EPISODE = sample_id("episode", "amelia-1")


def names_after_a_visit(portal: PortalThread) -> set[str]:
    """The names and tags that are in an empty store after somebody did this and that."""
    with closing(sqlite3.connect(portal.plan.data / "store.db", timeout=10)) as store, store:
        store.execute("PRAGMA foreign_keys = ON")
        store.execute("DELETE FROM records")
    portal.context.vault._names._known = None  # as in a new process
    visitor = portal.sign_in("amelia")
    for path in ("/", "/consents", f"/episodes/{EPISODE}"):
        visitor.get(path)
    visitor.get(visitor.get("/consents").tree.select_one("main a[href$='/sign']")["href"])
    visitor.get("/me/devices").form("/sign-out").submit(status=None)
    portal.sign_in("amelia")
    with closing(sqlite3.connect(portal.plan.data / "store.db", timeout=10)) as store:
        found = store.execute("SELECT name FROM records UNION SELECT tag FROM tags").fetchall()
    return {name for (name,) in found}


def test_repeating_a_visit_leaves_different_record_names(portal: PortalThread) -> None:
    """So no name follows from who somebody is, and none can be tried out."""
    first, again = names_after_a_visit(portal), names_after_a_visit(portal)
    assert first & again == {"naming-key"}
    kinds = {name.partition(":")[0] for name in first}
    assert {"sub", "sid", "bell", "limit", "purpose", "session"} <= kinds
