"""No page shows anything of a patient without an audit line, for any reader: each role at each page, over the fake API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from flask import Response, g
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.endpoints import ALL
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.store import StoreDown
from portal.web import audit
from tests.pages import test_facts as facts
from tests.pages.test_facts import CASES, ROLES
from tests.support.builders import person
from tests.support.fake_api import NOW, FakeApi
from tests.support.in_process import InProcess
from tests.support.marks import source_of

portal = facts.portal
OF_PATIENTS = re.compile("|".join(re.sub(r"{\w+}", "[^/]+", row.template) for row in ALL if row.shows))
"""Where the care API answers with what concerns a patient."""


@pytest.mark.parametrize("who", ["amelia", "grace", *ROLES])
def test_no_page_shows_a_patient_without_an_audit_line(
    portal: InProcess, fake_api: FakeApi, who: str
) -> None:
    unseen: list[str] = []
    found = 0
    for path, answers in ((case.path, case.answers) for case in CASES):
        fake_api.forget()
        for row, answer in answers.items():
            fake_api.gives(row, answer)
        read = set[str]()

        def note(address: str, answer: Any, into: set[str] = read) -> Any:
            if OF_PATIENTS.fullmatch(address):
                into.update(_texts(answer))
            return answer

        fake_api.change = note
        visitor = portal.visitor(who, ROLES.get(who, "patient"))
        portal.audited()
        answer = visitor.http.get(visitor.origin + path, allow_redirects=False)
        if answer.status_code >= 300:
            continue
        source = source_of(answer)
        told = {text for text in read if text in source and text not in urlsplit(path).path}
        written = [line for line in portal.audited() if line["outcome"] == "done" and line.get("kind")]
        found += bool(told)
        if told and not written:
            unseen.append(f"{path}: {sorted(told)[:3]}")
        assert all(line.get("actor") and line.get("role") for line in written), path
    assert not unseen
    assert found > 20


_PATIENT = facts.EPISODE["patient"]["id"]


@pytest.mark.parametrize(
    ("who", "path", "number", "beside"),
    [
        ("amelia", "/", 3, []),
        ("nora", "/", 6, []),
        ("nora", f"/patients/{_PATIENT}?episode=e-1", 6, [str(UUID(int=99))]),
    ],
    ids=["patient's home", "staff's home", "a patient"],
)
def test_what_a_page_leaves_out_of_a_list_is_not_told(
    portal: InProcess, fake_api: FakeApi, who: str, path: str, number: int, beside: list[str]
) -> None:
    """`beside` are notifications that were read and stand among what happened in the last days."""
    long_ago, about = NOW - timedelta(days=9), {"patientId": _PATIENT}
    sent = [
        Notification(
            id=str(UUID(int=place)), type="Other", title="A visit", creation_time=long_ago, data=about
        )
        for place in range(9)
    ]
    lately = NOW - timedelta(days=1)
    read = [replace(sent[0], id=id_, is_read=True, creation_time=lately) for id_ in beside]
    fake_api.gives(LIST_NOTIFICATIONS, [*sent, *read])
    visitor = portal.visitor(who, ROLES.get(who, "patient"))
    portal.audited()
    page = visitor.get(path)
    shown = [row["action"].split("/")[2] for row in page.select("main form[action^='/notifications/0']")]
    told = [line["ids"] for line in portal.audited() if line.get("kind") == "notification"]
    assert (len(shown), told) == (number, [[*shown, *beside]])


def test_a_page_that_the_store_kept_from_being_made_has_shown_nothing(
    portal: InProcess, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **_more: object) -> None:
        raise StoreDown("down")

    visitor = portal.visitor("amelia")
    for status in (200, 503):
        portal.audited()
        visitor.get("/notifications", status=status)
        assert bool(portal.audited()) is (status == 200)
        monkeypatch.setattr("portal.views.notification_list.render", down)


def test_opening_a_notification_is_noted(portal: InProcess, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_NOTIFICATIONS, [Notification(id="n-1", type="AccountSecurity")])
    amelia = portal.visitor("amelia")
    portal.audited()
    amelia.post("/notifications/n-1/open")
    assert ("notification.open", "done") in [(line["audit"], line["outcome"]) for line in portal.audited()]


def _texts(answer: Any) -> Iterator[str]:
    """The texts of an answer that nothing else has, for a sample's number is in them; ids apart, which say nothing."""
    if isinstance(answer, dict):
        for value in answer.values():
            yield from _texts(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _texts(value)
    elif isinstance(answer, str) and re.search(r"(?<!id-)(?<!Id-)\d{3}", answer):
        yield answer


def test_each_of_several_records_that_were_read_singly_is_named(portal: InProcess) -> None:
    for ids in (["1"], ["1", "2"]):
        portal.audited()
        with portal.app.test_request_context("http://riverside.localhost/"):
            g.tenant = portal.app.extensions["portal"].settings.tenants.by_key["riverside"]
            g.request_id, g.person = "1", person("nora", Side.STAFF)
            for id_ in ids:
                audit.note_kept_read("embryo.read", "embryo", id_)
            audit._write_shown(Response())
        (line,) = portal.audited()
        assert line.get("ids", [line.get("id")]) == ids
