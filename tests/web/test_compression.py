"""Compressed responses: which ones and how, and that their length reveals no secret."""

from __future__ import annotations

import gzip
import re

import brotli
import pytest
import requests

from portal.state.session_records import record_name
from portal.web import csrf
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

PAGES = ("/", "/consents", "/conversations", "/notifications", "/me", "/me/devices", "/no/such/page")


def raw(visitor: Visitor, path: str, accepted: str, **headers: str) -> tuple[requests.Response, bytes]:
    """The answer, and its body as it came over the wire."""
    sent = {"Accept-Encoding": accepted, **headers}
    response = visitor.http.get(visitor.origin + path, headers=sent, stream=True, allow_redirects=False)
    return response, response.raw.read(decode_content=False)


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("br;q=0.5, gzip;q=0.9", "gzip"),
        ("gzip", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("*", "br"),
        ("", None),
        ("identity", None),
        ("br;q=0", None),
        ("deflate, zstd", None),
        ("nonsense;q=x, ;;;", None),
        ("gzip" + "," * 5000, "gzip"),
    ],
)
def test_a_page_uses_the_best_encoding_the_browser_accepts(
    amelia: Visitor, accepted: str, encoding: str | None
) -> None:
    response, body = raw(amelia, "/", accepted)
    assert response.status_code == 200
    assert response.headers.get("Content-Encoding") == encoding
    assert "Accept-Encoding" in response.headers["Vary"]
    assert int(response.headers["Content-Length"]) == len(body)
    read = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}[encoding]
    assert read(body).rstrip().endswith(b"</html>")


def test_a_page_is_a_third_of_its_size(amelia: Visitor) -> None:
    plain, packed = raw(amelia, "/", "identity")[1], raw(amelia, "/", "br")[1]
    assert len(packed) * 3 < len(plain)


def test_small_responses_and_static_files_are_not_compressed_on_the_fly(amelia: Visitor) -> None:
    for path in ("/portal.webmanifest", "/healthz"):
        response, _body = raw(amelia, path, "br, gzip")
        assert "Content-Encoding" not in response.headers, path
    page = amelia.get("/consents")
    sheet = next(
        str(link["href"]) for link in page.select("link[rel=stylesheet]") if "static" in link["href"]
    )
    response, _body = raw(amelia, sheet, "identity")
    assert "Content-Encoding" not in response.headers


def test_head_has_the_headers_of_get(amelia: Visitor) -> None:
    answer = amelia.http.head(amelia.origin + "/", headers={"Accept-Encoding": "br"})
    assert answer.headers["Content-Encoding"] == "br"
    assert answer.content == b""


def test_a_strong_etag_of_a_compressed_response_becomes_weak(portal: PortalThread) -> None:
    from flask import make_response

    from portal.web.compression import _compress

    for accepted, expected in (("br", 'W/"abc"'), ("identity", '"abc"')):
        with portal.app.test_request_context("/", headers={"Accept-Encoding": accepted}):
            response = make_response("x" * 5000, {"Content-Type": "text/html", "ETag": '"abc"'})
            assert _compress(response).headers["ETag"] == expected


def test_encoded_partial_and_no_transform_responses_are_unchanged(portal: PortalThread) -> None:
    from flask import make_response

    from portal.web.compression import _compress

    for headers, status in (
        ({"Content-Encoding": "gzip"}, 200),
        ({"Cache-Control": "no-store, no-transform"}, 200),
        ({"Content-Range": "bytes 0-4999/9999"}, 206),
        ({"Content-Type": "application/pdf"}, 200),
        ({"Content-Type": "text/event-stream"}, 200),
    ):
        with portal.app.test_request_context("/", headers={"Accept-Encoding": "br"}):
            response = make_response("x" * 5000, status, {"Content-Type": "text/html", **headers})
            assert _compress(response).get_data() == b"x" * 5000, headers
    with portal.app.test_request_context("/", headers={"Accept-Encoding": "br"}):
        from flask import Response

        streamed = Response((part for part in (b"x" * 3000, b"y" * 3000)), content_type="text/html")
        assert "Content-Encoding" not in _compress(streamed).headers


def test_form_token_and_nonce_are_new_in_every_response(portal: PortalThread, amelia: Visitor) -> None:
    """Otherwise the length of compressed pages would tell them (BREACH)."""
    tokens, nonces = set[str](), set[str]()
    for path in PAGES * 2:
        page = amelia.get(path, status=None)
        mine = {str(field["value"]) for field in page.select(f"input[name={csrf.FIELD}]")}
        assert len(mine) == 1, path
        here = set(re.findall(r"nonce-([A-Za-z0-9_-]+)", page.headers["Content-Security-Policy"]))
        assert len(here) == 1, path
        tokens |= mine
        nonces |= here
    assert len(tokens) == len(nonces) == 2 * len(PAGES)
    # Nor do they share a part that could be guessed byte by byte.
    for at in range(0, 80, 8):
        assert len({token[at : at + 8] for token in tokens}) == len(tokens)


def test_every_form_token_is_valid_for_the_whole_session(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    tokens = [visitor.csrf_token() for _ in range(3)]
    for token in tokens:
        data = {csrf.FIELD: token, "language": "en", "next": "/"}
        visitor.request("POST", "/language", data=data, status=303, follow=False)


def test_a_page_contains_no_other_secret(portal: PortalThread, amelia: Visitor) -> None:
    cookies = {one.name: one.value or "" for one in amelia.http.cookies if one.name.startswith("__Host-")}
    name = record_name(cookies["__Host-sid"])
    tokens = portal.context.sessions.tokens_of(name)
    secrets = [*cookies.values(), name.partition(":")[2], tokens.access_token, tokens.refresh_token]
    secrets.append(tokens.access_token.rpartition(".")[2])
    for path in PAGES:
        text = amelia.get(path, status=None).text
        assert len(text) > 1000
        for secret in secrets:
            assert secret not in text, path
