"""A patient's questions for the next visit: hers alone, and nothing of them is lost."""

from __future__ import annotations

import pytest

from portal.web import kept_questions
from tests.support.visitor import Page, SignIn


def written(page: Page) -> str:
    return dict(page.form("/questions").fields())["questions"]


def test_questions_are_saved_changed_and_removed(visitor: SignIn) -> None:
    amelia = visitor("amelia")
    form = amelia.get("/questions").form("/questions")
    saved = form.submit(questions="May I fly?\nWhen is the scan?")
    assert "Your questions are saved." in saved.text
    form = amelia.get("/questions").form("/questions")
    assert dict(form.fields())["questions"] == "May I fly?\nWhen is the scan?"
    assert "No questions are saved now." in form.submit(questions=" ").text
    assert written(amelia.get("/questions")) == ""


def test_nobody_else_sees_them(visitor: SignIn) -> None:
    visitor("grace").get("/questions").form("/questions").submit(questions="Only mine")
    assert "Only mine" in visitor("grace").get("/questions").text
    assert "Only mine" not in visitor("daniel").get("/questions").text
    assert "Only mine" not in visitor("nora", "nurse").get("/questions", status=403).text


def test_what_another_window_saved_meanwhile_stays(visitor: SignIn) -> None:
    daniel = visitor("daniel")
    first, second = (daniel.get("/questions").form("/questions") for _ in range(2))
    first.submit(questions="One")
    both = second.submit(questions="Two")
    assert "You wrote more in another window." in both.text
    assert written(both) == "One\n\nTwo"
    longest = "x" * kept_questions.LONGEST
    first, second = (daniel.get("/questions").form("/questions") for _ in range(2))
    first.submit(questions=longest)
    refused = second.submit(questions="y" + longest[1:], status=503)
    assert written(refused) == "y" + longest[1:], "nothing is cut off to fit"


def test_what_is_too_long_or_cant_be_stored_stays_in_the_form(
    visitor: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    amelia = visitor("amelia")
    form = amelia.get("/questions").form("/questions")
    refused = form.submit(questions="x" * (kept_questions.LONGEST + 1), status=422)
    assert len(written(refused)) > kept_questions.LONGEST
    monkeypatch.setattr(kept_questions.QUESTIONS.__class__, "update", lambda *_given: None)
    failed = form.submit(questions="May I fly?", status=503)
    assert "Your questions couldn’t be saved." in failed.text
    assert written(failed) == "May I fly?"
