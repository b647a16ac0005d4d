"""Signing a consent form: every step in order, once, and only what was shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from portal.web.extensions import limiter
from tests.support.signing import (
    after_a_while,
    change_record,
    consent,
    end_session,
    fresh_form,
    sign,
    signatures,
    to_step,
    typed_names,
)


@pytest.fixture(autouse=True)
def nothing_counted_yet(portal: Any) -> None:
    """Each test begins with no signature counted towards the limit."""
    with portal.app.app_context():
        limiter.reset()


def filled(page: Any, form: str) -> tuple[str, list[tuple[str, str]]]:
    """Where the last step is posted to, and its fields with Amelia's name."""
    last = page.form(f"{form}/sign")
    kept = [(name, value) for name, value in last.fields() if name != "signature"]
    return last.action, [*kept, ("signature", "Amelia Hart")]


# ── the way through ─────────────────────────────────────────────────────────────────────────────────────


def test_each_step_is_one_form_and_only_the_last_has_a_text_field(amelia: Any, form: str) -> None:
    page = amelia.get(f"{form}/sign")
    for step in range(1, 4):
        forms = [f for f in page.select("form") if str(f.get("action")).startswith(f"{form}/sign")]
        assert len(forms) == 1 and forms[0]["method"] == "post"
        assert bool(forms[0].select("input[type=text]")) == (step == 3)
        assert f"Step {step} of 3" in page.words
        if step < 3:
            page = page.form(f"{form}/sign").submit(check_all=True)
    action, fields = filled(page, form)
    answer = amelia.request("POST", action, data=fields, status=303, follow=False)
    assert answer.headers["Location"] == f"{form}/receipt"
    assert signatures(amelia, form) == ["Amelia Hart"]


def test_a_clause_is_followed_by_its_check_question_which_sends_and_decides_nothing(amelia: Any) -> None:
    page = amelia.get(f"{consent('amelia-genetic')}/sign/read")
    checks = page.select(".clause-check")
    asked = [check.xpath("ancestor::section[1]//h2")[0].words for check in checks]
    assert asked == ["3 What they don't mean", "4 Risks of biopsy"], (
        "what their words are in a template, and no other"
    )
    for check in checks:
        answers = check.select("li details")
        assert len(answers) >= 2 and sum("That’s right" in answer.text_content() for answer in answers) == 1
        assert len({answer["name"] for answer in answers}) == 1, "one answer is open at a time"
        assert not check.select("form, input, button, a")
    assert not amelia.get(consent("amelia-genetic")).select(".clause-check"), (
        "only where the form is read to be signed"
    )


def test_a_sequential_form_is_signed_one_after_another(amelia: Any, daniel: Any) -> None:
    form = consent("amelia-genetic")
    refused = daniel.get(f"{form}/sign", status=403)
    assert "Amelia Hart signs first" in refused.words and refused.select('.error-summary a[href="#signers"]')
    daniel.post(f"{form}/sign/name", {"operation": "x", "signature": "Daniel Hart"}, status=403)
    receipt = sign(amelia, form, "Amelia Hart")
    assert "Daniel Hart and Victor Castellanos haven’t signed yet" in receipt.words
    assert "Next: Daniel Hart." in receipt.words
    assert "You first opened it" in receipt.words
    assert sign(daniel, form, "daniel hart").path == f"{form}/receipt"


def test_a_clinician_makes_a_declaration_and_acknowledges_no_statements(
    portal: Any, form: str, noted: Any
) -> None:
    victor = portal.sign_in("victor")
    page = victor.get(f"{form}/sign")
    assert len(page.form(f"{form}/sign").checkboxes()) == 1
    assert "I have explained what this form is about" in page.words
    forged = {"statement": ["clinician-1.xx", "forged"], "signature": "Victor Castellanos"}
    refused = page.form(f"{form}/sign").submit(**forged)
    assert refused.select('.error-summary a[href="#declaration"]') and not noted("consent.declare")
    assert not refused.select('.error-summary a[href="#signature"]')
    assert refused.select("#signature")[0]["value"] == "Victor Castellanos", "what was typed is kept"
    wrong = refused.form(f"{form}/sign").submit(check_all=True, signature="Nobody")
    assert [a["href"] for a in wrong.select(".error-summary a")] == ["#signature"]
    assert wrong.select("#declaration[checked]"), "what was ticked is kept"
    receipt = wrong.form(f"{form}/sign").submit(signature="Victor Castellanos")
    assert receipt.path == f"{form}/receipt"
    assert "acknowledged" not in receipt.words
    assert noted("consent.declare") == ["clinician-1.en"]


def test_a_clinician_signs_in_again_once_for_a_queue_and_keeps_input(portal: Any, service: Any) -> None:
    first, second = fresh_form(service.plan), fresh_form(service.plan)
    victor = portal.sign_in("victor")
    portal.age_sign_in(victor, 21 * 60)
    page = victor.get(f"{first}/sign?list=open")
    assert "we ask for your password once more" in page.words
    asked = page.form(f"{first}/sign").submit(check_all=True, signature="Victor Castellanos", status=None)
    assert not asked.url.startswith(portal.origin()), asked.url
    page = victor.fill_sign_in(asked, "victor")
    assert page.url.startswith(f"{portal.origin()}{first}/sign/name?list=open"), "back in the list"
    assert page.select("#signature")[0]["value"] == "Victor Castellanos"
    assert page.select("#declaration[checked]")
    assert page.form(f"{first}/sign").submit().heading == "Receipt"
    portal.age_sign_in(victor, 15 * 60)
    page = victor.get(f"{second}/sign")
    assert "password once more" not in page.words
    signed = page.form(f"{second}/sign").submit(check_all=True, signature="Victor Castellanos", status=None)
    assert "password" not in signed.url


def test_signing_can_go_on_to_the_next_form_of_the_list(portal: Any, service: Any) -> None:
    first = fresh_form(service.plan)
    fresh_form(service.plan)
    victor = portal.sign_in("victor")
    page = victor.get(f"{first}/sign?list=mine")
    wrong = page.form(f"{first}/sign").submit(signature="Victor", **{"open-next": "1"})
    assert wrong.path == f"{first}/sign/name" or wrong.path.startswith(f"{first}/sign"), "nothing is skipped"
    following = wrong.form(f"{first}/sign").submit(
        check_all=True, signature="Victor Castellanos", **{"open-next": "1"}
    )
    assert following.heading == "Sign this form" or following.path.endswith("/sign"), following.path
    assert not following.path.startswith(first) and "list=mine" in following.url
    assert not following.select("#declaration[checked]") and not following.select("#signature")[0].get(
        "value"
    )
    assert "You’ve signed the form before this one" in following.tree.text_content()
    assert signatures(victor, first)[-1] == "Victor Castellanos"
    again = page.form(f"{first}/sign").submit(
        check_all=True, signature="Victor Castellanos", **{"open-next": "1"}
    )
    assert again.path == f"{first}/receipt", "a second click signs nothing, and not the next one either"
    apart = victor.get(f"{following.path.removesuffix('/sign')}/sign")
    assert "Sign and open the next" not in apart.words, "without a list there is no next one"


@pytest.fixture
def noted(portal: Any) -> Any:
    """The sentences that were noted as declared, by event, since the test began."""
    begun = len(portal.audited())
    return lambda event: [
        line.get("declared") for line in portal.audited()[begun:] if line.get("audit") == event
    ]


def test_a_missing_statement_is_linked_and_what_was_ticked_is_kept(amelia: Any, form: str) -> None:
    page = to_step(amelia, form, "What you agree to")
    boxes = [value for _, value in page.form(f"{form}/sign").checkboxes()]
    wrong = page.form(f"{form}/sign").submit(statement=boxes[:-1])
    links = [a["href"] for a in wrong.select(".error-summary a")]
    assert len(links) == 1 and wrong.tree.select_one(links[0])["value"] == boxes[-1]
    assert len(wrong.select("input[type=checkbox]:checked, input[type=checkbox][checked]")) == len(boxes) - 1
    none = page.form(f"{form}/sign").submit(statement=[])
    assert len(none.select(".error-summary a")) == len(boxes)
    assert signatures(amelia, form) == []


@pytest.mark.parametrize(
    ("heading", "given", "step"),
    [("What you agree to", {"statement": []}, "statements"), ("Sign this form", {"signature": "X"}, "name")],
)
def test_an_error_redirects_so_that_back_resends_nothing(
    amelia: Any, form: str, heading: str, given: dict[str, Any], step: str
) -> None:
    sent = to_step(amelia, form, heading).form(f"{form}/sign")
    fields = [pair for pair in sent.fields() if pair[0] not in given]
    fields += [(name, value) for name, value in given.items() if value]
    answer = amelia.request("POST", sent.action, data=fields, status=303, follow=False)
    assert answer.headers["Location"] == f"{form}/sign/{step}?refused=1"
    assert amelia.get(answer.headers["Location"]).select(".error-summary")
    assert not amelia.get(f"{form}/sign").select(".error-summary"), "who comes back later isn't scolded"


def test_the_url_of_an_error_shows_none_once_it_is_fixed(amelia: Any, form: str) -> None:
    to_step(amelia, form, "Sign this form")
    assert not amelia.get(f"{form}/sign/statements?refused=1").select(".error-summary")


def test_a_returning_signer_can_confirm_again(portal: Any, form: str) -> None:
    visitor = portal.sign_in("amelia")
    to_step(visitor, form, "Sign this form")
    portal.clock.advance(6 * 60)
    page = visitor.get(f"{form}/sign")
    portal.clock.advance(-6 * 60)
    assert page.heading == "Confirm that it’s you" and not page.select("main input[type=text]")
    sign_in = after_a_while(portal, page.form(f"{form}/sign"))
    assert visitor.fill_sign_in(sign_in, "amelia").heading == "Sign this form"


def test_the_receipt_shows_the_next_step_and_its_deadline(portal: Any, form: str) -> None:
    visitor = portal.sign_in("amelia")
    receipt = sign(visitor, form, "Amelia Hart")
    (task,) = receipt.select("#next .task")
    assert "Needed in" in task.words and "for the procedure on" in task.words
    assert str(task.select_one("a")["href"]).endswith("/sign")
    assert receipt.path != task.select_one("a")["href"].replace("/sign", "/receipt")


@pytest.mark.asvs("2.3.1")
def test_the_last_step_without_the_earlier_ones_does_not_sign(amelia: Any, form: str) -> None:
    page = amelia.get(f"{form}/sign")
    operation = page.tree.select_one("input[name=operation]")["value"]
    early = amelia.post(f"{form}/sign/name", {"operation": operation, "signature": "Amelia Hart"})
    assert "Step 1 of 3" in early.words
    page.form(f"{form}/sign").submit()
    early = amelia.post(f"{form}/sign/name", {"operation": operation, "signature": "Amelia Hart"})
    assert early.select(".error-summary a")
    assert signatures(amelia, form) == []


@pytest.mark.parametrize(
    "typed", ["", "   ", "Daniel Hart", "A. Hart", "Amelia Hart Amelia Hart", "<b>x</b>"]
)
def test_another_name_is_refused_showing_the_expected_one(amelia: Any, form: str, typed: str) -> None:
    page = to_step(amelia, form, "Sign this form")
    wrong = page.form(f"{form}/sign").submit(signature=typed)
    assert wrong.select('.error-summary a[href="#signature"]') and "Amelia Hart" in wrong.words
    assert wrong.tree.select_one("#signature")["value"] == " ".join(typed.split())
    assert signatures(amelia, form) == []


@pytest.mark.parametrize("typed", ["  amelia   hart ", "AMELIA HART", "Amélia Hart"])
def test_the_name_may_differ_in_case_spaces_and_accents(amelia: Any, form: str, typed: str) -> None:
    assert sign(amelia, form, typed).path == f"{form}/receipt"


@pytest.mark.parametrize(
    "typed", ["Amelia\u202e Hart", "Amelia\a Hart", "Amelia\u200b\x00 Hart", "Amelia\nHart"]
)
def test_invisible_characters_are_removed_from_a_typed_name(
    amelia: Any, form: str, service: Any, typed: str
) -> None:
    assert sign(amelia, form, typed).path == f"{form}/receipt"
    assert typed_names(service.plan, form) == ["Amelia Hart"]


# ── it is you ───────────────────────────────────────────────────────────────────────────────────────────


def test_an_old_sign_in_is_renewed_before_the_name_step_and_input_is_kept(portal: Any, form: str) -> None:
    visitor = portal.sign_in("amelia")
    page = to_step(visitor, form, "What you agree to")
    boxes = page.form(f"{form}/sign").checkboxes()
    sign_in = after_a_while(portal, page.form(f"{form}/sign"), boxes)
    page = visitor.fill_sign_in(sign_in, "amelia")
    assert page.path == f"{form}/sign/name" and page.heading == "Sign this form"
    assert page.form(f"{form}/sign").submit(signature="Amelia Hart").path == f"{form}/receipt"


def test_a_name_typed_after_the_limit_is_kept_through_the_fresh_sign_in(portal: Any, form: str) -> None:
    visitor = portal.sign_in("amelia")
    page = to_step(visitor, form, "Sign this form")
    sign_in = after_a_while(portal, page.form(f"{form}/sign"), signature="Amelia Hart")
    page = visitor.fill_sign_in(sign_in, "amelia")
    assert page.tree.select_one("#signature")["value"] == "Amelia Hart"
    assert signatures(visitor, form) == []
    assert page.form(f"{form}/sign").submit().path == f"{form}/receipt"


def test_signing_takes_five_pages_from_home_and_shows_the_text_once(portal: Any, form: str) -> None:
    """The identity server's page is one of them: the sign-in is old by the time that the form is read."""
    visitor = portal.sign_in("amelia")
    (link,) = visitor.get("/").select(f'#consents a[href="{form}/sign"]')
    reading = visitor.get(str(link["href"]))
    clause = reading.select(".clause .as-written")[0].text_content()
    agreeing = reading.form(f"{form}/sign").submit()
    boxes = agreeing.form(f"{form}/sign").checkboxes()
    sign_in = after_a_while(portal, agreeing.form(f"{form}/sign"), boxes)
    naming = visitor.fill_sign_in(sign_in, "amelia")
    receipt = naming.form(f"{form}/sign").submit(signature="Amelia Hart")
    pages = [reading, agreeing, sign_in, naming, receipt]
    assert receipt.path == f"{form}/receipt" and len(pages) <= 5
    assert [clause in page.tree.text_content() for page in pages] == [True, False, False, False, False]


# ── once ────────────────────────────────────────────────────────────────────────────────────────────────


def test_twenty_posts_at_once_give_one_signature_and_twenty_receipts(amelia: Any, form: str) -> None:
    page = to_step(amelia, form, "Sign this form")
    action, fields = filled(page, form)

    def post(_: int) -> tuple[int, str]:
        answer = amelia.request("POST", action, data=fields, status=None, follow=False)
        return answer.status, answer.headers.get("Location", "")

    with ThreadPoolExecutor(20) as pool:
        answers = set(pool.map(post, range(20)))
    assert answers == {(303, f"{form}/receipt")}
    assert signatures(amelia, form) == ["Amelia Hart"]


def test_reload_back_and_another_tab_lead_to_the_receipt(amelia: Any, form: str) -> None:
    other_tab = to_step(amelia, form, "What you agree to")
    page = to_step(amelia, form, "Sign this form")
    page.form(f"{form}/sign").submit(signature="Amelia Hart")
    for again in (
        page.form(f"{form}/sign").submit(signature="Amelia Hart"),
        other_tab.form(f"{form}/sign").submit(),
        amelia.get(f"{form}/sign"),
        amelia.get(f"{form}/sign/statements"),
    ):
        assert again.path == f"{form}/receipt"
    assert signatures(amelia, form) == ["Amelia Hart"]


@pytest.mark.parametrize("whose", ["another's", "made up", "", "of another form"])
@pytest.mark.asvs("2.3.1")
def test_an_operation_of_another_form_starts_at_the_first_step(
    amelia: Any, daniel: Any, service: Any, form: str, whose: str
) -> None:
    page = to_step(amelia, form, "Sign this form")
    other = {
        "another's": lambda: daniel.get(f"{form}/sign").tree.select_one("input[name=operation]")["value"],
        "made up": lambda: "AAAA" * 30,
        "": lambda: "",
        "of another form": lambda: amelia.get(f"{fresh_form(service.plan)}/sign").tree.select_one(
            "input[name=operation]"
        )["value"],
    }[whose]()
    refused = page.form(f"{form}/sign").submit(operation=other, signature="Amelia Hart", status=409)
    assert "Please begin here" in refused.words and "Step 1 of 3" in refused.words
    assert signatures(amelia, form) == []
    # Nothing is lost: what was ticked is still there.
    assert sign(amelia, form, "Amelia Hart").path == f"{form}/receipt"


def test_two_people_signing_at_the_same_time_both_sign(amelia: Any, daniel: Any, form: str) -> None:
    hers, his = to_step(amelia, form, "Sign this form"), to_step(daniel, form, "Sign this form")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(hers.form(f"{form}/sign").submit, signature="Amelia Hart")
        second = pool.submit(his.form(f"{form}/sign").submit, signature="Daniel Hart")
        assert {first.result().path, second.result().path} == {f"{form}/receipt"}
    assert sorted(signatures(amelia, form)) == ["Amelia Hart", "Daniel Hart"]


def test_another_persons_signature_meanwhile_does_not_interrupt_signing(
    amelia: Any, daniel: Any, form: str
) -> None:
    page = to_step(amelia, form, "Sign this form")
    sign(daniel, form, "Daniel Hart")
    assert page.form(f"{form}/sign").submit(signature="Amelia Hart").path == f"{form}/receipt"
    assert len(signatures(amelia, form)) == 2


# ── only what was shown ─────────────────────────────────────────────────────────────────────────────────


def test_a_changed_text_is_shown_and_signing_restarts_at_reading(
    amelia: Any, form: str, service: Any
) -> None:
    page = to_step(amelia, form, "Sign this form")
    change_record(service.plan, form, clause="Eggs are collected on a Tuesday.")
    changed = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=409)
    assert "The form has changed" in changed.words and "Step 1 of 3" in changed.words
    (change,) = changed.select("#changes .change")
    was, now = (p.text_content() for p in change.select(".as-written"))
    assert "Eggs are collected on a Tuesday." in now and "Tuesday" not in was
    assert "Tuesday." in "".join(ins.text_content() for ins in change.select("ins"))
    assert change.select("del") and all(gone.text_content() in was for gone in change.select("del"))
    assert "The form has changed" in amelia.get(f"{form}/sign").words, "still told, until it is read"
    late = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=409)
    assert "Step 1 of 3" in late.words
    assert signatures(amelia, form) == []
    assert sign(amelia, form, "Amelia Hart").path == f"{form}/receipt"
    assert "the text is exactly the one that was signed" in amelia.get(f"{form}/receipt?verify=1").words


def test_a_page_with_the_old_text_is_void_once_another_tab_shows_the_new_one(
    amelia: Any, form: str, service: Any
) -> None:
    earlier = amelia.get(f"{form}/sign")
    change_record(service.plan, form, clause="Eggs are collected on a Tuesday.")
    assert "The form has changed" in amelia.get(f"{form}/sign").words
    refused = earlier.form(f"{form}/sign").submit(status=409)
    assert "The form has changed" in refused.words
    assert "Step 1 of 3" in amelia.get(f"{form}/sign").words
    to_step(amelia, form, "Sign this form")
    again = earlier.form(f"{form}/sign").submit(status=409)
    assert "Please begin here" in again.words, "the new text has been read meanwhile"


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"status": "Revoked"}, "This consent has been withdrawn."),
        ({"expires_at": "2020-01-01 00:00:00.000000"}, "It is too late to sign this form."),
        ({"status": "Superseded"}, "A newer version of this form has taken its place."),
        ({"status": "Draft"}, "The clinic hasn’t sent this form yet."),
    ],
    ids=["revoked", "expired", "superseded", "draft"],
)
def test_a_form_that_ended_during_signing_is_shown_with_the_reason(
    amelia: Any, form: str, service: Any, columns: dict[str, str], words: str
) -> None:
    page = to_step(amelia, form, "Sign this form")
    change_record(service.plan, form, **columns)
    refused = page.form(f"{form}/sign").submit(signature="Amelia Hart", status=403)
    assert words in refused.words and refused.select('.error-summary a[href="#signers"]')
    assert signatures(amelia, form) == []


def test_someone_who_is_not_a_signer_is_told_so(portal: Any, form: str) -> None:
    refused = portal.sign_in("ada").get(f"{form}/sign", status=403)
    assert "doesn’t ask for your signature" in refused.words


def test_signing_in_after_the_session_ended_returns_to_the_step_with_input_kept(
    portal: Any, form: str
) -> None:
    visitor = portal.sign_in("amelia")
    page = to_step(visitor, form, "Sign this form")
    end_session(portal, visitor)
    page = page.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert page.heading == "Sign this form" and "Step 3 of 3" in page.words
    assert page.tree.select_one("#signature")["value"] == "Amelia Hart"
    assert signatures(visitor, form) == []
    assert page.form(f"{form}/sign").submit().path == f"{form}/receipt"


def test_signing_that_goes_on_after_a_break_says_so_and_offers_the_text(amelia: Any, form: str) -> None:
    def link() -> str:
        return amelia.get("/consents").select(f'main a[href="{form}/sign"]')[0].words

    assert link().startswith("Read and sign")
    step = amelia.get(f"{form}/sign").form(f"{form}/sign").submit()
    assert not step.select("#resumed"), "straight on"
    assert link().startswith("Go on signing")
    resumed = amelia.get(f"{form}/sign")
    assert resumed.select("#resumed") and "You read it" in resumed.words
    assert resumed.link("Read the form again") == f"{form}/sign/read"
