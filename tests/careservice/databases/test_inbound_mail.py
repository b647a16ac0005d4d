"""Inbound e-mail on SQLite and PostgreSQL: reading it holds up nobody, and whatever it holds is stored."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from portal.careservice import database
from portal.careservice.api import webhooks
from portal.careservice.domain.conversations import Message
from portal.careservice.webhooks.sender import multipart
from tests.careservice.databases.conftest import Place
from tests.support.together import at_once


def post(place: Place, **fields: str) -> Any:
    given = {
        "from": "Amelia <amelia@riverside.example>",
        "to": "hello@riverside.example",
        "text": "t",
        **fields,
    }
    return place.hook("/emailinbound", *multipart(given, []))


def test_others_write_while_an_email_is_read(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    read, meanwhile = webhooks.mail, list[Any]()

    def slowly(*arguments: Any) -> Any:
        meanwhile.extend(at_once(place.text))
        return read(*arguments)

    monkeypatch.setattr(webhooks, "mail", slowly)
    assert post(place).status_code == 200
    assert [one.status_code for one in meanwhile] == [200]


@pytest.mark.parametrize(
    ("fields", "is_whole"),
    [
        ({"text": "a\x00b", "subject": "\x00", "headers": "Message-ID: <a\x00@b.example>"}, True),
        ({"text": "+2AA-", "charsets": '{"text": "utf-7"}'}, True),
        ({"text": "\\ud800", "charsets": '{"text": "unicode_escape", "subject": "punycode"}'}, True),
        ({"text": "", "html": "<![foo[<p>Hello"}, True),
        ({"from": "(" * 490}, False),
        ({"from": "\x00\ud7ff"}, False),
        ({"charsets": "[" * 9000}, False),
        ({"text": "", "html": "<p>" * 100_000}, False),
        ({"envelope": '{"to": ["hello@riverside.example"]', "html": "x"}, False),
    ],
)  # fmt: skip
def test_whatever_an_email_holds_is_stored_once(place: Place, fields: dict[str, str], is_whole: bool) -> None:
    answer = post(place, **fields)
    assert (answer.status_code, answer.json["accepted"]) == (200, True)
    with database.new_session(place.engine, writes=False) as session:
        message = session.scalars(select(Message).where(Message.id == answer.json["id"])).one()
        names = [one.name for one in message.attachments]
    assert ("Couldn't be read" in message.body, names == ["original message.txt"]) == (
        not is_whole,
        not is_whole,
    )
