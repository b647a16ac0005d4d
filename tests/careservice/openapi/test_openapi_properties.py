"""Requests generated from the document, valid and invalid: no 500, and no undocumented status or shape.

`make test` tries a third of the addresses, others each week.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.careservice.openapi.operations import OPERATIONS
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, GRACE_EPISODE, Api
from tests.support.full import FULL, this_week
from tests.support.postgres import database_url
from tests.support.stack import CareService, plan
from tests.support.tokens import TokenMaker


@pytest.fixture
def care_service(tmp_path: Path) -> Iterator[TokenMaker]:
    """A fresh one for each, since valid requests change who may see what."""
    where = plan(tmp_path)
    running = CareService(where, "--database", database_url(tmp_path / "care.db"))
    yield TokenMaker(running)
    running.stop()


def configuration(api: Api, who: str) -> str:
    """What Schemathesis has to know: which answers are good, and ids and stamps that exist."""
    forms = api.get(who, CONSENTS, MaxResultCount=1000)["items"]
    protocols = api.get(who, "/api/care/fertility-protocols", MaxResultCount=1000)["items"]
    threads = api.get(who, "/api/messaging/getconversations", MaxResultCount=1000)["items"]
    notices = api.get(who, "/api/app/notification", MaxResultCount=1000)["items"]
    own = AMELIA_EPISODE if who in ("amelia", "daniel") else GRACE_EPISODE
    episodes = [
        api.get(who, f"/api/patient-portal/episodes/{identity}")
        for identity in ({own} if who in ("amelia", "grace") else {AMELIA_EPISODE, GRACE_EPISODE})
    ]
    records = [record for episode in episodes for record in _records(episode)]
    stamps = [r["concurrencyStamp"] for r in (*forms, *protocols, *records) if "concurrencyStamp" in r]
    files = [file["id"] for episode in episodes for file in episode["documents"]["files"]]
    statements = [statement["id"] for form in forms for statement in form["statements"]]
    dictionaries = {
        "forms": [form["id"] for form in forms],
        "protocols": [protocol["id"] for protocol in protocols] or [sample_id("protocol", "none")],
        "records": [record["id"] for record in records],
        "episodes": [episode["id"] for episode in episodes],
        "results": [result["id"] for episode in episodes for result in episode["pgtResults"]] or ["x"],
        "files": files or ["x"],
        "messages": [message["id"] for thread in threads for message in thread["messages"]],
        "threads": [thread["id"] for thread in threads],
        "notices": [notice["id"] for notice in notices] or ["x"],
        "prospects": [sample_id("prospect", key) for key in ("ines", "ines-again", "tomasz", "noor", "ruth")],
        "emr": [sample_id("emr-endpoint", f"riverside-{key}") for key in ("legacy", "main")],
        "patients": [sample_id("patient", key) for key in ("amelia", "daniel", "grace")],
        "physicians": [sample_id("physician", key) for key in ("victor", "leila", "siobhan")],
        "stamps": stamps,
        "hashes": [form["contentHash"] for form in forms],
        "statements": sorted(set(statements)),
        "zones": ["Europe/London", "UTC", "America/New_York"],
    }
    paths = {
        "/consent-forms/{id}": {"path.id": "forms", "body.contentHash": "hashes"},
        "/fertility-protocols/{id}": {"path.id": "protocols"},
        "/patients/{id}": {"path.id": "patients"},
        "/cases/{id}": {"path.id": "records"},
        "/relationships/{id}": {"path.id": "records"},
        "/embryo-storage/{id}": {"path.id": "records"},
        "/pgt-results/{id}": {"path.id": "results"},
        "/episodes/{episodeId}": {"path.episodeId": "episodes"},
        "/endpoints/{id}": {"path.id": "emr"},
        "/file-descriptor/content": {"query.id": "files"},
        "/directory-descriptor/move": {"body.id": "records", "body.newParentId": "records"},
        "-message/{messageId}": {"path.messageId": "messages"},
        "/merge/{mergeId}": {"path.id": "prospects", "path.mergeId": "prospects"},
        "/book-window": {"path.id": "prospects", "body.physicianId": "physicians", "body.timeZone": "zones"},
    }
    lines = [
        # A request that matches the document can still be invalid: another clinic's record, an unknown time zone, a NUL
        # character. The response is then 400, which Schemathesis would take for refusing valid data.
        'checks.positive_data_acceptance.expected-statuses = ["2xx", 304, 400, 401, 403, 404, 416, 501]',
        *(f"dictionaries.{name}.values = {json.dumps(values)}" for name, values in dictionaries.items()),
    ]
    for path, bindings in paths.items():
        lines += ["[[operations]]", f"include-path-regex = {json.dumps(_literally(path))}"]
        bound = {"body.concurrencyStamp": "stamps"} | bindings
        lines += [
            f'parameters."{parameter}" = {{ dictionary = "{name}", probability = 0.8 }}'
            for parameter, name in bound.items()
            if not parameter.startswith("body.concurrencyStamp") or _is_stamped(path)
        ]
    return "\n".join(lines) + "\n"


def _is_stamped(path: str) -> bool:
    return path.startswith(("/fertility", "/patients", "/cases", "/embryo", "/directory"))


def _literally(path: str) -> str:
    return path.replace("{", r"\{").replace("}", r"\}")


def _records(episode: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *(episode["patient"], episode["case"]),
        *episode["relationships"],
        *episode["embryos"],
        *episode["documents"]["directories"],
    ]


@pytest.mark.parametrize("who", ["nora", *(["amelia", "ada", "elif", "grace"] if FULL else [])])
def test_no_generated_request_gets_an_undocumented_response(
    api: Api, care_service: Any, tmp_path: Path, who: str
) -> None:
    (tmp_path / "schemathesis.toml").write_text(configuration(api, who))
    paths = this_week(sorted({path for _, path in OPERATIONS}), 3)
    phases = "coverage,fuzzing,stateful" if FULL else "coverage,fuzzing"
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")),
            *("run", f"{care_service.base_url}/openapi.json", "--phases", phases, "--no-color"),
            *("--include-path-regex", f"^({'|'.join(map(re.escape, paths))})$"),
            *("--header", f"Authorization: Bearer {api.token(who)}", "--warnings", "off"),
            *("--max-examples", "60" if FULL else "5", "--generation-deterministic", "--no-shrink"),
            *("--request-timeout", "10"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert f"Tested: {sum(path in paths for _, path in OPERATIONS)}\n" in done.stdout
