"""Lists whose status filter, search text, order and page are in the address, and the table that shows one page.

    LISTING = Listing("consents.list", ConsentStatus, orders={"sent": "sentAt"}, usual="-sent")

    query = LISTING.read(request.args)
    found = list_consents(care, skip=query.skip, limit=query.size, sorting=query.sorting, …)
    table = Table(query, found)

Invalid parameters fall back to their defaults, so that no address of a list is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, TypeVar
from urllib.parse import urlencode

from flask import url_for
from msgspec import field
from msgspec.structs import replace

from portal import parse
from portal.i18n.gettext import _
from portal.services.decoding import Choice, PagedResult
from portal.values import Value
from portal.web.choice_names import choice_name

StatusT = TypeVar("StatusT", bound=Choice)
ItemT = TypeVar("ItemT")

_LONGEST_TEXT = 200


class Listing(Value, Generic[StatusT], frozen=True):
    """The definition of a list.

    `endpoint` is its Flask endpoint; `orders` maps the columns that can be sorted by to their names in the care API; `usual`
    is the default order; `size` the number of records per page; `fixed` are parameters of all its addresses.
    """

    endpoint: str
    statuses: type[StatusT]
    orders: Mapping[str, str]
    usual: str
    size: int = 25
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])

    def read(self, args: Mapping[str, str]) -> ListQuery[StatusT]:
        """Parse the parameters `status`, `q`, `patient` (an id), `sort` (with a leading minus: descending) and `page`."""
        status = self.statuses(args.get("status") or "none")
        order = args.get("sort", self.usual)
        return ListQuery(
            self,
            status=status if status.known else None,
            text=parse.line(args.get("q"), longest=_LONGEST_TEXT),
            order=order if order.removeprefix("-") in self.orders else self.usual,
            page=parse.page_number(args.get("page")),
            patient_id=parse.record_id(args.get("patient")),
        )


class ListQuery(Value, Generic[StatusT], frozen=True):
    """The parsed parameters of a list; `order` is a column's name, with a leading minus if descending.

    `patient_id` leaves out what isn't about that patient.
    """

    listing: Listing[StatusT]
    status: StatusT | None
    text: str
    order: str
    page: int
    patient_id: str | None = None

    @property
    def size(self) -> int:
        """The number of records per page."""
        return self.listing.size

    @property
    def skip(self) -> int:
        """The number of records before this page."""
        return (self.page - 1) * self.size

    @property
    def column(self) -> str:
        return self.order.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.order.startswith("-")

    @property
    def sorting(self) -> str:
        """The order as the care API's parameter `Sorting` (care API specification §4)."""
        return self.listing.orders[self.column] + (" desc" if self.is_descending else "")

    @property
    def of_everybody(self) -> ListQuery[StatusT]:
        return replace(self, patient_id=None, page=1)

    @property
    def address(self) -> str:
        """The address of this query, without parameters that have their default value."""
        parameters = {
            **self.listing.fixed,
            "patient": self.patient_id or "",
            "status": self.status or "",
            "q": self.text,
            "sort": "" if self.order == self.listing.usual else self.order,
            "page": str(self.page) if self.page > 1 else "",
        }
        query = urlencode({name: value for name, value in parameters.items() if value})
        return url_for(self.listing.endpoint) + (f"?{query}" if query else "")


class Chip(Value, frozen=True):
    """A link to the list with another status filter."""

    label: str
    href: str
    current: bool


class Table(Value, Generic[StatusT, ItemT], frozen=True):
    """One page of a list as a table, with the addresses of its filters, orders and pages."""

    query: ListQuery[StatusT]
    found: PagedResult[ItemT]

    @property
    def pages(self) -> int:
        return max(1, -(-self.found.total // self.query.size))

    @property
    def chips(self) -> list[Chip]:
        query = self.query
        return [
            Chip(
                _("All") if status is None else choice_name(status),
                replace(query, status=status, page=1).address,
                current=status == query.status,
            )
            for status in (None, *query.listing.statuses)
        ]

    @property
    def kept(self) -> dict[str, str]:
        """The parameters that a new search keeps, for hidden inputs of the search form."""
        query = self.query
        kept = {"sort": query.order, "status": query.status or "", "patient": query.patient_id or ""}
        return {**query.listing.fixed, **{name: str(value) for name, value in kept.items() if value}}

    def columns(self, named: Iterable[tuple[str, str]]) -> list[str | dict[str, str | None]]:
        """Return the column headings for `ui.table` from pairs of a column's name, empty if not sortable, and its label."""
        return [
            {"label": label, "href": self._sort_href(name), "sort": self._sort_state(name)} if name else label
            for name, label in named
        ]

    def _sort_href(self, column: str) -> str:
        """Return the address sorted by this column; descending if it is already sorted by it."""
        order = f"-{column}" if self.query.order == column else column
        return replace(self.query, order=order, page=1).address

    def _sort_state(self, column: str) -> str | None:
        """Return the column's `aria-sort`: `ascending`, `descending` or None."""
        if column != self.query.column:
            return None
        return "descending" if self.query.is_descending else "ascending"
