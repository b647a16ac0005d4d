"""`dialect acts` prints what each act would send: made-up values alone, without sending anything."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from portal import __main__
from portal.connect.dialects.acts import acts
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.documents import skeleton
from portal.connect.dialects.file import parse_dialect
from portal.http import transport
from portal.services.endpoints import ALL
from tests.support.foreign_api import FOREIGN

TOML = """
base_path = "/v3"
concurrency = "etag"
headers = { X-Key = { env = "THEIR_KEY" } }
methods = { PUT = "PATCH" }
[envelopes]
sent = "Payload"
[names]
members = "PascalCase"
[times]
instants = "dd.MM.yyyy HH:mm"
days = "dd.MM.yyyy"
zone = "W. Europe Standard Time"
[values]
numbers = "comma"
ids = "number"
"""


@pytest.fixture(autouse=True)
def nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def send(*_call: object, **_options: object) -> None:
        raise AssertionError("a call was sent")

    monkeypatch.setattr(transport, "send", send)


def run(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["portal", "dialect", "acts", str(path)])
    return __main__.main()


def test_acts_are_printed_in_the_words_of_the_api_without_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THEIR_KEY", "hush-hush")
    path = tmp_path / "a.dialect.toml"
    path.write_text(TOML)
    assert run(path, monkeypatch) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "hush-hush" not in told.out
    by_call = {one.splitlines()[0]: one.splitlines()[1:] for one in told.out.split("\n\n")}
    assert len(by_call) == sum(not one.is_safe for one in ALL)
    protocol = by_call["PATCH /v3/api/care/fertility-protocols/{id}"]
    assert protocol[:2] == ["X-Key: (of the dialect file)", 'If-Match: "1001"']
    sent = json.loads(protocol[2])["Payload"]
    assert sent["StartDate"] == "25.11.2026"
    assert sent["PatientId"] == 1001
    assert not {"PatientName", "CreationTime", "LastModifierId"} & sent.keys(), "only the API sets them"
    assert sent["Medications"][0]["Dose"] == "0,25"
    assert sent["Medications"][0]["Times"] == ["20:30"]
    form = json.loads(by_call["POST /v3/api/care/consent-forms"][1])["Payload"]
    assert form["ExpiresAt"] == "25.11.2026 09:30"
    assert by_call["DELETE /v3/api/care/relationships/{id}"] == ["X-Key: (of the dialect file)"]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda foreign: foreign.name)
def test_every_act_can_be_written_in_each_dialect(foreign: object) -> None:
    assert len(list(acts(Dialect(parse_dialect(foreign.toml))))) == sum(not one.is_safe for one in ALL)  # type: ignore[attr-defined]


def test_every_act_can_be_written_where_every_key_is_used() -> None:
    used = re.sub(r"^# (?=\[|[\w\"-]+ = )", "", skeleton(), flags=re.MULTILINE)
    assert len(list(acts(Dialect(parse_dialect(used))))) == sum(not one.is_safe for one in ALL)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        (b"a = [", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b'bse_path = "/v3"', "base_path"),
        (b'headers = { X-Key = { env = "NOT_SET_HERE" } }', "set NOT_SET_HERE"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_line(
    content: bytes | None,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "a.dialect.toml"
    if content is not None:
        path.write_bytes(content)
    assert run(path, monkeypatch) == 2
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert line.startswith(str(path)) and why in line
