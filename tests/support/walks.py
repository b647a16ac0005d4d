"""Visitors and pages of a portal before two APIs, to compare them."""

from __future__ import annotations

import re
from typing import Any

from tests.support.dialect import SECRET_WORDS
from tests.support.visitor import Page, Visitor

ID = r"[0-9a-f]{8}-[0-9a-f-]{27}"


class Careful(Visitor):
    """Looks at every page for a fault of the portal's own and for the API's words."""

    def request(self, method: str, path: str, **options: Any) -> Page:
        page = super().request(method, path, **options)
        assert page.status != 500, f"{method} {path}: {page.words[:300]}"
        assert SECRET_WORDS not in page.response.content.decode("utf-8", "replace"), path
        return page


def facts(page: Page) -> str:
    """The words of a page, without what differs from one moment to the next, and without how long a list is."""
    is_calendar = page.headers["Content-Type"].startswith("text/calendar")
    words = page.text.replace("\r\n ", "") if is_calendar else page.words
    words = re.sub(r"DTSTAMP:\S+|the number \w+| Copy|localhost:\d+", "", words)
    words = re.sub(
        r"(More than )?\d+ (forms|protocols)|Page (\d+)( of \d+)?|(All Unread) \d+", r"\3 \5", words
    )
    return re.sub(r"\s+", " ", words)
