"""What administrators see about the clinic's system: response times, missing members, unknown values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from portal.connect.dialects.named_records import records
from portal.views.clinic_system import area_names
from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor

EPISODE = "GET /api/patient-portal/episodes/{episodeId}"


def change(_method: str, path: str, answer: Any) -> Any:
    if "episodes" in path:
        answer = {**answer, "warnings": answer["alerts"], "stage": "AwaitingFunding"}
        del answer["alerts"]
    return answer


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """The portal, before an API that calls warnings otherwise and has a stage of its own."""
    proxy = DialectProxy(service.base_url, Dialect(change=change))
    running = portal_behind(service, proxy)
    yield running
    running.stop()
    proxy.stop()


@pytest.fixture(scope="module")
def ada(portal: PortalThread) -> Visitor:
    return portal.sign_in("ada")


def row_of(visitor: Visitor, endpoint: str) -> str:
    page = visitor.get("/clinic-system")
    assert page.heading == "How the clinic’s system answers"
    rows = [row.words for row in page.select("tbody tr")]
    return next((row for row in rows if row.startswith(endpoint + " ")), "")


def test_an_administrator_sees_missing_members_and_unknown_values(portal: PortalThread, ada: Visitor) -> None:
    assert not row_of(ada, EPISODE), "no episode was read yet"
    nora = portal.sign_in("nora")
    for _time in range(2):
        nora.get(f"/episodes/{TREATMENT_OF_AMELIA}")
    row = row_of(ada, EPISODE)
    assert "2 unknown values: Episode.stage" in row
    assert "Episode.alerts Used in: Treatment, Home, Embryo storage" in row
    assert "warnings; without it, none are shown" in row
    assert "Episode.warnings" in row
    assert " ms " in row
    assert "AwaitingFunding" not in row
    forms = row_of(ada, "GET /api/care/consent-forms")
    assert "unknown value" not in forms


def test_every_area_has_a_name(portal: PortalThread) -> None:
    with portal.app.test_request_context():
        areas = {area for record in records().values() for area in vars(record).get("shown_on", ())}
        assert areas <= set(area_names())
