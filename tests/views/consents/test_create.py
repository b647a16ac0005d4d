"""New forms: their signers, their subject, and similar existing forms."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import NAMES, TREATMENT_OF_AMELIA, make_form, sign, signatures

FREEZE_OF_GRACE = sample_id("episode", "grace-2")


# ── new forms ───────────────────────────────────────────────────────────────────────────────────────────


def test_staff_create_a_form_from_a_template_and_the_patient_sees_it(nora: Any, amelia: Any) -> None:
    page = nora.get("/consents").follow("New consent form")
    page = page.follow("Renewal of consent to embryo storage")
    page = page.form("/consents/new").submit(
        episode=f"https://portal.example/episodes/{TREATMENT_OF_AMELIA}/timeline"
    )
    assert "For Amelia Hart" in page.words
    page = page.form("/consents/new/fill").submit(
        title="Storage, for the second round", procedure_date="2031-04-05"
    )
    assert page.heading == "Storage, for the second round" and "Nothing is sent yet" in page.words
    changed = page.follow("Change something")
    assert changed.tree.select_one("input[name=procedure_date]")["value"] == "2031-04-05"
    made = page.form("/consents/new").submit()
    assert (
        made.heading == "Storage, for the second round" and "sent to its signers" in made.tree.text_content()
    )
    assert page.form("/consents/new").submit().path == made.path, "sending twice creates one form"
    assert "Storage, for the second round" in amelia.get("/consents").words


def test_a_new_form_for_the_current_patient_is_prefilled(nora: Any) -> None:
    """The next procedure's day, and who signs such forms for the clinic: the preview is three steps away."""
    page = nora.get(f"/episodes/{TREATMENT_OF_AMELIA}").follow("New consent form")
    start = nora.get(page.select("a[href*='template=disposition']")[0]["href"])
    assert "For Amelia Hart" in start.words
    given = dict(start.form("/consents/new/fill").fields())
    retrieval = date.today() + timedelta(days=4)
    assert given["procedure_date"] == retrieval.isoformat()
    preview = start.form("/consents/new/fill").submit()
    assert "Nothing is sent yet" in preview.words
    signers = preview.select("#signers")[0].words
    assert "Amelia Hart" in signers and "Daniel Hart" in signers and "Victor Castellanos" in signers


def test_a_copy_can_supersede_its_original(nora: Any, amelia: Any) -> None:
    form = make_form(nora, "genetic-testing", title="PGT-A, to be replaced", **{"signer-2": "-"})
    page = nora.get(form).follow("Copy to a new form")
    page = page.form("/consents/new/fill").submit(check_all=True, version="4.1")
    made = page.form("/consents/new").submit()
    old = amelia.get(form)
    assert old.select(".stamp") and old.follow("Open the newer version").path == made.path
    assert "newer version" in amelia.get(f"{form}/sign", status=403).words


def test_errors_in_a_new_form_are_linked_and_input_is_kept(nora: Any) -> None:
    page = nora.get(f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}")
    wrong = page.form("/consents/new/fill").submit(
        title=" ",
        version="9.9",
        procedure_date="soon",
        expires_on="2001-01-01",
        **{"signer-2": "nobody"},
        status=422,
    )
    linked = {a["href"] for a in wrong.select(".error-summary a")}
    assert linked == {"#title", "#procedure_date", "#expires_on", "#signer-2"}
    assert all(wrong.tree.select_one(target) for target in linked)
    assert wrong.tree.select_one("input[name=version]")["value"] == "9.9"
    assert wrong.tree.select_one("input[name=expires_on]")["value"] == "2001-01-01"


@pytest.mark.parametrize("typed", ["nothing-like-it", "a b c", "https://x/y/z", "http://[", ".."])
def test_a_missing_episode_is_reported_at_its_field(nora: Any, typed: str) -> None:
    page = nora.get(f"/consents/new?template=storage&episode={typed}", status=422)
    assert page.select('.error-summary a[href="#episode"]')
    assert page.tree.select_one("input[name=episode]")["value"] == typed


def test_a_new_form_with_an_unknown_operation_starts_again(nora: Any) -> None:
    for page in (
        nora.post("/consents/new", {"operation": "x"}),
        nora.get("/consents/new/preview?operation=zz"),
    ):
        assert page.path == "/consents/new" and "Please begin again" in page.tree.text_content()


def test_a_clinician_countersigns(nora: Any, amelia: Any, daniel: Any, victor: Any) -> None:
    page = nora.get(f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}")
    options = {o.words: o["value"] for o in page.select("#signer-2 option")}
    assert "Amelia Hart" not in options and "Daniel Hart" not in options
    form = make_form(nora, title="Countersigned", **{"signer-2": options["Victor Castellanos (care team)"]})
    sign(amelia, form, NAMES["amelia"])
    sign(daniel, form, NAMES["daniel"])
    receipt = sign(victor, form, NAMES["victor"])
    assert receipt.path == f"{form}/receipt" and "Everyone has signed" in receipt.words
    assert "Clinician" in receipt.words
    assert sorted(signatures(amelia, form)) == ["Amelia Hart", "Daniel Hart", "Victor Castellanos"]


def test_the_couple_is_always_among_the_signers_whatever_fields_are_sent(nora: Any, amelia: Any) -> None:
    page = nora.get(f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}")
    assert not page.select("#signer-0 option, #signer-1 option"), "neither can be changed or removed"
    assert "Amelia Hart · Patient" in page.words and "Daniel Hart · Partner" in page.words
    sub = next(o["value"] for o in page.select("#signer-2 option") if "Nora" in o.text_content())
    edited = {
        "signer-0": "-",
        "signer-1": sub,
        "signer-2": "-",
        "role": "Patient",
        "signer-0-role": "Witness",
    }
    page = page.form("/consents/new/fill").submit(title="Nobody is left out", **edited)
    made = page.form("/consents/new").submit()
    assert [row.text_content() for row in amelia.get(made.path).select(".signer strong")] == [
        "Amelia Hart",
        "Daniel Hart",
    ]


@pytest.mark.parametrize("chosen", ["amelia", "daniel", "stranger"])
def test_a_clinician_signer_must_be_staff_of_the_clinic(nora: Any, chosen: str) -> None:
    page = nora.get(f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}")
    refused = page.form("/consents/new/fill").submit(
        title="Signed for the clinic", **{"signer-2": sample_id("person", chosen)}, status=422
    )
    assert refused.select('.error-summary a[href="#signer-2"]')


def test_a_copy_for_another_patient_has_that_patient_and_no_embryos(nora: Any) -> None:
    page = nora.get(
        f"/consents/new?copy={sample_id('consent', 'grace-disposition')}&episode={TREATMENT_OF_AMELIA}"
    )
    assert "Amelia Hart · Patient" in page.words and "Daniel Hart · Partner" in page.words
    assert "Grace" not in page.words and not page.select("input[name=embryo][checked], #replaces")
    assert not page.select("#disposition option[selected]")


def test_signers_without_an_account_are_named_before_the_form_is_sent(nora: Any, portal: Any) -> None:
    page = nora.get(f"/consents/new?template=treatment&episode={FREEZE_OF_GRACE}")
    said = "Joseph Okafor-D'Angelo has no account yet: the form waits"
    assert said in page.words
    page = page.form("/consents/new/fill").submit(title="Waits for Joseph", **{"signer-2": "-"})
    assert said in page.words and "Grace" in page.words
    made = page.form("/consents/new").submit()
    assert made.heading == "Waits for Joseph" and said in made.words
    assert said in portal.sign_in("grace").get(made.path).words


def test_a_decision_form_names_and_shows_its_embryos(nora: Any, portal: Any) -> None:
    page = nora.get(f"/consents/new?template=disposition&episode={FREEZE_OF_GRACE}")
    codes = {
        label.words.partition(" · frozen on ")[0]: label["for"] for label in page.select("#embryos label")
    }
    box = page.tree.select_one(f"#{codes['GO-3 · RF-09117']}")
    form = page.form("/consents/new/fill")
    refused = form.submit(title="About GO-3", embryo=[box["value"]], **{"signer-2": "-"}, status=422)
    assert refused.select('.error-summary a[href="#disposition"]')
    kept = refused.form("/consents/new/fill")
    assert ("embryo", box["value"]) in kept.fields()
    forged = kept.submit(disposition="Undecided", status=422)
    assert forged.select('.error-summary a[href="#disposition"]')
    preview = forged.form("/consents/new/fill").submit(disposition="DonateResearch")
    assert "GO-3" in preview.words and "Decision: Donate to research" in preview.words
    made = preview.form("/consents/new").submit()
    grace = portal.sign_in("grace")
    reading = grace.get(f"{made.path}/sign")
    assert "GO-3" in reading.words and "Decision: Donate to research" in reading.words
    check = reading.form(f"{made.path}/sign").submit().form(f"{made.path}/sign").submit(check_all=True)
    assert check.heading == "Sign this form" and "GO-3" in check.words
    receipt = check.form(f"{made.path}/sign").submit(signature="Grace Okafor")
    verified = receipt.form(f"{made.path}/receipt").submit()
    assert "the text is exactly the one that was signed" in verified.words, (
        "the portal's hash equals the care service's"
    )


def test_a_form_similar_to_an_open_one_can_only_supersede_it(nora: Any, amelia: Any) -> None:
    first = make_form(nora, "storage-renewal", title="Storage, once")
    page = nora.get(f"/consents/new?template=storage-renewal&episode={TREATMENT_OF_AMELIA}")
    again = page.form("/consents/new/fill").submit(title="storage,  ONCE", version="9.9", status=422)
    assert again.select('.error-summary a[href="#replaces"]') and again.select(f'a[href="{first}"]')
    assert again.tree.select_one("input[name=version]")["value"] == "9.9"
    assert again.form("/consents/new/fill").submit(status=422).select('.error-summary a[href="#replaces"]')
    preview = again.form("/consents/new/fill").submit(check_all=True)
    assert "Once sent, it takes the place of “Storage, once”" in preview.words
    made = preview.form("/consents/new").submit()
    assert amelia.get(first).follow("Open the newer version").path == made.path


def test_a_similar_form_created_meanwhile_is_detected_on_sending(nora: Any) -> None:
    page = nora.get(f"/consents/new?template=storage-renewal&episode={TREATMENT_OF_AMELIA}")
    preview = page.form("/consents/new/fill").submit(title="Made by two at once")
    first = make_form(nora, "storage-renewal", title="Made by two at once")
    refused = preview.form("/consents/new").submit(status=403)
    assert refused.select('.error-summary a[href="#replaces"]') and refused.select(f'a[href="{first}"]')
