"""The list of protocols: a table whose filter, order and page are in its address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import url_for

from portal.services.records import Protocol, ProtocolStatus
from portal.services.wire import Page
from portal.views.protocols.words import status_word
from portal.words import _

_SORTS = {
    "name": "name",
    "type": "type",
    "status": "status",
    "start": "startDate",
    "changed": "lastModificationTime",
}
_USUAL = "-start"
_MOST_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class Listing:
    """What the table was asked to show. Anything odd in the address falls back to the usual."""

    status: ProtocolStatus | None = None
    text: str = ""
    order: str = _USUAL
    page: int = 1
    size: int = 25

    @classmethod
    def asked(cls, query: Mapping[str, str]) -> Listing:
        """Read `status`, `q`, `sort` (a minus before it: downwards) and `page`."""
        status = ProtocolStatus(query.get("status") or "none")
        order, page = query.get("sort", _USUAL), query.get("page", "1")
        return cls(
            status=status if status.known else None,
            text=query.get("q", "").strip()[:200],
            order=order if order.removeprefix("-") in _SORTS else _USUAL,
            page=min(max(int(page), 1), _MOST_PAGES) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def skip(self) -> int:
        """How many protocols come before this page."""
        return (self.page - 1) * self.size

    @property
    def sorting(self) -> str:
        """The order, as the care API names it."""
        return _SORTS[self.order.removeprefix("-")] + (" desc" if self.order.startswith("-") else "")

    def href(self) -> str:
        """The address that shows this; what is as usual is left out."""
        query = {
            "status": self.status or "",
            "q": self.text,
            "sort": "" if self.order == _USUAL else self.order,
            "page": str(self.page) if self.page > 1 else "",
        }
        given = urlencode({name: value for name, value in query.items() if value})
        return url_for("protocols.list") + (f"?{given}" if given else "")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a page, and the addresses of everything that can be chosen."""

    asked: Listing
    found: Page[Protocol]
    may_create: bool

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.found.total // self.asked.size))

    @property
    def chips(self) -> list[dict[str, object]]:
        """The filters by status."""
        return [
            {
                "label": _("All") if status is None else status_word(status),
                "href": replace(self.asked, status=status, page=1).href(),
                "current": status == self.asked.status,
            }
            for status in (None, *ProtocolStatus)
        ]

    @property
    def kept(self) -> dict[str, str]:
        """What a new search keeps of the address."""
        return {"sort": self.asked.order} | ({"status": str(self.asked.status)} if self.asked.status else {})

    def page_href(self, page: int) -> str:
        """The address of another page."""
        return replace(self.asked, page=page).href()

    def sort_href(self, name: str) -> str:
        """The address of the table in this order; the other way round when it is in it already."""
        return replace(self.asked, order=f"-{name}" if self.asked.order == name else name, page=1).href()

    def sort_state(self, name: str) -> str | None:
        """`ascending`, `descending` or None, for aria-sort."""
        if name != self.asked.order.removeprefix("-"):
            return None
        return "descending" if self.asked.order.startswith("-") else "ascending"
