"""Editing a case over HTTP: only legal moves, a reason for closing, and concurrent edits."""

from __future__ import annotations

import sqlite3

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor

EPISODE = sample_id("episode", "grace-2")
CASE = sample_id("case", "grace")
ACTION = f"/cases/{CASE}/edit"
EDIT = f"{ACTION}?episode={EPISODE}"


def stored(service: CareService, column: str) -> object:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        return database.execute(f"SELECT {column} FROM cases WHERE id = ?", (CASE,)).fetchone()[0]  # noqa: S608


def statuses(page: Page) -> list[str]:
    return [str(one["value"]) for one in page.select("input[name=status]")]


def test_the_episode_links_to_its_case_and_shows_a_change(nora: Visitor, service: CareService) -> None:
    episode = nora.get(f"/episodes/{EPISODE}")
    page = nora.get(next(str(a["href"]) for a in episode.select("a") if ACTION in str(a["href"])))
    saved = page.form(ACTION).submit(notes="Line one\r\nLine two", title="IVF after a pause")
    assert "The case is saved." in saved.text
    assert "IVF after a pause" in saved.words
    assert stored(service, "notes") == "Line one\nLine two"
    assert stored(service, "coordinator_id") == sample_id("person", "colin")


def send(page: Page, *, expect: int = 200, **fields: str) -> Page:
    """Send the form; the field called status has the name of what `submit` calls the answer's."""
    given = {**dict(page.form(ACTION).fields()), **fields}
    return page.visitor.post(EDIT, given, status=expect)


@pytest.mark.parametrize("status", ["Finished", "Cancelled"])
def test_closing_a_case_needs_a_reason(nora: Visitor, service: CareService, status: str) -> None:
    page = send(nora.get(EDIT), expect=422, status=status, closed_reason="")
    assert [str(a["href"]) for a in page.select(".error-summary a")] == ["#closed_reason"]
    assert page.select("input[name=status][checked]")[0]["value"] == status
    assert stored(service, "status") == "OnHold"


@pytest.mark.parametrize("status", ["Planned", "Waitlist", "Nonsense", ""])
def test_an_illegal_move_is_refused_with_an_explanation(nora: Visitor, status: str) -> None:
    page = send(nora.get(EDIT), expect=422, status=status)
    assert "Its present state doesn’t allow this step." in page.words


def test_a_case_can_only_have_a_physician_of_the_clinic(nora: Visitor, service: CareService) -> None:
    page = nora.get(EDIT)
    offered = {str(o["value"]): o.text_content() for o in page.select("select[name=physician_id] option")}
    assert "" not in offered, "a case's physician can't be removed"
    other = next(v for v in offered if v and v != dict(page.form(ACTION).fields())["physician_id"])
    send(page, physician_id=other)
    assert stored(service, "physician_id") == other
    send(nora.get(EDIT), expect=422, physician_id="somebody")


def test_another_clinics_case_is_not_found(portal: PortalThread) -> None:
    omar = portal.sign_in("omar")
    assert omar.get(EDIT, status=404).heading == "We can’t find that"
    omar.get(f"{ACTION}?episode={sample_id('episode', 'maya-1')}", status=404)


def test_without_a_calendar_the_care_team_is_offered(portal: PortalThread) -> None:
    omar = portal.sign_in("omar")
    address = f"/cases/{sample_id('case', 'maya')}/edit?episode={sample_id('episode', 'maya-1')}"
    page = omar.get(address)
    chosen = page.select("select[name=physician_id] option[selected]")[0].text_content()
    assert chosen
    assert "Someone else" not in chosen


def test_concurrent_edits_show_both_versions_and_drop_a_move_that_became_illegal(
    nora: Visitor, colin: Visitor, service: CareService
) -> None:
    mine, theirs = nora.get(EDIT), colin.get(EDIT)
    send(theirs, status="Finished", closed_reason="Moved abroad")
    both = send(mine, expect=409, status="Active", diagnosis="Mine")
    assert "Under way" in both.words or "Going on" in both.words
    assert "Finished" in both.words
    assert "Moved abroad" in both.words
    chosen = {**dict(both.form(ACTION).fields()), "keep-status": "mine"}
    refused = nora.post(EDIT, chosen, status=422)
    assert "Its present state doesn’t allow this step." in refused.words
    assert dict(refused.form(ACTION).fields())["diagnosis"] == "Mine"
    saved = nora.post(EDIT, {**chosen, "keep-status": "now"})
    assert "The case is saved." in saved.text
    assert stored(service, "status") == "Finished"
    assert stored(service, "diagnosis") == "Mine"
    assert statuses(nora.get(EDIT)) == ["Finished", "EnteredInError"]
