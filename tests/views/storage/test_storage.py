"""Embryo storage over HTTP: what patients see and decide."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.views.storage.embryos import (
    EPISODE,
    address,
    change,
    embryo,
    offered,
    put_form,
    stored,
    to_discard,
    unsign,
    withheld,
)

# ── what patients see ───────────────────────────────────────────────────────────────────────────────────


def test_an_embryo_is_found_without_its_episode_in_the_url(portal: PortalThread) -> None:
    page = portal.sign_in("grace").get(f"/storage/{embryo('GO-3')}")
    assert page.heading.startswith("Embryo GO-3 · frozen on")


@pytest.mark.parametrize("path", ["", "/keep", "/end-storage"])
def test_another_patients_embryo_is_not_found(portal: PortalThread, path: str) -> None:
    amelia = portal.sign_in("amelia")
    for where in (f"/storage/{embryo('GO-3')}{path}", f"/storage/{embryo('GO-3')}{path}?episode={EPISODE}"):
        page, unknown = amelia.get(where, status=404), amelia.get("/storage/nothing", status=404)
        assert page.heading == unknown.heading == "We can’t find that"
        assert len(page.words) == len(unknown.words)


# ── what patients decide ────────────────────────────────────────────────────────────────────────────────


def test_keeping_an_embryo_shows_consequences_without_renewing_and_is_recorded(
    grace: Visitor, service: CareService
) -> None:
    page = grace.get(address("GO-3")).follow("Keep it in storage")
    assert "renew" not in page.words.casefold()
    assert "Storage is paid until" in page.words
    assert stored(service, "GO-3", "disposition") == "Undecided"
    done = page.form("/storage/").submit()
    assert done.path == f"/storage/{embryo('GO-3')}"
    assert re.search("Embryo GO-3 · frozen on [^:]+: your decision is recorded.", done.text)
    assert "Your wish now" in done.words
    assert stored(service, "GO-3", "disposition") == "ContinueStorage"


def test_a_decision_sent_twice_is_recorded_once(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-4", "keep"))
    page.form("/storage/").submit()
    stamp = stored(service, "GO-4", "concurrency_stamp")
    again = page.form("/storage/").submit()
    assert again.path == f"/storage/{embryo('GO-4')}"
    assert stored(service, "GO-4", "concurrency_stamp") == stamp
    open_again = grace.get(address("GO-4")).follow("Leave it open").form("/storage/").submit()
    assert "Not decided yet" in open_again.words
    assert stored(service, "GO-4", "disposition") == "Undecided"


def test_a_decision_that_changed_meanwhile_is_not_overwritten(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-2", "leave-open"))
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute(
            "UPDATE embryo_storage SET disposition = 'Discard', concurrency_stamp = 'n' WHERE id = ?",
            (embryo("GO-2"),),
        )
    refused = page.form("/storage/").submit(status=403)
    assert "Take that decision back first." in refused.words
    assert stored(service, "GO-2", "disposition") == "Discard"
    change(service, "embryo_storage", "disposition = 'ContinueStorage'", embryo("GO-2"))


def test_a_clinics_hold_shows_its_reason_and_offers_only_to_keep_the_embryo(
    grace: Visitor, service: CareService
) -> None:
    page = grace.get(address("GO-6"))
    assert "Repeat biopsy under discussion" in page.words
    assert "Keep it in storage" in page.words
    assert "End storage" not in page.words
    assert "doesn’t end the hold" in grace.get(address("GO-6", "keep")).words
    for decision in ("end-storage", "donate-research", "donate-patients", "move"):
        refused = grace.get(address("GO-6", decision), status=403)
        assert "on hold" in refused.words
        assert "Repeat biopsy" in refused.words
        grace.post(address("GO-6", decision), {"disposition": "Discard"}, status=403)
    assert stored(service, "GO-6", "disposition") == "Undecided"


BY_FORM = {
    "end-storage": "Discard",
    "donate-research": "DonateResearch",
    "donate-patients": "DonatePatient",
    "move": "Transport",
}


@pytest.mark.parametrize(("decision", "wish"), BY_FORM.items())
def test_ending_storage_is_only_offered_through_a_form(
    grace: Visitor, service: CareService, decision: str, wish: str
) -> None:
    page = grace.get(address("GO-1", decision))
    assert "signs a form that names this embryo" in page.words
    assert "hasn’t sent you that form yet" in page.words
    assert not page.select("main form[action*='/storage/']")
    assert page.select("main a[href^='tel:']")
    letter = page.select(".letter")[0].words
    assert "embryo GO-1" in letter and "decides nothing" in letter and letter.endswith("Grace Okafor")
    mail = parse_qs(urlsplit(page.link("Send it as an e-mail")).query)
    assert "embryo GO-1" in mail["body"][0] and "GO-1" not in mail["subject"][0]
    grace.post(address("GO-1", decision), {"disposition": wish}, status=403)
    assert stored(service, "GO-1", "disposition") == "ContinueStorage"


def test_a_decision_page_links_to_its_open_form(grace: Visitor, service: CareService) -> None:
    others: list[str] = []
    for code, wish in (("GO-2", "Discard"), ("GO-1", "Transport")):
        other = put_form(service, "grace-disposition", code, status="Pending", disposition=wish)
        others.append(other)
        assert other not in grace.get(address("GO-1", "end-storage")).text
    form = put_form(service, "grace-disposition", "GO-1", status="Pending", disposition="Discard")
    unsign(service, form, "Patient")
    assert grace.get(address("GO-1", "end-storage")).link("Read and sign") == f"/consents/{form}/sign"
    waiting = put_form(service, "grace-disposition", "GO-4", status="PartiallySigned", disposition="Discard")
    unsign(service, waiting, "Partner")
    assert "You have signed it. Waiting for Joseph" in grace.get(address("GO-4", "end-storage")).words
    for one in (form, waiting, *others):
        change(service, "consent_forms", "status = 'Revoked'", one)


def test_taking_a_decision_back_shows_its_consequences(
    grace: Visitor, elif_: Visitor, service: CareService
) -> None:
    form = to_discard(service, "GO-1")
    page = grace.get(address("GO-1"))
    assert "Keep it in storage" not in page.words
    decided = page.follow("End storage")
    assert f"/consents/{form}" in decided.text
    assert offered(elif_.get(address("GO-1"))).count("Discarded") == 1
    ask = decided.follow("Take my decision back")
    assert "goes on hold" in ask.words
    assert "allows nothing more" in ask.words
    done = ask.form("/storage/").submit()
    assert "your decision is taken back. It is on hold." in done.text
    assert (
        "Only a new form that names this embryo, signed by everyone concerned, ends the hold." in done.words
    )
    assert stored(service, "GO-1", "disposition") == "Undecided"
    assert stored(service, "GO-1", "status") == "OnHold"
    assert "left as it is now" in ask.form("/storage/").submit().text
    staff = elif_.get(address("GO-1"))
    assert offered(staff) == ["OnHold"]
    assert "Only a new signed form that names this embryo ends" in withheld(staff)["Stored"]
    held = "status = 'Reserved', hold_cause = NULL, hold_reason = NULL, disposition = 'ContinueStorage'"
    change(service, "embryo_storage", held, embryo("GO-1"))


def test_without_a_decision_of_a_form_there_is_nothing_to_take_back(grace: Visitor) -> None:
    assert "nothing to take back" in grace.get(address("GO-3", "take-back"), status=403).words


def test_no_decision_is_offered_for_an_embryo_in_a_final_state(grace: Visitor) -> None:
    assert "nothing to decide" in grace.get(address("GO-5")).words
    grace.get(address("GO-5", "keep"), status=403)
    grace.get(address("GO-3", "sell"), status=404)


def test_what_happens_to_unpaid_storage_is_the_clinics_own_sentence_or_unsaid(
    grace: Visitor, portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = grace.get(address("GO-3"))
    assert "moves on when a payment arrives." in page.words and "just because" not in page.words
    tenants = portal.context.settings.tenants
    clinic = dataclasses.replace(tenants.by_key["riverside"], unpaid_storage="We write to you twice first.")
    for host in clinic.hosts:
        monkeypatch.setitem(cast("dict[str, Any]", tenants.by_host), host, clinic)
    assert "We write to you twice first." in grace.get(address("GO-3")).words
