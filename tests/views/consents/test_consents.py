"""Consent forms: lists, reading, receipt, withdrawing, and making new ones."""

from __future__ import annotations

import sqlite3
import uuid
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import (
    change_record,
    consent,
    copy_rows,
    fresh_form,
    mark_all_in_another_way,
    mark_of,
    sign,
)

# ── lists ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_patient_sees_whose_turn_it_is_to_sign(amelia: Any) -> None:
    page = amelia.get("/consents")
    headings = [h2.words.split()[0] for h2 in page.select("main h2")]
    assert headings == ["Your", "Waiting", "Signed", "Ended", "Reach"]
    assert "After you: Daniel Hart and Victor Castellanos" in page.words
    assert "Daniel Hart signs first, then you" in page.words
    assert page.select(f'.task a[href="{consent("amelia-genetic")}/sign"]')


def test_filters_sorting_and_paging_are_in_the_url(nora: Any) -> None:
    page = nora.get("/consents?status=PartiallySigned&sort=patient")
    assert {tag.words for tag in page.select('td[data-label="Status, sent"] .tag')} == {"Partly signed"}
    assert page.select('th[aria-sort="ascending"]')[0].words == "Patient"
    second = nora.get("/consents?list=all&page=2")
    assert "Page 2 of" in second.words
    first = nora.get("/consents?list=all")
    on = [{a["href"] for a in page.select("tbody th a")} for page in (first, second)]
    assert on[0] and on[1] and not on[0] & on[1]


def test_invalid_filters_fall_back_to_the_default(nora: Any) -> None:
    page = nora.get("/consents?status=nonsense&sort=--%27&page=-3&page=x&endpoint=x&_external=1")
    assert page.select('.chips a[aria-current="true"]')[0].words == "All"
    assert "Page 1 of" in page.words
    assert nora.get("/consents?page=99999999999999999999").status == 200


@pytest.mark.parametrize("page", ["9" * 5000, "٣", "²", "1e9", "\x00", "10001"])
@pytest.mark.parametrize("path", ["/consents", "/protocols"])
def test_an_invalid_page_number_shows_the_first_page(nora: Any, path: str, page: str) -> None:
    shown = nora.get(f"{path}?page={quote(page)}")
    assert "Previous" not in shown.words and shown.select("tbody tr")


def test_a_search_keeps_the_filter_that_was_chosen(nora: Any) -> None:
    part = nora.fragment("/consents?status=PartiallySigned", target="results")
    kept = part.tree.select_one("form[role=search] input[name=status]")
    assert kept and kept["value"] == "PartiallySigned"


def test_htmx_gets_only_the_table(nora: Any) -> None:
    part = nora.fragment("/consents?q=Amelia", target="results")
    assert part.tree.select_one("#results table") and "<html" not in part.text


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("rest", ["", "/sign", "/sign/name", "/receipt", "/revoke"])
@pytest.mark.parametrize("id_", ["grace", "harbour", "unknown", "odd"])
def test_missing_and_other_peoples_forms_are_the_same_404(amelia: Any, id_: str, rest: str) -> None:
    address = {
        "grace": consent("grace-storage"),
        "harbour": consent("maya-treatment"),
        "unknown": "/consents/00000000-0000-4000-8000-000000000000",
        "odd": "/consents/%27%3Bdrop",
    }[id_]
    page = amelia.get(address + rest, status=404)
    assert page.heading == "We can’t find that"


def test_acting_on_another_persons_form_is_a_404(amelia: Any) -> None:
    for rest in ("/sign/read", "/sign/name", "/revoke"):
        amelia.post(consent("grace-renewal") + rest, {"operation": "x", "signature": "y"}, status=404)


# ── receipt ─────────────────────────────────────────────────────────────────────────────────────────────


def test_verify_recomputes_the_seal_for_each_signature(amelia: Any) -> None:
    page = amelia.get(f"{consent('amelia-treatment-2')}/receipt")
    checked = page.form(f"{consent('amelia-treatment-2')}/receipt").submit()
    assert checked.words.count("the text is exactly the one that was signed") == 3
    part = amelia.fragment(f"{consent('amelia-treatment-2')}/receipt?verify=1", target="verification")
    assert part.tree.select_one("section#verification") and "<html" not in part.text


def test_verify_reports_a_record_changed_since_signing(amelia: Any, nora: Any, service: Any) -> None:
    form = fresh_form(service.plan)
    sign(amelia, form, "Amelia Hart")
    change_record(service.plan, form, clause="Something else altogether.")
    page = amelia.get(f"{form}/receipt?verify=1")
    assert "Does not match" in page.words and "Please tell the clinic" in page.words


def test_verify_detects_a_changed_text_with_an_old_hash(amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan)
    sign(amelia, form, "Amelia Hart")
    mark = mark_of(service.plan, form)
    change_record(service.plan, form, clause="Something else altogether.", content_hash=mark)
    page = amelia.get(f"{form}/receipt?verify=1")
    assert "Does not match" in page.words and "As recorded" not in page.words


def test_verify_is_inconclusive_if_the_api_uses_its_own_hash(portal: Any, service: Any) -> None:
    mark_all_in_another_way(service.plan, sample_id("patient", "grace"))
    page = portal.sign_in("grace").get(f"{consent('grace-storage')}/receipt?verify=1")
    assert "As recorded" in page.words and "can’t be made anew here" in page.words
    of_the_text = page.select("#verification .checks")[0].words
    assert "Matches" not in of_the_text and "Does not match" not in of_the_text


def test_an_unsigned_form_has_no_receipt(amelia: Any) -> None:
    page = amelia.get(f"{consent('amelia-genetic')}/receipt")
    assert page.path == consent("amelia-genetic")


# ── who is missing, and the seal ────────────────────────────────────────────────────────────────────────


def test_the_seal_of_a_signed_form_is_shown_and_recomputed(amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    assert "Seal of the form" not in amelia.get(f"{form}/receipt").words
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        set_signed = "UPDATE consent_forms SET status = 'Signed' WHERE id = ?"
        database.execute(set_signed, (form.rpartition("/")[2],))
    page = amelia.get(f"{form}/receipt")
    assert (
        "Seal of the form, its signers and times" in page.words
        and "doesn’t prove where a copy comes from" in page.words
    )
    checked = page.form(f"{form}/receipt").submit()
    assert "exactly those that were sealed" in checked.words


def test_staff_who_are_patients_of_their_own_clinic_sign_by_their_second_account(
    portal: Any, nora: Any
) -> None:
    form = form_for_a_second_account_of_nora(portal.plan)
    for_the_clinic = nora.get(form)
    assert "Nora Lindqvist (you)" not in for_the_clinic.words
    assert "sign in with your patient account" in for_the_clinic.words
    assert not for_the_clinic.select('main a[href$="/sign"]')
    herself = portal.visitor()
    herself.sign_in("nora.lindqvist")
    home = herself.get("/")
    assert home.heading == "Hello, Nora"
    assert home.select(f'main a[href="{form}/sign"]')
    assert not home.select("#find, .rail")
    assert "Nora Lindqvist (you)" in herself.get(form).words
    for path in ("/find", "/protocols", "/consents/new"):
        herself.get(path, status=403)


def form_for_a_second_account_of_nora(plan: Any) -> str:
    """Give the nurse a patient's account and record of the same name, and a form to sign; return its address."""
    account, record, id_ = (str(uuid.uuid4()) for _ in range(3))
    names = {"given_name": "Nora", "family_name": "Lindqvist"}
    who = {"id": account, "username": "nora.lindqvist", "email": "nora@patients.example"}
    called = {"first_name": "Nora", "last_name": "Lindqvist", "preferred_name": None, "mrn": "RF-90210"}
    about = {"patient_id": record, "partner_id": None, "episode_id": None, "case_id": None}
    copies: list[tuple[str, str, dict[str, str | None]]] = [
        ("people", sample_id("person", "amelia"), {**who, **names}),
        ("patients", sample_id("patient", "amelia"), {"id": record, "user_id": account, **called}),
        ("consent_forms", sample_id("consent", "amelia-genetic"), {"id": id_, "kind": "Research", **about}),
    ]
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        for table, source, changed in copies:
            copy_rows(database, table, {"id": source}, changed)
        database.execute(
            'INSERT INTO consent_signers (id, form_id, position, role, person_id, name, "order")'
            " VALUES (?, ?, 0, 'Patient', ?, 'Nora Lindqvist', 1)",
            (str(uuid.uuid4()), id_, account),
        )
    return f"/consents/{id_}"
