"""Each role at each endpoint: an empty 403 for exactly those whom the table here, which is nobody else's, leaves out.

And whose records each reaches, `REACHES`: of everybody at two clinics, exactly those whom that table names. The portal never
asks for another's record by itself; these calls do. Everybody else gets that empty 403, or a 404, which doesn't tell that
there is such a record.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy.orm import Session

from portal.careservice.ids import sample_id
from portal.careservice.openapi.operations import OPERATIONS
from portal.services.endpoints import WEBHOOKS
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, EPISODES, GRACE_EPISODE, Api
from tests.careservice.api.clinic import Clinic

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


EVERYBODY = {
    "A": "amelia",
    "D": "daniel",
    "G": "grace",
    "N": "nora",
    "V": "victor",
    "E": "elif",
    "C": "colin",
    "W": "ada",
    "M": "maya",
    "O": "omar",
}
"""Amelia and her partner, another patient, the five roles of their clinic; a patient and a nurse of another clinic."""

CHANGED: dict[str, Any] = {"concurrencyStamp": "of an older version"}


def _id(kind: str, name: str, path: str = "") -> str:
    return f"{path}{sample_id(kind, name)}"


FORM = _id("consent", "amelia-genetic", f"{CONSENTS}/")
PROTOCOL = _id("protocol", "amelia", "/api/care/fertility-protocols/")
MESSAGE = _id("message", "amelia-scan-0")
PROSPECT = _id("prospect", "ines", "/api/prospect/records/")
REACHES: tuple[tuple[str, str, str, Any], ...] = (
    ("AD-NVECW--", "GET", FORM, None),
    ("AD-NVECW--", "POST", f"{FORM}/sign", CHANGED),
    ("AD-NVECW--", "POST", f"{FORM}/revoke", CHANGED),
    ("--GNVECW--", "GET", _id("consent", "grace-treatment", f"{CONSENTS}/"), None),
    ("AD-NVECW--", "GET", PROTOCOL, None),
    ("---NV-----", "PUT", PROTOCOL, CHANGED),
    ("A--NV-CW--", "PUT", _id("patient", "amelia", "/api/care/patients/"), CHANGED),
    ("---NV-CW--", "PUT", _id("case", "amelia", "/api/care/cases/"), CHANGED),
    ("A--NV-CW--", "DELETE", _id("relationship", "amelia-daniel", "/api/care/relationships/"), None),
    ("A--NV-CW--", "DELETE", _id("relationship", "amelia-contact", "/api/care/relationships/"), None),
    ("--G-VE----", "PUT", _id("embryo", "GO-1", "/api/care/embryo-storage/"), CHANGED),
    ("--GNVECW--", "GET", _id("pgt-result", "GO-1", "/api/care/pgt-results/"), None),
    ("AD-NVECW--", "GET", f"{EPISODES}/{AMELIA_EPISODE}", None),
    ("--GNVECW--", "GET", f"{EPISODES}/{GRACE_EPISODE}", None),
    ("-------W--", "DELETE", _id("emr-endpoint", "riverside-main", "/api/emr-integration/endpoints/"), None),
    (
        "---NVECW--",
        "POST",
        "/api/document-management/directory-descriptor/move",
        {"id": _id("directory", "amelia-scans"), "newParentId": None, **CHANGED},
    ),
    (
        "AD-NVECW--",
        "GET",
        _id("file", "amelia-plan", "/api/file-management/file-descriptor/content?id="),
        None,
    ),
    ("AD-NVECW--", "POST", f"/api/app/messaging/restore-message/{MESSAGE}", None),
    ("AD-NVECW--", "POST", f"/api/app/messaging/archive-message/{MESSAGE}", None),
    (
        "AD-NVECW--",
        "POST",
        "/api/messaging/archive",
        {"conversationIds": [_id("conversation", "amelia-scan")]},
    ),
    ("---N--CW--", "POST", f"{PROSPECT}/merge/{_id('prospect', 'ines-again')}", CHANGED),
    ("---N--CW--", "POST", f"{PROSPECT}/book-window", CHANGED),
)


def test_a_record_is_reached_by_those_it_concerns_alone(
    clinic: Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = {letter: clinic.token(name) for letter, name in EVERYBODY.items()}
    monkeypatch.setattr(Session, "commit", Session.rollback)  # so that nobody finds what another has changed
    for expected, method, path, body in REACHES:
        answers = {letter: clinic.call(token, method, path, body) for letter, token in tokens.items()}
        hidden = {
            letter
            for letter, answer in answers.items()
            if answer.status_code == 404 or (answer.status_code == 403 and not answer.data)
        }
        off = {letter for letter, answer in answers.items() if answer.status_code == 501}
        assert off <= {"M", "O"}, (method, path)
        reached = "".join("-" if letter in hidden | off else letter for letter in EVERYBODY)
        assert reached == expected, (method, path, [answer.status_code for answer in answers.values()])
