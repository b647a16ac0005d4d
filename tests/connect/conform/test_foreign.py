"""`conform` with three very different APIs: it finds exactly the differences, and its proposals work."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.conforming import AtTheClinic, Outcome
from tests.support.foreign_api import KEBAB, PASCAL, SNAKE, ForeignApi, ports_for_all, service_for_all
from tests.support.foreign_format import Foreign
from tests.support.stack import PASSWORD, CareService, PortalThread
from tests.support.visitor import Page
from tests.support.walks import Careful, facts

BASES = ("/fertility/v3", "/fertility/v3/clinical")
GRACES, AMELIAS = sample_id("episode", "grace-2"), sample_id("episode", "amelia-1")


@dataclass(frozen=True)
class Planted:
    """How an API differs, as `conform` should say it; what a person who knows it answers; who compares pages."""

    foreign: Foreign
    dialect: dict[str, Any]
    asked: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]
    person: str
    pages: tuple[str, ...]
    known: str = ""
    bases: tuple[str, ...] = ()


PLANTED = (
    Planted(
        PASCAL,
        {
            "concurrency": "etag",
            "names": {"members": "PascalCase"},
            "envelopes": {"answers": ["Result"]},
            "times": {"instants": "epoch_ms"},
            "members": {"Episode": {"embryos": "FrozenEmbryos"}},
        },
        (
            'concurrencyStamp (in Case, ConsentForm, Directory, EmbryoStorage, Patient, Protocol): one of "RowVersion"',
        ),
        (("[members.Episode]", '[members]\nconcurrencyStamp = "RowVersion"\n[members.Episode]'),),
        "grace",
        ("/", "/consents", "/storage", f"/episodes/{GRACES}", f"/episodes/{GRACES}/embryos"),
    ),
    Planted(
        SNAKE,
        {
            "names": {"members": "snake_case", "query": "snake_case"},
            "envelopes": {"answers": ["data"]},
            "lists": {"total": "meta.total", "unread": "meta.unread", "paging": "page"},
            "query": {"MaxResultCount": "per_page", "SkipCount": "page"},
            "times": {"instants": "dd/MM/yyyy HH:mm:ss", "days": "dd/MM/yyyy"},
            "values": {"numbers": "text", "booleans": ["Y", "N"]},
            "members": {"Episode": {"alerts": "warnings"}, "Patient": {"dateOfBirth": "birth_date"}},
        },
        ('ConsentForm.title: one of "label"', "times.zone: "),
        (
            ("[times]", '[times]\nzone = "Asia/Tokyo"'),
            (
                "[members.Episode]",
                '[members]\ntitle = "label"\n[members.EmbryoStorage]\nholdReason = "on_hold_because"\n[members.Episode]',
            ),
        ),
        "nora",
        ("/", "/consents?page=2", "/notifications", f"/episodes/{GRACES}", f"/episodes/{AMELIAS}/timeline"),
    ),
    Planted(
        KEBAB,
        {
            "base_path": "/fertility/v3",
            "bom": True,
            "addresses": {"/api/care": "/clinical"},
            "names": {"members": "kebab-case", "query": "kebab-case", "enumerations": "UPPER_CASE"},
            "lists": {"items": "rows", "total": "count", "unread": "unread"},
            "query": {"MaxResultCount": "limit", "SkipCount": "offset", "Filter": "q", "Sorting": "order"},
        },
        (
            "enumerations.ConsentStatus: 10, 40: each one of ",
            "enumerations.EmbryoStatus: 'IN_TANK': each one of Stored, ",
            "enumerations.SignerRole: 'SUBJECT': each one of Patient, ",
        ),
        (
            (
                "[query]",
                "[enumerations.ConsentStatus]\nSigned = 40\nPending = 10\n"
                '[enumerations.EmbryoStatus]\nStored = "IN_TANK"\n'
                '[enumerations.SignerRole]\nPatient = ["SUBJECT", "PATIENT"]\n[query]',
            ),
        ),
        "amelia",
        ("/", "/consents", "/storage", f"/episodes/{AMELIAS}", f"/episodes/{AMELIAS}/consents"),
        known='headers = { X-Client = "portal" }\n',
        bases=BASES,
    ),
)


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return ports_for_all()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, ports: dict[str, int]) -> Iterator[CareService]:
    running = service_for_all(tmp_path_factory.mktemp("care"), ports)
    yield running
    running.stop()


@pytest.fixture(scope="module", params=PLANTED, ids=lambda planted: planted.foreign.name)
def planted(request: pytest.FixtureRequest) -> Planted:
    return request.param


@pytest.fixture(scope="module")
def api(planted: Planted, service: CareService) -> Iterator[ForeignApi]:
    running = ForeignApi(service.base_url, planted.foreign)
    running.is_lenient = True
    yield running
    running.stop()
    assert running.faults == []


@pytest.fixture(scope="module")
def operator(
    planted: Planted,
    api: ForeignApi,
    service: CareService,
    ports: dict[str, int],
    tmp_path_factory: pytest.TempPathFactory,
) -> AtTheClinic:
    name = planted.foreign.name
    return AtTheClinic(service, tmp_path_factory.mktemp(name), api.base_url, ports[name])


@pytest.fixture(scope="module")
def found(planted: Planted, operator: AtTheClinic) -> Outcome:
    with operator.speaking(planted.known):
        return operator.conform("elif", bases=planted.bases)


@pytest.fixture(scope="module")
def decided(planted: Planted, found: Outcome) -> str:
    """The proposal, once somebody who knows the API has answered what it asks."""
    text = found.proposal
    for beginning, answered in planted.answers:
        assert text.count(beginning) == 1, (beginning, text)
        text = text.replace(beginning, answered)
    return text


def test_the_differences_of_a_foreign_api_are_reported_and_nothing_else(
    planted: Planted, found: Outcome
) -> None:
    assert found.dialect == {**tomllib.loads(planted.known), **planted.dialect}
    assert len(found.questions) == len(planted.asked), found.questions
    for question, expected in zip(found.questions, planted.asked, strict=True):
        assert question.startswith(expected)
    assert found.status == 2
    assert "absent_means_none" not in found.proposal, "nothing is kept back by any of them"


def test_an_answered_proposal_closes_all_gaps(operator: AtTheClinic, decided: str) -> None:
    with operator.speaking(decided):
        again = operator.conform("elif")
    assert again.status == 0, again.text + again.proposal


def test_pages_are_the_same_with_an_answered_proposal(
    planted: Planted, operator: AtTheClinic, decided: str, api: ForeignApi, portal: PortalThread
) -> None:
    api.is_lenient = False
    with operator.speaking(decided) as tenants:
        running = PortalThread(operator.plan, PORTAL_TENANTS=str(tenants))
    try:
        native, visitor = (signed_in(one, planted.person) for one in (portal, running))
        for path in planted.pages:
            assert said(visitor.get(path)) == said(native.get(path)), path
    finally:
        running.stop()


def signed_in(portal: PortalThread, name: str) -> Careful:
    visitor = Careful(portal.origin("riverside"))
    visitor.password = PASSWORD
    visitor.sign_in(name)
    return visitor


def said(page: Page) -> Any:
    return facts(page).partition("Recently opened")[0]
