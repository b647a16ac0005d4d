"""The care service as a separate process, and tokens for its people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from portal.demo.stack import DemoSetup
from tests.careservice.families import Families
from tests.support.postgres import database_url
from tests.support.stack import CareService, plan
from tests.support.tokens import TokenMaker


@dataclass(frozen=True)
class Place:
    """Where the service of all tests of the API runs and keeps its records."""

    plan: DemoSetup
    database_url: str


@pytest.fixture(scope="session")
def care_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    where = plan(tmp_path_factory.mktemp("care-api"))
    return Place(where, database_url(where.data / "care.db"))


@pytest.fixture(scope="session")
def care_service(care_place: Place) -> Iterator[TokenMaker]:
    """One care service for all tests of the API: `.base_url`, `.token(user name)`, `.service_token(tenant)`."""
    running = CareService(care_place.plan, "--database", care_place.database_url)
    yield TokenMaker(running)
    running.stop()


@pytest.fixture(scope="session")
def families(care_service: TokenMaker, care_place: Place) -> Iterator[Families]:
    """Makes patients with embryos for one test's own use."""
    made = Families(care_place.database_url)
    yield made
    made.close()
