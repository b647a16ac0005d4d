"""Embryo storage over HTTP: what patients see and decide, and the laboratory's inventory."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import copy_rows
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor

EPISODE = sample_id("episode", "grace-2")


def embryo(code: str) -> str:
    return sample_id("embryo", code)


def address(code: str, decision: str = "") -> str:
    return f"/storage/{embryo(code)}{decision and '/' + decision}?episode={EPISODE}"


@pytest.fixture(scope="module")
def grace(portal: PortalThread) -> Visitor:
    return portal.sign_in("grace")


@pytest.fixture(scope="module")
def elif_(portal: PortalThread) -> Visitor:
    return portal.sign_in("elif")


@pytest.fixture(scope="module")
def victor(portal: PortalThread) -> Visitor:
    return portal.sign_in("victor")


def stored(service: CareService, code: str, column: str) -> Any:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        found = database.execute(f"SELECT {column} FROM embryo_storage WHERE id = ?", (embryo(code),))  # noqa: S608
        return found.fetchone()[0]


def change(service: CareService, table: str, assignment: str, id_: str) -> None:
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute(f"UPDATE {table} SET {assignment} WHERE id = ?", (id_,))  # noqa: S608


def put_form(service: CareService, source: str, code: str | None, **changed: str | None) -> str:
    """Put a copy of a sample form with its signatures into the record, about the embryo; return its id."""
    id_ = str(uuid.uuid4())
    about = json.dumps([embryo(code)]) if code else None
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        copied: dict[str, str | None] = {"id": id_, "embryo_storage_ids": about, **changed}
        copy_rows(database, "consent_forms", {"id": sample_id("consent", source)}, copied)
        for table in ("consent_signers", "consent_signatures"):
            copy_rows(database, table, {"form_id": sample_id("consent", source)}, {"form_id": id_})
    return id_


def to_discard(service: CareService, code: str) -> str:
    """Let the embryo's people have decided by a signed form that its storage ends; return the form's id."""
    change(service, "embryo_storage", "disposition = 'Discard'", embryo(code))
    return put_form(service, "grace-disposition", code, disposition="Discard")


def unsign(service: CareService, form: str, role: str) -> None:
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute("DELETE FROM consent_signatures WHERE form_id = ? AND role = ?", (form, role))


def withheld(page: Page) -> dict[str, str]:
    """The moves that the page says aren't possible, with what it says of each."""
    card = next(one for one in page.select("#edit .card") if "Not possible now" in one.get_text())
    names, words = card.select("dt"), card.select("dd")
    return {
        name.get_text(" ", strip=True): word.get_text(" ", strip=True)
        for name, word in zip(names, words, strict=True)
    }


def offered(page: Page) -> list[str]:
    return [str(one["value"]) for one in page.select("input[name=status]")]


def send(page: Page, where: str, *, expect: int = 200, **fields: str) -> Page:
    given = {**dict(page.form(where.partition("?")[0]).fields()), **fields}
    return page.visitor.post(where, given, status=expect)


# ── what patients see ───────────────────────────────────────────────────────────────────────────────────


def test_each_embryo_has_its_three_dates_nearest_first(grace: Visitor) -> None:
    page = grace.get("/storage")
    cards = page.select("article.card")
    assert [card.select("h2")[0].get_text() for card in cards] == [
        f"Embryo {code}" for code in ("GO-3", "GO-1", "GO-2", "GO-4", "GO-6")
    ]
    first = cards[0].get_text(" ", strip=True)
    for words in ("Agreed until", "Paid until", "Legal limit"):
        assert words in first
    assert "In 18 days" in first
    assert "5 embryos in storage. Next date:" in page.words and "payment for GO-3." in page.words
    assert "In 18 days" not in cards[1].get_text()
    assert "On hold" in cards[-1].get_text()
    assert "Embryo GO-5" in page.words.partition("No longer in storage")[2]


@pytest.mark.parametrize("path", ["/storage", f"/storage/{embryo('GO-3')}?episode={EPISODE}"])
def test_the_page_source_has_no_raw_record(grace: Visitor, elif_: Visitor, path: str) -> None:
    for visitor in (grace, elif_):
        source = visitor.get(path).text
        for part in ("EmbryoStorage(", "Entry(", "concurrency_stamp", "notes="):
            assert part not in source, part


def test_the_page_of_an_embryo_says_what_each_date_means_and_draws_them(grace: Visitor) -> None:
    page = grace.get(address("GO-3"))
    assert "Nobody can extend this." in page.words
    drawing = page.soup.select_one(".chart svg[role=img]")
    assert drawing
    described = page.soup.select_one("#storage-reach-desc")
    assert described
    for words in ("Storage is paid until", "You agreed to storage until", "The law allows storage until"):
        assert words in described.get_text()
    assert "Quayside" not in page.text


def test_an_embryo_is_found_without_its_episode_in_the_url(portal: PortalThread) -> None:
    assert portal.sign_in("grace").get(f"/storage/{embryo('GO-3')}").heading == "Embryo GO-3"


@pytest.mark.parametrize("path", ["", "/keep", "/end-storage"])
def test_another_patients_embryo_is_not_found(portal: PortalThread, path: str) -> None:
    amelia = portal.sign_in("amelia")
    for where in (f"/storage/{embryo('GO-3')}{path}", f"/storage/{embryo('GO-3')}{path}?episode={EPISODE}"):
        page, unknown = amelia.get(where, status=404), amelia.get("/storage/nothing", status=404)
        assert page.heading == unknown.heading == "We can’t find that"
        assert len(page.words) == len(unknown.words)


def test_someone_with_nothing_in_storage_is_told_so(portal: PortalThread) -> None:
    assert "You have no embryo in storage" in portal.sign_in("amelia").get("/storage").words


# ── what patients decide ────────────────────────────────────────────────────────────────────────────────


def test_renewing_shows_consequences_and_is_recorded(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-3")).follow("Keep it in storage")
    assert "Storage is paid until" in page.words
    assert stored(service, "GO-3", "disposition") == "Undecided"
    done = page.form("/storage/").submit()
    assert done.path == f"/storage/{embryo('GO-3')}"
    assert "Embryo GO-3: your decision is recorded." in done.text
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


def test_a_decision_that_changed_meanwhile_shows_both(grace: Visitor, service: CareService) -> None:
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


def test_patients_cannot_edit_the_inventory_and_staff_cannot_decide(grace: Visitor, elif_: Visitor) -> None:
    grace.post(address("GO-3"), {"status": "Discarded"}, status=403)
    elif_.get(address("GO-3", "keep"), status=403)
    elif_.post(address("GO-3", "keep"), {"disposition": "ContinueStorage"}, status=403)


# ── the inventory ───────────────────────────────────────────────────────────────────────────────────────


def test_the_inventory_offers_only_moves_with_all_requirements(
    elif_: Visitor,
) -> None:
    page = elif_.get(f"/episodes/{EPISODE}/embryos").follow("GO-2")
    assert offered(page) == ["Stored", "Reserved", "OnHold"]
    why = withheld(page)
    assert set(why) == {"Thawed", "Discarded (final)", "Donated (final)", "Shipped out (final)"}
    assert "doesn’t say which embryos it is about" in why["Thawed"]
    assert "The wish on record is another: Keep in storage." in why["Donated (final)"]
    assert "No signed form allows it." in why["Donated (final)"]
    assert "doesn’t name this embryo" in why["Discarded (final)"]
    assert "court’s order" in page.words
    assert "GO-2" in elif_.get("/storage").words


def test_an_undecided_embryo_says_so(elif_: Visitor) -> None:
    page = elif_.get(f"/episodes/{sample_id('episode', 'zofia-1')}/embryos").follow("ZW-1")
    assert "The patient hasn’t decided what happens to this embryo." in withheld(page)["Discarded (final)"]


def test_each_missing_requirement_of_a_thaw_is_named(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    form = put_form(service, "grace-treatment", "GO-2", episode_id=EPISODE)
    assert "isn’t under way" in withheld(elif_.get(address("GO-2")))["Thawed"]
    change(service, "episodes", "status = 'Active'", EPISODE)
    try:
        assert "Thawed" in offered(elif_.get(address("GO-2")))
        assert "A second person’s signature is missing" in withheld(victor.get(address("GO-2")))["Thawed"]
        refused = send(victor.get(address("GO-2")), address("GO-2"), expect=422, status="Thawed")
        assert "A second person’s signature is missing" in refused.words
        unsign(service, form, "Partner")
        assert "Joseph Okafor-D'Angelo hasn’t signed yet." in withheld(elif_.get(address("GO-2")))["Thawed"]
        change(service, "consent_forms", "status = 'PartiallySigned'", form)
        assert "hasn’t signed yet." in withheld(elif_.get(address("GO-2")))["Thawed"]
    finally:
        change(service, "consent_forms", "status = 'Revoked'", form)
        change(service, "episodes", "status = 'Finished'", EPISODE)


def test_a_thaw_names_its_form_and_a_loss_needs_notes(elif_: Visitor, service: CareService) -> None:
    form = put_form(service, "grace-treatment", "GO-2", episode_id=EPISODE)
    change(service, "episodes", "status = 'Active'", EPISODE)
    try:
        asked = send(elif_.get(address("GO-2")), address("GO-2"), status="Thawed")
        assert f"/consents/{form}" in asked.text
        for words in ("Grace Okafor", "Joseph Okafor", "Second person", "Victor", "can’t be undone"):
            assert words in asked.words
        asked.form("/storage/").submit(code="GO-2")
        assert stored(service, "GO-2", "status") == "Thawed"
        page = elif_.get(address("GO-2"))
        assert offered(page) == ["Thawed", "Transferred", "Discarded", "Stored"]
        silent = send(page, address("GO-2"), expect=422, status="Discarded")
        assert "Say what was seen after the thaw." in silent.words
        asked = send(page, address("GO-2"), status="Discarded", notes="No cell survived")
        asked.form("/storage/").submit(code="GO-2")
        assert stored(service, "GO-2", "status") == "Discarded"
    finally:
        change(service, "embryo_storage", "status = 'Stored', notes = NULL", embryo("GO-2"))
        change(service, "consent_forms", "status = 'Revoked'", form)
        change(service, "episodes", "status = 'Finished'", EPISODE)


def test_place_paid_until_and_notes_are_saved(elif_: Visitor, service: CareService) -> None:
    page = elif_.get(address("GO-2"))
    saved = send(
        page, address("GO-2"), status="Reserved", location_tank="T9", storage_expires_at="2028-02-29", notes="Moved"
    )  # fmt: skip
    assert "Embryo GO-2 is saved." in saved.text
    assert stored(service, "GO-2", "status") == "Reserved"
    assert stored(service, "GO-2", "storage_expires_at").startswith("2028-02-29 00:00")
    assert '"T9"' in stored(service, "GO-2", "location")
    assert stored(service, "GO-2", "notes") == "Moved"


def test_an_invalid_date_is_reported_and_kept(elif_: Visitor) -> None:
    page = send(
        elif_.get(address("GO-2")), address("GO-2"), expect=422, storage_expires_at="2027-02-30", notes="n"
    )
    assert [str(a["href"]) for a in page.select(".error-summary a")] == ["#storage_expires_at"]
    assert dict(page.form("/storage/").fields())["notes"] == "n"


def test_a_final_move_asks_for_the_code_and_a_wrong_one_changes_nothing(
    elif_: Visitor, service: CareService
) -> None:
    form = put_form(service, "grace-disposition", "GO-4", disposition="Transport")
    change(service, "embryo_storage", "disposition = 'Transport'", embryo("GO-4"))
    page = elif_.get(address("GO-4"))
    asked = send(page, address("GO-4"), status="ShippedOut", notes="To Leeds")
    assert asked.heading == "Embryo GO-4: Shipped out?"
    assert f"/consents/{form}" in asked.text
    for words in ("Grace Okafor", "Joseph Okafor", "Second person Victor", "Move to another clinic"):
        assert words in asked.words
    assert "this is final" in asked.words.lower()
    for typed in ("", "GO-1", "go-4"):
        wrong = asked.form("/storage/").submit(status=422, code=typed)
        assert [str(a["href"]) for a in wrong.select(".error-summary a")] == ["#code"]
    assert stored(service, "GO-4", "status") == "Stored"
    done = wrong.form("/storage/").submit(code=" GO-4 ")
    assert "Embryo GO-4 is saved." in done.text
    assert stored(service, "GO-4", "status") == "ShippedOut"
    assert stored(service, "GO-4", "notes") == "To Leeds"
    again = asked.form("/storage/").submit(status=None, code="GO-4")
    assert again.status in (200, 422)
    assert "record can’t be changed any more" in elif_.get(address("GO-4")).words


def test_a_final_move_whose_form_was_withdrawn_meanwhile_is_refused(
    elif_: Visitor, service: CareService
) -> None:
    form = to_discard(service, "GO-3")
    asked = send(elif_.get(address("GO-3")), address("GO-3"), status="Discarded")
    change(service, "consent_forms", "status = 'Revoked'", form)
    refused = asked.form("/storage/").submit(status=422, code="GO-3")
    assert "No signed form allows it." in refused.words
    assert stored(service, "GO-3", "status") == "Stored"
    change(service, "embryo_storage", "disposition = 'ContinueStorage'", embryo("GO-3"))


def test_an_illegal_move_is_refused_with_an_explanation(elif_: Visitor) -> None:
    for status in ("Transferred", "Nonsense"):
        page = send(elif_.get(address("GO-1")), address("GO-1"), expect=422, status=status)
        assert "Its present state doesn’t allow this step." in page.words


def test_concurrent_edits_show_both_versions_and_still_need_the_code(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    to_discard(service, "GO-1")
    mine, theirs = elif_.get(address("GO-1")), victor.get(address("GO-1"))
    send(theirs, address("GO-1"), status="Stored", location_cane="99")
    asked = send(mine, address("GO-1"), status="Discarded", notes="Mine")
    both = asked.form("/storage/").submit(status=409, code="GO-1")
    assert "Someone changed this meanwhile" in both.words
    assert "99" in both.words
    chosen = both.form("/storage/").submit(**{"keep-status": "mine"})
    assert chosen.heading.endswith("Discarded?")
    assert stored(service, "GO-1", "status") == "Stored"
    kept = both.form("/storage/").submit(**{"keep-status": "now"})
    assert kept.path == f"/storage/{embryo('GO-1')}"
    assert stored(service, "GO-1", "notes") == "Mine"
    assert '"99"' in stored(service, "GO-1", "location")
    chosen.form("/storage/").submit(status=409, code="GO-1")


def test_other_staff_can_read_but_not_edit_the_inventory(portal: PortalThread) -> None:
    nora = portal.sign_in("nora")
    page = nora.get(address("GO-3"))
    assert "Quayside / T4" in page.words
    assert not page.select("input[name=status]")
    nora.post(address("GO-3"), {"status": "Discarded", "code": "GO-3"}, status=403)


def test_htmx_gets_the_code_prompt_as_a_fragment(elif_: Visitor, service: CareService) -> None:
    to_discard(service, "GO-3")
    fields = dict(elif_.get(address("GO-3")).form("/storage/").fields())
    asked = elif_.fragment(address("GO-3"), "edit", data={**fields, "status": "Discarded"})
    assert asked.soup.select_one("#edit input[name=code]")
    assert "<html" not in asked.text
