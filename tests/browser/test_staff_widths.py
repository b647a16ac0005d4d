"""Staff's pages with names and words of sixty letters, from a phone to a large screen: nothing scrolls sideways.

Pages are put into one window, which is resized; with CARE_TEST_FULL=1 each in every language and at every width, else in
one language and at the widths where the layout is tightest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from werkzeug.exceptions import HTTPException

from portal.careservice.ids import sample_id
from tests.browser.album import LANGUAGES, Leaf
from tests.browser.looking import looker
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.full import FULL
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor
from tests.web.test_call_budget import route_of

WIDTHS = (320, 390, 768, 1024, 1280, 1600) if FULL else (320, 768, 1024, 1280)
WORD = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenkasse"
_KEPT = re.compile(
    r"(?:^id|Id|Ids|Hash|Stamp|seal|[sS]tatus|type|Type|kind|role|stage|outcome|side|channel|severity|method|"
    r"[sS]ignature|language|country|timeZone|gradingSystem|disposition|mediaType|dayOfWeek|call|preferredChannel|"
    r"signingOrder|color|time|start|end|day|version|unit|e2|lh|p4|email|phoneNumber|sms|mergeId|zone)$"
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
_LEFT_ALONE = re.compile(r"^/(sign-|static|styles|language|book/|files/)|\.(pdf|ics)$|/preview$")
_STARTS = (
    "/",
    f"/prospects/{sample_id('prospect', 'ines')}/merge?merge={sample_id('prospect', 'ines-again')}",
    f"/prospects/{sample_id('prospect', 'ines')}/book",
    f"/protocols/{sample_id('protocol', 'amelia')}/edit",
    f"/episodes/{sample_id('episode', 'amelia-1')}",
    f"/episodes/{sample_id('episode', 'grace-1')}/embryos",
    f"/directories?episode={sample_id('episode', 'amelia-1')}",
    "/conversations?all=1",
    "/find",
    "/open",
)


def lengthened(value: Any, member: str = "") -> Any:
    """The same answer, every name and text one word of sixty letters."""
    match value:
        case dict():
            return {name: lengthened(one, name) for name, one in cast(dict[str, Any], value).items()}
        case list():
            return [lengthened(one, member) for one in cast(list[Any], value)]
        case str() if value and not _KEPT.search(member) and not _DATE.match(value):
            return WORD
        case _:
            return value


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """The portal, before an API whose every word is long."""
    change = Dialect(change=lambda method, _path, answer: lengthened(answer) if method == "GET" else answer)
    proxy = DialectProxy(service.base_url, change)
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


def walk(visitor: Visitor, portal: PortalThread, seen: set[str]) -> Iterator[tuple[str, Page]]:
    """A page of each address pattern that staff are led to and nobody opened before, and its language."""
    waiting = list(_STARTS)
    while waiting:
        path = waiting.pop(0)
        try:
            route = route_of(portal, path)
        except HTTPException:
            continue
        if route in seen or _LEFT_ALONE.search(urlsplit(path).path):
            continue
        language = LANGUAGES[len(seen) % len(LANGUAGES)]
        page = visitor.get(path, status=None, headers={"Accept-Language": language})
        if page.status != 200:
            continue
        seen.add(route)
        waiting += [str(link["href"]) for link in page.select('a[href^="/"]')]
        yield language, page


def test_no_page_of_staff_scrolls_sideways(portal: PortalThread, chrome: Browser) -> None:
    visitors = {name: portal.sign_in(name) for name in ("nora", "victor")}
    wide: list[str] = []
    seen: set[str] = set()
    with looker(chrome) as looking:
        for name, visitor in visitors.items():
            for first, page in walk(visitor, portal, seen):
                for language in LANGUAGES if FULL else [first]:
                    html = page.text if language == first else in_language(visitor, page, language)
                    looking.put(Leaf(name, "staff", language, page.path, page.url, page.status, html))
                    wide += [f"{name} {language} {page.path}: {fault}" for fault in looking.sideways(*WIDTHS)]
    assert len(seen) > 35
    assert not wide, "\n".join(wide)


def in_language(visitor: Visitor, page: Page, language: str) -> str:
    """The page's source in this language."""
    spoken = visitor.http.get(page.url, headers={"Accept-Language": language}, timeout=60).text
    assert f'lang="{language}"' in spoken
    return spoken
