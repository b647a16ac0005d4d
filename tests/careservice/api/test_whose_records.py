"""Whose records each endpoint reaches: of everybody at two clinics, exactly those whom the table here names.

The portal never asks for another's record by itself; these calls do. Everybody else gets an empty 403, if their role may never
do it (`test_permissions.py`), or a 404, which doesn't tell that there is such a record.
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, EPISODES, GRACE_EPISODE
from tests.careservice.api.clinic import Clinic

PEOPLE = {
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
    tokens = {letter: clinic.token(name) for letter, name in PEOPLE.items()}
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
        reached = "".join("-" if letter in hidden | off else letter for letter in PEOPLE)
        assert reached == expected, (method, path, [answer.status_code for answer in answers.values()])
