"""Ending a form: withdrawing, declining, recording a withdrawal, cancelling."""

from __future__ import annotations

from typing import Any

from tests.support.signing import (
    after_a_while,
    change_record,
    consent,
    fresh_form,
    person_id,
    transfer_embryos_under,
)

# ── withdrawing ─────────────────────────────────────────────────────────────────────────────────────────


def test_withdrawing_shows_consequences_and_needs_no_reason(amelia: Any, daniel: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(form).follow("Withdraw consent")
    assert "What happens if you do this" in page.words and "You don’t have to give a reason" in page.words
    assert "may not go on" not in page.words, "it isn't in force yet"
    done = page.form(f"{form}/revoke").submit(reason="  ")
    assert done.heading == "This consent is withdrawn" and done.path == f"{form}/revoke"
    assert "No reason given" in done.words and "No reason given" not in daniel.get(f"{form}/revoke").words
    again = page.form(f"{form}/revoke").submit(reason="Twice")
    assert again.heading == "This consent is withdrawn" and "Twice" not in again.words
    assert amelia.get(f"{form}/sign").path == f"{form}/receipt"


def test_a_patient_who_withdraws_is_told_to_call_first_and_whom(
    amelia: Any, daniel: Any, service: Any
) -> None:
    form = fresh_form(service.plan, signed=True)
    change_record(service.plan, form, status="Signed")
    page = amelia.get(f"{form}/revoke")
    for shown in (page, page.form(f"{form}/revoke").submit()):
        assert "call the clinic before the next one" in shown.words
        assert "doesn’t stop or change your medicines" in shown.words
        assert shown.select('.reach a[href^="tel:"]')
        assert "may not go on" in shown.words
    assert "injections" not in daniel.get(f"{form}/revoke").words


def test_only_its_writer_and_staff_read_why(amelia: Any, daniel: Any, nora: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(f"{form}/revoke")
    assert "others who sign the form don’t see it here" in page.words
    page.form(f"{form}/revoke").submit(reason="We have separated.")
    for visitor in (amelia, nora):
        for where in (form, f"{form}/revoke"):
            assert "We have separated." in visitor.get(where).words
    for where in (form, f"{form}/revoke", f"{form}/receipt"):
        assert "separated" not in daniel.get(where).words
        assert "Reason" not in daniel.get(where).words


def test_withdrawing_asks_for_a_fresh_sign_in_and_keeps_the_reason(portal: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    visitor = portal.sign_in("amelia")
    page = visitor.get(f"{form}/revoke")
    sign_in = after_a_while(portal, page.form(f"{form}/revoke"), reason="My own reason")
    back = visitor.fill_sign_in(sign_in, "amelia")
    assert (
        back.path == f"{form}/revoke" and "My own reason" in back.tree.select_one("textarea").text_content()
    )
    assert back.form(f"{form}/revoke").submit().heading == "This consent is withdrawn"


def test_invisible_characters_are_removed_from_a_reason(amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(f"{form}/revoke").form(f"{form}/revoke")
    done = page.submit(reason="Second\u202e thoughts\a\x00\r\nand\u200b a line")
    assert done.heading == "This consent is withdrawn"
    assert done.tree.select_one(".as-written").text_content() == "Second thoughts\nand a line"


def test_an_overlong_reason_is_refused_and_kept_in_the_form(amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    reason = "Because " * 600
    refused = amelia.get(f"{form}/revoke").form(f"{form}/revoke").submit(reason=reason, status=422)
    assert "at most 2000 characters" in refused.words
    assert refused.tree.select_one("textarea").words == reason.strip()


def test_a_form_that_was_carried_out_is_not_offered_to_be_withdrawn(
    portal: Any, nora: Any, service: Any
) -> None:
    grace = portal.sign_in("grace")
    form = consent("grace-storage")
    assert "Withdraw consent" in grace.get(form).words and "Record a withdrawal" in nora.get(form).words
    page = grace.get(f"{form}/revoke")
    transfer_embryos_under(service.plan, form)
    said = "Everything that this form allows has been carried out"
    for visitor in (grace, nora):
        shown = visitor.get(form)
        assert said in shown.words and not shown.select('#act a[href*="/revoke"]')
    refused = page.form(f"{form}/revoke").submit(status=403)
    assert said in refused.words and refused.select('.error-summary a[href="#signers"]')


def test_a_stale_withdrawal_form_keeps_the_typed_reason(amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    page = amelia.get(f"{form}/revoke")
    again = page.form(f"{form}/revoke").submit(operation="made-up", reason="Kept words", status=409)
    assert "nothing was withdrawn" in again.words
    assert "Kept words" in again.tree.select_one("textarea").text_content()


# ── declining ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_unsigned_signer_declines_and_the_form_shows_it_to_everyone(
    amelia: Any, daniel: Any, nora: Any, service: Any
) -> None:
    form = fresh_form(service.plan, signed=True)
    assert "I don’t want to sign" not in amelia.get(form).words, "after signing, one withdraws instead"
    page = daniel.get(form)
    assert "Withdraw" not in page.words
    page = page.follow("I don’t want to sign")
    assert page.heading == "Don’t want to sign? That’s your choice." and "go on" not in page.words
    done = page.form(f"{form}/revoke").submit(reason="I need more time.")
    assert done.heading == "You declined to sign this form" and "I need more time." in done.words
    assert "withdrawn" not in done.words
    for page in (amelia.get(form), amelia.get(f"{form}/receipt"), amelia.get(f"{form}/revoke")):
        assert "Daniel Hart declined to sign this form" in page.words
        assert "ithdrawn" not in page.words
    row = next(row for row in amelia.get("/consents").select("#ended ~ *, li") if form in str(row))
    assert "Declined" in row.words
    row = next(row for row in nora.get("/consents?status=Revoked").select("tbody tr") if form in str(row))
    assert "Declined" in row.words and "Withdrawn" not in row.words


def test_staff_record_who_withdrew_when_and_how_they_were_told(nora: Any, amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    page = nora.get(form)
    assert "Withdraw consent" not in page.words and "I don’t want to sign" not in page.words
    page = page.follow("Record a withdrawal")
    told = {"who": person_id("amelia"), "told_on": "2026-01-02", "told_time": "10:30", "told_by": "Telephone"}
    done = page.form(f"{form}/revoke").submit(**told, name="amelia hart")
    said = "Recorded by Nora Lindqvist for Amelia Hart · told by telephone · "
    for page in (done, amelia.get(f"{form}/revoke"), amelia.get(form), nora.get(f"{form}/receipt")):
        assert said in page.words and "10:30" in page.words
    assert "declined" not in amelia.get(form).words


def test_a_recorded_refusal_to_sign_is_shown_as_the_signers(nora: Any, amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    told = {"who": person_id("daniel"), "told_on": "2026-01-02", "told_time": "10:30", "told_by": "InPerson"}
    nora.get(f"{form}/revoke").form(f"{form}/revoke").submit(**told, name="Daniel Hart")
    page = amelia.get(form)
    assert "Daniel Hart declined to sign this form" in page.words
    assert "Recorded by Nora Lindqvist for Daniel Hart · told in person" in page.words


def test_staff_cancel_a_form_that_no_patient_has_signed(nora: Any, amelia: Any, service: Any) -> None:
    form = fresh_form(service.plan)
    page = nora.get(form).follow("Cancel this form")
    done = page.form(f"{form}/revoke").submit(reason="Sent by mistake")
    assert done.heading == "This form is cancelled" and "Sent by mistake" in done.words
    shown = amelia.get(form)
    assert "This form is cancelled" in shown.words and "Sent by mistake" not in shown.words
    assert "declined" not in shown.words and "withdrawn" not in shown.words
    row = next(row for row in nora.get("/consents?status=Revoked").select("tbody tr") if form in str(row))
    assert "Cancelled" in row.words


def test_a_clinician_is_not_offered_to_end_what_a_patient_signed(portal: Any, service: Any) -> None:
    form = fresh_form(service.plan, signed=True)
    victor = portal.sign_in("victor")
    page = victor.get(f"{form}/sign")
    assert "I don’t want to sign" not in page.words and not page.select('#sign a[href*="/revoke"]')
