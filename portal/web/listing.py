"""A list whose state is in its address: status, search text, order and page; and the table that shows one page of it.

    LISTING = Listing("consents.list", ConsentStatus, orders={"sent": "sentAt"}, usual="-sent")

    query = LISTING.read(request.args)
    found = list_consents(care, skip=query.skip, limit=query.size, sorting=query.sorting, …)
    table = Table(query, found, status_word)

Anything odd in the address falls back to the usual, so that no address of a list is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from urllib.parse import urlencode

from flask import url_for

from portal import parse
from portal.i18n.gettext import _
from portal.services.decoding import Choice, Page

StatusT = TypeVar("StatusT", bound=Choice)
ItemT = TypeVar("ItemT")

_LONGEST_TEXT = 200


@dataclass(frozen=True, slots=True)
class Listing(Generic[StatusT]):
    """What one kind of list can be asked for.

    `endpoint` shows it; `orders` are the columns that it can be sorted by, each with its name at the care API; `usual`
    is the order when none is asked for; `size` the records of a page; `fixed` stands in each of its addresses.
    """

    endpoint: str
    statuses: type[StatusT]
    orders: Mapping[str, str]
    usual: str
    size: int = 25
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])

    def read(self, args: Mapping[str, str]) -> ListQuery[StatusT]:
        """Read `status`, `q`, `sort` (a minus before it: downwards) and `page` of an address."""
        status = self.statuses(args.get("status") or "none")
        order = args.get("sort", self.usual)
        return ListQuery(
            self,
            status=status if status.known else None,
            text=parse.line(args.get("q"), longest=_LONGEST_TEXT),
            order=order if order.removeprefix("-") in self.orders else self.usual,
            page=parse.page_number(args.get("page")),
        )


@dataclass(frozen=True, slots=True)
class ListQuery(Generic[StatusT]):
    """What an address asks a list for; `order` is a column's name, with a minus before it downwards."""

    listing: Listing[StatusT]
    status: StatusT | None
    text: str
    order: str
    page: int

    @property
    def size(self) -> int:
        """How many records are on a page."""
        return self.listing.size

    @property
    def skip(self) -> int:
        """How many records come before this page."""
        return (self.page - 1) * self.size

    @property
    def column(self) -> str:
        """The column that it is sorted by."""
        return self.order.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        """Whether it is sorted downwards."""
        return self.order.startswith("-")

    @property
    def sorting(self) -> str:
        """The order, as the care API names it (care API specification §4, `Sorting`)."""
        return self.listing.orders[self.column] + (" desc" if self.is_descending else "")

    @property
    def address(self) -> str:
        """The address of this query, without parameters that have their default."""
        query = {
            **self.listing.fixed,
            "status": self.status or "",
            "q": self.text,
            "sort": "" if self.order == self.listing.usual else self.order,
            "page": str(self.page) if self.page > 1 else "",
        }
        given = urlencode({name: value for name, value in query.items() if value})
        return url_for(self.listing.endpoint) + (f"?{given}" if given else "")


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that can be chosen."""

    label: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Table(Generic[StatusT, ItemT]):
    """A page of a list as a table, with the addresses of everything that can be chosen in it."""

    query: ListQuery[StatusT]
    found: Page[ItemT]
    status_word: Callable[[StatusT], str]

    @property
    def pages(self) -> int:
        """How many pages there are, 1 at least."""
        return max(1, -(-self.found.total // self.query.size))

    @property
    def chips(self) -> list[Chip]:
        """All, and each status."""
        query = self.query
        return [
            Chip(
                _("All") if status is None else self.status_word(status),
                replace(query, status=status, page=1).address,
                current=status == query.status,
            )
            for status in (None, *query.listing.statuses)
        ]

    @property
    def kept(self) -> dict[str, str]:
        """What a new search keeps of the address."""
        return {**self.query.listing.fixed, "sort": self.query.order} | (
            {"status": str(self.query.status)} if self.query.status else {}
        )

    def columns(self, named: Iterable[tuple[str, str]]) -> list[str | dict[str, str | None]]:
        """The heads for `ui.table`, from pairs of a column's name and its label; one without a name can't be sorted by."""
        return [
            {"label": label, "href": self._sort_href(name), "sort": self._sort_state(name)} if name else label
            for name, label in named
        ]

    def _sort_href(self, column: str) -> str:
        """The address of the table in this order; the other way round when it is in it already."""
        order = f"-{column}" if self.query.order == column else column
        return replace(self.query, order=order, page=1).address

    def _sort_state(self, column: str) -> str | None:
        """`ascending`, `descending` or None, for aria-sort."""
        if column != self.query.column:
            return None
        return "descending" if self.query.is_descending else "ascending"
