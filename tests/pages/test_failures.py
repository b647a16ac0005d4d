"""Every page while calls of the API fail, each alone and all at once: what is said of it, in `facts/failures.txt`.

Whatever fails there: a true status, words of the portal's own with a way on, the other parts still shown, and nothing that
failed called empty. Each call meets an outage and one more way to fail, others for each page; CARE_TEST_FULL=1 tries all
(without the file). What real networks do is `tests/web/test_fault_matrix.py`'s. After a change that is meant, WRITE_FACTS=1
writes the file anew; read the difference.
"""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import requests
from lxml.html import HtmlElement

from portal.http import transport
from portal.http.transfer import Answer, Call, TransportError
from portal.services import retry
from portal.services.api import AnyEndpoint
from tests.pages import test_facts as facts
from tests.pages.states import CASE_OF
from tests.pages.test_facts import ROLES, Case
from tests.pages.test_odd_answers import statements_in, told
from tests.support.clock import Clock
from tests.support.elements import parsed, texts
from tests.support.fake_api import NOW, FakeApi
from tests.support.faults import ELSEWHERE, RETRY_AFTER, SECRET_WORDS
from tests.support.full import FULL
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

SAID = "//*[@data-state='failed' or @data-state='not-offered' or @data-state='stale' or @data-state='gone']"
OUTAGE = "503"
TRUE_ALL_THE_SAME = {
    "Your clinic doesn’t offer this in the portal. Ask the clinic and they will help you.",
    "The clinic’s system doesn’t offer this to the portal.",
    "This treatment is kept in another system, so no form can be made for it here",
    "No embryo is here among those read so far.",
    "Not all plans and forms could be read, so people may be missing here.",
    "Not all conversations could be read: messages may be missing here.",
    "No visit of this day was found in what could be read.",
    "No dose of this day was found in what could be read.",
    "Read: %(num)d treatments that active plans or forms needed soon name, or that were opened before. Others aren’t here.",
}
"""Statements of what isn't there that say why, or that more may be."""
_HTML = f"<html><h1>{SECRET_WORDS}</h1></html>".encode()
_ERROR = {"code": None, "message": SECRET_WORDS, "details": SECRET_WORDS}


def _never(reason: str, *, sent: bool) -> Callable[[Answer], Answer]:
    def fail(_: Answer) -> Answer:
        raise TransportError(reason, sent=sent)

    return fail


def _status(status: int, body: bytes | None = None, **headers: str) -> Callable[[Answer], Answer]:
    kind = "text/html" if body == _HTML else "application/json"
    said = json.dumps({"error": _ERROR}).encode() if body is None else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Answer(status, {"content-type": kind, **named}, said)


def _refused(code: str) -> Callable[[Answer], Answer]:
    error = {"code": f"Care:{code}", "message": SECRET_WORDS}
    return _status(403, json.dumps({"error": error}).encode())


def _twisted(value: Any) -> Any:
    """The same shape, every plain value an object and every object's list a number."""
    if isinstance(value, dict):
        return {name: _twisted(one) for name, one in value.items()} or {"id": {"wrong": "type"}}
    return 7 if isinstance(value, list) else {"wrong": "type"}


FAULTS: dict[str, Callable[[Answer], Answer]] = {
    OUTAGE: _status(503, retry_after=str(RETRY_AFTER)),
    "timed out": _never("timed out", sent=True),
    "connection refused": _never("connection refused", sent=False),
    "too large": _never("too large", sent=True),
    "502": _status(502, _HTML),
    "500": _status(500),
    "429": _status(429, retry_after=str(RETRY_AFTER)),
    "empty 403": _status(403, b""),
    "403 with a code": _refused("NotNow"),
    "403 with a known code": _refused("OutOfOrder"),
    "404": _status(404),
    "409": _status(409),
    "501": _status(501),
    "redirect elsewhere": _status(302, b"", location=ELSEWHERE),
    "cut JSON": lambda answer: replace(answer, body=answer.body[: len(answer.body) // 2] or b"{"),
    "wrong types": lambda answer: replace(
        answer, body=json.dumps(_twisted(json.loads(answer.body or b"{}"))).encode()
    ),
}


@dataclass
class Line:
    """The way to the API: lets the calls of one endpoint fail, or all."""

    api: FakeApi
    fault: str = ""
    only: AnyEndpoint | None = None

    def send(self, call: Call, *, alone: bool = False) -> Answer:
        return self._through(self.api.send(call))

    def stream(self, call: Call) -> tuple[int, Any, Iterator[bytes]]:
        status, headers, pieces = self.api.stream(call)
        answer = self._through(Answer(status, headers, b"".join(pieces)))
        return answer.status, answer.headers, iter([answer.body])

    def _through(self, answer: Answer) -> Answer:
        if self.fault and self.only in (None, self.api.calls[-1].row):
            return FAULTS[self.fault](answer)
        return answer


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    """A portal that meets each fault afresh, whatever the previous ones did."""
    return InProcess(tmp_path_factory.mktemp("portal"), Clock(NOW.timestamp), PORTAL_BREAKER="0")


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    way = Line(FakeApi())
    monkeypatch.setattr(transport, "send", way.send)
    monkeypatch.setattr(transport, "stream", way.stream)
    monkeypatch.setattr(retry, "_JITTER", (0.0, 0.0))
    monkeypatch.setattr(transport, "pause", lambda _seconds: None)
    return way


REGIONS = [
    *(("amelia", "/", region) for region in ("consents", "messages", "treatment", "news")),
    ("nora", "/consents", "results"),
    ("amelia", "/conversations", "inbox"),
    ("nora", "/notifications", "list"),
]


@pytest.mark.parametrize(("who", "path", "region"), REGIONS)
def test_a_region_says_what_failed(portal: InProcess, line: Line, who: str, path: str, region: str) -> None:
    case = Case("", who, path)
    for fault in FAULTS:
        line.fault = ""
        visitor = _ready(portal, line, case)
        visitor.get("/", status=None)
        line.fault, line.only = fault, None
        answer = visitor.fragment(path, region, status=None, at=path).response
        _assert_honest(answer, fault, is_page=False)
        assert "<html" not in answer.text.lower(), "a fragment must not contain a whole page"
        page = _page(answer)
        if (path, fault) == ("/", "501") and region != "treatment":
            assert answer.status_code == 200
            assert not "".join(texts(page)).strip(), "home leaves out what the API doesn't offer"
        elif answer.status_code == 200:
            assert page is not None and page.xpath(SAID), (
                f"{fault}: shown as if nothing had failed: {answer.text[:400]}"
            )
        else:
            assert answer.status_code == _open(portal, line, case).status_code, (
                f"{fault}: not as the whole page"
            )
            assert answer.headers["X-Request-Id"] in answer.text


def faults_of(case: Case, row: AnyEndpoint | None) -> list[str]:
    """An outage and another, the same in each run; in a full run all."""
    others = [fault for fault in FAULTS if fault != OUTAGE]
    key = f"{case.who} {case.path} {case.note} {row.template if row else ''}"
    return [*FAULTS] if FULL else [OUTAGE, others[zlib.crc32(key.encode()) % len(others)]]


@pytest.mark.parametrize("file", sorted({case.file for case in CASE_OF.values()}))
@pytest.mark.asvs("16.5.3")
def test_a_page_says_what_failed(
    portal: InProcess, line: Line, caplog: pytest.LogCaptureFixture, file: str
) -> None:
    parts: list[str] = []
    with caplog.at_level(logging.WARNING, "portal"):
        for title, case in CASE_OF.items():
            if case.file == file:
                parts += [f"== {title}", *_failing(portal, line, case, caplog), ""]
    if not FULL:
        facts.compare_parts("failures", parts)


def _failing(portal: InProcess, line: Line, case: Case, caplog: pytest.LogCaptureFixture) -> Iterator[str]:
    line.fault = ""
    usual = _open(portal, line, case)
    stated = _stated(usual)
    rows = [*dict.fromkeys(call.row for call in line.api.calls if call.row.is_safe)]
    ways: dict[str, list[str]] = {}
    for row in [*rows, *([None] if len(rows) != 1 else [])] if rows else []:
        for fault in faults_of(case, row):
            if row and row.answer is bytes and fault in ("cut JSON", "wrong types"):
                continue  # to a file they are its bytes
            line.fault, line.only = fault, row
            caplog.clear()
            answer = _open(portal, line, case)
            what = f"{row.template.removeprefix('/api/') if row else 'all'} {fault}"
            where = f"{case.who} {case.path}: {what}"
            _assert_honest(answer, where)
            if answer.status_code == 200 and fault != "404" and _title(answer) == _title(usual):
                new = _stated(answer) - stated - TRUE_ALL_THE_SAME
                assert not new, f"{where}: {new}"
            if answer.status_code >= 400 and fault != "404":
                assert re.search("care api|call failed", caplog.text), (
                    f"{where}: the failed call isn't logged"
                )
            ways.setdefault(_said(answer, usual), []).append(what)
    yield from (f"{', '.join(alike)}: {said}" for said, alike in ways.items())


def _ready(portal: InProcess, line: Line, case: Case) -> Visitor:
    portal.forget()
    line.api.forget()
    for row, answer in case.answers.items():
        line.api.gives(row, answer)
    return portal.visitor(case.who, ROLES.get(case.who, "patient"))


def _open(portal: InProcess, line: Line, case: Case) -> requests.Response:
    visitor = _ready(portal, line, case)
    return visitor.http.get(visitor.origin + case.path, allow_redirects=False)


def _title(answer: requests.Response) -> str:
    found = re.search("<title>(.*?)</title>", answer.text, re.DOTALL)
    return found[1].strip() if found else ""


def _stated(answer: requests.Response) -> set[str]:
    """The statements of absence or completeness that a page makes."""
    words = (
        " ".join(told(answer.text).split()) if "text/html" in answer.headers.get("Content-Type", "") else ""
    )
    return statements_in(words)


def _assert_honest(answer: requests.Response, where: str, *, is_page: bool = True) -> None:
    """Nothing of the API's or of the program's own inside reaches a person, and a page that can't be shown says how to go on."""
    text = answer.content.decode("utf-8", "replace")
    assert answer.status_code != 500, where
    assert SECRET_WORDS not in text and "Traceback" not in text and "CareError" not in text, where
    assert ELSEWHERE not in text and answer.headers.get("Location", "") != ELSEWHERE, where
    assert answer.headers["Cache-Control"] == "no-store", where
    if answer.status_code >= 400 and is_page:
        page = _page(answer)
        assert page is not None and page.xpath("//main//a[@href]"), f"{where}: the error page has no link"


def _said(answer: requests.Response, usual: requests.Response) -> str:
    """The status, where it leads, and what the page says failed, with where its links lead."""
    head = [str(answer.status_code), *(answer.headers.get(name, "") for name in ("Location", "Retry-After"))]
    page = _page(answer)
    failed = "//main//h1 | //main//h1/following-sibling::p"
    where = failed if answer.status_code >= 400 else f"{SAID}[not(ancestor::*[@data-state])]"
    said: list[HtmlElement] = [] if page is None else page.xpath(where)
    words = " / ".join(
        _words(" ".join([*texts(one), *(f"({link})" for link in one.xpath(".//a/@href"))])) for one in said
    )
    if answer.status_code == 200 and not words:
        is_same = _words(told(answer.text)) == _words(told(usual.text))
        before = _lines(usual)
        new = [line for line in _lines(answer) if line not in before]
        words = "as usual" if is_same else f"instead: {' / '.join(new) or 'less'}"
    return f"{' '.join(filter(None, head))}: {words}"


def _lines(answer: requests.Response) -> list[str]:
    """What the page says, part by part."""
    page = _page(answer)
    main = None if page is None else page.find(".//main")
    return [_words(text) for text in texts(main) if text.strip()]


def _page(answer: requests.Response) -> HtmlElement | None:
    is_html = "text/html" in answer.headers.get("Content-Type", "")
    return parsed(answer.text) if is_html else None


_REQUEST = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9A-Za-z_-]{20,}\b")


def _words(text: str) -> str:
    return _REQUEST.sub("…", " ".join(text.split()))
