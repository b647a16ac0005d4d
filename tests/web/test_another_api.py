"""A small API that shares nothing with the specification's but what it is about: what pages say before it is true.

Its answers are written out here: records in an envelope, local times of a zone with a Windows name, ids as
numbers, a flag that says the opposite, rows marked as deleted, and a 404 with a code of its own for an empty list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from portal.http import transport
from portal.http.transfer import Answer, Call
from tests.support.clock import Clock
from tests.support.fake_api import NOW
from tests.support.in_process import InProcess
from tests.support.signing import to_step
from tests.support.visitor import Visitor

DIALECT = """
base_path = "/rest"
[addresses]
"/api/care/consent-forms" = "/Einwilligung"
"/api/app/notification" = "/Hinweis"
[names]
members = "PascalCase"
[members]
concurrencyStamp = "Stand"
[members.ConsentForm]
title = "Titel"
expiresAt = "Frist"
[members.Notification]
isRead = "!Ungelesen"
[envelopes]
answers = ["Daten"]
sent = "Auftrag"
[lists]
items = "Zeilen"
total = "Anzahl"
unread = "Neu"
deleted = { path = "Geloescht", value = "J" }
empty = ["5"]
[times]
instants = "dd.MM.yyyy HH:mm"
days = "dd.MM.yyyy"
zone = "W. Europe Standard Time"
[values]
numbers = "comma"
ids = "number"
[errors]
code = "Fehler.Nr"
[errors.codes]
"17" = "FormExpired"
"""
FORM: dict[str, Any] = {
    "Id": 501,
    "PatientId": 31,
    "Titel": "Freezing of eggs",
    "Kind": "Treatment",
    "Status": "Pending",
    "Version": "1",
    "SentAt": "20.11.2026 09:30",
    "Frist": "12.03.2027 00:30",
    "Language": "en",
    "Body": [{"Id": 1, "Heading": "What it is", "Text": "Eggs are frozen."}],
    "Statements": [{"Id": 7, "Text": "I have read this."}],
    "RequiredSigners": [{"Role": "Patient", "PersonId": 1007, "Name": "Petra Roth", "Order": "1"}],
    "Signatures": [],
    "ContentHash": "c0ffee",
    "Stand": "v1",
    "Geloescht": "N",
}
GONE = {**FORM, "Id": 502, "Titel": "Sent by mistake", "Geloescht": "J"}
UNREAD = {
    "Id": 61,
    "Type": "Reminder",
    "Title": "Your scan",
    "CreationTime": "24.11.2026 08:15",
    "Ungelesen": True,
}
READ = {**UNREAD, "Id": 62, "Title": "Your plan", "Ungelesen": False}


def rows(*items: object, **more: object) -> tuple[int, object]:
    return 200, {"Daten": {"Zeilen": list(items), "Anzahl": str(len(items)), **more}}


class SmallApi:
    """Answers by path; whatever isn't there is a 404."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, object]] = {
            "GET /rest/Einwilligung": rows(FORM, GONE),
            "GET /rest/Einwilligung/501": (200, {"Daten": FORM}),
            "GET /rest/Einwilligung/502": (200, {"Daten": GONE}),
            "GET /rest/Hinweis": rows(UNREAD, READ, Neu="1"),
        }
        self.sent: list[tuple[str, Any]] = []

    def send(self, call: Call, **_options: object) -> Answer:
        name = f"{call.method} {urlsplit(call.url).path}"
        if call.method != "GET":
            self.sent.append((name, json.loads(call.body or b"null")))
        status, told = self.answers.get(name, (404, {"Fehler": {"Nr": 4}}))
        headers: Mapping[str, str] = {"content-type": "application/json"}
        return Answer(status, headers, json.dumps(told).encode())


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> SmallApi:
    made = SmallApi()
    monkeypatch.setattr(transport, "send", made.send)
    return made


@pytest.fixture
def portal(tmp_path: Path) -> InProcess:
    return InProcess(tmp_path, Clock(lambda: NOW.timestamp()), dialect=DIALECT)


@pytest.fixture
def petra(portal: InProcess, api: SmallApi) -> Visitor:
    return portal.visitor("1007", "patient", name="Petra Roth")


def test_a_form_is_read_with_the_right_times_and_a_deleted_one_is_gone(petra: Visitor) -> None:
    page = petra.get("/consents")
    assert "Your turn 1" in page.words
    assert "Freezing of eggs" in page.words
    assert "Sent by mistake" not in page.words
    assert "Sent by mistake" not in petra.get("/consents/502", status=404).words
    form = petra.get("/consents/501").words
    assert "Petra Roth (you)" in form
    assert "Sent 20 November 2026" in form
    assert "Can be signed until Thu 11 Mar, 15:30" in form  # half past midnight on the 12th in Berlin


def test_a_flag_that_says_the_opposite_counts_what_is_unread(petra: Visitor) -> None:
    page = petra.get("/notifications")
    assert "Unread: 1" in page.words
    (unread,) = [one for one in page.select(".notification") if "Unread:" in one.words]
    assert "Your scan" in unread.words
    (at,) = {time["datetime"] for time in unread.select("time")}
    assert at == "2026-11-24T07:15:00+00:00"


@pytest.mark.parametrize(
    ("path", "list_", "nothing"),
    [
        ("/consents", "GET /rest/Einwilligung", "Nothing to sign right now."),
        ("/notifications", "GET /rest/Hinweis", "There are no notifications yet."),
    ],
)
def test_only_an_empty_list_is_called_empty(
    petra: Visitor, api: SmallApi, path: str, list_: str, nothing: str
) -> None:
    api.answers[list_] = 404, {"Fehler": {"Nr": 5}}
    assert nothing in petra.get(path).words
    for status, told in (
        (404, {"Fehler": {"Nr": 4}}),
        (404, {}),
        (500, {}),
        (403, {"Fehler": {"Nr": 4}}),
        (200, {"Daten": None}),
        (200, {"Daten": {"Anzahl": "3"}}),
        (200, {}),
    ):
        api.answers[list_] = status, told
        page = petra.http.get(petra.origin + path)
        assert nothing not in page.text, (status, told)


def test_a_refused_signature_is_never_called_done(petra: Visitor, api: SmallApi) -> None:
    api.answers["POST /rest/Einwilligung/501/sign"] = 422, {"Fehler": {"Nr": 17}}
    step = to_step(petra, "/consents/501", "Sign this form").form("/consents/501/sign")
    page = step.submit(status=403, check_all=True, signature="Petra Roth")
    assert "It is too late to sign this form." in page.words
    assert "Thank you" not in page.words
    ((name, sent),) = api.sent
    assert name == "POST /rest/Einwilligung/501/sign"
    assert sent["Auftrag"]["AcknowledgedStatementIds"] == [7]
    assert sent["Auftrag"]["Stand"] == "v1"
    assert petra.http.get(f"{petra.origin}/consents/501/receipt", allow_redirects=False).status_code != 200
