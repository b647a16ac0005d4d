"""Staff pages show names instead of ids, except on buttons that copy an id."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlsplit

from werkzeug.exceptions import HTTPException

from portal.careservice.ids import sample_id
from tests.support.elements import parsed
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor
from tests.web.test_call_budget import route_of

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-", re.IGNORECASE)
_SAME = 1
"""Pages of one address pattern that are opened, by all three together: each goes on where another was refused."""
_EVERYBODY = {"/", "/consents", "/notifications", "/open"}
_LEFT_ALONE = re.compile(r"^/(sign-|static|styles|language|files/.*/preview|book/)")
_DOCUMENTS = re.compile(r"\.(pdf|ics|webmanifest)$|^/files/")
_INES, _AGAIN = sample_id("prospect", "ines"), sample_id("prospect", "ines-again")
_STARTS = (
    "/",
    f"/prospects/{_INES}/merge",
    f"/prospects/{_INES}/merge?merge={_AGAIN}",
    f"/prospects/{_INES}/book",
    f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-legacy')}/remove",
    f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-main')}/remove",
    f"/protocols/{sample_id('protocol', 'amelia')}/edit",
    f"/episodes/{sample_id('episode', 'amelia-1')}",
    f"/directories?episode={sample_id('episode', 'amelia-1')}",
)


def seen(html: str) -> str:
    """What a person sees of a page: no scripts, and no values that a button copies."""
    root = parsed(html)
    for hidden in root.select("script, style, template, [data-copy], [type=hidden]"):
        hidden.drop_tree()
    typed = " ".join(str(field.get("value", "")) for field in root.select("input:not([type=radio])"))
    return f"{root.words} {typed}"


def pages(visitor: Visitor, portal: PortalThread, counted: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Path and source of pages that lead on from the worklist, of patterns that weren't opened often enough."""
    waiting, opened = list(_STARTS), set[str]()
    while waiting:
        path = waiting.pop(0)
        address = urlsplit(path).path
        try:
            route = route_of(portal, path)
        except HTTPException:
            continue
        is_known = counted[route] >= _SAME and path not in _EVERYBODY
        if path in opened or is_known or _LEFT_ALONE.search(address) or _DOCUMENTS.search(address):
            continue
        opened.add(path)
        page = visitor.get(path, status=None)
        if page.status == 200:
            counted[route] += 1
            yield path, str(page.tree)
            waiting += [str(link["href"]) for link in page.select('a[href^="/"]')]


def test_no_staff_page_shows_a_bare_id(portal: PortalThread) -> None:
    counted = defaultdict[str, int](int)
    bare: dict[str, str] = {}
    for name in ("nora", "victor", "ada"):
        for path, html in pages(portal.sign_in(name), portal, counted):
            if match := _UUID.search(seen(html)):
                bare[f"{name} {path}"] = seen(html)[max(match.start() - 60, 0) : match.end() + 30]
    assert len(counted) > 40
    assert not bare
