"""Which members of a record may stand anywhere in a page's source: text, attributes, hidden fields, PDFs, calendars."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import unquote

import pytest
from werkzeug.exceptions import HTTPException

from portal.careservice.sample.people import PEOPLE, SamplePerson
from tests.support.allowed_members import NO_TEXT, PATIENTS, PATIENTS_FRAME, ROLES_ALONE, STAFF, members
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.drafts import drafts
from tests.support.marks import UNKNOWN, Marks, source_of, unmarked
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor
from tests.web.test_call_budget import BUDGET, route_of

LEFT_ALONE = re.compile(r"/(sign-out|sign-in|static|styles|book/|language)")
MOST_OF_A_ROUTE = 2
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


def walk(visitor: Visitor, portal: PortalThread, starts: list[str]) -> Iterator[tuple[str, str]]:
    """Route and source of each page that leads on from these; of one route the first two."""
    waiting, opened = list(starts), set[str]()
    seen: defaultdict[str, int] = defaultdict(int)
    while waiting:
        path = waiting.pop(0)
        try:
            route = route_of(portal, path)
        except HTTPException:
            continue
        if path in opened or LEFT_ALONE.search(path) or seen[route] >= MOST_OF_A_ROUTE:
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


@pytest.mark.parametrize("one", PEOPLE, ids=lambda one: one.username)
@pytest.mark.asvs("15.3.1")
def test_a_page_contains_only_its_allowed_members(
    portal: PortalThread, marks: Marks, one: SamplePerson
) -> None:
    table = PATIENTS if one.role == "patient" else STAFF
    starts = ["/", *(path for cases in BUDGET.values() for _name, path, _calls in cases)]
    surplus: set[str] = set()
    held = 0
    visitor = portal.sign_in(one.username)
    for route, source in walk(visitor, portal, [*drafts(visitor, one.username), *starts]):
        found = {as_seen_by(one, member) for member in marks.found_in(html.unescape(unquote(source)))}
        allowed = {
            member
            for member in members(table.get(route, ""))
            if one.role in ROLES_ALONE.get((route, member), {one.role})
        }
        if one.role == "patient" and 'class="menu-name"' in source:
            allowed |= members(PATIENTS_FRAME)
        surplus |= {f"{route}: {member}" for member in found - allowed}
        held += len(found)
    assert not surplus, f"a page shows more than tests/support/allowed_members.py lists: {sorted(surplus)}"
    assert held > 20, "no mark was found"


def as_seen_by(one: SamplePerson, member: str) -> str:
    """The member's name; of an episode's two people a patient is `me`, or the `other`."""
    whose, dot, rest = member.partition(".")
    if one.role != "patient" or whose not in ("patient", "partner"):
        return member
    return f"{'me' if (whose == 'partner') == (one.username in PARTNERS) else 'other'}{dot}{rest}"


def test_every_member_is_marked_or_known_not_to_be_text() -> None:
    assert unmarked() == members(NO_TEXT)


def test_the_lists_allow_patients_no_staff_or_other_persons_members() -> None:
    for route, row in PATIENTS.items():
        for member in members(row):
            whose, _, name = member.partition(".")
            assert whose != "other" or name in ("firstName", "lastName", "preferredName"), (
                f"{route}: {member}"
            )
            assert whose not in ("patient", "partner", "Case", "StorageLocation", "PgtResult"), (
                f"{route}: {member}"
            )
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
