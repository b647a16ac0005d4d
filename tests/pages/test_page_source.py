"""Which members of a record may stand anywhere in a page's source: text, attributes, hidden fields, PDFs, calendars.

And what of it browsers keep: titles, and what is typed into forms. Asked of every page over an API whose every text is
marked: staff's as each role sees it, patients' as the partner does too, and where forms lead that are sent.
"""

from __future__ import annotations

import html
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pypdf import PdfWriter
from werkzeug.exceptions import HTTPException

from portal.connect.dialects.named_records import records
from portal.http import transport
from portal.http.transfer import Call
from portal.services.files import READ_FILE_CONTENT
from portal.services.members import members_of
from portal.services.protocols import READ_PROTOCOL
from tests.pages.states import CASE_OF, Opener, State, written
from tests.pages.test_facts import ROLES, TALK, UNDER_TREATMENT, Case
from tests.support.allowed_members import (
    BANNER,
    PATIENTS,
    PATIENTS_FRAME,
    ROLES_ALONE,
    STAFF,
    members,
    shown_on,
)
from tests.support.clock import Clock
from tests.support.fake_api import NOW, FakeApi
from tests.support.in_process import InProcess
from tests.support.marks import KEPT, UNKNOWN, Marks, source_of, unmarked


def _blank() -> bytes:
    """A PDF of one page."""
    file, made = io.BytesIO(), PdfWriter()
    made.add_blank_page(100, 100)
    made.write(file)
    return file.getvalue()


MORE = (
    *(Case("files", who, "/files/f-1", {READ_FILE_CONTENT: _blank()}) for who in ("amelia", "nora")),
    Case("conversations", "amelia", f"{TALK}/archive"),
    Case("notifications", "amelia", "/notifications/settings"),
)
_PLAN = UNDER_TREATMENT[READ_PROTOCOL]
_DOSES = [{**medication, "isTrigger": False} for medication in _PLAN["medications"]]
COPIED = UNDER_TREATMENT | {READ_PROTOCOL: {**_PLAN, "medications": _DOSES}}
SENT = (
    (Case("protocols", "victor", "/protocols/new?copy=p-1", COPIED), State(forms=((0, "name=Plan"),))),
    (Case("protocols", "victor", "/protocols/p-1", UNDER_TREATMENT), State(forms=((0, "stamp=another"),))),
)
AS_ANOTHER = {"/protocols/new/back": "/protocols/new"}
"""Pages that show another's form, with what was typed."""
PARTNER = "daniel"
"""Who is the partner in every episode, and not the patient."""


@dataclass(frozen=True)
class Seen:
    """A page that somebody has opened."""

    who: str
    route: str
    status: int
    source: str

    @property
    def is_patients(self) -> bool:
        return self.who not in ROLES


@pytest.fixture(scope="module")
def marks() -> Marks:
    return Marks()


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(tmp_path_factory.mktemp("portal"), Clock(NOW.timestamp))


@pytest.fixture(scope="module")
def seen(portal: InProcess, marks: Marks) -> list[Seen]:
    """Every page, as everybody who may open it sees it."""
    api = FakeApi()

    def stream(call: Call) -> Any:
        status, headers, body = api.stream(call)
        name = f'attachment; filename="{marks.of("Content.name")}.pdf"'
        return status, {**headers, "content-disposition": name}, body

    def change(path: str, answer: Any) -> Any:
        marked = marks.answer("GET", path, answer)
        partner = marked.get("partner") if isinstance(marked, dict) else None
        return {**marked, "partner": {**partner, "userId": PARTNER}} if partner else marked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", api.send)
        patch.setattr(transport, "stream", stream)
        opener = Opener(portal, api, change)
        return [one for case, state in _everything() for one in _opened(portal, opener, case, state)]


def _everything() -> Iterator[tuple[Case, State]]:
    for case in (*CASE_OF.values(), *MORE):
        for who in ROLES if case.who in ROLES else (case.who, PARTNER, "nora"):
            yield replace(case, who=who), State()
    yield from SENT
    for file in (Path(__file__).parent / "states").glob("*.txt"):
        for title, state, _ in written(file.read_text(encoding="utf-8")):
            if (state.forms and not state.refused) or state.after:
                yield CASE_OF[title], state


def _opened(portal: InProcess, opener: Opener, case: Case, state: State) -> Iterator[Seen]:
    answer = opener.open(case, state).answer
    method, path = str(answer.request.method), urlsplit(answer.url).path
    try:
        rule, _ = portal.app.url_map.bind("riverside.localhost").match(path, method, return_rule=True)
    except HTTPException:
        return
    assert answer.status_code in (200, 204, 302, 303, 403, 404, 422, 501) or state.forms, (
        f"{case.who} {case.path}: {answer.status_code}"
    )
    yield Seen(case.who, rule.rule, answer.status_code, source_of(answer))


@pytest.mark.asvs("15.3.1")
def test_a_page_contains_only_its_allowed_members(marks: Marks, seen: list[Seen], portal: InProcess) -> None:
    areas = {
        rule.rule: portal.app.view_functions[rule.endpoint].__module__.split(".")[2]
        for rule in portal.app.url_map.iter_rules()
        if rule.endpoint != "static"
    }
    listed = {areas[route] for table in (PATIENTS, STAFF) for route in table}
    surplus: set[str] = set()
    held: defaultdict[str, int] = defaultdict(int)
    for one in seen:
        table = PATIENTS if one.is_patients else STAFF
        found = {as_seen_by(one.who, member) for member in marks.found_in(html.unescape(unquote(one.source)))}
        role = ROLES.get(one.who, "patient")
        allowed = {
            member
            for member in members(table.get(one.route, ""), for_staff=table is STAFF)
            if role in ROLES_ALONE.get((one.route, member), {role})
        }
        if areas[one.route] not in listed:
            allowed |= shown_on(areas[one.route], for_staff=table is STAFF)
        if one.is_patients and 'class="menu-name"' in one.source:
            allowed |= members(PATIENTS_FRAME)
        if not one.is_patients and 'class="patient-banner"' in one.source:
            allowed |= members(BANNER)
        surplus |= {
            f"{one.route} for {'patients' if one.is_patients else 'staff'}: {member}"
            for member in found - allowed
        }
        held[one.who] += len(found)
    assert not surplus, f"a page shows more than tests/support/allowed_members.py lists: {sorted(surplus)}"
    assert min(held.values()) > 5 and sum(held.values()) > 500, f"no mark was found: {held}"


def test_every_listed_page_is_looked_at(seen: list[Seen]) -> None:
    for table in (PATIENTS, STAFF):
        shown = [
            one for one in seen if one.status in (200, 409, 422) and one.is_patients == (table is PATIENTS)
        ]
        unseen = {AS_ANOTHER.get(route, route) for route in table} - {one.route for one in shown}
        assert not unseen, f"let tests/pages/states.py open these: {sorted(unseen)}"


def test_a_title_holds_nothing_of_a_record(marks: Marks, seen: list[Seen]) -> None:
    """The browser's history keeps titles."""
    titles = {
        title.strip() for one in seen for title in re.findall("<title>(.*?)</title>", one.source, re.DOTALL)
    }
    assert not [title for title in titles if [*marks.found_in(html.unescape(title))]]
    assert len(titles) > 10


def test_no_page_shows_what_python_calls_an_object(seen: list[Seen]) -> None:
    named = re.compile(r"<[\w.]+ [^<>]*(?:<locals>[^<>]*(?:<lambda>)?)?(?: object)? at 0x[0-9a-f]+>")
    assert not [one.route for one in seen if named.search(html.unescape(unquote(one.source)))]
    assert named.search(str(lambda: None))
    assert named.search(str(object()))


def test_a_form_says_what_a_field_is_for_only_to_whom_the_details_belong(seen: list[Seen]) -> None:
    """Browsers offer, and some restore, what was typed there before."""
    named: defaultdict[bool, set[str]] = defaultdict(set)
    for one in seen:
        tag = re.search(r'<body[^>]* data-session="([^"]+)"', one.source)
        for form in re.findall("<form.*?</form>", one.source, re.DOTALL):
            tokens = set(re.findall(r'<(?:input|select|textarea)[^>]* autocomplete="([^"]*)"', form)) - {
                "off"
            }
            first = re.search("<(?:input|select|textarea)[^>]*>", form)
            assert not tokens or (first and tag and f'name="{tag[1]}"' in first[0]), f"{one.route}: {tokens}"
            named[one.is_patients] |= tokens
    assert named[False] <= {"name"}
    assert {"email", "tel", "address-line1"} <= named[True]


def as_seen_by(who: str, member: str) -> str:
    """The member's name; of an episode's two people a patient is `me`, or the `other`."""
    whose, dot, rest = member.partition(".")
    if who in ROLES or whose not in ("patient", "partner"):
        return member
    return f"{'me' if (whose == 'partner') == (who == PARTNER) else 'other'}{dot}{rest}"


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
