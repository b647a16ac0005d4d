"""Files: what is passed on, what a browser may do with it, and inline previews."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.services.api import Content
from portal.views.files import media_type
from tests.support.stack import PortalThread


def file(name: str) -> str:
    return f"/files/{sample_id('file', name)}"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("amelia-plan", "application/pdf"),
        ("amelia-scan", "image/png"),
        ("amelia-bloods", "text/plain; charset=utf-8"),
    ],
)
@pytest.mark.asvs("3.2.1")
def test_a_file_is_served_with_its_type_in_a_sandbox(amelia: Any, name: str, kind: str) -> None:
    answer = amelia.get(file(name))
    assert answer.headers["Content-Type"] == kind
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'; frame-ancestors 'self'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Disposition"].startswith("inline")
    assert int(answer.headers["Content-Length"]) == len(answer.response.content)
    assert amelia.get(f"{file(name)}?download=1").headers["Content-Disposition"].startswith("attachment")


def test_a_range_of_a_file_is_a_206(amelia: Any) -> None:
    whole = amelia.get(file("amelia-timelapse")).response.content
    part = amelia.get(file("amelia-timelapse"), status=206, headers={"Range": "bytes=1000-1999"})
    assert part.response.content == whole[1000:2000]
    assert part.headers["Content-Range"] == f"bytes 1000-1999/{len(whole)}"
    assert part.headers["Content-Type"] == "image/png"
    amelia.get(file("amelia-timelapse"), status=416, headers={"Range": "bytes=99999999-"})


def test_an_unchanged_file_is_not_sent_again(amelia: Any) -> None:
    tag = amelia.get(file("amelia-plan")).headers["ETag"]
    again = amelia.get(file("amelia-plan"), status=304, headers={"If-None-Match": tag})
    assert not again.response.content


@pytest.mark.asvs("5.4.2")
def test_a_file_name_in_any_alphabet_is_preserved(amelia: Any) -> None:
    given = amelia.get(file("amelia-semen")).headers["Content-Disposition"]
    assert "filename*=UTF-8''Analiza%20nasienia" in given and given.isascii()


def test_only_listed_headers_are_passed_on(amelia: Any) -> None:
    answer = amelia.get(file("amelia-plan"))
    assert not {"X-Correlation-Id", "WWW-Authenticate"} & set(answer.headers)


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("/notifications?unread=1", "/notifications?unread=1"),
        ("//elsewhere.example/", "/"),
        ("/files/x/nowhere", "/"),
    ],
)
def test_a_preview_leads_back_to_the_page_with_its_link(amelia: Any, came_from: str, back: str) -> None:
    page = amelia.get(f"{file('amelia-plan')}/preview", headers={"Referer": f"{amelia.origin}{came_from}"})
    assert [link["href"] for link in page.select("a.back")] == [back]


def test_a_picture_is_shown_under_its_name(amelia: Any) -> None:
    page = amelia.get(f"{file('amelia-scan')}/preview")
    (picture,) = page.select("figure.preview img")
    assert (picture["src"], picture["alt"]) == (file("amelia-scan"), page.heading)


@pytest.mark.parametrize("person", ["grace", "maya"])
@pytest.mark.asvs("8.2.2")
def test_another_persons_file_is_not_found(portal: PortalThread, person: str) -> None:
    visitor = portal.sign_in(person)
    for path in (file("amelia-plan"), f"{file('amelia-plan')}/preview", "/files/no-such-file"):
        visitor.get(path, status=404)


@pytest.mark.asvs("8.2.2")
def test_a_report_that_is_not_released_is_not_found(portal: PortalThread) -> None:
    portal.sign_in("grace").get(file("grace-report-late"), status=404)
    portal.sign_in("elif").get(file("grace-report-late"))


def content(claimed: str, status: int = 200, part: str = "") -> Content:
    return Content(status, claimed, None, None, {"content-range": part} if part else {}, iter(()))


@pytest.mark.parametrize(
    ("claimed", "first", "kind"),
    [
        ("text/html", b"%PDF-1.7", "application/pdf"),
        ("image/png", b"<html>", "application/octet-stream"),
        ("text/html", b"<script>", "application/octet-stream"),
        ("image/svg+xml", b"<svg>", "application/octet-stream"),
        ("text/plain", b"\x00\x01", "application/octet-stream"),
        ("text/plain", "ż".encode()[:1], "text/plain"),
        ("text/plain", b"\xff\xfe", "application/octet-stream"),
        ("application/octet-stream", b"\xff\xd8\xff\xe0", "image/jpeg"),
    ],
)
@pytest.mark.asvs("1.3.4", "3.2.1")
def test_the_type_of_a_file_is_determined_by_its_bytes(claimed: str, first: bytes, kind: str) -> None:
    assert media_type(content(claimed), first) == kind


def test_a_later_range_keeps_its_declared_type_only_if_harmless() -> None:
    assert media_type(content("application/pdf", 206, "bytes 5-9/10"), b"x") == "application/pdf"
    assert media_type(content("text/html", 206, "bytes 5-9/10"), b"x") == "application/octet-stream"
