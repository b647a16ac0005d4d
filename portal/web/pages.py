"""What a page is given: one typed value, made by its view.

    class ReceiptPage(Page, template="consents/receipt.html"):
        form: ConsentForm
        signatures: list[Signature]

A subclass is a frozen dataclass whose fields are the template's variables. The frame around every page has names of its
own (`Frame`), and templates may call some functions by name: a page that takes one of these names is an error at start,
because it would be written where the frame means something else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, dataclass_transform

from portal.config.tenants import Tenant
from portal.state.session_records import Person


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What the frame around every page is made of (templates/base.html).

    `called` is what the person likes to be called; `unreadable` how many records of lists were left out of the page,
    because they couldn't be read.
    """

    tenant: Tenant | None
    person: Person | None
    called: str
    locale: str
    here: str
    direction: str
    languages: list[dict[str, str]]
    nav: list[Any]
    unread_count: int | None
    bell_htmx: str
    session_expires_at: datetime | None
    unreadable: int


FRAME = frozenset(field.name for field in dataclasses.fields(Frame))


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Page:
    """A page's context; `template` is its file below templates/."""

    template: ClassVar[str]

    def __init_subclass__(cls, *, template: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)
        if template:
            cls.template = template
        _refuse(cls, FRAME)

    def context(self) -> dict[str, Any]:
        """Return the template's variables by name."""
        return dict(vars(self))


def all_pages() -> Iterator[type[Page]]:
    """Yield every page that is defined so far."""
    waiting = list(Page.__subclasses__())
    while waiting:
        page = waiting.pop()
        waiting += page.__subclasses__()
        yield page


def refuse_collisions(names: Iterable[str]) -> None:
    """Raise TypeError when a page has a field of one of these names, which its template knows already."""
    taken = frozenset(names)
    for page in all_pages():
        _refuse(page, taken)


def _refuse(page: type[Page], taken: frozenset[str]) -> None:
    own = {field.name for field in dataclasses.fields(page)} & taken  # pyright: ignore[reportArgumentType]
    if own:
        raise TypeError(
            f"{page.__module__}.{page.__qualname__}: {', '.join(sorted(own))} means something else in every template"
        )
