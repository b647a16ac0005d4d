"""Paged lists: SkipCount, MaxResultCount, Sorting and Filter, answered as totalCount and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from sqlalchemy import func, or_
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql import ColumnElement, Select

from portal.careservice.api.payload import Query
from portal.careservice.domain.folding import folded
from portal.careservice.domain.rules import Invalid

T = TypeVar("T")
Sortable = Mapping[str, "InstrumentedAttribute[Any] | ColumnElement[Any]"]

_MAX_COUNT = 1000
_MAX_SKIP = 2**31 - 1


class Page(msgspec.Struct, Generic[T], rename="camel", kw_only=True):
    """One page of a list, and the length of the whole list."""

    total_count: int
    items: list[T]


def paginate(
    session: Session, query: Query, chosen: Select[T], *, sortable: Sortable, default: Sequence[Any]
) -> tuple[int, list[T]]:
    """The length of `chosen` and the page of it that `query` asks for; `default` is the order without Sorting.

    `sortable` is the columns that may be sorted by, by camelCase name; the last item of `default` breaks ties.
    """
    skip = query.number("SkipCount", default=0, low=0, high=_MAX_SKIP)
    most = query.number("MaxResultCount", default=10, low=1, high=_MAX_COUNT)
    order = [*_sorting(query, sortable), *default]
    counted = chosen.with_only_columns(func.count(), maintain_column_froms=True).order_by(None)
    total = session.scalar(counted) or 0
    if total <= skip:
        return total, []
    found: Sequence[T] = session.scalars(chosen.order_by(*order).offset(skip).limit(most)).all()
    return total, list(found)


def _sorting(query: Query, sortable: Sortable) -> list[ColumnElement[Any]]:
    asked = query.text("Sorting")
    if asked is None:
        return []
    by_name = {name.casefold(): column for name, column in sortable.items()}
    order: list[ColumnElement[Any]] = []
    for part in asked.split(","):
        name, _, direction = part.strip().partition(" ")
        column = by_name.get(name.casefold())
        if column is None or direction.strip().casefold() not in ("", "asc", "desc"):
            raise Invalid("This can't be sorted by.", "Sorting")
        descending = direction.strip().casefold() == "desc"
        order.append(column.desc().nulls_last() if descending else column.asc().nulls_last())
    return order


def filtered(
    chosen: Select[T],
    query: Query,
    columns: Sequence[InstrumentedAttribute[Any]] = (),
    *,
    folded_to: Sequence[InstrumentedAttribute[str]],
) -> Select[T]:
    """The rows of `chosen` in which every word of Filter occurs in any of `columns` or, folded, of `folded_to`."""
    for word in (query.text("Filter") or "").split()[:10]:
        as_written = [column.icontains(word, autoescape=True) for column in columns]
        as_folded = [column.contains(folded(word), autoescape=True) for column in folded_to]
        chosen = chosen.where(or_(*as_written, *as_folded))
    return chosen
