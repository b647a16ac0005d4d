"""A file is passed through, or unwrapped from a JSON string."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest

from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import parse_dialect
from portal.services import files
from portal.services.api import Content
from portal.services.errors import BadResponse, Unavailable
from tests.services.calls import only_call


def content(media_type: str, *chunks: bytes, status: int = 200) -> Content:
    headers = {"ETag": '"1"', "Content-Length": "9", "Accept-Ranges": "bytes"}
    return Content(status, media_type, "scan.pdf", 9, headers, iter(chunks))


def test_a_file_is_passed_through_with_the_browsers_conditions(care):
    care.answers.append(content("application/pdf", b"%PDF", b"-1.7"))
    file = files.open_file(care, "f", range_header="bytes=0-9", if_none_match='"1"')
    assert b"".join(file.chunks) == b"%PDF-1.7"
    assert only_call(care).query == {"id": "f"}
    assert only_call(care).body == {"Range": "bytes=0-9", "If-None-Match": '"1"'}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_base64_in_a_json_string_is_decoded(care, size):
    data = bytes(range(256)) * 9
    wrapped = json.dumps(base64.b64encode(data).decode()).replace("+", "\\u002B").encode()
    care.answers.append(
        content("application/json", *(wrapped[n : n + size] for n in range(0, len(wrapped), size)))
    )
    file = files.open_file(care, "f")
    assert b"".join(file.chunks) == data
    assert (file.media_type, file.size, file.name) == ("application/octet-stream", len(data), "scan.pdf")
    assert file.headers == {"ETag": '"1"'}


def test_a_json_file_stays_a_json_file(care):
    care.answers.append(content("application/json", b'{"a"', b":1}"))
    file = files.open_file(care, "f")
    assert b"".join(file.chunks) == b'{"a":1}'
    assert file.media_type == "application/json"


@pytest.mark.parametrize("wrapped", [b'"not base64!"', b'"YWJj', b'"\xff"'])
def test_a_json_string_that_holds_no_file_is_a_bad_response(care, wrapped):
    care.answers.append(content("application/json", wrapped))
    with pytest.raises(BadResponse):
        files.open_file(care, "f")


def test_a_wrapped_file_beyond_the_cap_is_a_bad_response(care, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_WRAPPED", 10)
    care.answers.append(content("application/json", b'"YWJj', b"YWJjYWJj", b'"'))
    with pytest.raises(BadResponse):
        files.open_file(care, "f")


WRAPPED = b'{"ok": true, "result": {"FileName": "report.pdf", "Content": "JVBERg=="}}'


def unnamed(body: bytes) -> Content:
    return Content(200, "application/json", None, len(body), {}, iter([body]))


def test_base64_within_an_answer_is_decoded_where_the_dialect_says(care):
    care.adapter = Dialect(parse_dialect('files = { content = "result.Content", name = "result.FileName" }'))
    care.answers.append(unnamed(WRAPPED))
    file = files.open_file(care, "f")
    assert (b"".join(file.chunks), file.name, file.size) == (b"%PDF", "report.pdf", 4)


def test_an_answer_without_a_file_is_none(care):
    care.answers.append(unnamed(WRAPPED))
    with pytest.raises(BadResponse):
        files.open_file(care, "f")
    care.answers.append(unnamed(b'{"success": false, "code": "GEN-503"}'))
    with pytest.raises(Unavailable):
        files.open_file(care, "f")


def test_an_unread_json_file_is_closed(care):
    closed = []

    def chunks() -> Iterator[bytes]:
        try:
            yield b"["
            yield b"]"
        finally:
            closed.append(True)

    care.answers.append(Content(200, "application/json", None, None, {}, chunks()))
    reading = files.open_file(care, "f").chunks
    assert next(reading) == b"["
    reading.close()
    assert closed
