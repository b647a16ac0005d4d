"""Two other vendors' APIs that share nothing: what pages state before them is what they state before the service's own."""

from __future__ import annotations

import difflib
import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.http import transport
from portal.services import decoding
from tests.pages.test_acts import ACTS, MOST_STEPS, Act, step
from tests.pages.test_facts import CASES, ONE_EPISODE, PENDING, ROLES, UNDER_TREATMENT, Case
from tests.support.clock import Clock
from tests.support.dialect import DOTNET, SNAKES, Dialect
from tests.support.dialect import said as in_format
from tests.support.facts import Answers, main_text
from tests.support.fake_api import NOW, ZONE, FakeApi, Sent
from tests.support.full import in_turns, this_week
from tests.support.in_process import InProcess
from tests.support.vendors import VENDORS, Vendor, VendorsApi
from tests.support.visitor import Page

READ = [one for one in CASES if not one.path.endswith(".pdf")]
OWN: dict[object, list[str]] = {}
"""What pages state before the service's own API, and below what they send and where that ends."""
OWN_ALONE: dict[object, list[str]] = {}
"""The same, of pages that are the first that a portal shows."""
OWN_ACTS: dict[object, tuple[list[Sent], Page]] = {}


def named(one: Case | Act | Vendor | Dialect) -> str | None:
    match one:
        case Case():
            return f"{one.who} {one.path} {one.note}"
        case Act():
            return f"{one.who} {one.row.method} {one.at}"
        case Vendor():
            return one.name
        case _:
            return "dotnet" if one is DOTNET else "snakes"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    return InProcess(tmp_path_factory.mktemp("native"), Clock(NOW.timestamp))


@pytest.fixture(scope="module", params=VENDORS, ids=lambda vendor: vendor.name)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    return request.param


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory, vendor: Vendor) -> InProcess:
    return InProcess(tmp_path_factory.mktemp(vendor.name), Clock(NOW.timestamp), dialect=vendor.dialect)


@pytest.fixture(scope="module")
def formatted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[InProcess, Dialect]:
    return InProcess(tmp_path_factory.mktemp("formatted"), Clock(NOW.timestamp)), request.param


@pytest.fixture
def api(fake_api: FakeApi, vendor: Vendor) -> VendorsApi:
    return VendorsApi(fake_api, vendor)


@pytest.mark.parametrize(
    ("vendor", "case"), this_week(in_turns(VENDORS, READ), 2), indirect=["vendor"], scope="module", ids=named
)
def test_pages_state_the_same(
    native: InProcess,
    foreign: InProcess,
    fake_api: FakeApi,
    api: VendorsApi,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    role = ROLES.get(case.who, "patient")
    if (key := (case.who, case.path, case.note)) not in OWN:
        native.forget()
        visitor = native.visitor(case.who, role)
        OWN[key] = said(visitor.http.get(visitor.origin + case.path).text)
    monkeypatch.setattr(transport, "send", api.send)
    monkeypatch.setattr(transport, "stream", api.stream)
    foreign.forget()  # when a form was first opened is kept
    visitor = foreign.visitor(case.who, role)
    shown = said(api.ours(visitor.http.get(visitor.origin + api.theirs(case.path)).text))
    difference = "\n".join(
        difflib.unified_diff(OWN[key], shown, "the service's own", api.vendor.name, lineterm="", n=0)
    )
    assert not difference, difference


@pytest.mark.parametrize(
    ("formatted", "case"),
    this_week(in_turns([DOTNET, SNAKES], READ), 3),
    indirect=["formatted"],
    scope="module",
    ids=named,
)
def test_pages_state_the_same_whatever_an_api_without_a_dialect_file_may_answer(
    native: InProcess, formatted: tuple[InProcess, Dialect], fake_api: FakeApi, case: Case
) -> None:
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)

    def shown(portal: InProcess, dialect: Dialect) -> list[str]:
        portal.forget()
        fake_api.change = lambda path, answer: in_format("GET", path, answer, dialect)
        visitor = portal.visitor(case.who, ROLES.get(case.who, "patient"))
        return said(visitor.http.get(visitor.origin + case.path).text)

    if (key := (case.who, case.path, case.note)) not in OWN_ALONE:
        OWN_ALONE[key] = shown(native, Dialect())
    assert shown(*formatted) == OWN_ALONE[key]


def test_answers_are_read_once(
    foreign: InProcess, fake_api: FakeApi, api: VendorsApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strictly, although ids come as numbers: the forgiving way takes twice the time."""
    for row, answer in (UNDER_TREATMENT | ONE_EPISODE | PENDING).items():
        fake_api.gives(row, answer)
    monkeypatch.setattr(transport, "send", api.send)
    monkeypatch.setattr(decoding, "_forgiven", lambda *_: pytest.fail("read the forgiving way"))
    amelia = foreign.visitor("amelia")
    assert amelia.http.get(amelia.origin + "/").status_code == 200


def said(html: str) -> list[str]:
    text = main_text(html, Answers([], ZONE)).replace("\0", "")
    lines = (" ".join(one.split()) for one in text.splitlines())
    return [_OF_IDS.sub("(of ids)", line) for line in lines if line]


_OF_IDS = re.compile(r"(?:[0-9a-f]{4} ){15}[0-9a-f]{4}|physicia[\w-]*…")
"""What is made of ids: a form's seal, and the beginning of an id that nobody's name is known for."""


@pytest.mark.parametrize(
    ("vendor", "act"), in_turns(VENDORS, ACTS), indirect=["vendor"], scope="module", ids=named
)
def test_acts_are_sent_alike_and_end_alike(
    native: InProcess,
    foreign: InProcess,
    fake_api: FakeApi,
    api: VendorsApi,
    act: Act,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if (key := ACTS.index(act)) not in OWN_ACTS:
        OWN_ACTS[key] = done(native, fake_api, act)
    monkeypatch.setattr(transport, "send", api.send)
    filled = {name: api.theirs(f"/{value}")[1:] for name, value in act.filled.items()}
    there = replace(act, at=api.theirs(act.at), form=api.theirs(act.form), filled=filled)
    calls, ending = done(foreign, fake_api, there)
    if f"{act.row.method} {act.row.template}" not in api.vendor.calls:
        assert not calls
        return
    own, own_ending = OWN_ACTS[key]
    assert calls, said(api.ours(ending.text))
    sent, meant = calls[-1], own[-1]
    assert (sent.row, sent.path) == (meant.row, meant.path)
    if api.vendor.calls[f"{act.row.method} {act.row.template}"].startswith("PATCH "):
        assert in_utc(sent.body).items() <= in_utc(meant.body).items(), "a patch has what was changed alone"
        assert len(sent.body) > ("concurrencyStamp" in sent.body)
    else:
        assert in_utc(sent.body) == in_utc(meant.body)
    assert said(api.ours(ending.text)) == said(own_ending.text)


def in_utc(body: Any) -> Any:
    """A body's members, instants in UTC: a vendor's local times lose the zone in which one was sent."""
    if not isinstance(body, dict):
        return body
    return {
        name: datetime.fromisoformat(one).astimezone(UTC) if name == "toldAt" else one
        for name, one in body.items()
    }


def done(portal: InProcess, fake_api: FakeApi, act: Act) -> tuple[list[Sent], Page]:
    """Carry out an act from its page on: what it sent, and where it ends."""
    fake_api.forget()
    portal.forget()  # the same person may have done the same before, to another form of that id
    for row, answer in act.answers.items():
        fake_api.gives(row, answer)
    page = portal.visitor(act.who, ROLES.get(act.who, "patient")).get(act.at)
    for _ in range(MOST_STEPS):
        with suppress(StopIteration):  # a vendor may lack what the act is about
            page = step(page, act)
        if sent := fake_api.sent(act.row):
            return sent, page
    return [], page
