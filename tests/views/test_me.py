"""My details over HTTP: contact fields, the people on the record, and links."""

from __future__ import annotations

import sqlite3

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor

AMELIA = sample_id("patient", "amelia")
EPISODE = sample_id("episode", "amelia-1")


def stored(service: CareService, column: str) -> object:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        return database.execute(f"SELECT {column} FROM patients WHERE id = ?", (AMELIA,)).fetchone()[0]  # noqa: S608


def test_a_patient_sees_their_record_and_changes_contact_fields(
    amelia: Visitor, service: CareService
) -> None:
    page = amelia.get("/me")
    assert page.heading == "My details"
    assert "RF-10482" in page.words
    saved = page.form("/me").submit(phone_number="+44 7700 900999", preferred_name="Mel")
    assert saved.path == "/me"
    assert "Your details are saved." in saved.text
    assert dict(saved.form("/me").fields())["phone_number"] == "07700 900999"
    assert (stored(service, "phone_number"), stored(service, "preferred_name")) == ("+447700900999", "Mel")
    for page in (saved, amelia.get("/help")):
        assert [one.words for one in page.select(".menu-name")] == ["Mel"]


@pytest.mark.asvs("8.2.3", "8.3.1", "15.3.3")
def test_only_contact_fields_are_sent_whatever_the_form_holds(amelia: Visitor, service: CareService) -> None:
    given = {"last_name": "Other", "first_name": "Other", "mrn": "1", "date_of_birth": "1970-01-01"}
    before = {column: stored(service, column) for column in (*given, "user_id", "is_active", "tenant_id")}
    fields = dict(amelia.get("/me").form("/me").fields())
    more = {"is_active": "no", "user_id": sample_id("person", "grace"), "tenant_id": "harbour"}
    saved = amelia.post("/me", {**fields, "preferred_name": "Milly", **given, **more})
    assert "Your details are saved." in saved.text
    assert stored(service, "preferred_name") == "Milly", "the form was accepted"
    assert {column: stored(service, column) for column in before} == before


def test_a_partner_sees_their_own_record(portal: PortalThread) -> None:
    page = portal.sign_in("daniel").get("/me")
    assert "RF-10483" in page.words
    assert "RF-10482" not in page.words


@pytest.mark.asvs("2.2.3")
def test_errors_are_listed_and_input_is_kept(amelia: Visitor) -> None:
    page = (
        amelia.get("/me")
        .form("/me")
        .submit(status=422, email="nope", address_line1="1 Road", address_city="")
    )
    linked = {str(a["href"]) for a in page.select(".error-summary a")}
    assert {"#email", "#address_city"} <= linked
    assert dict(page.form("/me").fields())["email"] == "nope"


def test_a_concurrent_change_by_the_clinic_is_shown_beside_the_patients(
    portal: PortalThread, amelia: Visitor, service: CareService
) -> None:
    mine = amelia.get("/me")
    nora = portal.sign_in("nora")
    edit = f"/patients/{AMELIA}/edit"
    nora.get(f"{edit}?episode={EPISODE}").form(edit).submit(phone_number="+44 7700 900111")
    both = mine.form("/me").submit(status=409, phone_number="+44 7700 900222", preferred_name="Millie")
    assert "07700 900111" in both.words
    assert "07700 900222" in both.words
    saved = both.form("/me").submit(**{"keep-phone_number": "mine"})
    assert saved.path == "/me"
    assert stored(service, "phone_number") == "+447700900222"
    assert stored(service, "preferred_name") == "Millie"


def test_htmx_gets_the_form_as_a_fragment(amelia: Visitor) -> None:
    fields = dict(amelia.get("/me").form("/me").fields())
    answer = amelia.fragment("/me", "details", data={**fields, "preferred_name": "M"})
    assert answer.tree.select_one("#details input[name=preferred_name][value=M]")
    assert "Your details are saved." in answer.text
    assert "<html" not in answer.text
    carried = dict(answer.form("/me").fields())
    again = amelia.fragment("/me", "details", data={**carried, "preferred_name": "Millie"})
    assert again.status == 200
