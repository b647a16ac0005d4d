"""What asking for what doesn't exist teaches."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from portal.connect.conform.learned import Learned
from portal.connect.conform.refusal import ask_nowhere, ask_success
from portal.connect.conform.walk import Visit
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.http import transport
from portal.http.transfer import Answer, Call
from portal.services.consents import READ_CONSENT
from tests.support.care import care_of

HERE = cast("Any", SimpleNamespace(url="http://api.localhost"))
TOLD = '[lists]\nempty = ["NONE"]\n[errors]\ncode = "code"'


@pytest.mark.parametrize(("code", "is_told"), [("NONE", True), ("NOWHERE", False)])
def test_a_wrong_address_that_is_read_as_an_empty_list_is_told(
    monkeypatch: pytest.MonkeyPatch, code: str, is_told: bool
) -> None:
    asked: list[str] = []

    def send(call: Call, **_options: object) -> Answer:
        asked.append(urlsplit(call.url).path)
        return Answer(404, {"content-type": "application/json"}, json.dumps({"code": code}).encode())

    monkeypatch.setattr(transport, "send", send)
    care = care_of(HERE, adapter=Dialect(parse_dialect(TOLD)))
    assert bool(ask_nowhere(care, Learned())) is is_told
    assert asked[0].startswith("/no-such-address-")
    assert ask_nowhere(care_of(HERE, adapter=Dialect(parse_dialect(""))), Learned()) is None


@pytest.mark.parametrize(
    ("good", "refused", "told"),
    [
        ({"fine": True}, {"fine": False}, '"fine"'),
        ({"state": 1}, {"state": 7}, '{ path = "state", value = 1 }'),
        ({"state": "x" * 19}, {"state": "no"}, f'{{ path = "state", value = "{"x" * 19}" }}'),
        ({"note": "x" * 20, "ok": "Y"}, {"note": "y" * 20, "ok": "N"}, '{ path = "ok", value = "Y" }'),
        ({"note": "x" * 20}, {"note": "y" * 20}, "…"),
        ({"of": "A"}, {"why": "none"}, "…"),
    ],
)
def test_a_refusal_with_a_good_status_is_told_by_the_first_short_value_that_differs(
    monkeypatch: pytest.MonkeyPatch, good: dict[str, object], refused: dict[str, object], told: str
) -> None:
    record = {"id": "c-1", "title": "A form", "status": "Signed"}

    def send(call: Call, **_options: object) -> Answer:
        body = record | good if urlsplit(call.url).path.endswith("/c-1") else refused
        return Answer(200, {"content-type": "application/json"}, json.dumps(body).encode())

    monkeypatch.setattr(transport, "send", send)
    read = Visit(READ_CONSENT, READ_CONSENT.answer, 200, "", b"", "application/json", 0.0, id="c-1")
    learned = Learned()
    ask_success(care_of(HERE, adapter=Dialect(parse_dialect(""))), [read], learned)
    assert (learned.success, learned.calls) == (told, 2)
