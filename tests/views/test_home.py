"""The home page, region by region."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread


def test_signing_is_at_most_two_clicks_away(amelia: Any) -> None:
    form = amelia.get("/").follow("Read and sign")
    assert form.path.startswith("/consents/")
    assert any("/sign" in str(a.get("href") or a.get("action")) for a in form.select("main a, main form"))


@pytest.mark.parametrize("region", ["consents", "messages", "treatment", "news"])
def test_each_region_can_be_fetched_separately(amelia: Any, region: str) -> None:
    part = amelia.fragment("/", target=region)
    assert part.tree.select_one(f"body > #{region}") is not None
    assert part.tree.select_one("h1") is None


def test_the_session_stores_only_episode_ids(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    visitor.get("/")
    cookie = visitor.http.cookies.get("__Host-sid")
    record, _tokens = portal.context.sessions.load(cookie, "riverside", visitor.origin.partition("//")[2])
    assert record.episode_ids == [sample_id("episode", "amelia-1")]


@pytest.mark.parametrize("region", ["withdrawn", "consents", "messages", "news"])
def test_each_region_of_the_worklist_can_be_fetched_separately(nora: Any, region: str) -> None:
    assert nora.fragment("/", target=region).tree.select_one(f"body > #{region}") is not None


def test_staff_open_a_record_by_its_id(nora: Any) -> None:
    episode = sample_id("episode", "amelia-1")
    assert nora.get("/").form("/find").submit(q=episode).path == f"/episodes/{episode}"
    opened = nora.get("/").select("a.link-row[href^='/episodes/']")
    assert f"/episodes/{episode}" in [row["href"] for row in opened], (
        "the opened record isn't in the worklist"
    )
