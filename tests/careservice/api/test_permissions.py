"""Each role at each endpoint: an empty 403 for exactly those whom the table here, which is nobody else's, leaves out."""

from __future__ import annotations

import re

import pytest

from portal.careservice.openapi.operations import OPERATIONS
from portal.services.endpoints import WEBHOOKS
from tests.careservice.api.calls import CONSENTS, EPISODES, Api

NOBODY = "00000000-0000-4000-8000-000000000000"
PEOPLE = {"P": "amelia", "N": "nora", "V": "victor", "E": "elif", "C": "colin", "A": "ada"}
"""A patient, nurse, physician, embryologist, coordinator and admin."""

ENDPOINTS = (
    ("PNVECA", "GET", CONSENTS),
    ("PNVECA", "GET", f"{CONSENTS}/{NOBODY}"),
    ("-NV-CA", "POST", CONSENTS),
    ("PNVECA", "POST", f"{CONSENTS}/{NOBODY}/sign"),
    ("PNVECA", "POST", f"{CONSENTS}/{NOBODY}/revoke"),
    ("PNVECA", "GET", "/api/care/fertility-protocols"),
    ("PNVECA", "GET", f"/api/care/fertility-protocols/{NOBODY}"),
    ("-NV---", "POST", "/api/care/fertility-protocols"),
    ("-NV---", "PUT", f"/api/care/fertility-protocols/{NOBODY}"),
    ("PNV-CA", "PUT", f"/api/care/patients/{NOBODY}"),
    ("-NV-CA", "PUT", f"/api/care/cases/{NOBODY}"),
    ("PNV-CA", "DELETE", f"/api/care/relationships/{NOBODY}"),
    ("P-VE--", "PUT", f"/api/care/embryo-storage/{NOBODY}"),
    ("PNVECA", "GET", f"/api/care/pgt-results/{NOBODY}"),
    ("PNVECA", "GET", f"{EPISODES}/{NOBODY}"),
    ("PNVECA", "GET", "/api/calendar/resources/physicians"),
    ("-----A", "DELETE", f"/api/emr-integration/endpoints/{NOBODY}"),
    ("-NVECA", "POST", "/api/document-management/directory-descriptor/move"),
    ("PNVECA", "GET", f"/api/file-management/file-descriptor/content?id={NOBODY}"),
    ("PNVECA", "POST", f"/api/app/messaging/restore-message/{NOBODY}"),
    ("PNVECA", "POST", f"/api/app/messaging/archive-message/{NOBODY}"),
    ("PNVECA", "GET", "/api/messaging/getconversations"),
    ("PNVECA", "POST", "/api/messaging/archive"),
    ("PNVECA", "GET", "/api/app/notification"),
    ("PNVECA", "PUT", "/api/app/notification"),
    ("PNVECA", "GET", "/api/app/notification/settings"),
    ("PNVECA", "PUT", "/api/app/notification/settings"),
    ("-N--CA", "POST", f"/api/prospect/records/{NOBODY}/merge/{NOBODY}"),
    ("-N--CA", "POST", f"/api/prospect/records/{NOBODY}/book-window"),
)
"""Who may call it, for all of the specification's endpoints but the three webhooks."""

SERVICE = {"/api/calendar/resources/physicians", f"/api/prospect/records/{NOBODY}/book-window"}
"""What a client without a person may call, for the public booking page."""


def test_every_endpoint_is_tested() -> None:
    called = {(method, path.partition("?")[0].replace(NOBODY, "{}")) for _, method, path in ENDPOINTS}
    described = {(method, re.sub(r"{\w+}", "{}", path)) for method, path in OPERATIONS}
    webhooks = {(one.method, one.template) for one in WEBHOOKS}
    missing = sorted(described - webhooks - called)
    assert not missing, f"add {missing} to ENDPOINTS"


@pytest.mark.parametrize("role", PEOPLE)
def test_a_role_may_do_what_the_table_says_and_no_more(api: Api, role: str) -> None:
    for allowed, method, path in ENDPOINTS:
        answer = api(PEOPLE[role], method, path)
        refused = answer.status_code == 403 and not answer.content
        assert refused == (role not in allowed), (method, path, answer.status_code)
        assert answer.status_code in (200, 400, 403, 404), (method, path)


def test_a_service_client_may_only_read_physicians_and_book(api: Api) -> None:
    for _, method, path in ENDPOINTS:
        answer = api("riverside-service", method, path + ("&" if "?" in path else "?") + "__tenant=riverside")
        refused = answer.status_code == 403 and not answer.content
        assert refused == (path not in SERVICE), (method, path)
