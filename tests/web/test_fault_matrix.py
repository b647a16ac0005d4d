"""Every way in which a real network or API can fail, met by a page of one call, one of several, and acts.

Whatever happens there: a true status, words of the portal's own with a way on, within the page's time, and nothing failed
shown as empty or as done. Every other page and act meets the same faults without a network: `tests/pages/test_failures.py`,
`tests/pages/test_refused_acts.py`. CARE_TEST_FULL=1 tries them all here too.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
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
from tests.support.visitor import Page, Visitor
from tests.web.test_call_budget import (
    AGAIN,
    AMELIAS,
    BUDGET,
    EMBRYO,
    EMR,
    GRACES,
    INES,
    PROTOCOL,
    SCAN,
    SIGNED,
    TOMASZ,
)

Failing = Callable[..., AbstractContextManager[None]]
IMPATIENT = Timeouts(connect=1, read=1, page=3)
WAITED_FOR = frozenset({"connect time-out", "read time-out", "slow drip"})
"""Faults that a page waits for. The others come at once and leave a busy machine the usual time."""
SLACK_SECONDS = 5.0
"""For a machine that is busy with other tests; a page that waited for its calls in turn would take longer still."""
FULL = bool(os.environ.get("CARE_TEST_FULL"))

PATIENT_EDIT = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}"
CASE_EDIT = f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIAS}"
FOLDER_MOVE = f"/directories/{sample_id('directory', 'amelia-letters')}/move?episode={AMELIAS}"
CONTACT = f"/relationships/{sample_id('relationship', 'amelia-contact')}/remove?episode={AMELIAS}"
CALLED = "/consents?list=friday&waits=patients"
_COUNT = itertools.cycle(range(20, 60))
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
    """Whether a page is whole without what failed.

    The embryo was found in another of the person's episodes; the form that a wish needs couldn't be looked for, and
    the API decides by itself; people who signed lately are only proposed as signers. What a notification is about, and
    what is to be signed next, are said where they can be looked up. Whom to call has been read within a quarter of an hour.
    An episode that isn't there any more is left out;
    who has no other is told so.
    """
    beside = ("/storage/", "/consents/new?template=", "/notifications", f"{SIGNED}/receipt", CALLED)
    if which == "the last call" and path.startswith(beside):
        return True
    if path.startswith("/emr-endpoints/"):
        return True  # a notification has the connection's name; without it, the page asks for the id
    if which == "the last call" and fault == "501" and path.startswith("/protocols/"):
        return True  # without a list of physicians, the plan shows its patient but no physician
    if which == "the last call" and fault == "501" and path == "/":
        return True  # whichever came last of those side by side: home leaves out what isn't offered
    if fault == "404" and path == "/me":
        return True
    return (
        which == "the last call"
        and fault == "404"
        and path in ("/", "/episodes", "/storage", "/papers", "/care-team")
    )


def is_possible(path: str, fault: str) -> bool:
    """A file is bytes: what comes instead of JSON is the file, and what breaks off has begun."""
    in_file = IN_THE_BODY | {"reset in mid-body", "50 MB body", "slow drip"}
    return not (path.startswith("/files/") and fault in in_file)


IN_THE_BACKGROUND = {
    path
    for route in ("/notifications/bell", "/conversations/new", "/conversations/<record:conversation_id>/new")
    for _, path, _ in BUDGET[route]
}
"""What open pages ask for by themselves; when that fails, they stay as they are."""

KEPT = {("elif", "/storage"), ("elif", "/storage/read-on")}
"""Shown from what the session has read within a quarter of an hour; tests/pages/test_cryo_room.py lets its calls fail."""

PAGES = [
    (name, path, calls)
    for cases in BUDGET.values()
    for name, path, calls in cases
    if (FULL or (name, path) in (("amelia", "/"), ("nora", PATIENT_EDIT)))
    and calls
    and path not in IN_THE_BACKGROUND
    and (name, path) not in KEPT
    and not path.endswith("/look")
]
PAGE_CASES = [
    (name, path, which, fault)
    for name, path, calls in PAGES
    for which in (("every call", "the last call") if calls > 1 else ("every call",))
    for fault in EVERY_FAULT
    if is_possible(path, fault) and not (fault in LINE_FAULTS and which == "the last call")
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


@pytest.fixture(scope="module")
def person(portal: PortalThread) -> Callable[[str], Visitor]:
    """Everyone signs in once for the module, and so has been at home."""
    return cache(portal.sign_in)


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
def calls_of(
    person: Callable[[str], Visitor], portal: PortalThread, board: Switchboard
) -> Callable[[str, str], list[str]]:
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
    person: Callable[[str], Visitor],
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
    only = f"{re.escape(needed[-1])}$" if which == "the last call" and needed else ""
    with failing(fault, only=only), caplog.at_level(logging.WARNING, "portal"):
        began = time.monotonic()
        page = visitor.request("GET", path, status=None, follow=False)
        took = time.monotonic() - began
    assert took < IMPATIENT.page + SLACK_SECONDS, f"{took:.1f} s"
    assert_honest(page, fault)
    if not needed:
        assert page.status == (303 if path == "/find/results" else 200), "the page makes no API call"
    elif page.status == 200:
        said = page.select(SAID) or any(words in page.words for words in SAYINGS)
        assert said or unhurt(path, which, fault), f"shown as if nothing had failed: {page.words[:400]}"
    else:
        possible = EXPECTED[fault] | ({503} if len(needed) > 1 else set[int]())
        if path.startswith("/consents/new?"):
            possible = possible | {422}  # the given treatment can't be read: choose another
        assert page.status in possible, f"{page.status}: {page.words[:300]}"
        assert page.select("main a[href]"), "the error page has no link"
        request_id = page.headers["X-Request-Id"]
        # Already removed, or another treatment has to be chosen: not an error page.
        gone = page.status == 422 or (page.status == 404 and path.startswith("/relationships/"))
        assert gone or request_id in page.words, "the error page doesn't show the request id"
        assert gone or any("care api" in record.message for record in caplog.records), (
            "the failed call isn't logged"
        )
    if page.status == 503 and len(needed) == 1 and fault in ("503 with Retry-After", "429"):
        assert int(page.headers["Retry-After"]) >= 1


@dataclass(frozen=True)
class Act:
    """Something a person does: whose form stands where, what they fill in. `once` can't be done a second time."""

    name: str
    at: str
    form: str
    filled: dict[str, str] = field(default_factory=dict)
    once: bool = False
    steps: int = 1


ACTS = {
    "mark one as read": Act("nora", "/notifications?unread=1", "/notifications/", once=True),
    "mark all as read": Act("daniel", "/notifications", "/notifications/read", once=True),
    "choose what to be told": Act(
        "amelia", "/notifications/settings", "/notifications/settings", {"start": "21:{n}", "end": "06:30"}
    ),
    "archive a message": Act("amelia", f"/conversations/{SCAN}", "/conversations/"),
    "change my details": Act("amelia", "/me", "/me", {"address_line2": "Floor {n}"}),
    "change a patient": Act("nora", PATIENT_EDIT, PATIENT_EDIT, {"address_line2": "Floor {n}"}),
    "change a case": Act("victor", CASE_EDIT, CASE_EDIT, {"title": "IVF/ICSI, male factor, look {n}"}),
    "change a protocol": Act(
        "victor", f"{PROTOCOL}/edit", PROTOCOL, {"name": "Antagonist, look {n}"}, steps=2
    ),
    "put a protocol on hold": Act("victor", PROTOCOL, f"{PROTOCOL}/status"),
    "make a protocol": Act("victor", f"/protocols/new?copy={PROTOCOL[11:]}", "/protocols/new", steps=2),
    "move a folder": Act("nora", FOLDER_MOVE, FOLDER_MOVE),
    "move an embryo": Act(
        "elif", f"{EMBRYO}?episode={GRACES}", "/storage/", {"location_cane": "{n}"}, steps=3
    ),
    "keep an embryo": Act("grace", f"{EMBRYO}/keep?episode={GRACES}", "/storage/", once=True, steps=2),
    "remove a contact": Act("amelia", CONTACT, "/relationships/", once=True),
    "book a window": Act(
        "colin", f"/prospects/{TOMASZ}/book", f"/prospects/{TOMASZ}/book", once=True, steps=2
    ),
    "merge two prospects": Act(
        "colin", f"/prospects/{INES}/merge?merge={AGAIN}", f"/prospects/{INES}/merge", once=True, steps=3
    ),
    "remove an EMR endpoint": Act(
        "ada", f"{EMR}/remove", "/emr-endpoints/", {"typed": EMR.rpartition("/")[2]}, once=True
    ),
}
ACT_CASES = [
    (act, fault)
    for act, one in ACTS.items()
    if FULL or act in ("archive a message", "change my details")
    for fault in EVERY_FAULT
    if not (one.once and fault in ACTED) and not (one.steps > 1 and fault in LINE_FAULTS)
]


@pytest.mark.parametrize(("act", "fault"), named(ACT_CASES))
@pytest.mark.asvs("2.3.3", "16.5.3")
def test_an_act_that_fails_is_never_reported_as_done(
    portal: PortalThread,
    board: Switchboard,
    failing: Failing,
    act: str,
    fault: str,
) -> None:
    one = ACTS[act]
    visitor = portal.sign_in(one.name)
    page = visitor.get(one.at)
    began, before = time.monotonic(), len(board.calls)
    with failing(fault, only="^(POST|PUT|DELETE) "):
        for _ in range(one.steps):
            page = filled_in(page, one)
            tried = [call for call in board.calls[before:] if call[2]]
            if tried or page.status >= 400:
                break
    assert time.monotonic() - began < (IMPATIENT.page + SLACK_SECONDS) * one.steps
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


def filled_in(page: Page, act: Act) -> Page:
    """Send the form as this act has it, the first choice taken wherever none is."""
    form = next(
        page.form(element)
        for element in page.select('main form[method="post"]')
        if urlsplit(page.form(element).action).path.startswith(act.form.partition("?")[0])
        and not urlsplit(page.form(element).action).path.endswith("/open")
    )
    names = {field["name"] for field in form.element.select("input, select, textarea") if field.get("name")}
    chosen = {name for name, _ in form.fields()}
    first: dict[str, str] = {}
    for radio in form.element.select("input[type=radio]:not([disabled])"):
        if radio["name"] not in chosen:
            first.setdefault(str(radio["name"]), str(radio.get("value") or "on"))
    for select in form.element.select("select[required]"):
        options = [str(o.get("value", o.get_text())) for o in select.select("option:not([disabled])")]
        if dict(form.fields()).get(str(select["name"])) == "":
            first[str(select["name"])] = next(option for option in options if option)
    filled = {name: value.format(n=next(_COUNT)) for name, value in act.filled.items() if name in names}
    return form.submit(status=None, check_all=act.once, **{**first, **filled})


def assert_honest(page: Page, fault: str) -> None:
    """Nothing of the API's or of the program's own inside reaches a person."""
    text = page.response.content.decode("utf-8", "replace")
    assert page.status != 500, page.words[:400]
    assert SECRET_WORDS not in text
    assert ELSEWHERE not in text and page.headers.get("Location", "") != ELSEWHERE
    assert "Traceback" not in text and "CareError" not in text
    assert page.headers["Cache-Control"] == "no-store"
