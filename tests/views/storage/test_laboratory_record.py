"""The laboratory's record of an embryo: which moves are offered, what each needs, and what is saved."""

from __future__ import annotations

from portal.careservice.ids import sample_id
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.views.storage.embryos import (
    EPISODE,
    address,
    change,
    embryo,
    offered,
    put_form,
    send,
    stored,
    to_discard,
    unsign,
    withheld,
)


def test_the_record_offers_only_moves_with_all_requirements(elif_: Visitor) -> None:
    page = elif_.get(f"/episodes/{EPISODE}/embryos").follow("GO-2")
    assert offered(page) == ["Stored", "Reserved", "OnHold"]
    why = withheld(page)
    assert set(why) == {"Warmed", "Discarded (final)", "Donated (final)", "Shipped out (final)"}
    assert "doesn’t say which embryos it is about" in why["Warmed"]
    assert "The wish on record is another: Keep in storage." in why["Donated (final)"]
    assert "No signed form allows it." in why["Donated (final)"]
    assert "doesn’t name this embryo" in why["Discarded (final)"]
    assert "court’s order" in page.words
    assert "GO-2" in elif_.get("/storage").words


def test_an_undecided_disposition_is_the_reason_against_ending_storage(elif_: Visitor) -> None:
    page = elif_.get(f"/episodes/{sample_id('episode', 'zofia-1')}/embryos").follow("ZW-1")
    assert "The patient hasn’t decided what happens to this embryo." in withheld(page)["Discarded (final)"]


def test_each_missing_requirement_of_a_thaw_is_named(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    form = put_form(service, "grace-treatment", "GO-2", episode_id=EPISODE)
    assert "isn’t under way" in withheld(elif_.get(address("GO-2")))["Warmed"]
    change(service, "episodes", "status = 'Active'", EPISODE)
    try:
        assert "Thawed" in offered(elif_.get(address("GO-2")))
        assert "A second person’s signature is missing" in withheld(victor.get(address("GO-2")))["Warmed"]
        refused = send(victor.get(address("GO-2")), address("GO-2"), expect=422, status="Thawed")
        assert "A second person’s signature is missing" in refused.words
        unsign(service, form, "Partner")
        assert "Joseph Okafor-D'Angelo hasn’t signed yet." in withheld(elif_.get(address("GO-2")))["Warmed"]
        change(service, "consent_forms", "status = 'PartiallySigned'", form)
        assert "hasn’t signed yet." in withheld(elif_.get(address("GO-2")))["Warmed"]
    finally:
        change(service, "consent_forms", "status = 'Revoked'", form)
        change(service, "episodes", "status = 'Finished'", EPISODE)


def test_a_thaw_names_its_form_and_a_loss_needs_notes(elif_: Visitor, service: CareService) -> None:
    form = put_form(service, "grace-treatment", "GO-2", episode_id=EPISODE)
    change(service, "episodes", "status = 'Active'", EPISODE)
    try:
        asked = send(elif_.get(address("GO-2")), address("GO-2"), status="Thawed")
        assert f"/consents/{form}" in asked.text
        for words in (
            "Grace Okafor",
            "Joseph Okafor",
            "Second signature on the form",
            "Victor",
            "can’t be undone",
        ):
            assert words in asked.words
        asked.form("/storage/").submit(code="GO-2", record_number="RF-09117")
        assert stored(service, "GO-2", "status") == "Thawed"
        page = elif_.get(address("GO-2"))
        assert offered(page) == ["Thawed", "Transferred", "Discarded", "Stored"]
        silent = send(page, address("GO-2"), expect=422, status="Discarded")
        assert "Say what was seen after warming." in silent.words
        asked = send(page, address("GO-2"), status="Discarded", notes="No cell survived")
        asked.form("/storage/").submit(code="GO-2", record_number="RF-09117")
        assert stored(service, "GO-2", "status") == "Discarded"
    finally:
        change(service, "embryo_storage", "status = 'Stored', notes = NULL", embryo("GO-2"))
        change(service, "consent_forms", "status = 'Revoked'", form)
        change(service, "episodes", "status = 'Finished'", EPISODE)


def test_location_paid_until_and_notes_are_saved(elif_: Visitor, service: CareService) -> None:
    page = elif_.get(address("GO-2"))
    saved = send(
        page, address("GO-2"), status="Reserved", location_tank="T9", storage_expires_at="2096-02-29", notes="Moved"
    )  # fmt: skip
    assert "Embryo GO-2 · RF-09117 · frozen on" in saved.text and "is saved." in saved.text
    assert stored(service, "GO-2", "status") == "Reserved"
    assert stored(service, "GO-2", "storage_expires_at").startswith("2096-02-29 00:00")
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
    assert asked.heading == "Shipped out?"
    assert f"/consents/{form}" in asked.text
    for words in (
        "Grace Okafor",
        "Joseph Okafor",
        "Second signature on the form Victor",
        "Move to another clinic",
    ):
        assert words in asked.words
    assert "this is final" in asked.words.lower()
    for code, number, faults in (
        ("", "RF-09117", ["#code"]),
        ("GO-1", "RF-09117", ["#code"]),
        ("go-4", "RF-09117", ["#code"]),
        ("GO-4", "", ["#record_number"]),
        ("GO-4", "RF-09118", ["#record_number"]),
    ):
        wrong = asked.form("/storage/").submit(status=422, code=code, record_number=number)
        assert [str(a["href"]) for a in wrong.select(".error-summary a")] == faults
    assert stored(service, "GO-4", "status") == "Stored"
    done = wrong.form("/storage/").submit(code=" GO-4 ", record_number="RF-09117")
    assert "Embryo GO-4 · RF-09117 · frozen on" in done.text and "is saved." in done.text
    assert stored(service, "GO-4", "status") == "ShippedOut"
    assert stored(service, "GO-4", "notes") == "To Leeds"
    again = asked.form("/storage/").submit(status=None, code="GO-4", record_number="RF-09117")
    assert again.status in (200, 422)
    assert "record can’t be changed any more" in elif_.get(address("GO-4")).words


def test_a_final_move_whose_form_was_withdrawn_meanwhile_is_refused(
    elif_: Visitor, service: CareService
) -> None:
    form = to_discard(service, "GO-3")
    asked = send(elif_.get(address("GO-3")), address("GO-3"), status="Discarded")
    change(service, "consent_forms", "status = 'Revoked'", form)
    refused = asked.form("/storage/").submit(status=422, code="GO-3", record_number="RF-09117")
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
    both = asked.form("/storage/").submit(status=409, code="GO-1", record_number="RF-09117")
    assert "Someone changed this meanwhile" in both.words
    assert "99" in both.words
    chosen = both.form("/storage/").submit(**{"keep-status": "mine"})
    assert chosen.heading.endswith("Discarded?")
    assert stored(service, "GO-1", "status") == "Stored"
    kept = both.form("/storage/").submit(**{"keep-status": "now"})
    assert kept.path == f"/storage/{embryo('GO-1')}"
    assert stored(service, "GO-1", "notes") == "Mine"
    assert '"99"' in stored(service, "GO-1", "location")
    chosen.form("/storage/").submit(status=409, code="GO-1", record_number="RF-09117")


def test_the_page_that_asks_for_the_straw_does_not_say_what_is_on_it(
    elif_: Visitor, service: CareService
) -> None:
    to_discard(service, "GO-3")
    asked = send(elif_.get(address("GO-3")), address("GO-3"), status="Discarded")
    assert "This doesn’t replace witnessing" in asked.words
    for told in ("Grace Okafor", "3 September 1987", "T4 C2"):
        assert told in asked.words
    for hidden in ("GO-3", "RF-09117"):
        assert hidden not in asked.text
        assert hidden not in asked.form("/storage/").submit(status=422, code="x", record_number="x").text
    change(service, "embryo_storage", "disposition = 'ContinueStorage'", embryo("GO-3"))


def test_staff_read_an_embryos_code_with_its_patients_record_number(
    elif_: Visitor, portal: PortalThread, service: CareService
) -> None:
    form = to_discard(service, "GO-3")
    places = (
        address("GO-3"), f"/episodes/{EPISODE}/embryos", "/storage", f"/consents/{form}",
        elif_.get(address("GO-1")).link("See the result"),
    )  # fmt: skip
    for place in places:
        page = elif_.get(place)
        assert "GO-" in page.words and "· RF-09117" in page.words, place
    assert "RF-09117" not in portal.sign_in("grace").get(address("GO-3")).words
    change(service, "embryo_storage", "disposition = 'ContinueStorage'", embryo("GO-3"))


def test_an_embryo_frozen_slowly_is_thawed(elif_: Visitor, service: CareService) -> None:
    change(service, "embryo_storage", "method = 'Slow freezing'", embryo("GO-2"))
    assert "Thawed" in withheld(elif_.get(address("GO-2")))
    change(service, "embryo_storage", "method = 'Vitrification'", embryo("GO-2"))
