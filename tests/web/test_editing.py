"""Two people change one record: the value of each field, and which choices are offered."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import msgspec
import pytest
from flask import Flask
from msgspec.structs import replace

from portal.services.errors import BadResponse, Conflict, Invalid, Refused, Unavailable
from portal.web import edit_form
from portal.web.edit_form import Comparison, Filled, Saved
from portal.web.editing import Editing, open_form, save_edit
from portal.web.fields import member
from portal.web.forms import text
from tests.support.bare import NotedAudit
from tests.support.clock import Clock


class Note(msgspec.Struct, frozen=True):
    """A record as an API keeps it."""

    title: str = "Plan"
    body: str = "One"
    concurrency_stamp: str | None = "s1"
    last_modification_time: datetime | None = None
    id: str = "1"


class Api:
    """Keeps one record; refuses a write to an older state of it."""

    def __init__(self, note: Note, *, has_stamps: bool = True) -> None:
        self.note = note if has_stamps else msgspec.structs.replace(note, concurrency_stamp=None)
        self.writes = 0
        self.fails: list[Exception] = []
        self.is_silent = False
        self.loses_answers = False
        self.meanwhile: list[Note] = []

    def read(self) -> Note:
        return self.note

    def write(self, changed: Note, record: Note) -> Note | None:
        if self.meanwhile:
            self.note = self.meanwhile.pop()
        if self.fails:
            raise self.fails.pop(0)
        if record.concurrency_stamp != self.note.concurrency_stamp:
            raise Conflict
        self.writes += 1
        stamp = self.note.concurrency_stamp and f"{self.note.concurrency_stamp}+"
        self.note = Note(changed.title, changed.body, stamp)
        if self.loses_answers:
            raise Unavailable("reset", outcome_known=False)
        return None if self.is_silent else self.note

    def editing(self) -> Editing[Note]:
        return Editing(
            owner="nora",
            event="note.update",
            read=self.read,
            fields=lambda note: [
                member("title", text("Title", required="Enter a title."), value=str),
                member("body", text("Body", kind="textarea"), value=str),
            ],
            write=self.write,
        )


@pytest.fixture
def api() -> Api:
    return Api(Note())


def send(app: Flask, api: Api, page: Filled | Comparison, **typed: str) -> Any:
    """Send the form that was opened, with these fields typed over."""
    fields = dict(page.carried)
    if isinstance(page, Filled):
        fields |= {field.name: field.data for field in page.form}
    else:
        fields |= {one.id: one.keep for one in page.differences}
    with app.test_request_context("/", method="POST", data={**fields, **typed}):
        app.preprocess_request()
        return save_edit(api.editing(), api.read())


def opened(app: Flask, api: Api) -> Filled:
    with app.test_request_context("/"):
        form = open_form(api.editing(), api.read())
    assert isinstance(form, Filled)
    return form


def test_input_is_saved_if_nobody_else_changed_the_record(app: Flask, api: Api) -> None:
    saved = send(app, api, opened(app, api), title="New")
    assert isinstance(saved, Saved)
    assert saved.is_changed
    assert api.note == Note("New", "One", "s1+")


def test_a_form_sent_unchanged_writes_nothing(app: Flask, api: Api) -> None:
    saved = send(app, api, opened(app, api))
    assert isinstance(saved, Saved)
    assert not saved.is_changed
    assert api.writes == 0


def test_the_same_form_sent_twice_has_one_effect(app: Flask, api: Api) -> None:
    form = opened(app, api)
    first, second = (send(app, api, form, title="New") for _ in range(2))
    assert isinstance(first, Saved)
    assert isinstance(second, Saved)
    assert second.is_changed
    assert api.writes == 1


def test_a_field_that_both_changed_needs_a_choice(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.note = Note("Theirs", "One", "s2")
    both = send(app, api, form, title="Mine")
    assert isinstance(both, Comparison)
    assert both.status == 409
    (one,) = both.differences
    assert (one.label, one.was, one.yours, one.now, one.keep) == ("Title", "Plan", "Mine", "Theirs", "")
    assert api.writes == 0
    undecided = send(app, api, both)
    assert isinstance(undecided, Comparison)
    assert undecided.status == 422
    assert undecided.errors == [("keep-title-mine", "Choose what to keep for “Title”.")]
    assert api.note.title == "Theirs"


@pytest.mark.parametrize(("keep", "title"), [("mine", "Mine"), ("now", "Theirs")])
def test_the_choice_resolves_a_conflict_and_other_fields_keep_input(
    app: Flask, api: Api, keep: str, title: str
) -> None:
    form = opened(app, api)
    api.note = Note("Theirs", "One", "s2")
    both = send(app, api, form, title="Mine", body="Typed")
    assert both.mine_alone == (("Body", "One", "Typed"),)
    saved = send(app, api, both, **{"keep-title": keep})
    assert isinstance(saved, Saved)
    assert (api.note.title, api.note.body) == (title, "Typed")


def test_a_field_that_only_the_other_changed_keeps_their_value_by_default(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.note = Note("Plan", "Theirs", "s2")
    both = send(app, api, form, title="Mine")
    assert [(one.name, one.keep) for one in both.differences] == [("body", "now")]
    send(app, api, both)
    assert (api.note.title, api.note.body) == ("Mine", "Theirs")


def test_both_typing_the_same_is_no_conflict(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.note = Note("Same", "One", "s2")
    assert isinstance(send(app, api, form, title="Same"), Saved)
    assert api.writes == 0


def test_a_third_change_while_choosing_is_compared_again(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.note = Note("Theirs", "One", "s2")
    both = send(app, api, form, title="Mine")
    api.note = Note("Third", "One", "s3")
    again = send(app, api, both, **{"keep-title": "mine"})
    assert isinstance(again, Comparison)
    assert (again.differences[0].was, again.differences[0].now) == ("Plan", "Third")
    assert again.differences[0].keep == ""
    send(app, api, again, **{"keep-title": "mine"})
    assert api.note.title == "Mine"


def test_a_change_between_reading_and_writing_is_compared_too(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.meanwhile = [Note("Theirs", "One", "s2")]
    both = send(app, api, form, title="Mine")
    assert isinstance(both, Comparison)
    assert both.differences[0].now == "Theirs"


def test_without_stamps_a_conflict_is_detected_by_the_values_that_were_shown(app: Flask) -> None:
    api = Api(Note(), has_stamps=False)
    form = opened(app, api)
    api.note = Note("Theirs", "One", None)
    both = send(app, api, form, title="Mine")
    assert isinstance(both, Comparison)
    assert isinstance(send(app, api, both, **{"keep-title": "now"}), Saved)
    assert api.note.title == "Theirs"


def test_without_the_original_version_every_difference_needs_a_choice(app: Flask, api: Api) -> None:
    form = replace(opened(app, api), carried=())
    for broken in ({}, {"opened": "[1,"}, {"opened": '{"title": 3}'}):
        both = send(app, api, form, title="Mine", **broken)
        assert isinstance(both, Comparison)
        assert (both.differences[0].was, both.differences[0].keep) == (None, "")


def test_an_invalid_form_keeps_input(app: Flask, api: Api) -> None:
    filled = send(app, api, opened(app, api), title="", body="Long work")
    assert isinstance(filled, Filled)
    assert filled.status == 422
    assert filled.form.errors == ["Enter a title."]
    assert filled.form.value("body") == "Long work"
    assert api.writes == 0


def test_a_refusal_is_explained_and_keeps_input(app: Flask, api: Api) -> None:
    api.fails = [Refused("IllegalTransition")]
    filled = send(app, api, opened(app, api), title="Mine")
    assert (filled.status, filled.note) == (403, "Its present state doesn’t allow this step.")
    assert filled.form.value("title") == "Mine"


@pytest.mark.parametrize(
    ("named", "where"), [({"title": ["invalid"]}, "title"), ({}, None), ({"other": ["invalid"]}, None)]
)
def test_an_api_error_is_shown_at_its_field_or_above_the_form(
    app: Flask, api: Api, named: dict[str, list[str]], where: str | None
) -> None:
    api.fails = [Invalid(named)]
    filled = send(app, api, opened(app, api), title="Mine")
    assert filled.status == 422
    assert bool(filled.form["title"].errors) == (where == "title")
    assert bool(filled.form.form_errors) == (where is None)


def test_an_empty_answer_is_read_again_before_it_counts_as_saved(app: Flask, api: Api) -> None:
    api.is_silent = True
    saved = send(app, api, opened(app, api), title="New")
    assert isinstance(saved, Saved)
    assert saved.record == Note("New", "One", "s1+")


def test_an_empty_answer_without_a_change_is_not_reported_as_saved(app: Flask, api: Api) -> None:
    api.write = lambda changed, record: None  # type: ignore[method-assign]
    filled = send(app, api, opened(app, api), title="New")
    assert filled.status == 503


def test_the_same_change_made_at_the_same_moment_counts_as_saved(app: Flask, api: Api) -> None:
    form = opened(app, api)
    api.meanwhile = [Note("Mine", "One", "s2")]
    assert isinstance(send(app, api, form, title="Mine"), Saved)
    assert api.writes == 0


def test_a_lost_response_is_resolved_from_the_record(app: Flask, api: Api) -> None:
    api.loses_answers = True
    saved = send(app, api, opened(app, api), title="New")
    assert isinstance(saved, Saved)
    assert saved.record.title == "New"


@pytest.mark.parametrize("error", [Unavailable("reset", outcome_known=False), BadResponse("$")])
def test_a_change_missing_from_the_record_is_not_reported_as_saved(
    app: Flask, api: Api, error: Exception
) -> None:
    api.fails = [error]
    filled = send(app, api, opened(app, api), title="New")
    assert isinstance(filled, Filled)
    assert filled.status == 503
    assert "didn’t confirm" in filled.note
    assert filled.form.value("title") == "New"


def test_an_api_that_is_down_before_the_change_fails_the_whole_page(app: Flask, api: Api) -> None:
    refused = Unavailable("refused")
    refused.is_undone = True
    api.fails = [refused]
    with pytest.raises(Unavailable):
        send(app, api, opened(app, api), title="New")


def test_where_the_stamp_is_refused_twice_what_was_typed_can_be_sent_again(app: Flask, api: Api) -> None:
    api.fails = [Conflict(), Conflict()]
    refused = send(app, api, opened(app, api), title="New")
    assert isinstance(refused, Filled)
    assert (refused.status, refused.form["title"].data, refused.form["body"].data) == (409, "New", "One")
    assert "someone changed this meanwhile" in refused.note
    assert isinstance(send(app, api, refused), Saved)
    assert api.note.title == "New"


def test_a_browsers_line_endings_are_no_change(app: Flask) -> None:
    api = Api(Note(body="One\nTwo"))
    form = opened(app, api)
    saved = send(app, api, form, body="One\r\nTwo\r\n")
    assert isinstance(saved, Saved)
    assert api.writes == 0


def test_what_only_cleaning_would_change_is_no_change(app: Flask) -> None:
    api = Api(Note(body="One \n\u200bTwo\u202e"))
    form = opened(app, api)
    saved = send(app, api, form)
    assert isinstance(saved, Saved)
    assert not saved.is_changed
    send(app, api, form, title="New\u202e\x07 \u200bone")
    assert (api.note.title, api.note.body) == ("New one", "One \n\u200bTwo\u202e")


def test_of_two_concurrent_posts_one_writes_and_the_other_waits(app: Flask, api: Api) -> None:
    form = opened(app, api)
    is_sent, write = threading.Event(), api.write

    def slowly(changed: Note, record: Note) -> Note | None:
        is_sent.set()
        time.sleep(0.3)
        return write(changed, record)

    api.write = slowly  # type: ignore[method-assign]
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(send, app, api, form, title="New")
        is_sent.wait(5)
        second = pool.submit(send, app, api, form, title="New")
        saved = [one.result() for one in (first, second)]
    assert all(isinstance(one, Saved) and one.record.title == "New" for one in saved)
    assert api.writes == 1


def test_a_change_that_was_reverted_can_be_saved_again(app: Flask, clock: Clock) -> None:
    api = Api(Note(), has_stamps=False)
    form = opened(app, api)
    send(app, api, form, title="New")
    api.note = Note("Plan", "One", None)
    clock.advance(1)
    assert isinstance(send(app, api, opened(app, api), title="New"), Saved)
    assert api.note.title == "New"
    assert api.writes == 2


@pytest.mark.parametrize(
    ("fails", "noted"),
    [
        ([], ["done"]),
        ([Refused("IllegalTransition")], ["refused"]),
        ([BadResponse("$")], ["unknown"]),
        ([Conflict()], ["refused", "done"]),
    ],
)
def test_the_outcome_of_an_edit_is_audited(
    app: Flask, api: Api, audit: NotedAudit, fails: list[Exception], noted: list[str]
) -> None:
    api.fails = fails
    send(app, api, opened(app, api), title="New")
    assert audit.lines == [("note.update", outcome, "1") for outcome in noted]


def test_an_edit_that_is_not_sent_is_audited_too(app: Flask, api: Api, audit: NotedAudit) -> None:
    form = opened(app, api)
    send(app, api, form)
    send(app, api, form, title="")
    api.note = Note("Theirs", "One", "s2")
    send(app, api, form, title="Mine")
    assert [outcome for _event, outcome, _id in audit.lines] == ["unchanged", "invalid", "conflict"]


def test_the_mark_of_a_version_changes_with_its_stamp_and_its_values() -> None:
    marks = {
        edit_form.version_mark({"a": "1"}, "s"),
        edit_form.version_mark({"a": "2"}, "s"),
        edit_form.version_mark({"a": "1"}, "t"),
        edit_form.version_mark({"a": "1"}, None),
    }
    assert len(marks) == 4
