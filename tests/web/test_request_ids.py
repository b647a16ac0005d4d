"""One request id on the error page, in the log and at the care API, beside the API's own."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.demo.stack import DemoSetup, tenants_file
from portal.web.logs import JsonFormatter
from tests.support.stack import CareService, PortalThread
from tests.support.upstream import Make

FAILED = b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\nX-Correlation-Id: api-77\r\n\r\n"


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the portal logs as JSON."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("portal")
    logger.addHandler(handler)
    yield stream
    logger.removeHandler(handler)


def test_a_failed_page_its_log_lines_and_its_calls_share_one_request_id(
    service: CareService, upstream: Make, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    api = upstream(lambda line, number: FAILED)
    tenants = tmp_path / "tenants.toml"
    text = tenants_file(service.plan)
    tenants.write_text(text.replace(f'base_url = "{service.base_url}"', f'base_url = "{api.url}"'))
    plan: DemoSetup = service.plan
    portal = PortalThread(plan, PORTAL_TENANTS=str(tenants), PORTAL_STORE_URL=f"sqlite:///{tmp_path}/s.db")
    try:
        visitor = portal.visitor()
        visitor.fill_sign_in(visitor.get("/signed-out").follow("Sign in", status=None), "amelia")
        written: io.StringIO = request.getfixturevalue("written")
        page = visitor.get("/consents", status=503)
    finally:
        portal.stop()
    number = page.headers["X-Request-Id"]
    assert number in page.words
    asked = [head for head in api.heads if "consent-forms" in head and number in head]
    assert asked
    assert all(f"X-Correlation-Id: {number}" in head for head in asked)
    lines: list[dict[str, Any]] = [json.loads(line) for line in written.getvalue().splitlines()]
    mine = [line for line in lines if line.get("request") == number]
    (call,) = [line for line in mine if line["message"] == "call failed" and line["group"] == "ConsentForm"]
    assert call["upstream"] == "api-77"
    assert call["reason"] == "status 500"
    assert any(line.get("route") == "/consents" and line["status"] == 503 for line in mine)
