"""Which members of a record may stand anywhere in a page's source: text, attributes, hidden fields, PDFs, calendars.

And what of it browsers keep: titles, and what is typed into forms.
"""

from __future__ import annotations

import html
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

import pytest
from werkzeug.exceptions import HTTPException

from portal.careservice.sample.people import PEOPLE, SamplePerson
from portal.connect.dialects.shapes import records
from portal.services.members import members_of
from tests.support.allowed_members import (
    BANNER,
    PATIENTS,
    PATIENTS_FRAME,
    ROLES_ALONE,
    STAFF,
    members,
    shown_on,
)
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.drafts import drafts
from tests.support.marks import KEPT, UNKNOWN, Marks, source_of, unmarked
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.web.test_call_budget import BUDGET, route_of

IS_FULL = os.environ.get("CARE_TEST_FULL") == "1"
LEFT_ALONE = re.compile(r"/(sign-out|sign-in|static|styles|book/|language)")
MOST_OF_A_ROUTE = 2
"""Of staff's pages one, since six of them walk; with CARE_TEST_FULL=1 two as well."""
PARTNERS = {"daniel"}
"""Who is the partner in their episodes, and not the patient."""


@pytest.fixture(scope="module")
def marks() -> Marks:
    return Marks()


@pytest.fixture(scope="module")
def portal(service: CareService, marks: Marks) -> Iterator[PortalThread]:
    """The portal, before an API whose every text is marked."""
    proxy = DialectProxy(
        service.base_url, Dialect(change=marks.answer, file_name=f"{marks.of('Content.name')}.pdf")
    )
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


def walk(visitor: Visitor, portal: PortalThread, starts: list[str], most: int) -> Iterator[tuple[str, str]]:
    """Route and source of each page that leads on from these; of one route so many at most."""
    waiting, opened = list(starts), set[str]()
    seen: defaultdict[str, int] = defaultdict(int)
    while waiting:
        path = waiting.pop(0)
        try:
            route = route_of(portal, path)
        except HTTPException:
            continue
        if path in opened or LEFT_ALONE.search(path) or seen[route] >= most:
            continue
        opened.add(path)
        answer = visitor.http.get(visitor.origin + path, allow_redirects=False, timeout=60)
        assert answer.status_code < 500 or answer.status_code == 501, f"{path}: {answer.status_code}"
        if answer.status_code == 200:
            seen[route] += 1
        source = source_of(answer)
        yield route, source
        links = [html.unescape(link) for link in re.findall(r'(?:href|src|hx-get)="(/[^"]*)"', source)]
        waiting += [answer.headers["Location"]] if "Location" in answer.headers else links


@dataclass(frozen=True)
class Seen:
    """What one person has opened: routes and sources."""

    one: SamplePerson
    pages: list[tuple[str, str]]


@pytest.fixture(scope="module", params=PEOPLE, ids=lambda one: one.username)
def seen(portal: PortalThread, request: pytest.FixtureRequest) -> Seen:
    """Every page that this person comes to."""
    one: SamplePerson = request.param
    starts = ["/", *(path for cases in BUDGET.values() for _name, path, _calls in cases)]
    visitor = portal.sign_in(one.username)
    most = MOST_OF_A_ROUTE if one.role == "patient" or IS_FULL else 1
    return Seen(one, list(walk(visitor, portal, [*drafts(visitor, one.username), *starts], most)))


@pytest.mark.asvs("15.3.1")
def test_a_page_contains_only_its_allowed_members(marks: Marks, seen: Seen, portal: PortalThread) -> None:
    one = seen.one
    table = PATIENTS if one.role == "patient" else STAFF
    areas = {
        rule.rule: portal.app.view_functions[rule.endpoint].__module__.split(".")[2]
        for rule in portal.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and rule.endpoint != "static"
    }
    listed = {areas[route] for table in (PATIENTS, STAFF) for route in table}
    surplus: set[str] = set()
    held = 0
    for route, source in seen.pages:
        found = {as_seen_by(one, member) for member in marks.found_in(html.unescape(unquote(source)))}
        allowed = {
            member
            for member in members(table.get(route, ""), for_staff=table is STAFF)
            if one.role in ROLES_ALONE.get((route, member), {one.role})
        }
        if areas[route] not in listed:
            allowed |= shown_on(areas[route], for_staff=table is STAFF)
        if one.role == "patient" and 'class="menu-name"' in source:
            allowed |= members(PATIENTS_FRAME)
        if one.role != "patient" and 'class="patient-banner"' in source:
            allowed |= members(BANNER)
        surplus |= {f"{route}: {member}" for member in found - allowed}
        held += len(found)
    assert not surplus, f"a page shows more than tests/support/allowed_members.py lists: {sorted(surplus)}"
    assert held > 20, "no mark was found"


def test_a_title_holds_nothing_of_a_record(marks: Marks, seen: Seen) -> None:
    """The browser's history keeps titles."""
    titles = {
        title.strip()
        for _route, source in seen.pages
        for title in re.findall("<title>(.*?)</title>", source, re.DOTALL)
    }
    assert not [title for title in titles if [*marks.found_in(html.unescape(title))]]
    assert len(titles) > 10


def test_a_form_says_what_a_field_is_for_only_to_whom_the_details_belong(seen: Seen) -> None:
    """Browsers offer, and some restore, what was typed there before."""
    named: set[str] = set()
    for route, source in seen.pages:
        tag = re.search(r'<body[^>]* data-session="([^"]+)"', source)
        for form in re.findall("<form.*?</form>", source, re.DOTALL):
            tokens = set(re.findall(r'<(?:input|select|textarea)[^>]* autocomplete="([^"]*)"', form)) - {
                "off"
            }
            first = re.search("<(?:input|select|textarea)[^>]*>", form)
            assert not tokens or (first and tag and f'name="{tag[1]}"' in first[0]), f"{route}: {tokens}"
            named |= tokens
    assert named <= ({"name"} if seen.one.role != "patient" else named)
    assert seen.one.role != "patient" or {"email", "tel", "address-line1"} <= named


def as_seen_by(one: SamplePerson, member: str) -> str:
    """The member's name; of an episode's two people a patient is `me`, or the `other`."""
    whose, dot, rest = member.partition(".")
    if one.role != "patient" or whose not in ("patient", "partner"):
        return member
    return f"{'me' if (whose == 'partner') == (one.username in PARTNERS) else 'other'}{dot}{rest}"


def test_every_text_of_a_record_is_marked() -> None:
    """Numbers, times and choices bear no mark."""
    texts = {
        f"{name}.{one.name}" for name, shape in records().items() for one in members_of(shape) if one.is_text
    }
    assert unmarked() & texts <= KEPT


def test_the_lists_allow_patients_no_staff_or_other_persons_members() -> None:
    for route, row in PATIENTS.items():
        for member in members(row):
            whose, _, name = member.partition(".")
            assert whose != "other" or name in ("firstName", "lastName", "preferredName"), (
                f"{route}: {member}"
            )
            assert whose not in ("patient", "partner", "Case", "StorageLocation"), f"{route}: {member}"
            assert whose != "PgtResult" or route.startswith("/pgt-results/"), f"{route}: {member}"
            assert member not in ("EmbryoStorage.notes", "Protocol.concurrencyStamp"), f"{route}: {member}"
    for table in (PATIENTS, STAFF):
        assert not [row for row in table.values() if "unheardOf" in row or UNKNOWN in row]


def test_a_mark_is_found_anywhere_in_a_source() -> None:
    marks = Marks()
    mark, number = marks.of("Clause.text"), marks.of("ReplyAddress.sms")
    for source in (f"<p title={mark}>", mark.upper(), f"{mark[:3]}\n{mark[3:]}", f"a{mark}b"):
        assert marks.found_in(source) == {"Clause.text"}
    assert marks.found_in(f"{number[:6]} {number[6:9]}-{number[9:]}") == {"ReplyAddress.sms"}
    assert marks.found_in("nothing") == set()
