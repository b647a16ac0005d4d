"""Walks over the portal's pages, to compare them between two APIs."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

from tests.support.dialect import SECRET_WORDS
from tests.support.visitor import Page, Visitor

ID = r"[0-9a-f]{8}-[0-9a-f-]{27}"
NOT_COMPARED = {"/me/devices"}
"""What differs by itself."""


class Careful(Visitor):
    """Looks at every page for a fault of the portal's own and for the API's words."""

    def request(self, method: str, path: str, **options: Any) -> Page:
        page = super().request(method, path, **options)
        assert page.status != 500, f"{method} {path}: {page.words[:300]}"
        assert SECRET_WORDS not in page.response.content.decode("utf-8", "replace"), path
        return page


def walk(visitor: Visitor, *, each: int = 2, leaving: str = "-") -> dict[str, Page]:
    """Follow every link from home, to so many pages of each kind at most, but none that ends with `leaving`."""
    ahead, pages, kinds = ["/"], {}, []
    while ahead:
        path = ahead.pop(0)
        kind = re.sub(ID, "*", urlsplit(path).path)
        if path in pages or kinds.count(kind) >= each or kind.endswith(leaving):
            continue
        kinds.append(kind)
        page = pages[path] = visitor.get(path, status=None)
        links = (urljoin(page.url, str(a["href"])) for a in page.select("a[href]"))
        ahead += [
            kept for link in links if link.startswith(visitor.origin) and (kept := _without_query(link))
        ]
    return pages


def _without_query(link: str) -> str:
    parts, query = urlsplit(link), parse_qs(urlsplit(link).query)
    return f"{parts.path}?episode={query['episode'][0]}" if "episode" in query else parts.path


def facts(page: Page) -> str:
    """The words of a page, without what differs from one moment to the next, and without how long a list is."""
    is_calendar = page.headers["Content-Type"].startswith("text/calendar")
    words = page.text.replace("\r\n ", "") if is_calendar else page.words
    words = re.sub(r"DTSTAMP:\S+|the number \w+| Copy|localhost:\d+", "", words)
    words = re.sub(
        r"(More than )?\d+ (forms|protocols)|Page (\d+)( of \d+)?|(All Unread) \d+", r"\3 \5", words
    )
    return re.sub(r"\s+", " ", words)
