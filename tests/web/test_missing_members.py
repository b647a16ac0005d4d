"""Patients get only the names from their partner's record and no case notes: every page works without the rest."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.marks import source_of
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor, fetch_metadata
from tests.web.test_call_budget import BUDGET, GRACES

PATIENT = {"id", "firstName", "lastName", "preferredName"}
LEFT_OUT = {"caseNumber": {"notes", "diagnosis"}, "embryoCode": {"notes", "pgtResultId"}}
"""By a member that tells the kind of record: what is left out of it."""

NONE = re.compile(r"(?<![\w/.#-])(?:None(?! has reached)|null|undefined|nan)(?![\w/-])")
GETS = [(name, path) for cases in BUDGET.values() for name, path, _calls in cases]


def without(_method: str, _path: str, answer: Any) -> Any:
    """The answer with bare patients, and without what is kept from patients."""
    if isinstance(answer, list):
        return [without(_method, _path, one) for one in answer]
    if not isinstance(answer, dict):
        return answer
    gone = set[str]().union(*(names for told, names in LEFT_OUT.items() if told in answer))
    kept = PATIENT if {"mrn", "firstName"} <= answer.keys() else answer.keys() - gone
    return {name: without(_method, _path, value) for name, value in answer.items() if name in kept}


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """The portal, before an API that leaves all this out for everybody."""
    proxy = DialectProxy(service.base_url, Dialect(change=without))
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


@pytest.fixture(scope="module")
def person(portal: PortalThread) -> Callable[[str], Visitor]:
    """Everyone signs in once for the module."""
    return cache(portal.sign_in)


# `userId` says whose record it is: without it, and unless the id is the person's own, nobody may change the record.
@pytest.mark.parametrize(("name", "path"), GETS, ids=[f"{name} {path}" for name, path in GETS])
def test_a_page_works_with_missing_members(person: Callable[[str], Visitor], name: str, path: str) -> None:
    visitor = person(name)
    address = visitor.origin + path
    answer = visitor.http.get(address, headers=fetch_metadata(address), allow_redirects=False, timeout=30)
    is_mine_unknown = name == "amelia" and path.startswith("/relationships/")
    expected = (404,) if is_mine_unknown else (200, 204, 303)
    assert answer.status_code in expected, f"{path}: {answer.status_code}"
    assert 'data-state="not-given"' not in answer.text, f"{path}: the service gives every part"
    told = NONE.search(re.sub(r"<[^>]*>", " ", html.unescape(source_of(answer))))
    assert told is None, f"{path}: …{told.string[max(0, told.start() - 80) : told.end() + 20]}…"


ROWS = (
    "MRN",
    "Born",
    "Telephone",
    "E-mail",
    "Diagnosis",
    "Notes",
    "Your number at the clinic",
    "Genetic test",
)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("nora", f"/episodes/{TREATMENT_OF_AMELIA}"),
        ("daniel", f"/episodes/{TREATMENT_OF_AMELIA}"),
        ("grace", "/storage"),
        ("elif", f"/episodes/{GRACES}/embryos"),
        ("nora", BUDGET["/storage/<record:embryo_id>"][0][1]),
        ("grace", BUDGET["/storage/<record:embryo_id>"][0][1]),
    ],
)
def test_a_row_without_a_value_is_left_out(person: Callable[[str], Visitor], name: str, path: str) -> None:
    page = person(name).get(path)
    terms = {" ".join(term.get_text(" ").split()) for term in page.select("dt")}
    assert not terms & set(ROWS), f"{path}: {terms & set(ROWS)}"


def test_names_that_the_api_sent_are_shown(person: Callable[[str], Visitor]) -> None:
    words = person("nora").get(f"/episodes/{TREATMENT_OF_AMELIA}").words
    assert "Amelia Hart" in words and "Daniel Hart" in words


def test_without_their_own_record_a_person_still_sees_the_other_details(
    portal: PortalThread, person: Callable[[str], Visitor]
) -> None:
    page = person("amelia").get("/me")
    assert page.heading == "My details"
    assert page.select("a[href='/notifications/settings']")
