"""Changing a protocol: what is shown before it is saved, both versions after a conflict, its status, and lost responses."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from portal.services.errors import Unavailable
from portal.services.protocols import update_protocol
from portal.views import protocols
from portal.views.protocols import edit
from tests.views.protocols.plans import GANIRELIX, make, press, row


def test_reordering_rows_counts_as_a_change(nora):
    made = make(nora, "Ordered plan")
    page = press(nora.get(f"{made.path}/edit"), "add-medication")
    later = {**GANIRELIX, "drug": "Buserelin"}
    press(page, "review", **row(1, **later)).form(f"{made.path}/save").submit()
    page = press(nora.get(f"{made.path}/edit"), "up-medication-1")
    review = press(page, "review")
    assert "Order of the medicines Ganirelix, Buserelin Buserelin, Ganirelix" in review.words
    assert "The protocol is saved." in review.form(f"{made.path}/save").submit().tree.text_content()
    again = nora.get(f"{made.path}/edit")
    assert again.tree.select_one("#medication-0-drug")["value"] == "Buserelin"


def test_changes_are_shown_before_they_are_saved(nora):
    shown = make(nora, "Diff plan")
    page = press(nora.get(f"{shown.path}/edit"), "add-medication")
    page = press(page, "add-check")
    review = press(
        page, "review", description="Watch the lining", **row(0, dose="0.3"),
        **row(1, **{**GANIRELIX, "drug": "hMG", "dose": "150", "unit": "IU"}),
        **{"check-0-day": "5", "check-0-kind": "Scan"},
    )  # fmt: skip
    rows = [[cell.words for cell in line.select("th, td")] for line in review.select("tbody tr")]
    assert [
        "Medication: Ganirelix, Dose",
        "0.25 mg (zero point two five)",
        "0.3 mg (zero point three)",
    ] in rows
    assert ["Description", "none", "Watch the lining"] in rows
    assert any("hMG, GnRH antagonist, 150 IU" in line[2] and line[1] == "none" for line in rows)
    assert "hMG" not in nora.get(shown.path).words
    back = review.form(f"{shown.path}/save").page.visitor.post(
        f"{shown.path}/back", review.form(f"{shown.path}/save").fields()
    )
    assert back.tree.select_one("#medication-1-drug")["value"] == "hMG"
    saved = review.form(f"{shown.path}/save").submit()
    assert "The protocol is saved." in saved.tree.text_content()
    assert "hMG" in saved.words
    assert "0.3 mg" in saved.words
    again = press(nora.get(f"{shown.path}/edit"), "review")
    assert "nothing to save" in again.words


def test_concurrent_edits_of_a_row_show_both_versions_and_keep_input(nora, victor):
    path = make(nora, "Shared plan").path
    hers, his = nora.get(f"{path}/edit"), victor.get(f"{path}/edit")
    press(his, "review", name="Shared plan B", **row(0, dose="0.3")).form(f"{path}/save").submit()
    compared = press(hers, "review", status=409, description="Hers alone", **row(0, dose="0.35"))
    assert "Two versions" in compared.heading
    assert "0.35 mg" in compared.words
    assert "0.3 mg" in compared.words
    assert "Shared plan B" in compared.words
    assert "Hers alone" in compared.words
    undecided = compared.form(f"{path}/review").submit(status=422)
    choice = undecided.tree.select_one("input[type=radio][id$=-mine][name^=keep-m-]")
    review = undecided.form(f"{path}/review").submit(**{str(choice["name"]): "mine"})
    assert "Dose 0.3 mg (zero point three) 0.35 mg (zero point three five)" in review.words
    saved = review.form(f"{path}/save").submit()
    assert "0.35 mg" in saved.words
    assert "Hers alone" in saved.words
    assert saved.heading == "Shared plan B"


def test_a_change_between_review_and_save_is_detected(nora, victor):
    path = make(nora, "Late change").path
    review = press(nora.get(f"{path}/edit"), "review", **row(0, dose="0.3"))
    press(victor.get(f"{path}/edit"), "review", **row(0, dose="0.35")).form(f"{path}/save").submit()
    compared = review.form(f"{path}/save").submit(status=409)
    assert "0.3 mg" in compared.words
    assert "0.35 mg" in compared.words


def test_rows_added_by_others_are_kept(nora, victor):
    path = make(nora, "Both add").path
    hers = nora.get(f"{path}/edit")
    page = press(victor.get(f"{path}/edit"), "add-medication")
    press(page, "review", **row(1, **{**GANIRELIX, "drug": "Buserelin"})).form(f"{path}/save").submit()
    compared = press(hers, "review", status=409, description="Mine")
    review = compared.form(f"{path}/review").submit()
    saved = review.form(f"{path}/save").submit()
    assert "Buserelin" in saved.words
    assert "Mine" in saved.words


def test_only_legal_moves_are_offered_and_others_are_refused_in_words(nora):
    page = make(nora, "Moving plan")
    assert "Activate" in page.words
    assert "Put on hold" not in page.words
    refused = nora.post(f"{page.path}/status", {"status": "Completed"}, status=403)
    assert "Its present state doesn’t allow this step." in refused.words
    page = page.form(f"{page.path}/status").submit()
    assert "The protocol is now: Active." in page.tree.text_content()
    ending = page.follow("Complete")
    assert "can’t be changed or taken up again" in ending.words
    ended = ending.form(f"{page.path}/status").submit()
    assert "has ended" in ended.words
    assert not ended.select('form[action*="/status"]')
    assert nora.get(f"{page.path}/edit").path == page.path
    nora.post(f"{page.path}/status", {"status": "odd"}, status=403)


def test_a_status_change_of_an_unseen_version_is_refused(nora, victor):
    page = make(nora, "Seen plan")
    press(victor.get(f"{page.path}/edit"), "review", description="New").form(f"{page.path}/save").submit()
    told = page.form(f"{page.path}/status").submit(status=409)
    assert "Someone changed it while you were looking" in told.words
    assert "Draft" in told.words


def lost(before, *, is_done):
    """Return an `update_protocol` whose answer is lost."""

    def update(*given, **more):
        if is_done:
            before(*given, **more)
        raise Unavailable("timed out", outcome_known=False)

    return update


def test_of_many_posts_of_a_change_one_is_sent(nora, monkeypatch):
    path = make(nora, "Changed once").path
    review = press(nora.get(f"{path}/edit"), "review", description="Once")
    form, sent = review.form(f"{path}/save"), []

    def counted(*given, **more):
        sent.append(given)
        return update_protocol(*given, **more)

    monkeypatch.setattr(edit, "update_protocol", counted)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _number: form.submit(status=None), range(8)))
    assert {(answer.status, answer.path) for answer in answers} == {(200, path)}
    assert len(sent) == 1


def test_a_change_with_a_lost_response_is_resolved_from_the_record(nora, monkeypatch):
    path = make(nora, "Edit lost").path
    form = press(nora.get(f"{path}/edit"), "review", description="Found again").form(f"{path}/save")
    monkeypatch.setattr(edit, "update_protocol", lost(update_protocol, is_done=False))
    assert "We couldn’t confirm that" in form.submit(status=503).words
    monkeypatch.setattr(edit, "update_protocol", lost(update_protocol, is_done=True))
    saved = form.submit()
    assert saved.path == path and "Found again" in saved.words


def test_a_status_change_with_a_lost_response_is_resolved_from_the_record(nora, monkeypatch):
    page = make(nora, "Status lost")
    form = page.form(f"{page.path}/status")
    monkeypatch.setattr(protocols, "update_protocol", lost(update_protocol, is_done=False))
    told = form.submit(status=503)
    assert "didn’t confirm this, and its record, read just now, doesn’t show it" in told.words
    monkeypatch.setattr(protocols, "update_protocol", lost(update_protocol, is_done=True))
    assert "The protocol is now: Active." in form.submit().tree.text_content()


def test_a_status_can_be_moved_back_and_forth(nora):
    page = make(nora, "Back and forth")
    page = page.form(f"{page.path}/status").submit()
    for word in ("Paused", "Active", "Paused", "Active"):
        page = page.form(f"{page.path}/status").submit()
        assert f"The protocol is now: {word}." in page.tree.text_content()
