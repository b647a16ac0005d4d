"""Each role at each endpoint: an empty 403 exactly where the table of permissions says so."""

from __future__ import annotations

import re

import pytest

from portal.careservice.domain.permissions import ALLOWED, Act
from portal.careservice.openapi.operations import OPERATIONS
from portal.services.endpoints import WEBHOOKS
from tests.careservice.api.calls import CONSENTS, EPISODES, Api

NOBODY = "00000000-0000-4000-8000-000000000000"
PEOPLE = {
    "patient": "amelia",
    "nurse": "nora",
    "physician": "victor",
    "embryologist": "elif",
    "coordinator": "colin",
    "admin": "ada",
}
ENDPOINTS = (
    (Act.READ_CONSENTS, "GET", CONSENTS),
    (Act.READ_CONSENTS, "GET", f"{CONSENTS}/{NOBODY}"),
    (Act.CREATE_CONSENT, "POST", CONSENTS),
    (Act.SIGN_CONSENT, "POST", f"{CONSENTS}/{NOBODY}/sign"),
    (Act.REVOKE_CONSENT, "POST", f"{CONSENTS}/{NOBODY}/revoke"),
    (Act.READ_PROTOCOLS, "GET", "/api/care/fertility-protocols"),
    (Act.READ_PROTOCOLS, "GET", f"/api/care/fertility-protocols/{NOBODY}"),
    (Act.WRITE_PROTOCOLS, "POST", "/api/care/fertility-protocols"),
    (Act.WRITE_PROTOCOLS, "PUT", f"/api/care/fertility-protocols/{NOBODY}"),
    (Act.UPDATE_PATIENT, "PUT", f"/api/care/patients/{NOBODY}"),
    (Act.UPDATE_CASE, "PUT", f"/api/care/cases/{NOBODY}"),
    (Act.DELETE_RELATIONSHIP, "DELETE", f"/api/care/relationships/{NOBODY}"),
    (Act.UPDATE_EMBRYO, "PUT", f"/api/care/embryo-storage/{NOBODY}"),
    (Act.READ_PGT_RESULT, "GET", f"/api/care/pgt-results/{NOBODY}"),
    (Act.READ_EPISODE, "GET", f"{EPISODES}/{NOBODY}"),
    (Act.READ_PHYSICIANS, "GET", "/api/calendar/resources/physicians"),
    (Act.DELETE_EMR_ENDPOINT, "DELETE", f"/api/emr-integration/endpoints/{NOBODY}"),
    (Act.MOVE_DIRECTORY, "POST", "/api/document-management/directory-descriptor/move"),
    (Act.READ_FILE, "GET", f"/api/file-management/file-descriptor/content?id={NOBODY}"),
    (Act.USE_MESSAGES, "POST", f"/api/app/messaging/restore-message/{NOBODY}"),
    (Act.USE_MESSAGES, "POST", f"/api/app/messaging/archive-message/{NOBODY}"),
    (Act.USE_MESSAGES, "GET", "/api/messaging/getconversations"),
    (Act.USE_MESSAGES, "POST", "/api/messaging/archive"),
    (Act.USE_NOTIFICATIONS, "GET", "/api/app/notification"),
    (Act.USE_NOTIFICATIONS, "PUT", "/api/app/notification"),
    (Act.USE_NOTIFICATIONS, "GET", "/api/app/notification/settings"),
    (Act.USE_NOTIFICATIONS, "PUT", "/api/app/notification/settings"),
    (Act.MERGE_PROSPECTS, "POST", f"/api/prospect/records/{NOBODY}/merge/{NOBODY}"),
    (Act.BOOK_WINDOW, "POST", f"/api/prospect/records/{NOBODY}/book-window"),
)
"""All of the specification's endpoints but the three webhooks."""


def test_every_endpoint_and_act_is_tested() -> None:
    called = {(method, path.partition("?")[0].replace(NOBODY, "{}")) for _, method, path in ENDPOINTS}
    described = {(method, re.sub(r"{\w+}", "{}", path)) for method, path in OPERATIONS}
    webhooks = {(one.method, one.template) for one in WEBHOOKS}
    missing = sorted(described - webhooks - called)
    assert not missing, f"add {missing} to ENDPOINTS"
    assert set(ALLOWED) == set(Act), "an act has no roles in ALLOWED"
    assert {act for act, _, _ in ENDPOINTS} == set(Act), "an act has no endpoint in ENDPOINTS"


@pytest.mark.parametrize("role", PEOPLE)
def test_a_role_may_do_what_the_table_says_and_no_more(api: Api, role: str) -> None:
    for act, method, path in ENDPOINTS:
        answer = api(PEOPLE[role], method, path)
        refused = answer.status_code == 403 and not answer.content
        assert refused == (role not in ALLOWED[act]), (act, method, path, answer.status_code)
        assert answer.status_code in (200, 400, 403, 404), (method, path)


def test_a_service_client_may_only_read_physicians_and_book(api: Api) -> None:
    for act, method, path in ENDPOINTS:
        answer = api("riverside-service", method, path + ("&" if "?" in path else "?") + "__tenant=riverside")
        refused = answer.status_code == 403 and not answer.content
        assert refused == (act not in (Act.READ_PHYSICIANS, Act.BOOK_WINDOW)), (method, path)
