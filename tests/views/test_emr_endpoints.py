"""Removing a connection over HTTP."""

from __future__ import annotations

import pytest

from portal.careservice.ids import sample_id
from portal.services.errors import Unavailable
from portal.views import emr_endpoints
from tests.support.visitor import SignIn, Visitor

LEGACY = sample_id("emr-endpoint", "riverside-legacy")
MAIN = sample_id("emr-endpoint", "riverside-main")
HARBOURS = sample_id("emr-endpoint", "harbour-legacy")


@pytest.fixture(scope="module")
def ada(person: SignIn) -> Visitor:
    return person("ada")


def test_a_notification_links_to_the_connection_and_shows_consequences(ada: Visitor) -> None:
    notifications = ada.get("/notifications?type=EmrSyncFailed")
    form = next(one for one in notifications.select("form") if "stopped working" in one.text_content())
    page = notifications.form(form).submit()
    assert page.path == f"/emr-endpoints/{LEGACY}/remove"
    assert "no longer exchanges data" in page.words


@pytest.mark.parametrize(
    ("id_", "what"),
    [(LEGACY, "name of the connection"), (MAIN, "id of the connection")],
    ids=["named", "not"],
)
def test_removing_needs_the_connections_name_or_id_typed(ada: Visitor, id_: str, what: str) -> None:
    form = ada.get(f"/emr-endpoints/{id_}/remove").form(f"/emr-endpoints/{id_}/remove")
    for typed in (id_[:-1], ""):
        page = form.submit(typed=typed, status=422)
        assert f"This is not the {what}" in page.words
        assert page.tree.select_one(".error-summary a")["href"] == "#typed"
        assert page.tree.select_one("#typed")["value"] == typed


def test_a_connection_that_is_syncing_is_not_removed(ada: Visitor) -> None:
    form = ada.get(f"/emr-endpoints/{MAIN}/remove").form(f"/emr-endpoints/{MAIN}/remove")
    for _ in range(2):
        page = form.submit(typed=MAIN, status=403)
        assert "exchanging data right now" in page.words
        assert page.tree.select_one("#typed")["value"] == "", "the field is emptied"


@pytest.mark.parametrize(
    ("is_sent", "words"), [(True, "We couldn’t confirm that it was removed"), (False, "Nothing was removed")]
)
def test_a_removal_without_a_response_can_be_repeated(
    ada: Visitor, monkeypatch: pytest.MonkeyPatch, is_sent: bool, words: str
) -> None:
    def fails(care: object, endpoint_id: str) -> None:
        error = Unavailable("timed out", outcome_known=not is_sent)
        error.is_undone = not is_sent
        raise error

    monkeypatch.setattr(emr_endpoints, "delete_emr_endpoint", fails)
    form = ada.get(f"/emr-endpoints/{MAIN}/remove").form(f"/emr-endpoints/{MAIN}/remove")
    assert words in form.submit(typed=MAIN, status=503).words
    monkeypatch.undo()
    assert "exchanging data right now" in form.submit(typed=MAIN, status=403).words


def test_another_clinics_connection_looks_already_removed(ada: Visitor) -> None:
    form = ada.get(f"/emr-endpoints/{HARBOURS}/remove").form(f"/emr-endpoints/{HARBOURS}/remove")
    assert form.submit(typed=HARBOURS, status=404).heading == "It is gone already"


def test_removing_ends_in_a_receipt_and_happens_once(ada: Visitor, person: SignIn) -> None:
    other = person("ada")
    form = ada.get(f"/emr-endpoints/{LEGACY}/remove").form(f"/emr-endpoints/{LEGACY}/remove")
    assert "Old laboratory system" in form.page.words
    assert "https://legacy.emr.riverside.example/fhir" in form.page.words
    receipt = form.submit(typed="Old laboratory system")
    assert receipt.heading == "The connection is removed"
    assert "Connection Old laboratory system" in receipt.words
    assert form.submit(typed=LEGACY).heading == "The connection is removed"
    assert other.get(f"/emr-endpoints/{LEGACY}/remove").heading == "The connection is removed"


def test_a_form_from_another_session_removes_nothing(ada: Visitor) -> None:
    form = ada.get(f"/emr-endpoints/{MAIN}/remove").form(f"/emr-endpoints/{MAIN}/remove")
    assert "nothing was removed" in form.submit(typed=MAIN, operation="made-up", status=409).words
