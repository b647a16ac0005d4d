"""What asking for what doesn't exist teaches."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from portal.connect.conform.ask import Learned
from portal.connect.conform.refusal import ask_nowhere
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.http import transport
from portal.http.transfer import Answer, Call
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
