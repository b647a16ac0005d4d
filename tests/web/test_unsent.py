"""Typed text is restored after signing in again: in every form, only for the same person, and never sent automatically."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from flask import Flask, Response

from portal.careservice.ids import sample_id
from portal.web import csrf, unsent
from tests.support.signing import fresh_form
from tests.support.stack import CareService, PortalThread
from tests.web.unsent_forms import (
    CASES,
    EPISODE,
    GRACES,
    SECRET,
    Case,
    expire,
    form_of,
    held,
    leave_identity_server,
    names,
)

NOTICE = "Here is what you had typed. Nothing has been sent yet."


@pytest.fixture(autouse=True)
def nothing_waits_yet(portal: PortalThread) -> None:
    with closing(sqlite3.connect(portal.plan.data / "store.db", timeout=10)) as store, store:
        store.execute("DELETE FROM records WHERE name LIKE 'unsent:%'")


def waiting(portal: PortalThread) -> int:
    """How many texts wait in the store."""
    with closing(sqlite3.connect(portal.plan.data / "store.db")) as store:
        return store.execute("SELECT count(*) FROM records WHERE name LIKE 'unsent:%'").fetchone()[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_typed_text_is_in_the_form_after_signing_in_again(
    portal: PortalThread, service: CareService, case: Case
) -> None:
    visitor = portal.sign_in(case.who)
    page = case.page(visitor, service)
    form = form_of(page, case.action)
    typed = {name: [value] if isinstance(value, str) else value for name, value in case.typed.items()}
    if "statement" in typed:
        typed["statement"] = [value for name, value in form.checkboxes() if name == "statement"][:2]
    expire(portal, visitor)
    back = form.submit(button=case.button, **typed)
    assert back.path == urlsplit(page.url).path
    assert NOTICE in back.words
    again = form_of(back, case.action)
    assert names(again) == names(form)
    for name, values in typed.items():
        assert held(again, name) == values, name
    if case.name == "a typed signature":  # the step keeps it by itself, as before
        return
    link = next(a for a in back.select("#given-back a[href]"))
    saved = visitor.get(str(link["href"]))
    assert NOTICE not in saved.words
    assert any(held(form_of(saved, case.action), name) != values for name, values in typed.items()) or (
        case.name == "ticked statements"
    )
    visitor.sign_out()
    assert waiting(portal) == 0, "signing out removes it"


@pytest.mark.parametrize("is_over", [True, False], ids=["over", "not over"])
def test_text_submitted_as_a_session_ends_is_kept_and_never_sent(
    portal: PortalThread, service: CareService, is_over: bool
) -> None:
    """Not even if the session goes on after all, for example in another tab."""
    visitor = portal.sign_in("amelia")
    form = fresh_form(service.plan, signed=True)
    handing_in = visitor.get(f"{form}/revoke").form(f"{form}/revoke")
    if is_over:
        expire(portal, visitor)
    back = handing_in.submit(reason=SECRET, **{unsent.ONLY_KEEP: "1"})
    assert (back.path, back.heading) == (f"{form}/revoke", "Withdraw this consent?")
    assert NOTICE in back.words
    assert held(form_of(back, form), "reason") == [SECRET]
    assert back.form(f"{form}/revoke").submit().heading == "This consent is withdrawn"


def test_another_site_cannot_submit_text_to_keep(portal: PortalThread, service: CareService) -> None:
    visitor = portal.sign_in("amelia")
    form = fresh_form(service.plan)
    fields = [*visitor.get(f"{form}/revoke").form(f"{form}/revoke").fields(), (unsent.ONLY_KEEP, "1")]
    fields = [(name, SECRET if name == "reason" else value) for name, value in fields]
    visitor.request("POST", f"{form}/revoke", data=fields, headers={"Origin": "https://evil.example"})
    assert waiting(portal) == 0


def test_every_form_with_text_declares_what_is_kept(portal: PortalThread) -> None:
    """A new form must be marked, or be listed here because nothing but a confirmation is typed into it."""
    nothing_typed = {
        *("booking.book", "language.choose", "sign_in.sign_out", "sign_in.back_channel"),
        *("passkeys.add", "passkeys.remove"),
        *("devices.end", "devices.everywhere", "storage.decide.confirm", "relationships.remove"),
        *("consents.sign.read", "consents.sign.check", "consents.sign.confirm"),
        *("consents.bundle.choose", "consents.bundle.send"),
        *("consents.create.create", "protocols.create.create", "protocols.move", "protocols.list.move"),
        "protocols.change_notice.mark",
        "protocols.edit.days",  # a drawing of what the form holds, which is kept under its own address
        "page_speed.report",  # what a browser measured
        *("prospects.link.make", "prospects.merge.send", "emr_endpoints.remove"),
        *("storage.second_person.send", "storage.second_person.stop"),
        *("notifications.open_", "notifications.read", "notifications.unread", "notifications.read_all"),
        *("conversations.read", "conversations.archive_one_message", "conversations.restore_one_message"),
        *(
            "conversations.archive",
            "conversations.restore",
            "find.find",
            "help.hide_welcome",
            "episodes.doses.note",
        ),
    }
    unmarked = {
        rule.endpoint
        for rule in portal.app.url_map.iter_rules()
        if "POST" in (rule.methods or ()) and not unsent.names_of(portal.app.view_functions[rule.endpoint])
    }
    assert unmarked <= nothing_typed, unmarked - nothing_typed


def test_tokens_and_operations_are_never_kept(portal: PortalThread) -> None:
    for view in portal.app.view_functions.values():
        for secret in (csrf.FIELD, "operation", "code", "password"):
            assert not unsent.is_kept(view, secret)


def test_restored_text_is_not_sent_automatically_and_is_removed_once_sent(
    portal: PortalThread, service: CareService
) -> None:
    visitor = portal.sign_in("nora")
    path = f"/cases/{sample_id('case', 'grace')}/edit?episode={GRACES}"
    form = form_of(visitor.get(path), "/cases/")
    expire(portal, visitor)
    back = form.submit(notes=SECRET)
    with closing(sqlite3.connect(service.plan.data / "care.db")) as database:
        assert not database.execute("SELECT 1 FROM cases WHERE notes = ?", (SECRET,)).fetchone()
    assert NOTICE in visitor.get(path).words, "until it is sent"
    assert NOTICE not in visitor.get("/").words
    saved = form_of(back, "/cases/").submit()
    assert "The case is saved." in saved.text
    assert NOTICE not in visitor.get(path).words
    assert waiting(portal) == 0


def test_a_change_by_others_is_shown_beside_the_restored_text(
    portal: PortalThread, service: CareService
) -> None:
    visitor = portal.sign_in("nora")
    path = f"/cases/{sample_id('case', 'amelia')}/edit?episode={EPISODE}"
    form = form_of(visitor.get(path), "/cases/")
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        database.execute("UPDATE cases SET diagnosis = 'Theirs' WHERE id = ?", (sample_id("case", "amelia"),))
    expire(portal, visitor)
    back = form.submit(diagnosis="Mine")
    assert NOTICE in back.words
    assert "Someone changed this meanwhile" in back.words
    assert "Theirs" in back.words and "Mine" in back.words
    visitor.sign_out()


def test_another_person_signing_in_does_not_see_the_text(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    path = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={EPISODE}"
    form = form_of(visitor.get(path), "/patients/")
    expire(portal, visitor)
    leave_identity_server(visitor)
    sign_in = form.submit(first_name=SECRET, status=None)
    theirs = visitor.fill_sign_in(sign_in, "colin")
    assert theirs.path == "/", "at their own home, not in the other's form"
    assert SECRET not in theirs.text
    assert NOTICE not in theirs.text
    assert SECRET not in visitor.get(path).text
    assert waiting(portal) == 1
    visitor.sign_out()
    assert waiting(portal) == 1, "only its own person removes it"
    nora = portal.sign_in("nora")
    back = nora.get(path)
    assert NOTICE in back.words, "in another browser too"
    assert SECRET in back.text
    nora.sign_out()
    assert waiting(portal) == 0


def test_an_open_page_of_another_person_keeps_nothing_for_the_current_one(portal: PortalThread) -> None:
    """Nora's page is still open in the browser where Colin has signed in since."""
    visitor = portal.sign_in("nora")
    path = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={EPISODE}"
    form = form_of(visitor.get(path), "/patients/")
    visitor.sign_out()
    leave_identity_server(visitor)
    visitor.sign_in("colin")
    refused = form.submit(first_name=SECRET, status=400)
    assert "This page was open for too long" in refused.words
    assert waiting(portal) == 0
    assert SECRET not in refused.follow("Refresh this page").text
    visitor.sign_out()


def test_a_page_of_an_earlier_session_is_refreshed_with_its_input(portal: PortalThread) -> None:
    """Signed in again in another tab: the form's token is of the session before."""
    visitor = portal.sign_in("nora")
    path = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={EPISODE}"
    form = form_of(visitor.get(path), "/patients/")
    expire(portal, visitor)
    visitor.get("/")
    stale = form.submit(first_name=SECRET, status=400)
    assert "what you had typed is there" in stale.words
    back = stale.follow("Refresh this page")
    assert NOTICE in back.words
    assert held(form_of(back, "/patients/"), "first_name") == [SECRET]
    form_of(back, "/patients/").submit(first_name="Amelia")
    assert waiting(portal) == 0
    visitor.sign_out()


def test_htmx_is_sent_to_sign_in_and_comes_back_to_the_text(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    form = form_of(visitor.get("/me"), "/me")
    expire(portal, visitor)
    data = {**dict(form.fields()), "preferred_name": SECRET}
    headers = {"HX-Request": "true", "HX-Target": "div#details", "HX-Current-URL": f"{visitor.origin}/me"}
    answer = visitor.request("POST", "/me", data=data, headers=headers, follow=False)
    assert answer.headers["HX-Redirect"] == "/sign-in?next=%2Fme"
    assert answer.text == ""
    back = visitor.get(answer.headers["HX-Redirect"])
    assert NOTICE in back.words
    again = form_of(back, "/me")
    assert held(again, "preferred_name") == [SECRET]
    sent = visitor.fragment(
        "/me", "details", data={**dict(again.fields()), "preferred_name": "Millie"}, at="/me"
    )
    assert sent.select('hx-partial[hx-target="#given-back"][hx-swap="delete"]'), (
        "the notice isn't true any more"
    )
    visitor.sign_out()


def test_text_is_restored_after_another_device_ended_the_session(portal: PortalThread) -> None:
    here, there = portal.sign_in("amelia"), portal.sign_in("amelia")
    form = form_of(there.get("/me"), "/me")
    time.sleep(1.1)  # auth_time is in whole seconds
    devices = here.get("/me/devices")
    other = next(task for task in devices.select(".task") if "This device" not in task.text_content())
    devices.form(other.select_one("form")).submit()  # type: ignore[arg-type]
    sign_in = form.submit(preferred_name=SECRET, status=None)
    assert sign_in.tree.select_one("input[name=password]"), "the password is asked for"
    back = there.fill_sign_in(sign_in, "amelia")
    assert NOTICE in back.words
    assert held(form_of(back, "/me"), "preferred_name") == [SECRET]
    there.sign_out()
    here.sign_out()


@pytest.mark.parametrize(
    "change",
    [
        {"headers": {"Sec-Fetch-Site": "cross-site"}},
        {"headers": {"Sec-Fetch-Site": "same-site"}},
        {"headers": {"Origin": "https://elsewhere.example"}},
        {"fields": {"csrf_token": "A" * 128}},
        {"fields": {"preferred_name": "x" * 200_000}},
        {"fields": {"preferred_name": " ", "email": ""}, "empty": True},
    ],
    ids=["another site", "another host", "another origin", "forged token", "too large", "nothing typed"],
)
def test_text_of_forged_oversized_or_blank_requests_is_not_kept(
    portal: PortalThread, change: dict[str, dict[str, str]]
) -> None:
    visitor = portal.sign_in("amelia")
    form = form_of(visitor.get("/me"), "/me")
    expire(portal, visitor)
    fields = {**dict(form.fields()), **change.get("fields", {})}
    if "empty" in change:
        fields = {name: value for name, value in fields.items() if name == csrf.FIELD}
    headers = {"Referer": f"{visitor.origin}/me", **change.get("headers", {})}
    visitor.request("POST", "/me", data=fields, headers=headers, status=None, follow=False)
    assert waiting(portal) == 0


def test_text_is_kept_for_its_author_when_the_browser_lost_its_session(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    form = form_of(visitor.get("/me"), "/me")
    fields = {**dict(form.fields()), "preferred_name": SECRET}
    forged = {**fields, csrf.FIELD: portal.sign_in("nora").csrf_token()[:-4] + "AAA="}
    for sent, kept in ((forged, 0), (fields, 1)):
        visitor.request("POST", "/me", data=sent, headers={"Cookie": "theme=none"}, status=None, follow=False)
        assert waiting(portal) == kept
    other = portal.sign_in("grace").get("/me")
    assert SECRET not in other.text
    again = portal.sign_in("amelia").get("/me")
    assert NOTICE in again.words
    assert held(form_of(again, "/me"), "preferred_name") == [SECRET]


def test_after_signing_out_a_form_keeps_nothing(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    form, cookie = form_of(visitor.get("/me"), "/me"), visitor.session_id
    visitor.sign_out()
    fields = {**dict(form.fields()), "preferred_name": SECRET}
    for headers in ({}, {"Cookie": f"__Host-sid={cookie}"}):
        visitor.request("POST", "/me", data=fields, headers=headers, status=None, follow=False)
        assert waiting(portal) == 0


def test_at_most_five_forms_wait_for_one_person(portal: PortalThread) -> None:
    visitor = portal.sign_in("nora")
    paths = [
        f"/prospects/{sample_id('prospect', name)}/book" for name in ("ines", "tomasz", "noor", "ruth")
    ] + ["/open", "/protocols/new", "/notifications/settings"]
    token = visitor.csrf_token()
    expire(portal, visitor)
    typed = {"type": "x", "id": "x", "name": "x", "start": "x", csrf.FIELD: token}
    for path in paths:
        visitor.request("POST", path, data=typed, status=303, follow=False)
    assert waiting(portal) == 5
    visitor.get("/")
    visitor.sign_out()
    assert waiting(portal) == 0


def test_the_text_is_stored_encrypted_for_an_hour(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    form = form_of(visitor.get("/me"), "/me")
    expire(portal, visitor)
    form.submit(preferred_name=SECRET)
    with closing(sqlite3.connect(portal.plan.data / "store.db")) as store:
        rows = store.execute("SELECT value, expires_at FROM records WHERE name LIKE 'unsent:%'").fetchall()
        assert len(rows) == 1
        assert SECRET.encode() not in rows[0][0]
        assert 3500 < rows[0][1] - portal.clock() <= 3600
        everything = b"".join(row[0] for row in store.execute("SELECT value FROM records"))
        assert SECRET.encode() not in everything
    visitor.sign_out()


@pytest.mark.parametrize(
    ("page", "action", "field"),
    [
        ("/consents/new?template=disposition&episode=", "/consents/new/fill", "title"),
        ("/protocols/new?episode=", "/protocols/new", "name"),
    ],
    ids=["a consent", "a protocol"],
)
def test_text_typed_for_one_patient_is_not_in_the_form_of_another(
    portal: PortalThread, page: str, action: str, field: str
) -> None:
    visitor = portal.sign_in("nora")
    form_of(visitor.get(page + EPISODE), action).submit(**{field: SECRET, unsent.ONLY_KEEP: "1"})
    others = visitor.get(page + GRACES)
    assert NOTICE not in others.words
    assert held(form_of(others, action), field) != [SECRET]
    again = visitor.get(page + EPISODE)
    assert NOTICE in again.words
    assert held(form_of(again, action), field) == [SECRET]


@pytest.mark.parametrize(
    ("status", "forgets"), [(303, True), (422, True), (499, True), (500, False), (503, False)]
)
def test_what_was_typed_still_waits_after_a_failure_of_ours(
    monkeypatch: pytest.MonkeyPatch, status: int, forgets: bool
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(unsent, "was_waiting", lambda: asked.append(status))
    with Flask(__name__).test_request_context():
        unsent._forget_sent(Response(status=status))
    assert bool(asked) is forgets
