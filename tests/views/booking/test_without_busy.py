"""Booking if the clinic's system never provides busy times: pages say so, and refused times aren't offered again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from portal.careservice.ids import sample_id
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page

TOMASZ, NOOR = sample_id("prospect", "tomasz"), sample_id("prospect", "noor")
FOR_STAFF = "a time is certain once it is booked"
FOR_ENQUIRERS = "A time is confirmed when you book it"


def without_busy(_method: str, path: str, answer: Any) -> Any:
    if path.endswith("/physicians"):
        for one in answer["items"]:
            del one["busy"]
    return answer


class BareRefusals(DialectProxy):
    """Refuses a booking by a status that says nothing more."""

    def forward(self, method: str, path: str, *more: Any) -> tuple[int, dict[str, str], bytes]:
        status, headers, body = super().forward(method, path, *more)
        is_refused = status >= 400 and urlsplit(path).path.endswith("/book-window")
        return (409, {}, b"") if is_refused else (status, headers, body)


@pytest.fixture(scope="module", params=[DialectProxy, BareRefusals])
def portal(request: pytest.FixtureRequest, service: CareService) -> Iterator[PortalThread]:
    """Before an API without busy times, which refuses with a code or by its status alone."""
    proxy = request.param(service.base_url, Dialect(change=without_busy))
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


@pytest.fixture(scope="module")
def weeks(portal: PortalThread) -> Iterator[str]:
    """A week in which nothing is booked yet, for each portal."""
    return (f"from={(date.today() + timedelta(weeks=n)).isoformat()}" for n in NEXT)


NEXT = iter(range(5, 12))


def legends(page: Page) -> list[str]:
    return [one.text_content() for one in page.select("fieldset legend")]


def test_staff_are_warned_and_offered_other_times_after_a_refusal(
    portal: PortalThread, weeks: Iterator[str]
) -> None:
    week = next(weeks)
    path = f"/prospects/{TOMASZ}/book"
    colin = portal.sign_in("colin")
    page = colin.get(f"{path}?{week}")
    assert FOR_STAFF in page.words
    taken = page.windows[4]
    colin.get(f"/prospects/{NOOR}/book?{week}").form(f"/prospects/{NOOR}/book").submit(window=taken)
    refused = page.form(path).submit(window=taken, status=409)
    assert "That time isn’t free any more" in refused.words
    assert taken not in refused.windows
    assert legends(refused)[0] == "Nearest free times"


def test_an_enquirer_is_warned_and_offered_other_times_after_a_refusal(
    portal: PortalThread, weeks: Iterator[str]
) -> None:
    colin = portal.sign_in("colin")
    made = (
        colin.get(f"/prospects/{TOMASZ}/book-link").form(f"/prospects/{TOMASZ}/book-link").submit(days="14")
    )
    told = [
        (line["outcome"], line["id"]) for line in portal.audited() if line["audit"] == "booking-link.create"
    ]
    assert told[-1:] == [("done", TOMASZ)]
    link = urlsplit(str(made.select("#address")[0]["value"])).path
    week = next(weeks)
    page = portal.visitor().get(f"{link}?{week}")
    assert FOR_ENQUIRERS in page.words
    taken = page.windows[0]
    other = f"/prospects/{NOOR}/book"
    physician = taken.partition("/")[2]
    colin.get(f"{other}?{week}&physician={physician}").form(other).submit(window=taken)
    refused = page.form(link).submit(window=taken, status=409)
    assert taken not in refused.windows
    assert legends(refused)[0] == "Nearest free times"
