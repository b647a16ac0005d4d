"""A service with the large sample, and every way to search it."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from portal.careservice import database
from portal.careservice.bootstrap import bootstrap
from portal.careservice.ids import sample_id
from portal.careservice.sample.people import SECRET_VARIABLES
from portal.careservice.settings import Settings
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, Api, patient
from tests.careservice.api.clinic import Clinic, clinic_of
from tests.support.stack import PASSWORD, SECRETS, CareService, plan, workers_of
from tests.support.tokens import TokenMaker
from tools.bench.load import cpu_seconds

PROTOCOLS = "/api/care/fertility-protocols"
CONVERSATIONS = "/api/messaging/getconversations"
NOTIFICATIONS = "/api/app/notification"
PHYSICIANS = "/api/calendar/resources/physicians"

SEARCHES: list[tuple[str, dict[str, Any]]] = [
    *((CONSENTS, {}), (CONSENTS, {"Filter": "brzęcz"}), (CONSENTS, {"Filter": "no such word"})),
    *((CONSENTS, {"PatientId": patient("amelia")}), (CONSENTS, {"EpisodeId": AMELIA_EPISODE})),
    *((CONSENTS, {"CaseId": sample_id("case", "amelia")}), (CONSENTS, {"Status": "Pending"})),
    (CONSENTS, {"Status": "Signed", "Filter": "storage", "Sorting": "patientName desc", "SkipCount": 25}),
    *((PROTOCOLS, {}), (PROTOCOLS, {"Filter": "225"}), (PROTOCOLS, {"PatientId": patient("amelia")})),
    *((PROTOCOLS, {"EpisodeId": AMELIA_EPISODE}), (PROTOCOLS, {"Status": "Active", "Type": "Antagonist"})),
    *((CONVERSATIONS, {}), (CONVERSATIONS, {"Filter": "dose"}), (CONVERSATIONS, {"Filter": "brzęcz"})),
    (CONVERSATIONS, {"Filter": "no such word", "IncludeArchived": "true"}),
    *((NOTIFICATIONS, {}), (NOTIFICATIONS, {"Filter": "form"}), (NOTIFICATIONS, {"IsRead": "false"})),
    (NOTIFICATIONS, {"Type": "ConsentRequested"}),
    *((PHYSICIANS, {}), (PHYSICIANS, {"Filter": "kenji"})),
    (PHYSICIANS, {"LocationId": sample_id("location", "riverside")}),
]


@dataclass(frozen=True)
class Large:
    """The running service, the same in this process, and their database, which took so many seconds to make."""

    running: CareService
    api: Api
    clinic: Clinic
    engine: Engine
    seconds: float

    def computed(self, who: str, path: str, query: dict[str, Any], asked: int) -> list[float]:
        """How many seconds service and database computed for each of so many answers, whatever else this machine does.

        An earlier one has filled the caches.
        """
        processes = [*workers_of(self.running.pid), *self._backends()]
        self.api.get(who, path, **query)
        taken: list[float] = []
        for _ in range(asked):
            began = cpu_seconds(processes)
            self.api.get(who, path, **query)
            taken.append(cpu_seconds(processes) - began)
        return taken

    def _backends(self) -> list[int]:
        """PostgreSQL's processes for this database."""
        if self.engine.dialect.name != "postgresql":
            return []
        with self.engine.connect() as connection:
            found = connection.exec_driver_sql(
                "SELECT pid FROM pg_stat_activity"
                " WHERE datname = current_database() AND backend_type = 'client backend'"
            )
            return [int(pid) for pid in found.scalars()]


@contextmanager
def large_service(folder: Path, url: str) -> Generator[Large]:
    """Fill the empty database at `url` with the large sample and run the service over it."""
    where = plan(folder)
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
    running = CareService(where, "--database", url, "--sample", "large")
    api = Api(TokenMaker(running))
    try:
        yield Large(running, api, clinic_of(settings, engine), engine, seconds)
    finally:
        api.close()
        running.stop()
        engine.dispose()
