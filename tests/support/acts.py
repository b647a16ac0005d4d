"""The acts that must happen once, each prepared up to its last step: only the form is left to send."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, timedelta
from urllib.parse import urlsplit

from portal.careservice.ids import sample_id
from portal.demo.stack import DemoSetup, tenants_file
from tests.support.hostile import CountingProxy
from tests.support.signing import consent, copy_rows, fresh_form, to_step
from tests.support.stack import PASSWORD
from tests.support.visitor import Form, Page, Visitor


@dataclass(frozen=True)
class Ready:
    """A form to send, with what is typed into it.

    `call` is the call of the care API that it makes, `end` the heading of where it ends, `unsure` that of the page for
    a lost answer, `undone` what is said when the call never left. `is_found` says that the record tells afterwards
    whether it happened.
    """

    who: str
    form: Form
    call: str
    end: str
    unsure: str
    undone: str = "That wasn’t done"
    values: dict[str, str] = field(default_factory=dict[str, str])
    is_found: bool = True

    def send(self, status: int | None = None) -> Page:
        """Send the form as it was shown, whatever has happened since."""
        return self.form.submit(status=status, **self.values)

    @property
    def address(self) -> str:
        """Where its page is, for another browser of the same person."""
        there = urlsplit(self.form.page.url)
        return f"{there.path}?{there.query}" if there.query else there.path


_STILL_FRESH = 180
"""Seconds for which a sign-in is used again: grave acts ask for one of the last five minutes."""


class People:
    """Browsers at one portal: one for each person, and new ones of nobody."""

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._known: dict[str, tuple[Visitor, float]] = {}

    def __call__(self, name: str) -> Visitor:
        """This person, signed in recently enough for every act."""
        visitor, since = self._known.get(name, (None, 0.0))
        if visitor is None or time.monotonic() - since > _STILL_FRESH:
            visitor = Visitor(self._origin, PASSWORD)
            visitor.sign_in(name)
            self._known[name] = visitor, time.monotonic()
        return visitor

    def nobody(self) -> Visitor:
        """Somebody who isn't signed in."""
        return Visitor(self._origin)


def _sign(people: People, plan: DemoSetup) -> Ready:
    form = fresh_form(plan)
    page = to_step(people("amelia"), form, "Sign this form")
    return Ready(
        "amelia",
        page.form(f"{form}/sign"),
        call=f"POST /api/care/consent-forms/{_id_in(form)}/sign",
        end="You’ve signed",
        unsure="We couldn’t confirm your signature yet",
        undone="Nothing was signed",
        values={"signature": "Amelia Hart"},
    )


def _revoke(people: People, plan: DemoSetup) -> Ready:
    form = fresh_form(plan, signed=True)
    return Ready(
        "amelia",
        people("amelia").get(f"{form}/revoke").form(f"{form}/revoke"),
        call=f"POST /api/care/consent-forms/{_id_in(form)}/revoke",
        end="This consent is withdrawn",
        unsure="We couldn’t confirm the withdrawal yet",
        undone="Nothing was withdrawn",
        values={"reason": "Second thoughts"},
    )


def _create_consent(people: People, plan: DemoSetup) -> Ready:
    title = f"A form made once, {uuid.uuid4().hex[:8]}"
    page = people("nora").get(f"/consents/new?copy={_id_in(consent('amelia-treatment-2'))}")
    page = page.form("/consents/new/fill").submit(title=title)
    return Ready(
        "nora",
        page.form("/consents/new"),
        call="POST /api/care/consent-forms",
        end=title,
        unsure="We couldn’t confirm the new form yet",
    )


def _create_protocol(people: People, plan: DemoSetup) -> Ready:
    name = f"A plan made once, {uuid.uuid4().hex[:8]}"
    page = people("nora").get("/protocols/new")
    form = page.form(page.select("form:has(button[value=review])")[0])
    page = form.submit(button=("do", "review"), name=name, type="Iui")
    return Ready(
        "nora",
        page.form("/protocols/new/create"),
        call="POST /api/care/fertility-protocols",
        end=name,
        unsure="We couldn’t confirm the new protocol yet",
    )


def _merge(people: People, plan: DemoSetup) -> Ready:
    kept, merged = fresh_prospect(plan), fresh_prospect(plan)
    page = people("colin").get(f"/prospects/{kept}/merge?merge={merged}")
    page = page.form(f"/prospects/{kept}/merge").submit()
    return Ready(
        "colin",
        page.form(f"/prospects/{kept}/merge/confirm"),
        call=f"POST /api/prospect/records/{kept}/merge/{merged}",
        end="The two enquiries are one now",
        unsure="The merge isn’t confirmed",
        is_found=False,
    )


def _book(people: People, plan: DemoSetup) -> Ready:
    prospect = fresh_prospect(plan)
    page = people("colin").get(_next_week(f"/prospects/{prospect}/book"))
    return Ready(
        "colin",
        page.form(f"/prospects/{prospect}/book"),
        call=f"POST /api/prospect/records/{prospect}/book-window",
        end="The visit is booked",
        unsure="The booking isn’t confirmed",
        values={"window": _first_window(page)},
        is_found=False,
    )


def _book_by_link(people: People, plan: DemoSetup) -> Ready:
    prospect = fresh_prospect(plan)
    page = people("colin").get(f"/prospects/{prospect}/book-link")
    made = page.form(f"/prospects/{prospect}/book-link").submit(days="14")
    link = urlsplit(str(made.select("#address")[0]["value"])).path
    page = people.nobody().get(_next_week(link))
    return Ready(
        "",
        page.form(link),
        call=f"POST /api/prospect/records/{prospect}/book-window",
        end="Your visit is booked",
        unsure="We couldn’t confirm your booking",
        values={"window": _first_window(page)},
        is_found=False,
    )


ACTS: dict[str, Callable[[People, DemoSetup], Ready]] = {
    "sign": _sign,
    "revoke": _revoke,
    "create a consent": _create_consent,
    "create a protocol": _create_protocol,
    "merge": _merge,
    "book": _book,
    "book by a link": _book_by_link,
}
"""By name: each makes its records anew, so that tests don't meet."""


def over_the_line(plan: DemoSetup, line: CountingProxy) -> str:
    """The tenants file of a portal that reaches the care API by this line, and isn't told that it honours a repeat."""
    text = tenants_file(plan)
    for there, here in (
        (f'base_url = "{plan.service}"', f'base_url = "{line.origin}"'),
        ("idempotency = true\n", ""),
    ):
        assert there in text
        text = text.replace(there, here)
    return text


def fresh_prospect(plan: DemoSetup) -> str:
    """Put an enquiry into the record, and return its id."""
    id_ = str(uuid.uuid4())
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        copy_rows(database, "prospects", {"id": sample_id("prospect", "tomasz")}, {"id": id_})
    return id_


def _first_window(page: Page) -> str:
    return str(page.select("input[name=window]")[0]["value"])


def _next_week(path: str) -> str:
    return f"{path}?from={(date.today() + timedelta(weeks=1)).isoformat()}"


def _id_in(address: str) -> str:
    return address.rpartition("/")[2]
