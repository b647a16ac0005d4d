"""Template contexts as typed dataclasses, created by the views.

    class ReceiptPage(Page, template="consents/receipt.html"):
        form: ConsentForm
        signatures: list[Signature]

A subclass is a frozen dataclass whose fields are the template's variables. The layout has variables of its own (`Frame`)
and templates have global functions. A page whose field has one of these names would replace it in the layout, so it is
rejected at startup.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from portal.config.tenants import Tenant
from portal.services.patient_ref import PatientRef
from portal.state.session_records import Person
from portal.values import Value
from portal.web.patient_banner import PatientBanner


class AsSeen(Value, frozen=True):
    """Whose pages staff see as they do (portal.web.as_patient): the name, and the address that leads back."""

    name: str
    back: str


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The variables of the layout that every page extends (templates/base.html).

    `current_address` is where to return after a language change; `unread_count` None if unknown; `unreadable` the number
    of records left out of the page's lists because they couldn't be decoded; `lacks_details` says that values were left out
    of those that are shown. `banner` says to staff whom the page is about, and stays in sight if it is pinned. `as_seen` is
    whose pages staff see as that patient does.
    """

    tenant: Tenant | None
    person: Person | None
    preferred_name: str
    locale: str
    current_address: str
    direction: str
    languages: list[dict[str, str]]
    nav: list[Any]
    unread_count: int | None
    bell_htmx: str
    session_lasts: int | None
    unreadable: int
    lacks_details: bool
    banner: PatientBanner | None
    is_banner_pinned: bool
    as_seen: AsSeen | None


FRAME = frozenset(field.name for field in dataclasses.fields(Frame))


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Page:
    """A page's template context; `template` is its file below templates/.

    `record_field`, given as `about`, names the field with the record that the page is about: the record's patient stands above
    the page for staff, and stays in sight while it is scrolled if `is_pinned`, as where one signs or changes a dose.
    `hides_mrn` leaves the record number out, where it is to be read from a straw and typed.
    """

    template: ClassVar[str]
    record_field: ClassVar[str] = ""
    is_pinned: ClassVar[bool] = False
    hides_mrn: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        template: str = "",
        about: str = "",
        is_pinned: bool = False,
        hides_mrn: bool = False,
        **options: Any,
    ) -> None:
        super().__init_subclass__(**options)
        dataclass(frozen=True, kw_only=True)(cls)
        if template:
            cls.template = template
        if about:
            cls.record_field, cls.is_pinned, cls.hides_mrn = about, is_pinned, hides_mrn
        _refuse(cls, FRAME)

    @property
    def patient_ref(self) -> PatientRef | None:
        record = getattr(self, self.record_field) if self.record_field else None
        return record.patient_ref if record else None

    def context(self) -> dict[str, Any]:
        """Return the template's variables by name."""
        return dict(vars(self))


def all_pages() -> Iterator[type[Page]]:
    """Yield every subclass of Page that is defined so far."""
    remaining = list(Page.__subclasses__())
    while remaining:
        page = remaining.pop()
        remaining += page.__subclasses__()
        yield page


def refuse_collisions(names: Iterable[str]) -> None:
    """Raise TypeError if a page has a field with one of these names, which its template uses for something else."""
    taken = frozenset(names)
    for page in all_pages():
        _refuse(page, taken)


def _refuse(page: type[Page], taken: frozenset[str]) -> None:
    collisions = {field.name for field in dataclasses.fields(page)} & taken  # pyright: ignore[reportArgumentType]
    if collisions:
        raise TypeError(
            f"{page.__module__}.{page.__qualname__}: {', '.join(sorted(collisions))} means something else in every template"
        )
