"""A page that waits for the clinic's system: its first part comes after a fifth of a second, the page in the same response."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import html5lib
import pytest
import requests
from flask import current_app

from portal.http import deadline, transport
from portal.http.transfer import Answer, Call
from portal.services.consents import LIST_CONSENTS
from portal.services.episodes import READ_EPISODE
from portal.web import first_part, guard
from tests.pages.test_patient_banner import FORM
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

OPENED = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
WORD = "Waiting for the clinic’s system…"

Visit = Callable[..., Visitor]


@pytest.fixture(autouse=True)
def slow(fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes longer than a page waits before its first part is sent."""

    def send(call: Call, *, alone: bool = False) -> Answer:
        deadline.wait_at_most(1.0)
        return fake_api.send(call, alone=alone)

    monkeypatch.setattr(transport, "send", send)
    monkeypatch.setattr(first_part, "SECONDS", 0.0)


def opened(visitor: Visitor, path: str, **headers: str) -> requests.Response:
    return visitor.http.get(visitor.origin + path, headers={**OPENED, **headers}, allow_redirects=False)


def parsed(response: requests.Response) -> Any:
    """The document as every browser makes it of these bytes (HTML Living Standard, 13.2)."""
    return html5lib.parse(response.text, treebuilder="lxml", namespaceHTMLElements=False)


@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
def test_the_page_follows_its_first_part_and_is_complete(visitor: Visit, encoding: str) -> None:
    response = opened(visitor("amelia"), "/consents", **{"Accept-Encoding": encoding})
    assert response.headers.get("Content-Encoding", "identity") == encoding
    first, page = response.text.split("<!doctype html>")[1:]
    assert WORD in first and "data-first" in first
    assert not any(part in first for part in ("<title", "<script", " id=", "nonce"))
    document = parsed(response)
    assert "Consents · Riverside" in document.findtext(".//title")
    (body,) = document.iter("body")
    assert body.get("data-session") and body.get("data-side") == "patient"
    nonces = {script.get("nonce") for script in document.iter("script")}
    assert len(nonces) == 1 and f"'nonce-{nonces.pop()}'" in response.headers["Content-Security-Policy"]
    assert all(one in page for one in ('<main id="main"', "</html>"))
    ids = [element.get("id") for element in document.iter() if element.get("id")]
    assert len(ids) == len(set(ids))


def test_what_was_first_is_followed_by_main_which_hides_it(visitor: Visit) -> None:
    document = parsed(opened(visitor("nora", "nurse"), "/"))
    (main,) = document.iter("main")
    firsts = [element for element in document.iter() if element.get("data-first") is not None]
    assert {element.tag for element in firsts} == {"header", "nav", "p"}
    assert all(element.getparent() is main.getparent() for element in firsts)


def test_nginx_is_told_not_to_keep_it_back(visitor: Visit) -> None:
    headers = opened(visitor("amelia"), "/").headers
    assert headers["X-Accel-Buffering"] == "no"
    assert headers["Cache-Control"] == "no-store"
    assert "Content-Length" not in headers


def test_a_failure_follows_in_its_own_words(visitor: Visit, fake_api: FakeApi) -> None:
    fake_api.refuses(READ_EPISODE, 404)
    response = opened(visitor("amelia"), "/episodes/gone")
    assert response.status_code == 200, "it was sent with the first part"
    assert "We can’t find that" in parsed(response).find(".//main").xpath("string()")


def test_a_redirect_follows_as_a_refresh(visitor: Visit, fake_api: FakeApi) -> None:
    fake_api.demands(LIST_CONSENTS, 'Bearer error="insufficient_user_authentication", max_age="60"')
    response = opened(visitor("amelia"), "/consents")
    document = parsed(response)
    (refresh,) = document.xpath("//meta[@http-equiv='refresh']")
    address = refresh.get("content").removeprefix("0;url=")
    assert address.startswith("/sign-in?next=%2Fconsents")
    assert document.xpath("//main//a/@href") == [address]


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Mode": "", "Sec-Fetch-Dest": ""},
        {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Purpose": "prefetch"},
    ],
)
def test_only_a_page_that_a_browser_opens_has_a_first_part(
    visitor: Visit, fake_api: FakeApi, headers: dict[str, str]
) -> None:
    fake_api.refuses(READ_EPISODE, 404)
    response = opened(visitor("amelia"), "/episodes/gone", **headers)
    assert response.status_code == 404
    assert WORD not in response.text


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [(("amelia",), "/protocols", 403), (("nora", "nurse"), "/patients/p-1/as-seen/consents", 200)],
    ids=["not admitted", "a patient's page that staff see"],
)
def test_whom_it_would_show_or_let_do_too_much_gets_none(
    visitor: Visit, fake_api: FakeApi, who: tuple[str, ...], path: str, status: int
) -> None:
    fake_api.gives(LIST_CONSENTS, [FORM])
    response = opened(visitor(*who), path)
    assert response.status_code == status
    assert WORD not in response.text


def test_a_page_whose_first_part_fails_comes_all_the_same(
    visitor: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_part, "Stream", lambda *_: 1 / 0)
    response = opened(visitor("amelia"), "/consents")
    assert WORD not in response.text
    assert "Consents · Riverside" in response.text


def test_views_that_answer_with_a_file_say_so(in_process: InProcess) -> None:
    with in_process.app.app_context():
        views = current_app.view_functions
        unsaid = [
            rule.rule
            for rule in current_app.url_map.iter_rules()
            if "." in rule.rule.rpartition("/")[2]
            and (access := guard.access_of(views[rule.endpoint]))
            and not access.is_file
        ]
    assert not unsaid, "give signed_in is_file=True"


def test_a_file_has_no_first_part(visitor: Visit) -> None:
    response = opened(visitor("amelia"), "/files/a-file")
    assert response.content.startswith(b"%PDF")


def test_a_page_that_came_at_once_leaves_no_first_part_to_the_next(
    visitor: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_part, "SECONDS", 60.0)
    assert WORD not in opened(visitor("amelia"), "/consents").text
    assert deadline.wait_at_most(100.0) == 100.0, "the next request of this thread is waited for as it likes"
