"""A part that the clinic's API doesn't provide is reported in its place and not shown as empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.connect.dialects.dialect import Dialect as Configured
from portal.connect.dialects.named_records import records
from portal.connect.dialects.rules import Rules
from portal.services.members import members_of
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import SignIn

GRACES, MAYAS = sample_id("episode", "grace-2"), sample_id("episode", "maya-1")
TALK, PLAN = sample_id("conversation", "grace-storage"), sample_id("protocol", "amelia")
WARNINGS = "hasn’t told the portal whether there are warnings"
PART = "hasn’t given the portal this part"
REASON = "The clinic’s system hasn’t given the reason."
RENAMED = {
    *("alerts", "appointments", "careTeam", "monitoring", "timeline", "documents", "protocol"),
    *("holdReason", "storageConsentedUntil", "storageExpiresAt", "statutoryLimit"),
    *("requiredSigners", "unreadCount", "medications", "relationships", "messages", "workingHours"),
}
UNSAID = (
    ("grace", "/", "No form waits for your signature."),
    ("grace", "/", "There is no unread message."),
    ("grace", "/", "Nothing to do."),
    ("grace", "/consents", "Nothing to sign right now."),
    ("grace", "/me", "Nobody else is on your record."),
    ("grace", "/care-team", "Your care team is not named yet."),
    ("grace", f"/conversations/{TALK}", "There are no messages here."),
    ("amelia", f"/episodes/{TREATMENT_OF_AMELIA}/medication", "There is no medicine plan here"),
    ("nora", f"/directories?episode={TREATMENT_OF_AMELIA}", "There is no folder in this episode."),
    ("nora", "/care-team", "No working hours this week."),
    ("nora", f"/protocols/{PLAN}", "There is no medication in this protocol yet."),
)
"""What a page would say of a part that the clinic's system leaves out, by person and page."""


def renamed(names: set[str]) -> Any:
    """An API that calls these members otherwise."""

    def change(method: str, path: str, answer: Any) -> Any:
        if isinstance(answer, list):
            return [change(method, path, one) for one in answer]
        if not isinstance(answer, dict):
            return answer
        return {f"{key}X" if key in names else key: change(method, path, one) for key, one in answer.items()}

    return change


@pytest.fixture(scope="module")
def proxy(service: CareService) -> Iterator[DialectProxy]:
    running = DialectProxy(service.base_url, Dialect(change=renamed(RENAMED)))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def portal(service: CareService, proxy: DialectProxy) -> Iterator[PortalThread]:
    running = portal_behind(service, proxy)
    yield running
    running.stop()


def test_renamed_parts_are_reported_as_not_provided(person: SignIn) -> None:
    amelia = person("amelia")
    episode = f"/episodes/{TREATMENT_OF_AMELIA}"
    assert WARNINGS in amelia.get(episode).words
    home = amelia.get("/").words
    assert WARNINGS in home
    assert "None is planned" not in home
    for tab in ("appointments", "team", "monitoring", "documents", "medication"):
        assert PART in amelia.get(f"{episode}/{tab}").words, tab
    assert "hasn’t given the portal what has happened so far" in amelia.get(f"{episode}/timeline").words
    for who in ("grace", "elif"):
        page = person(who).get(f"/episodes/{GRACES}/embryos").words
        assert "Not given by the clinic’s system" in page
        assert REASON in page
    assert "hasn’t given the portal all dates of your stored embryos" in person("grace").get("/").words
    storage = person("grace").get("/storage").words
    assert REASON in storage
    assert storage.count("Not given by the clinic’s system") > 2


def test_without_the_embryos_member_no_page_says_there_are_none(
    service: CareService, proxy: DialectProxy, portal: PortalThread
) -> None:
    with proxy.speaking(change=renamed({"embryos"})):
        maya = portal.sign_in("maya")
        for path in ("/storage", f"/episodes/{MAYAS}/embryos"):
            words = maya.get(path).words
            assert PART in words, path
            assert "no embryo" not in words, path


def test_a_missing_part_is_never_shown_as_empty(person: SignIn) -> None:
    for who, path, words in UNSAID:
        page = person(who).get(path).words
        assert words not in page, (who, path, words)
        assert PART in page, (who, path)


def test_a_member_declared_absent_means_none_is_shown_as_none(
    portal: PortalThread, person: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = frozenset(
        f"{kind}.{member.name}" for kind, record in records().items() for member in members_of(record)
    )
    monkeypatch.setitem(portal.context.adapters, "riverside", Configured(Rules(absent_means_none=declared)))
    for who, path, words in UNSAID:
        page = person(who).get(path).words
        # A form that waits and names no signer contradicts itself, whatever is declared; so does a plan that is listed alone.
        if path not in ("/", "/consents", f"/episodes/{TREATMENT_OF_AMELIA}/medication"):
            assert PART not in page, (who, path)
            assert words in page, (who, path, words)


def test_templates_name_existing_members() -> None:
    known = {f"{kind}.{member.name}" for kind, record in records().items() for member in members_of(record)}
    named = {
        name
        for file in Path("templates").rglob("*.html")
        for name in re.findall(r"not_given\('([^']+)'\)", file.read_text())
    }
    assert len(named) > 10
    assert named <= known
