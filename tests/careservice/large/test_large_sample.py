"""Twenty clinics with twenty thousand patients: created in time, and their lists stay fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
from sqlalchemy import func, select

from portal.careservice import database
from portal.careservice.bootstrap import bootstrap
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.patients import Patient
from portal.careservice.identity.tables import Person, Tenant
from portal.careservice.sample.people import PEOPLE, SECRET_VARIABLES
from portal.careservice.settings import Settings
from tests.careservice.api.calls import CONSENTS, Api
from tests.support.postgres import database_url
from tests.support.stack import PASSWORD, SECRETS, CareService, plan
from tests.support.tokens import TokenMaker

PROTOCOLS = "/api/care/fertility-protocols"
CONVERSATIONS = "/api/messaging/getconversations"


class Large:
    """The running service, its database and how long that took to make."""

    def __init__(self, api: Api, url: str, seconds: float) -> None:
        self.api, self.url, self.seconds = api, url, seconds


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    where = plan(tmp_path_factory.mktemp("large"))
    url = database_url(where.data / "care.db")
    settings = Settings(
        database_url=url,
        issuer=where.service,
        sample="large",
        sample_password=PASSWORD,
        client_secrets={client: SECRETS[variable] for client, variable in SECRET_VARIABLES.items()},
    )
    engine = database.connect(url)
    began = time.monotonic()
    bootstrap(engine, settings)
    seconds = time.monotonic() - began
    engine.dispose()
    running = CareService(where, "--database", url, "--sample", "large")
    api = Api(TokenMaker(running))
    yield Large(api, url, seconds)
    api.close()
    running.stop()


def test_the_large_sample_is_created_in_two_minutes_and_only_sample_people_can_sign_in(large: Large) -> None:
    assert large.seconds < 120
    engine = database.connect(large.url)
    with database.new_session(engine) as session:
        counts = {
            table: session.scalar(select(func.count()).select_from(table))
            for table in (Tenant, Patient, Person, ConsentForm)
        }
    engine.dispose()
    assert counts[Tenant] == 20
    assert (counts[Patient] or 0) >= 20_000
    assert (counts[ConsentForm] or 0) >= 40_000
    assert counts[Person] == len(PEOPLE)


@pytest.mark.parametrize("who", ["nora", "amelia"])
@pytest.mark.parametrize(
    ("path", "query"),
    [
        (CONSENTS, {}),
        (CONSENTS, {"MaxResultCount": 25, "SkipCount": 1500}),
        (CONSENTS, {"Status": "Pending", "Sorting": "procedureDate"}),
        (CONSENTS, {"Filter": "brzęcz"}),
        (CONSENTS, {"Sorting": "patientName desc"}),
        (PROTOCOLS, {}),
        (PROTOCOLS, {"Filter": "225", "Sorting": "name"}),
        (CONVERSATIONS, {}),
        (CONVERSATIONS, {"Filter": "dose"}),
        ("/api/app/notification", {}),
        ("/api/calendar/resources/physicians", {}),
    ],
)
def test_lists_answer_within_50_ms(large: Large, who: str, path: str, query: dict[str, Any]) -> None:
    large.api.get(who, path, **query)
    taken: list[float] = []
    for _ in range(7):
        began = time.perf_counter()
        large.api.get(who, path, **query)
        taken.append(time.perf_counter() - began)
    assert median(taken) < 0.05
