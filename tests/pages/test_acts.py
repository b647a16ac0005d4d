"""Every act: what its form sends to the API, and what the audit record says of it, in `facts/acts.txt`.

One act at least for each row of the API that changes something, over the fake API: a member left out of what is sent, sent
under another's name or to another record, and an audit line gone, doubled or about something else is a line that differs.
After a change that is meant, WRITE_FACTS=1 writes the file anew; read the difference.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from portal import metrics
from portal.operate.read_only import change_read_only
from portal.services.api import AnyEndpoint
from portal.services.cases import UPDATE_CASE
from portal.services.consents import CREATE_CONSENT, READ_CONSENT, REVOKE_CONSENT, SIGN_CONSENT
from portal.services.conversations import (
    ARCHIVE_CONVERSATIONS,
    ARCHIVE_MESSAGE,
    LIST_CONVERSATIONS,
    RESTORE_MESSAGE,
)
from portal.services.directories import MOVE_DIRECTORY
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.services.endpoints import ALL
from portal.services.notifications import UPDATE_NOTIFICATION_SETTINGS, UPDATE_NOTIFICATIONS
from portal.services.patients import UPDATE_PATIENT
from portal.services.prospects import BOOK_WINDOW, MERGE_PROSPECTS
from portal.services.protocols import CREATE_PROTOCOL, READ_PROTOCOL, UPDATE_PROTOCOL
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.services.storage import UPDATE_EMBRYO_STORAGE
from tests.pages import test_facts as facts
from tests.pages.test_facts import EMBRYO, EPISODE, HERS, IN_FORCE, PENDING, ROLES, TALK, UNDER_TREATMENT
from tests.support.clock import Clock
from tests.support.facts import Answers
from tests.support.fake_api import NOW, ZONE, FakeApi, Sent, samples
from tests.support.in_process import InProcess
from tests.support.visitor import Form, Page, Visitor

portal = facts.portal
MOST_STEPS = 5
_MADE_BY_CHANCE = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[A-Za-z0-9_-]{32,}\b")


@dataclass(frozen=True)
class Act:
    """Whose form stands at which page; what is filled in on the way, and what the API answers instead of its samples."""

    row: AnyEndpoint
    who: str
    at: str
    form: str
    filled: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[AnyEndpoint, object] = field(default_factory=dict)


TIE = f"/relationships/{EPISODE['relationships'][0]['id']}"
PATIENT = f"/patients/{EPISODE['patient']['id']}"
CASE = f"/cases/{EPISODE['case']['id']}"
ARCHIVED = {
    LIST_CONVERSATIONS: facts.changed(
        LIST_CONVERSATIONS,
        messages=[
            {**message, "isArchived": True} for message in samples(LIST_CONVERSATIONS)["items"][0]["messages"]
        ],
    )
}
PLAN = {
    READ_PROTOCOL: {
        **UNDER_TREATMENT[READ_PROTOCOL],
        "medications": [
            {**medication, "isTrigger": False} for medication in UNDER_TREATMENT[READ_PROTOCOL]["medications"]
        ],
    }
}
FOLDER = f"/directories/{EPISODE['documents']['directories'][0]['id']}"
MOVED = {MOVE_DIRECTORY: {**EPISODE["documents"]["directories"][0], "parentId": None}}
ARCHIVED_MESSAGE = {ARCHIVE_MESSAGE: {**samples(ARCHIVE_MESSAGE), "isArchived": True}}
BOTH = [
    facts.AMELIA_SIGNS[0],
    {**facts.AMELIA_SIGNS[0], "role": "Partner", "personId": "daniel", "name": "Daniel 3"},
]
SIGNED_BY_BOTH = facts.changed(
    READ_CONSENT,
    **facts.SIGNED
    | {
        "requiredSigners": BOTH,
        "signatures": [
            {**signature, **{name: signer[name] for name in ("role", "personId", "name")}}
            for signature, signer in zip(facts.SIGNED["signatures"], BOTH, strict=True)
        ],
    },
)
TOLD = {
    "who": "daniel",
    "name": "Daniel 3",
    "told_on": "2026-11-23",
    "told_time": "14:30",
    "told_by": "Telephone",
}
ACTS = (
    Act(
        CREATE_CONSENT, "nora", "/consents/new?copy=c-1", "/consents/new", {"title": "Another form"}, IN_FORCE
    ),
    Act(SIGN_CONSENT, "amelia", "/consents/c-1/sign", "/sign", {"signature": "Amelia 1"}, PENDING),
    Act(REVOKE_CONSENT, "amelia", "/consents/c-1/revoke", "/revoke", {"reason": "No."}, IN_FORCE),
    Act(SIGN_CONSENT, "victor", "/consents/c-1/sign", "/sign", {"signature": "Victor 2"}, PENDING),
    Act(REVOKE_CONSENT, "amelia", "/consents/c-1/revoke", "/revoke", {"reason": "Not now."}, PENDING),
    Act(REVOKE_CONSENT, "nora", "/consents/c-1/revoke", "/revoke", {"reason": "Sent twice."}, PENDING),
    Act(REVOKE_CONSENT, "nora", "/consents/c-1/revoke", "/revoke", TOLD, {READ_CONSENT: SIGNED_BY_BOTH}),
    Act(
        CREATE_CONSENT,
        "nora",
        "/consents/new?template=treatment&episode=e-1",
        "/consents/new",
        {"version": "7"},
    ),
    Act(CREATE_PROTOCOL, "victor", "/protocols/new?copy=p-1", "/protocols/new", {"name": "Another"}, PLAN),
    Act(UPDATE_PROTOCOL, "victor", "/protocols/p-1/edit", "/protocols/", {"name": "Changed"}, PLAN),
    Act(UPDATE_PROTOCOL, "victor", "/protocols/p-1", "/status", {}, UNDER_TREATMENT),
    Act(UPDATE_PATIENT, "nora", f"{PATIENT}/edit?episode=e-1", PATIENT, {"address_line1": "1 Quay"}, HERS),
    Act(UPDATE_PATIENT, "amelia", "/me", "/me", {"address_line2": "2 Quay"}, HERS),
    Act(UPDATE_CASE, "victor", f"{CASE}/edit?episode=e-1", CASE, {"title": "Changed"}, HERS),
    Act(DELETE_RELATIONSHIP, "amelia", f"{TIE}/remove?episode=e-1", TIE, {}, HERS),
    Act(UPDATE_EMBRYO_STORAGE, "amelia", f"{EMBRYO}/leave-open?episode=e-1", EMBRYO, {}, HERS),
    Act(UPDATE_EMBRYO_STORAGE, "elif", f"{EMBRYO}?episode=e-1", EMBRYO, {"location_cane": "7"}, HERS),
    Act(DELETE_EMR_ENDPOINT, "ada", "/emr-endpoints/m-1/remove", "/emr-endpoints/m-1", {"typed": "m-1"}),
    Act(MOVE_DIRECTORY, "nora", f"{FOLDER}/move?episode=e-1", FOLDER, {}, MOVED),
    Act(ARCHIVE_MESSAGE, "nora", TALK, "/archive", {}, ARCHIVED_MESSAGE),
    Act(RESTORE_MESSAGE, "nora", f"{TALK}?archived=1", "/restore", {}, ARCHIVED),
    Act(ARCHIVE_CONVERSATIONS, "nora", f"{TALK}/archive", f"{TALK}/archive"),
    Act(UPDATE_NOTIFICATIONS, "amelia", "/notifications", "/notifications/read"),
    Act(
        UPDATE_NOTIFICATION_SETTINGS,
        "amelia",
        "/notifications/settings",
        "/notifications/settings",
        {"start": "21:15", "end": "06:30"},
    ),
    Act(MERGE_PROSPECTS, "colin", "/prospects/s-1/merge?merge=s-2", "/prospects/s-1/merge"),
    Act(BOOK_WINDOW, "colin", "/prospects/s-1/book?from=2026-11-30", "/prospects/s-1/book"),
)

NOT_AUDITED = (UPDATE_NOTIFICATIONS, UPDATE_NOTIFICATION_SETTINGS)

TICKED = (SIGN_CONSENT, REVOKE_CONSENT)
"""Acts that are only possible with every box ticked."""


def test_every_row_that_changes_something_has_an_act() -> None:
    assert {act.row for act in ACTS} == {row for row in ALL if not row.is_safe}


def test_each_act_sends_what_was_filled_in_and_leaves_its_audit_line(
    portal: InProcess, fake_api: FakeApi
) -> None:
    told: list[str] = []
    for act in ACTS:
        told += [*_done(portal, fake_api, act), ""]
    facts.compare("acts", told)


def _done(portal: InProcess, fake_api: FakeApi, act: Act) -> Iterator[str]:
    """Yield who does what, the calls that change something, and the audit lines of the last step."""
    fake_api.forget()
    portal.forget()
    for row, answer in act.answers.items():
        fake_api.gives(row, answer)
    page = portal.visitor(act.who, facts.ROLES.get(act.who, "patient")).get(act.at)
    for _ in range(MOST_STEPS):
        portal.audited()
        page = step(page, act)
        if fake_api.sent(act.row):
            break
    answers = Answers(fake_api.told, ZONE)
    yield f"== {act.who} {answers.named(act.at)}"
    for call in fake_api.calls:
        if not call.row.is_safe:
            yield from _lines(call, answers)
    assert fake_api.sent(act.row), f"{act.at} didn't lead to {act.row}: {page.url} {page.words[:500]}"
    yield from sorted(facts.audited(portal, answers))


def step(page: Page, act: Act) -> Page:
    """Send the next form as it stands, the first choice taken where there is none."""
    form = next(
        form
        for element in page.select('main form[method="post"]')
        if act.form in urlsplit((form := page.form(element)).action).path
    )
    return form.submit(
        status=None, check_all=act.row in TICKED, **{**_first_choices(form), **_wanted(form, act.filled)}
    )


def _first_choices(form: Form) -> dict[str, str]:
    chosen = {name for name, value in form.fields() if value}
    radios = form.element.select("input[type=radio]:not([disabled])")
    options = form.element.select("select option[value]:not([value=''])")
    offered = [(next(option.iterancestors("select"))["name"], option) for option in options]
    offered += [(str(radio["name"]), radio) for radio in radios]
    return {name: str(choice["value"]) for name, choice in reversed(offered) if name not in chosen}


def _wanted(form: Form, filled: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in filled.items() if form.element.select_one(f"[name={name}]")}


def _lines(call: Sent, answers: Answers) -> Iterator[str]:
    """Yield the call, and its query and body, a member a line; what is made by chance is left out."""
    yield f"{call.row.method} {answers.named(call.path)}"
    for name, value in sorted(_leaves({**call.query, **(call.body or {})})):
        yield f"  {name}: {answers.named(_MADE_BY_CHANCE.sub('…', value))}"


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _leaves(inner, f"{path}.{name}" if path else str(name))
        case list() if value:
            for number, inner in enumerate(value, 1):
                yield from _leaves(inner, f"{path} {number}")
        case _:
            yield path, value if isinstance(value, str) else json.dumps(value)


def test_in_read_only_mode_nothing_is_sent_and_what_was_typed_waits(
    tmp_path: Path, fake_api: FakeApi
) -> None:
    """The page of each form says so before anything is typed; the command leaves a line in the audit record."""
    portal = InProcess(tmp_path, Clock(NOW.timestamp))
    settings = portal.app.extensions["portal"].settings
    assert change_read_only(settings, ["riverside"], is_on=True, clock=portal.clock) == {"riverside"}
    portal.clock.advance(10)
    told = [(line["audit"], line["tenant"], line["reason"]) for line in portal.audited()]
    assert told == [("read-only", "riverside", "begun by the operator")]
    assert metrics._sampled["portal_read_only_clinics"][1]() == 1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_bavail=7, f_bfree=9, f_frsize=512))
        assert metrics._sampled["portal_audit_free_bytes"][1]() == 7 * 512
    visitors = {act.at: _refused(portal, fake_api, act) for act in ACTS}
    assert not portal.visitor("amelia", "patient", clinic="harbour").get("/me").select("#read-only")
    assert change_read_only(settings, ["riverside"], is_on=False, clock=portal.clock) == set()
    portal.clock.advance(10)
    for row, answer in HERS.items():
        fake_api.gives(row, answer)
    page = visitors["/me"].get("/me")
    assert not page.select("#read-only")
    assert page.select('input[name="address_line2"][value="2 Quay"]'), "what was typed is given back"


def _refused(portal: InProcess, fake_api: FakeApi, act: Act) -> Visitor:
    fake_api.forget()
    for row, answer in act.answers.items():
        fake_api.gives(row, answer)
    visitor = portal.visitor(act.who, facts.ROLES.get(act.who, "patient"))
    page = visitor.get(act.at)
    assert page.select("#read-only"), act.at
    portal.audited()
    for _ in range(MOST_STEPS):
        page = step(page, act)
        if page.status >= 400:
            break
    assert page.status == 503, f"{act.at}: {page.words[:300]}"
    assert all(call.row.is_safe for call in fake_api.calls), act.at
    assert page.select("#read-only"), act.at
    outcomes = {line["outcome"] for line in portal.audited()} - {"done"}
    assert outcomes == {"read-only"} or act.row in NOT_AUDITED, act.at
    return visitor


UNCHANGED: Mapping[AnyEndpoint, object] = {
    SIGN_CONSENT: PENDING[READ_CONSENT],
    REVOKE_CONSENT: IN_FORCE[READ_CONSENT],
    UPDATE_PATIENT: EPISODE["patient"],
    UPDATE_CASE: EPISODE["case"],
    UPDATE_EMBRYO_STORAGE: EPISODE["embryos"][0],
    MOVE_DIRECTORY: EPISODE["documents"]["directories"][0],
    ARCHIVE_MESSAGE: {**samples(LIST_CONVERSATIONS)["items"][0]["messages"][0], "isArchived": False},
    RESTORE_MESSAGE: {**samples(LIST_CONVERSATIONS)["items"][0]["messages"][0], "isArchived": True},
    ARCHIVE_CONVERSATIONS: {"archivedCount": 0},
}


@pytest.mark.parametrize(
    "act",
    [one for one in ACTS if one.row in {*UNCHANGED, UPDATE_PROTOCOL}],
    ids=lambda act: f"{act.who} {act.row.method} {act.at}",
)
def test_a_record_that_comes_back_as_it_was_is_no_success(
    portal: InProcess, fake_api: FakeApi, act: Act
) -> None:
    """An API that answers 200 and changes nothing."""
    portal.forget()
    before = UNCHANGED.get(act.row) or act.answers[READ_PROTOCOL]
    for row, answer in {**act.answers, act.row: before}.items():
        fake_api.gives(row, answer)
    page = portal.visitor(act.who, ROLES.get(act.who, "patient")).get(act.at)
    for _step in range(MOST_STEPS):
        if not fake_api.sent(act.row):
            page = step(page, act)
    assert page.status == 503
    assert any(word in page.words for word in ("couldn’t confirm", "didn’t confirm"))
