"""Lists of forms: a patient's by whose turn it is; the staff's as a table whose state is in its address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from urllib.parse import urlencode

from flask import url_for

from portal.services.records import ConsentForm, ConsentStatus
from portal.services.wire import Page
from portal.sessions import Person
from portal.views.consents.standing import is_awaited, open_role
from portal.views.consents.words import names_of, status_word
from portal.web.filters import day, today
from portal.words import _, ngettext

_SORTS = {
    "patient": "patientName",
    "title": "title",
    "status": "status",
    "sent": "sentAt",
    "procedure": "procedureDate",
    "expires": "expiresAt",
}
_SOON, _NEAR = 2, 7
_MOST_PAGES = 10_000


@dataclass(frozen=True, slots=True)
class Due:
    """By when a form is needed, in words, and the tone that goes with them."""

    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class Item:
    """One of a patient's forms, and a line about whom it waits for."""

    form: ConsentForm
    line: str
    due: Due | None


@dataclass(frozen=True, slots=True)
class Groups:
    """A patient's forms by whose turn it is."""

    mine: tuple[Item, ...]
    others: tuple[Item, ...]
    signed: tuple[Item, ...]
    ended: tuple[Item, ...]


def group(forms: Iterable[ConsentForm], person: Person) -> Groups:
    """Group a patient's forms by whose turn it is; what is needed first comes first."""
    mine: list[Item] = []
    others: list[Item] = []
    signed: list[Item] = []
    ended: list[Item] = []
    for form in sorted(forms, key=_urgency):
        if form.is_ended:
            ended.append(_item(form, person))
        elif form.is_signed:
            signed.append(_item(form, person))
        else:
            (mine if open_role(form, person) else others).append(_item(form, person))
    return Groups(tuple(mine), tuple(others), tuple(reversed(signed)), tuple(reversed(ended)))


def due(form: ConsentForm) -> Due | None:
    """By when the form's signatures are needed for the procedure; None without one, or when none are missing."""
    if form.procedure_date is None or not form.is_open:
        return None
    days = (form.procedure_date - today()).days
    if days < 0:
        return Due(_("Procedure date has passed"), "urgent")
    if days == 0:
        return Due(_("Needed today"), "urgent")
    if days == 1:
        return Due(_("Needed tomorrow"), "urgent")
    word = ngettext("Needed in %(num)s day", "Needed in %(num)s days", days)
    return Due(word, "urgent" if days <= _SOON else "attention" if days <= _NEAR else "neutral")


def _item(form: ConsentForm, person: Person) -> Item:
    return Item(form, _line(form, person), due(form))


def _line(form: ConsentForm, person: Person) -> str:
    if form.status == ConsentStatus.DRAFT:
        return _("The clinic is still preparing this form.")
    if not form.is_open:
        return _history(form)
    if open_role(form, person):
        later = tuple(s for s in form.missing_signers if s.person_id != person.sub)
        return (
            _("After you: %(names)s", names=names_of(later)) if later else _("Only your signature is missing")
        )
    if is_awaited(form, person):
        turn = form.whose_turn()
        return ngettext(
            "%(names)s signs first, then you",
            "%(names)s sign first, then you",
            len(turn),
            names=names_of(turn),
        )
    return _("Waiting for %(names)s", names=names_of(form.whose_turn()))


def _history(form: ConsentForm) -> str:
    """When what happened to a form happened, as far as it is known."""
    if form.status == ConsentStatus.REVOKED and form.revoked_at:
        return _("Withdrawn %(day)s", day=day(form.revoked_at))
    if form.status == ConsentStatus.EXPIRED and form.expires_at:
        return _("Could be signed until %(day)s", day=day(form.expires_at))
    if form.is_signed and form.effective_at:
        return _("In force since %(day)s", day=day(form.effective_at))
    return _("Version %(version)s", version=form.version) if form.version else ""


def _urgency(form: ConsentForm) -> tuple[date, float]:
    return form.procedure_date or date.max, form.sent_at.timestamp() if form.sent_at else 0.0


@dataclass(frozen=True, slots=True)
class Listing:
    """What the staff's table was asked to show. Anything odd in the address falls back to the usual."""

    status: ConsentStatus | None = None
    text: str = ""
    sort: str = "sent"
    descending: bool = True
    page: int = 1
    size: int = 25

    @classmethod
    def asked(cls, query: Mapping[str, str]) -> Listing:
        """Read `status`, `q`, `sort` (a minus before it: downwards) and `page`."""
        status = ConsentStatus(query.get("status") or "none")
        sort = query.get("sort", "-sent")
        name = sort.removeprefix("-")
        page = query.get("page", "1")
        return cls(
            status=status if status.known else None,
            text=query.get("q", "").strip()[:200],
            sort=name if name in _SORTS else "sent",
            descending=sort.startswith("-") or name not in _SORTS,
            page=min(max(int(page), 1), _MOST_PAGES) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def skip(self) -> int:
        """How many forms come before this page."""
        return (self.page - 1) * self.size

    @property
    def sorting(self) -> str:
        """The order, as the care API names it."""
        return _SORTS[self.sort] + (" desc" if self.descending else "")

    def href(self) -> str:
        """The address that shows this; what is as usual is left out."""
        sort = ("-" if self.descending else "") + self.sort
        query = {
            "status": self.status or "",
            "q": self.text,
            "sort": "" if sort == "-sent" else sort,
            "page": str(self.page) if self.page > 1 else "",
        }
        given = urlencode({name: value for name, value in query.items() if value})
        return url_for("consents.list") + (f"?{given}" if given else "")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    form: ConsentForm
    due: Due | None
    missing: str


@dataclass(frozen=True, slots=True)
class Table:
    """The staff's table: its rows and the addresses of everything that can be chosen in it."""

    asked: Listing
    found: Page[ConsentForm]
    may_create: bool

    @property
    def rows(self) -> list[Row]:
        """The forms of this page."""
        return [Row(form, due(form), names_of(form.missing_signers)) for form in self.found.items]

    @property
    def pages(self) -> int:
        """How many pages there are."""
        return max(1, -(-self.found.total // self.asked.size))

    @property
    def chips(self) -> list[dict[str, object]]:
        """The filters by state."""
        choices = [None, *ConsentStatus]
        return [
            {
                "label": _("All") if status is None else status_word(status),
                "href": replace(self.asked, status=status, page=1).href(),
                "current": status == self.asked.status,
            }
            for status in choices
        ]

    @property
    def kept(self) -> dict[str, str]:
        """What a new search keeps of the address."""
        sort = ("-" if self.asked.descending else "") + self.asked.sort
        return {"sort": sort} | ({"status": str(self.asked.status)} if self.asked.status else {})

    def page_href(self, page: int) -> str:
        """The address of another page."""
        return replace(self.asked, page=page).href()

    def sort_href(self, name: str) -> str:
        """The address of the table in this order; the other way round when it is in it already."""
        descending = name == self.asked.sort and not self.asked.descending
        return replace(self.asked, sort=name, descending=descending, page=1).href()

    def sort_state(self, name: str) -> str | None:
        """`ascending`, `descending` or None, for aria-sort."""
        if name != self.asked.sort:
            return None
        return "descending" if self.asked.descending else "ascending"
