"""Every way in which a real network or API can fail, met by a page of one call, one of several, and acts.

Whatever happens there: a true status, words of the portal's own with a way on, within the page's time, and nothing failed
shown as empty or as done. Every other page and act meets the same faults without a network: `tests/pages/test_failures.py`,
`tests/pages/test_refused_acts.py`.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from portal.careservice.ids import sample_id
from portal.config.variables import Timeouts
from portal.demo.stack import tenants_file
from portal.services.reference_cache import Memory
from tests.support.faults import (
    ACTED,
    ELSEWHERE,
    EVERY_FAULT,
    IN_THE_BODY,
    LINE_FAULTS,
    SECRET_WORDS,
    Switchboard,
)
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Form, Page, SignIn
from tests.web.test_call_budget import AMELIAS, BUDGET, SCAN

Failing = Callable[..., AbstractContextManager[None]]
IMPATIENT = Timeouts(connect=1, read=1, page=3)
WAITED_FOR = frozenset({"connect time-out", "read time-out", "slow drip"})
"""Faults that a page waits for. The others come at once and leave a busy machine the usual time."""
SLACK_SECONDS = 5.0
"""For a machine that is busy with other tests; a page that waited for its calls in turn would take longer still."""
PATIENT_EDIT = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}"
SAID = '[data-state="failed"], [data-state="not-offered"], [data-state="stale"], [data-state="gone"]'
SAYINGS = (
    "can’t be listed right now",
    "Birth date, record number and warnings aren’t known here",
    "visits and doses are missing here",
    "Not all plans and forms could be read",
)
"""The second when the patient's treatment is nothing for this person, or not there: the banner has only the record's name."""
FAILURES = '[data-state="failed"], [data-tone="attention"], [data-tone="urgent"], .error-summary'


def unhurt(path: str, which: str, fault: str) -> bool:
    """Whether a page is whole without what failed: what isn't there any more, isn't offered, or is kept from patients."""
    return path == "/" and which == "the last call" and fault in ("404", "501", "empty 403")


PAGES = [
    (name, path, calls)
    for name, path, calls in BUDGET
    if (name, path) in (("amelia", "/"), ("nora", PATIENT_EDIT))
]
PAGE_CASES = [
    (name, path, which, fault)
    for name, path, calls in PAGES
    for which in (("every call", "the last call") if calls > 1 else ("every call",))
    for fault in EVERY_FAULT
    if not (fault in LINE_FAULTS and which == "the last call")
]
EXPECTED: dict[str, set[int]] = {
    **{fault: {503} for fault in EVERY_FAULT},
    **{fault: {502} for fault in (*IN_THE_BODY, "redirect elsewhere", "50 MB body")},
    "401": {502},
    "empty 403": {403},
    "403 with a code": {403},
    "404": {404, 502},  # 502 where a list isn't found: only of a record can it be said that it isn't there
    "409": {409},
    "412": {409},
    "501": {501},
}
"""The status of a page that needs one call, and that call fails."""


def named(cases: list[Any]) -> list[Any]:
    return [pytest.param(*case, id=" ".join(str(part) for part in case)) for case in cases]


@pytest.fixture(scope="module")
def portal(
    service: CareService, board: Switchboard, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PortalThread]:
    """The portal, whose way to the care API (not to the identity server) leads over the switchboard."""
    tenants: Path = tmp_path_factory.mktemp("tenants") / "tenants.toml"
    text = tenants_file(service.plan)
    direct = f'base_url = "{service.plan.service}"'
    assert direct in text
    text = text.replace("idempotency = true", "idempotency = false")  # this API would repeat an act
    tenants.write_text(text.replace(direct, f'base_url = "{board.address}"'))
    running = PortalThread(
        service.plan,
        PORTAL_TENANTS=str(tenants),
        PORTAL_BREAKER="0",  # each fault is met afresh, whatever the previous ones did
    )
    yield running
    running.stop()


@pytest.fixture(autouse=True)
def as_new(portal: PortalThread) -> None:
    """No case leaves the next one what the portal has learnt of a fault."""
    forget(portal)


def forget(portal: PortalThread) -> None:
    """Let the portal know nothing but its sessions."""
    for clinic in ("riverside", "harbour"):
        vault = portal.context.vault
        vault.delete(vault.name("offered", clinic))
    portal.context.references.copies = Memory()


@pytest.fixture
def failing(portal: PortalThread, board: Switchboard) -> Failing:
    """The switchboard's `failing`; where a page waits for the fault, the portal is impatient meanwhile."""

    @contextmanager
    def failing(fault: str, *, only: str = "") -> Iterator[None]:
        usual = portal.context
        if fault in WAITED_FOR:
            settings = replace(usual.settings, timeouts=IMPATIENT)
            portal.app.extensions["portal"] = replace(usual, settings=settings)
        try:
            with board.failing(fault, only=only):
                yield
        finally:
            portal.app.extensions["portal"] = usual

    return failing


@pytest.fixture(scope="module")
def calls_of(person: SignIn, portal: PortalThread, board: Switchboard) -> Callable[[str, str], list[str]]:
    """The API calls that somebody's page makes, seen once for all of its faults."""

    @cache
    def calls(name: str, path: str) -> list[str]:
        before = len(board.calls)
        person(name).request("GET", path, status=None)
        forget(portal)
        return [call[1] for call in board.calls[before:]]

    return calls


@pytest.mark.parametrize(("name", "path", "which", "fault"), named(PAGE_CASES))
def test_a_page_reports_what_it_cannot_show(
    person: SignIn,
    calls_of: Callable[[str, str], list[str]],
    failing: Failing,
    caplog: pytest.LogCaptureFixture,
    name: str,
    path: str,
    which: str,
    fault: str,
) -> None:
    visitor = person(name)
    needed = calls_of(name, path)
    only = f"{re.escape(needed[-1])}$" if which == "the last call" else ""
    with failing(fault, only=only), caplog.at_level(logging.WARNING, "portal"):
        began = time.monotonic()
        page = visitor.request("GET", path, status=None, follow=False)
        took = time.monotonic() - began
    assert took < IMPATIENT.page + SLACK_SECONDS, f"{took:.1f} s"
    assert_honest(page, fault)
    if page.status == 200:
        said = page.select(SAID) or any(words in page.words for words in SAYINGS)
        assert said or unhurt(path, which, fault), f"shown as if nothing had failed: {page.words[:400]}"
    else:
        possible = EXPECTED[fault] | ({503} if len(needed) > 1 else set[int]())
        assert page.status in possible, f"{page.status}: {page.words[:300]}"
        assert page.select("main a[href]"), "the error page has no link"
        assert page.headers["X-Request-Id"] in page.words, "the error page doesn't show the request id"
        assert any("care api" in record.message for record in caplog.records), "the failed call isn't logged"
    if page.status == 503 and len(needed) == 1 and fault in ("503 with Retry-After", "429"):
        assert int(page.headers["Retry-After"]) >= 1


ACTS = {
    "archive a message": (f"/conversations/{SCAN}", "/conversations/", ""),
    "change my details": ("/me", "/me", "address_line2"),
}
"""Amelia's: on which page, by which of its forms, and what she fills in."""


@pytest.mark.parametrize("fault", EVERY_FAULT)
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.asvs("2.3.3", "16.5.3")
def test_an_act_that_fails_is_never_reported_as_done(
    portal: PortalThread, board: Switchboard, failing: Failing, act: str, fault: str
) -> None:
    at, which, field = ACTS[act]
    filled: dict[str, Any] = {field: f"before {fault}"} if field else {}
    page = portal.sign_in("amelia").get(at)
    began, before = time.monotonic(), len(board.calls)
    with failing(fault, only="^(POST|PUT|DELETE) "):
        page = form_of(page, which).submit(status=None, **filled)
    tried = [call for call in board.calls[before:] if call[2]]
    assert time.monotonic() - began < IMPATIENT.page + SLACK_SECONDS
    assert tried or fault in LINE_FAULTS, f"the act was never tried: {page.url} {page.words[:500]}"
    # A refused token is renewed and the call repeated; a change of other fields doesn't conflict with this one.
    once = fault not in ("401", "409", "412")
    assert len(set(tried)) == len(tried) or not once, f"retried automatically: {tried}"
    assert_honest(page, fault)
    if fault not in ACTED:
        assert not page.select('.toast[data-tone="success"]'), page.words[:300]
        assert "/receipt" not in page.path
        assert page.status >= 400 or fault in ("401", "404") or page.select(FAILURES), (
            f"{page.url}: {page.words[:500]}"
        )
    elif not page.select('.toast[data-tone="success"]'):
        assert page.status in (502, 503, 409) or page.select(FAILURES), f"{page.url}: {page.words[:500]}"


def form_of(page: Page, action: str) -> Form:
    """The first form of the main part that is sent there, but for those that open what a message brought."""
    forms = (page.form(element) for element in page.select('main form[method="post"]'))
    paths = ((form, urlsplit(form.action).path) for form in forms)
    return next(form for form, path in paths if path.startswith(action) and not path.endswith("/open"))


def assert_honest(page: Page, fault: str) -> None:
    """Nothing of the API's or of the program's own inside reaches a person."""
    text = page.response.content.decode("utf-8", "replace")
    assert page.status != 500, page.words[:400]
    assert SECRET_WORDS not in text
    assert ELSEWHERE not in text and page.headers.get("Location", "") != ELSEWHERE
    assert "Traceback" not in text and "CareError" not in text
    assert page.headers["Cache-Control"] == "no-store"
