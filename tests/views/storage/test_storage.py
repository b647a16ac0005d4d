"""Embryo storage over HTTP: what patients see and decide, and the laboratory's inventory."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from portal.careservice.ids import sample_id
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


def send(page: Page, where: str, *, expect: int = 200, **fields: str) -> Page:
    given = {**dict(page.form(where.partition("?")[0]).fields()), **fields}
    return page.visitor.post(where, given, status=expect)


# ── what patients see ───────────────────────────────────────────────────────────────────────────────────


def test_each_embryo_has_its_three_dates_and_near_ones_come_first(grace: Visitor) -> None:
    page = grace.get("/storage")
    cards = page.select("article.card")
    assert [card.select("h2")[0].get_text() for card in cards] == [
        f"Embryo {code}" for code in ("GO-3", "GO-1", "GO-2", "GO-4", "GO-6")
    ]
    first = cards[0].get_text(" ", strip=True)
    for words in ("You agreed to storage until", "Storage is paid until", "The law allows storage until"):
        assert words in first
    assert "In 18 days" in first
    assert "In 18 days" not in cards[1].get_text()
    assert "On hold" in cards[-1].get_text()
    assert "Embryo GO-5" in page.words.partition("Not in storage any more")[2]


@pytest.mark.parametrize("path", ["/storage", f"/storage/{embryo('GO-3')}?episode={EPISODE}"])
def test_no_record_is_written_into_the_source_of_a_page(grace: Visitor, elif_: Visitor, path: str) -> None:
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


def test_without_the_episode_in_the_address_it_is_found_all_the_same(portal: PortalThread) -> None:
    assert portal.sign_in("grace").get(f"/storage/{embryo('GO-3')}").heading == "Embryo GO-3"


@pytest.mark.parametrize("path", ["", "/keep", "/let-go"])
def test_another_patients_embryo_is_not_there(portal: PortalThread, path: str) -> None:
    amelia = portal.sign_in("amelia")
    for where in (f"/storage/{embryo('GO-3')}{path}", f"/storage/{embryo('GO-3')}{path}?episode={EPISODE}"):
        page, unknown = amelia.get(where, status=404), amelia.get("/storage/nothing", status=404)
        assert page.heading == unknown.heading == "We can’t find that"
        assert len(page.words) == len(unknown.words)


def test_someone_with_nothing_in_storage_is_told_so(portal: PortalThread) -> None:
    assert "You have no embryo in storage" in portal.sign_in("amelia").get("/storage").words


# ── what patients decide ────────────────────────────────────────────────────────────────────────────────


def test_renewing_shows_what_follows_then_is_recorded_and_shown(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-3")).follow("Keep it in storage")
    assert "Storage is paid until" in page.words
    assert stored(service, "GO-3", "disposition") == "Undecided"
    done = page.form("/storage/").submit()
    assert done.path == f"/storage/{embryo('GO-3')}"
    assert "Embryo GO-3: your decision is recorded." in done.text
    assert "Your wish now" in done.words
    assert stored(service, "GO-3", "disposition") == "ContinueStorage"


def test_the_same_decision_sent_twice_is_one(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-4", "donate-research"))
    page.form("/storage/").submit()
    stamp = stored(service, "GO-4", "concurrency_stamp")
    again = page.form("/storage/").submit()
    assert again.path == f"/storage/{embryo('GO-4')}"
    assert stored(service, "GO-4", "concurrency_stamp") == stamp


def test_a_decision_that_changed_meanwhile_shows_both(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-2", "let-go"))
    grace.get(address("GO-2", "move")).form("/storage/").submit()
    both = page.form("/storage/").submit(status=409)
    assert "Let go" in both.words
    assert "Move to another clinic" in both.words
    assert stored(service, "GO-2", "disposition") == "Transport"
    both.form("/storage/").submit(**{"keep-disposition": "mine"})
    assert stored(service, "GO-2", "disposition") == "Discard"
    grace.get(address("GO-2", "keep")).form("/storage/").submit()


def test_on_hold_says_why_and_offers_to_keep_it_alone(grace: Visitor, service: CareService) -> None:
    page = grace.get(address("GO-6"))
    assert "Repeat biopsy under discussion" in page.words
    assert "Keep it in storage" in page.words
    assert "Let it go" not in page.words
    for decision in ("let-go", "donate-research", "donate-patients", "move"):
        refused = grace.get(address("GO-6", decision), status=403)
        assert "on hold" in refused.words
        assert "Repeat biopsy" in refused.words
        grace.post(address("GO-6", decision), {"disposition": "Discard"}, status=403)
    assert stored(service, "GO-6", "disposition") == "Undecided"


def test_without_the_signed_form_it_says_which_to_sign(grace: Visitor, service: CareService) -> None:
    form = sample_id("consent", "grace-disposition")
    change(service, "consent_forms", "status = 'Pending'", form)
    try:
        for decision in ("let-go", "donate-research", "donate-patients"):
            refused = grace.get(address("GO-1", decision), status=403)
            assert refused.link("Read and sign") == f"/consents/{form}"
        grace.post(address("GO-1", "let-go"), {"disposition": "Discard"}, status=403)
        change(service, "consent_forms", "status = 'Revoked'", form)
        refused = grace.get(address("GO-1", "let-go"), status=403)
        assert "hasn’t sent you that form yet" in refused.words
        assert grace.get(address("GO-1", "keep")).status == 200
    finally:
        change(service, "consent_forms", "status = 'Signed'", form)
    assert stored(service, "GO-1", "disposition") == "ContinueStorage"


def test_nothing_is_decided_about_an_embryo_that_is_gone(grace: Visitor) -> None:
    assert "nothing to decide" in grace.get(address("GO-5")).words
    grace.get(address("GO-5", "keep"), status=403)
    grace.get(address("GO-3", "sell"), status=404)


def test_patients_do_not_write_the_inventory_nor_staff_a_wish(grace: Visitor, elif_: Visitor) -> None:
    grace.post(address("GO-3"), {"status": "Discarded"}, status=403)
    elif_.get(address("GO-3", "keep"), status=403)
    elif_.post(address("GO-3", "keep"), {"disposition": "ContinueStorage"}, status=403)


# ── the inventory ───────────────────────────────────────────────────────────────────────────────────────


def test_staff_reach_the_inventory_from_the_episode_and_only_legal_moves_are_offered(elif_: Visitor) -> None:
    page = elif_.get(f"/episodes/{EPISODE}/embryos").follow("GO-2")
    offered = [str(one["value"]) for one in page.select("input[name=status]")]
    assert offered == ["Stored", "Reserved", "OnHold", "Thawed", "Discarded", "Donated", "ShippedOut"]
    assert "GO-2" in elif_.get("/storage").words


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


def test_a_faulty_date_is_told_and_kept(elif_: Visitor) -> None:
    page = send(
        elif_.get(address("GO-2")), address("GO-2"), expect=422, storage_expires_at="2027-02-30", notes="n"
    )
    assert [str(a["href"]) for a in page.select(".error-summary a")] == ["#storage_expires_at"]
    assert dict(page.form("/storage/").fields())["notes"] == "n"


def test_a_final_move_asks_for_the_code_and_a_wrong_one_changes_nothing(
    elif_: Visitor, service: CareService
) -> None:
    page = elif_.get(address("GO-4"))
    asked = send(page, address("GO-4"), status="ShippedOut", notes="To Leeds")
    assert asked.heading == "Embryo GO-4: Shipped out?"
    assert "The patient’s wish is another" in asked.words
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
    assert again.status == 200
    assert "record can’t be changed any more" in elif_.get(address("GO-4")).words


def test_a_final_move_without_the_signed_form_is_refused_in_words(
    elif_: Visitor, service: CareService
) -> None:
    form = sample_id("consent", "grace-disposition")
    change(service, "consent_forms", "status = 'Pending'", form)
    try:
        asked = send(elif_.get(address("GO-1")), address("GO-1"), status="Discarded")
        refused = asked.form("/storage/").submit(status=403, code="GO-1")
        assert "This needs a signed decision form first." in refused.words
    finally:
        change(service, "consent_forms", "status = 'Signed'", form)


def test_a_move_that_is_not_legal_is_refused_in_words(elif_: Visitor) -> None:
    for status in ("Transferred", "Nonsense"):
        page = send(elif_.get(address("GO-1")), address("GO-1"), expect=422, status=status)
        assert "Its present state doesn’t allow this step." in page.words


def test_two_editors_see_both_and_a_choice_does_not_skip_the_code(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
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


def test_other_staff_see_the_inventory_without_a_form_and_are_refused(portal: PortalThread) -> None:
    nora = portal.sign_in("nora")
    page = nora.get(address("GO-3"))
    assert "Quayside / T4" in page.words
    assert not page.select("input[name=status]")
    nora.post(address("GO-3"), {"status": "Discarded", "code": "GO-3"}, status=403)


def test_htmx_gets_the_question_for_the_code_in_place(elif_: Visitor) -> None:
    fields = dict(elif_.get(address("GO-3")).form("/storage/").fields())
    asked = elif_.fragment(address("GO-3"), "edit", data={**fields, "status": "Discarded"})
    assert asked.soup.select_one("#edit input[name=code]")
    assert "<html" not in asked.text
