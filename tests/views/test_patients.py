"""Editing a patient over HTTP: permission, validation, and concurrent edits."""

from __future__ import annotations

import sqlite3
import uuid

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor

EPISODE = sample_id("episode", "grace-2")
GRACE = sample_id("patient", "grace")
JOSEPH = sample_id("patient", "joseph")
ELSEWHERE = sample_id("patient", "elsewhere")
EDIT = f"/patients/{GRACE}/edit?episode={EPISODE}"
ACTION = f"/patients/{GRACE}/edit"


def value(page: Page, name: str) -> str:
    return dict(page.form(ACTION).fields())[name]


def stored(service: CareService, column: str, patient: str = GRACE) -> object:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        return database.execute(f"SELECT {column} FROM patients WHERE id = ?", (patient,)).fetchone()[0]  # noqa: S608


def test_the_episode_links_staff_to_the_form_and_back(nora: Visitor, service: CareService) -> None:
    episode = nora.get(f"/episodes/{EPISODE}")
    page = nora.get(next(str(a["href"]) for a in episode.select("a") if ACTION in str(a["href"])))
    assert page.heading == "Edit patient"
    assert value(page, "mrn") == "RF-09117"
    saved = page.form(ACTION).submit(phone_number="+44 7700 900555", address_line2="Flat 2")
    assert saved.path == f"/episodes/{EPISODE}"
    assert "The patient’s record is saved." in saved.text
    assert stored(service, "phone_number") == "+447700900555"
    assert stored(service, "user_id") == sample_id("person", "grace")


def test_staff_confirm_a_number_and_a_change_ends_that(nora: Visitor, service: CareService) -> None:
    nora.get(EDIT).form(ACTION).submit(phone_number="+44 7700 900556", phone_number_verified="no")
    assert stored(service, "phone_number_verified") == 0
    nora.get(EDIT).form(ACTION).submit(phone_number_verified="yes")
    assert stored(service, "phone_number_verified") == 1
    nora.get(EDIT).form(ACTION).submit(phone_number="+44 7700 900557")
    assert stored(service, "phone_number_verified") == 0
    wrong = nora.get(EDIT).form(ACTION)
    page = wrong.submit(status=422, phone_number="", phone_number_verified="yes", preferred_channel="Email")
    assert "There is nothing to confirm." in page.words


def test_the_partner_has_a_form_of_their_own(nora: Visitor, service: CareService) -> None:
    page = nora.get(f"/patients/{JOSEPH}/edit?episode={EPISODE}")
    page.form(f"/patients/{JOSEPH}/edit").submit(preferred_name="Joe")
    assert stored(service, "preferred_name", JOSEPH) == "Joe"


def test_without_an_episode_in_the_url_recent_episodes_are_searched(nora: Visitor) -> None:
    nora.get(f"/episodes/{EPISODE}")
    assert nora.get(ACTION).heading == "Edit patient"


def test_a_telephone_number_is_shown_in_national_and_dialled_in_international_format(
    nora: Visitor, service: CareService
) -> None:
    for typed, shown, kept in (
        ("(07700) 900 666", "07700 900666", "+447700900666"),
        ("+34 612-345-678", "+34 612 34 56 78", "+34612345678"),
    ):
        page = nora.get(EDIT).form(ACTION).submit(phone_number=typed)
        assert stored(service, "phone_number") == kept
        link = next(one for one in page.select("a") if one.get("href") == f"tel:{kept}")
        assert link.words == shown
        assert value(nora.get(EDIT), "phone_number") == shown


@pytest.mark.parametrize("typed", ["12", "+999 12345678", "call me"])
def test_an_invalid_telephone_number_is_reported_at_its_field(nora: Visitor, typed: str) -> None:
    page = nora.get(EDIT).form(ACTION).submit(status=422, phone_number=typed)
    assert [str(a["href"]) for a in page.select(".error-summary a")] == ["#phone_number"]
    assert value(page, "phone_number") == typed


def test_an_administrator_binds_a_record_to_an_account_once(
    portal: PortalThread, nora: Visitor, service: CareService
) -> None:
    ada = portal.sign_in("ada")
    joseph = f"/patients/{JOSEPH}/edit"
    assert "This record belongs to an account." in ada.get(EDIT).words
    assert not nora.get(f"{joseph}?episode={EPISODE}").select("input[name=user_id]")
    form = ada.get(f"{joseph}?episode={EPISODE}").form(joseph)
    for wrong in ("nobody", sample_id("person", "grace"), sample_id("person", "nora")):
        page = form.submit(status=422, user_id=wrong)
        assert [str(a["href"]) for a in page.select(".error-summary a")] == ["#user_id"]
        assert dict(page.form(joseph).fields())["user_id"] == wrong
    account = str(uuid.uuid4())
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.row_factory = sqlite3.Row
        (one,) = database.execute("SELECT * FROM people WHERE id = ?", (sample_id("person", "grace"),))
        copy = {**dict(one), "id": account, "username": "joseph", "email": "joseph@riverside.example"}
        marks = ", ".join("?" * len(copy))
        database.execute(f"INSERT INTO people ({', '.join(copy)}) VALUES ({marks})", tuple(copy.values()))  # noqa: S608
    form.submit(user_id=account)
    assert stored(service, "user_id", JOSEPH) == account
    assert not ada.get(f"{joseph}?episode={EPISODE}").select("input[name=user_id]")


@pytest.mark.parametrize(
    "address",
    [
        f"/patients/{sample_id('patient', 'amelia')}/edit?episode={EPISODE}",
        f"/patients/{GRACE}/edit?episode={sample_id('episode', 'maya-1')}",
        f"/patients/{GRACE}/edit?episode=..",
        f"/patients/{GRACE}/edit?episode=a/b",
        f"/patients/{GRACE}/edit?episode=",
        "/patients/nobody/edit?episode=no-such-thing",
    ],
)
def test_a_patient_outside_the_episode_is_not_found(nora: Visitor, address: str) -> None:
    page = nora.get(address, status=404)
    assert page.heading == "We can’t find that"
    nora.post(address, {}, status=404)


def test_errors_are_listed_with_links_and_input_is_kept(nora: Visitor, service: CareService) -> None:
    before = stored(service, "concurrency_stamp")
    page = nora.get(EDIT).form(ACTION).submit(
        status=422,
        first_name="",
        email="not an address",
        date_of_birth="1987-02-31",
        address_city="",
        preferred_channel="Carrier pigeon",
        emergency_contact_name="",
        last_name="Ó'Kafor <b>",
    )  # fmt: skip
    linked = [str(a["href"]) for a in page.select(".error-summary a")]
    assert linked == [
        *("#first_name", "#date_of_birth", "#email", "#preferred_channel"),
        *("#address_city", "#emergency_contact_name"),
    ]
    for href in linked:
        assert page.tree.select_one(href), href
    assert value(page, "email") == "not an address"
    assert value(page, "last_name") == "Ó'Kafor <b>"
    assert stored(service, "concurrency_stamp") == before


def test_an_incomplete_address_or_missing_preferred_contact_is_refused(nora: Visitor) -> None:
    page = nora.get(EDIT).form(ACTION).submit(
        status=422, address_city="", emergency_contact_phone_number="", preferred_channel="Sms", phone_number=""
    )  # fmt: skip
    linked = {str(a["href"]) for a in page.select(".error-summary a")}
    assert linked == {"#address_city", "#emergency_contact_phone_number", "#phone_number"}


def test_concurrent_edits_show_both_versions_with_a_choice_per_field(
    nora: Visitor, colin: Visitor, service: CareService
) -> None:
    mine, theirs = nora.get(EDIT), colin.get(EDIT)
    theirs.form(ACTION).submit(address_city="Cardiff", email="grace@colin.example")
    both = mine.form(ACTION).submit(status=409, address_city="Exeter", preferred_name="Gracie")
    assert "Someone changed this meanwhile" in both.words
    assert "Cardiff" in both.words
    assert "Exeter" in both.words
    assert "When you opened it: Bristol" in both.words
    assert "Gracie" in both.words
    undecided = both.form(ACTION).submit(status=422)
    assert "Choose what to keep for “Town or city”." in undecided.words
    saved = undecided.form(ACTION).submit(**{"keep-address_city": "mine"})
    assert saved.path == f"/episodes/{EPISODE}"
    assert "Exeter" in str(stored(service, "address"))
    assert stored(service, "email") == "grace@colin.example"
    assert stored(service, "preferred_name") == "Gracie"


def test_the_same_form_sent_twice_has_one_effect(nora: Visitor, service: CareService) -> None:
    page = nora.get(EDIT)
    page.form(ACTION).submit(phone_number="+44 7700 900777")
    stamp = stored(service, "concurrency_stamp")
    again = page.form(ACTION).submit(phone_number="+44 7700 900777")
    assert again.path == f"/episodes/{EPISODE}"
    assert stored(service, "concurrency_stamp") == stamp


def test_sending_an_unchanged_form_says_so(nora: Visitor, service: CareService) -> None:
    stamp = stored(service, "concurrency_stamp")
    assert "Nothing was changed." in nora.get(EDIT).form(ACTION).submit().text
    assert stored(service, "concurrency_stamp") == stamp


def test_htmx_gets_only_the_invalid_form_and_is_redirected_when_saved(nora: Visitor) -> None:
    fields = dict(nora.get(EDIT).form(ACTION).fields())
    faulty = nora.fragment(EDIT, "edit", data={**fields, "first_name": ""}, status=422)
    assert faulty.tree.select_one("#edit .error-summary")
    assert "<html" not in faulty.text
    saved = nora.fragment(EDIT, "edit", data={**fields, "preferred_name": "G"})
    assert saved.headers["HX-Redirect"] == f"/episodes/{EPISODE}"


def test_a_record_kept_by_the_clinics_system_is_explained(portal: PortalThread) -> None:
    omar = portal.sign_in("omar")
    address = f"/patients/{ELSEWHERE}/edit"
    episode = sample_id("episode", "elsewhere-1")
    page = omar.get(f"{address}?episode={episode}").form(address).submit(status=501, preferred_name="Inga")
    assert "keeps this record in another system" in page.words
    assert dict(page.form(address).fields())["preferred_name"] == "Inga"
    assert omar.get(f"/episodes/{episode}").status == 200


@pytest.mark.asvs("1.1.2", "1.2.1")
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("\x00", ""),
        ("\u202e\u061cGra\u200bcie\x07", "Gracie"),
        ("{{7*7}}", "{{7*7}}"),
        ("'\"><script>alert(1)</script>", "'\"><script>alert(1)</script>"),
        ("😀" * 100, "😀" * 100),
    ],
    ids=["NUL", "bidirectional and zero-width", "expression", "markup", "many bytes"],
)
def test_any_text_is_stored_and_escaped(nora: Visitor, service: CareService, typed: str, kept: str) -> None:
    scripts = len(nora.get(EDIT).select("script"))
    saved = nora.get(EDIT).form(ACTION).submit(preferred_name=typed)
    assert saved.path == f"/episodes/{EPISODE}"
    assert (stored(service, "preferred_name") or "") == kept
    page = nora.get(EDIT)
    assert value(page, "preferred_name") == kept
    assert len(page.select("script")) == scripts


def test_an_overlong_text_is_refused_and_shown_as_typed(nora: Visitor) -> None:
    typed = "'\"><script>" + "x" * 5000
    page = nora.get(EDIT).form(ACTION).submit(status=422, preferred_name=typed)
    assert "Write at most 200 characters." in page.words
    assert value(page, "preferred_name") == typed
